//! Orders that were paid before orders held the texts that take them back: `storectl upgrade` lets them hold these.

use super::follow::id;
use super::holding::{Rows, WRITES_OF_TEXT};
use super::making::Making;
use super::players::Players;
use super::texts::{Text, ends, texts};
use super::write::{AT_ONCE, place_of};
use crate::model::{
    Command, CommandEvent, CommandId, DeliveryStep, EarlierExpiry, EarlierHolder, FrozenCommands, InternalId,
    OrderDelivery, OrderStatus, UserName,
};
use crate::rules::delivery::frozen::{Expanded, when_paid};
use crate::store::bulk::{OnProgress, each};
use crate::store::codec::{Row, key_of};
use crate::store::keys::{self, Key};
use crate::store::orders::{self, StoredOrder};
use crate::store::transaction::{Write, send};
use crate::store::{Db, StoreError, TURNS, commands, deliveries, in_turns, read_live};
use std::collections::BTreeMap;

/// The orders that were paid and delivered, and hold nothing yet. Reads every item.
pub(in crate::usecases) async fn unheld(db: &Db, progress: OnProgress<'_>) -> Result<Vec<InternalId>, StoreError> {
    let mut found = Vec::new();
    each(db, "", |item| {
        progress(1);
        let key = key_of(&item)?;
        if keys::is_order(&key) {
            let stored = StoredOrder::decode(&key, Row::from(item))?;
            found.extend(is_unheld(&stored).then_some(stored.order.internal_id));
        }
        Ok::<(), StoreError>(())
    })
    .await?;
    Ok(found)
}

/// Whether an order was paid and delivered, and holds nothing yet.
pub(in crate::usecases) fn is_unheld(stored: &StoredOrder) -> bool {
    let is_queued = |delivery: &OrderDelivery| delivery.step == DeliveryStep::Queued && delivery.held == 0;
    stored.order.status == OrderStatus::Paid && stored.effects.delivery.as_ref().is_some_and(is_queued)
}

/// Lets an order hold what takes it back, with the time that was stored for its items. The same call continues what was
/// interrupted.
pub(in crate::usecases) async fn hold_earlier(db: &Db, now: i64, id: &InternalId) -> Result<(), StoreError> {
    in_turns(TURNS, || async {
        let Some(stored) = orders::get(db, id).await?.filter(is_unheld) else { return Ok(()) };
        hold(db, now, &stored).await
    })
    .await
}

/// What was stored of the time of a player's items, with the commands for its end.
struct Earlier {
    expiries: BTreeMap<Key, EarlierExpiry>,
    commands: BTreeMap<CommandId, Command>,
}

impl Earlier {
    async fn read(db: &Db, keys: impl Iterator<Item = Key>) -> Result<Self, StoreError> {
        let mut expiries = BTreeMap::new();
        for key in keys {
            if !expiries.contains_key(&key) {
                let read: Option<EarlierExpiry> = read_live(db, &key).await?;
                expiries.extend(read.map(|read| (key, read)));
            }
        }
        let ids = expiries.values().flat_map(|expiry| expiry.commands.iter().copied());
        let commands = commands::read(db, ids).await?;
        Ok(Self { expiries, commands })
    }

    /// The time of a line, and its part of it, if it is still known.
    fn of(&self, key: Option<Key>, order: &InternalId, line: u16) -> Option<(&EarlierExpiry, &EarlierHolder)> {
        let expiry = self.expiries.get(&key?)?;
        let holder = expiry.holders.iter().find(|holder| holder.order == *order && holder.line == line)?;
        Some((expiry, holder))
    }
}

fn key(player: Option<&String>, entry: &Expanded<'_>) -> Option<Key> {
    let name = UserName::parse(player?).ok()?;
    Some(keys::earlier_expiry(&name, entry.line.item, entry.server))
}

/// `false` if something has changed since the order was read.
async fn hold(db: &Db, now: i64, stored: &StoredOrder) -> Result<(), StoreError> {
    let (order, delivery) = (&stored.order.internal_id, stored.effects.delivery.clone().unwrap_or_default());
    let frozen: FrozenCommands = deliveries::frozen(db, order).await?;
    let all = when_paid(&frozen, &stored.order.lines, CommandEvent::Bought);
    let texts = texts(stored, &frozen, &all);
    let ends = ends(stored, &frozen, &texts);
    let players = Players::read(db, &stored.order).await?;
    let making = Making { stored, frozen: &frozen, players: &players, servers: None, access: None, moves: false, now };
    let players: Vec<Option<String>> = texts.iter().map(|text| making.player(&text.entry)).collect();
    let keys = texts.iter().zip(&players).filter_map(|(text, player)| key(player.as_ref(), &text.entry));
    let earlier = Earlier::read(db, keys).await?;
    let (mut place, mut further) = (0, delivery.further.clone());
    loop {
        let mut rows = Rows::read(db, texts.iter(), &ends).await?;
        let mut writes: Vec<Write> = Vec::new();
        while let Some((text, player)) = texts.get(place).zip(players.get(place)) {
            if writes.len() + WRITES_OF_TEXT + ends.len() > AT_ONCE || rows.is_written(&text.key) {
                break;
            }
            if let Some(player) = player {
                let of_line = earlier.of(key(Some(player), &text.entry), order, text.entry.line.line);
                let found = of_line.map(|(expiry, holder)| {
                    let mut commands = expiry.commands.iter().filter_map(|id| earlier.commands.get(id));
                    let filled = making.command(CommandId::FIRST, &text.entry, player).text;
                    (expiry, holder, commands.find(|command| command.text == filled))
                });
                let is_new = text.end.is_some() && found.is_some_and(|(_, _, command)| command.is_none());
                let new = if is_new { Some(commands::reserve(db, 1).await?) } else { None };
                writes.extend(rows.adopt(&making, text, found, (new, player))?);
                further.extend(new.filter(|_| rows.get(&text.key).is_some_and(|row| row.command == new)));
            }
            place += 1;
        }
        let is_all = place >= texts.len();
        let held = if is_all { texts.len() + ends.len() } else { 0 };
        if is_all {
            for ends in &ends {
                writes.extend(rows.add_ends(ends)?);
            }
        }
        let held = u32::try_from(held).unwrap_or(u32::MAX).max(u32::from(is_all));
        let next = OrderDelivery { held, further: further.clone(), ..delivery.clone() };
        let (mark, _) = stored.set_delivery(next)?;
        if !is_all {
            send(db, writes).await?;
            continue;
        }
        writes.extend(waiting(db, stored, &delivery, &texts).await?);
        return send(db, [mark].into_iter().chain(writes).collect()).await;
    }
}

/// The writes after which what waits for its player, and ends, knows the text whose end it has to follow. Of very many only
/// the first: the others keep the end that they know.
async fn waiting(
    db: &Db,
    stored: &StoredOrder,
    delivery: &OrderDelivery,
    texts: &[Text<'_>],
) -> Result<Vec<Write>, StoreError> {
    const MOST: usize = 20;
    let Some(first) = delivery.first else { return Ok(Vec::new()) };
    let made = usize::try_from(delivery.made).unwrap_or_default();
    let ids = (0..made).filter_map(|place| id(first, place).ok()).chain(delivery.further.iter().copied());
    let mut writes = Vec::new();
    for command in commands::read(db, ids).await?.into_values() {
        let is_timed = command.delivery.ends_at.is_some() && command.lasting.is_none();
        let own = texts.iter().find(|text| {
            text.end.is_some() && (text.entry.line.line, text.entry.server) == (command.line, command.server)
        });
        if let (true, Some(text), Some(place)) = (is_timed, own, place_of(&command))
            && writes.len() < MOST
            && command.order == stored.order.internal_id
        {
            let after = Command { lasting: Some(text.name.clone()), ..command.clone() };
            writes.extend(commands::change(&command, &after, Some(place.clone()), Some(&place))?);
        }
    }
    Ok(writes)
}
