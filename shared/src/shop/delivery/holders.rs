//! Whether the orders that are paid hold the texts that take them back, and no others do; and the repair of the former.
//!
//! Only lines that never end are expected to hold: of the others it is not known here whether their time is over.

use super::deliveries;
use super::follow::delivered;
use super::holding::Rows;
use super::making::{Making, Players};
use super::take_back::{Text, texts};
use crate::model::{
    CommandEvent, DeliveryStep, FrozenCommands, InternalId, Lasting, OrderStatus, OrderSubscription, UserId,
};
use crate::rules::delivery::frozen::when_paid;
use crate::shop::orders::{self, StoredOrder};
use crate::table::bulk::each;
use crate::table::codec::{Item, Row, decode_live, key_of, noted};
use crate::table::keys::{self, Key, prefix};
use crate::table::transaction::sent;
use crate::table::{Db, StoreError};
use std::collections::{BTreeMap, BTreeSet};

/// Orders and the rows of texts, compared.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct HoldersAudit {
    /// Paid orders that do not hold what takes them back: a refund of another order takes what they gave.
    pub missing: BTreeSet<InternalId>,
    /// Orders that were taken back, or are not there, and still hold a text, which no refund of another order runs then.
    pub stray: BTreeSet<InternalId>,
}

impl HoldersAudit {
    pub fn is_clean(&self) -> bool {
        self.missing.is_empty() && self.stray.is_empty()
    }
}

/// Compares every order with the texts that it holds. Reads every item twice, and what differs again: orders are delivered
/// meanwhile.
pub async fn audit_holders(db: &Db, now: i64) -> Result<HoldersAudit, StoreError> {
    let held = Held::read(db, now).await?;
    let (mut suspects, mut seen) = (BTreeSet::new(), BTreeSet::new());
    let mut frozen: Option<(String, FrozenCommands)> = None;
    each(db, "", |item| {
        let key = key_of(&item)?;
        if keys::is_order(&key) {
            let frozen: FrozenCommands =
                frozen.take().filter(|(pk, _)| *pk == key.pk).map(|(_, it)| it).unwrap_or_default();
            let Some(stored) = noted(StoredOrder::decode(&key, Row::from(item))) else { return Ok(()) };
            if !held.agree_with(&stored, &frozen) {
                suspects.insert(stored.order.internal_id.clone());
            }
            seen.insert(stored.order.internal_id);
        } else if key.pk.starts_with(prefix::ORDER) {
            // The commands of an order come before the order itself.
            frozen = noted(Row::from(item).published(&key)).map(|(commands, _)| (key.pk, commands));
        }
        Ok::<(), StoreError>(())
    })
    .await?;
    suspects.extend(held.by_order.keys().filter(|order| !seen.contains(*order)).cloned());
    if suspects.is_empty() {
        return Ok(HoldersAudit::default());
    }
    let held = Held::read(db, now).await?;
    let mut audit = HoldersAudit::default();
    for id in suspects {
        let Some(stored) = orders::get(db, &id).await? else {
            audit.stray.extend(held.by_order.contains_key(&id).then_some(id));
            continue;
        };
        let frozen = deliveries::frozen(db, &id).await?;
        if held.is_missing(&stored, &frozen) {
            audit.missing.insert(id.clone());
        }
        if held.is_stray(&stored) {
            audit.stray.insert(id);
        }
    }
    Ok(audit)
}

/// The rows of texts that last, and the users who have an account: of an erased one nothing is held.
struct Held {
    rows: BTreeMap<Key, Lasting>,
    /// The lines that hold a text.
    by_order: BTreeMap<InternalId, BTreeSet<u16>>,
    users: BTreeSet<UserId>,
}

impl Held {
    async fn read(db: &Db, now: i64) -> Result<Self, StoreError> {
        let mut read = Self { rows: BTreeMap::new(), by_order: BTreeMap::new(), users: BTreeSet::new() };
        each(db, "", |item| read.add(item, now)).await?;
        Ok(read)
    }

    fn add(&mut self, item: Item, now: i64) -> Result<(), StoreError> {
        let key = key_of(&item)?;
        if keys::is_held(&key) {
            let Some(row) = noted(decode_live::<Lasting>(&key, item)).filter(|row| row.lasts(now)) else {
                return Ok(());
            };
            for holder in row.holders.iter().filter(|holder| !holder.stands_for_several()) {
                self.by_order.entry(holder.order.clone()).or_default().insert(holder.line);
            }
            self.rows.insert(key, row);
        } else if let Some(id) = key.pk.strip_prefix(prefix::USER) {
            self.users.extend(id.parse::<UserId>().ok());
        }
        Ok(())
    }

    fn agree_with(&self, stored: &StoredOrder, frozen: &FrozenCommands) -> bool {
        !self.is_missing(stored, frozen) && !self.is_stray(stored)
    }

    /// Whether a paid order does not hold a text that it should.
    fn is_missing(&self, stored: &StoredOrder, frozen: &FrozenCommands) -> bool {
        let is_held = |text: &Text<'_>| {
            let is_listed = |row: &Lasting| row.is_held_by(&stored.order.internal_id, text.entry.line.line);
            let row = self.rows.get(&text.key);
            !self.users.contains(&text.name.account) || row.is_some_and(|row| row.more > 0 || is_listed(row))
        };
        holds(stored) && !lasting_texts(&delivered(stored), frozen).iter().all(is_held)
    }

    /// Whether a line that was taken back holds a text.
    fn is_stray(&self, stored: &StoredOrder) -> bool {
        let StoredOrder { order, effects } = stored;
        let Some(lines) = self.by_order.get(&order.internal_id).filter(|_| !stored.delivery_due()) else {
            return false;
        };
        let is_returned = |place: &u16| {
            let line = order.lines.get(usize::from(*place));
            line.is_none_or(|line| line.returned > 0 && line.returned >= line.count)
        };
        let step = effects.delivery.as_ref().map(|delivery| delivery.step);
        step != Some(DeliveryStep::Queued) || order.status != OrderStatus::Paid || lines.iter().any(is_returned)
    }
}

/// Whether an order is paid and delivered, so that it holds what takes it back. Of before, and with something left to do, none is.
fn holds(stored: &StoredOrder) -> bool {
    let delivery = stored.effects.delivery.as_ref();
    let is_held = delivery.is_some_and(|delivery| delivery.step == DeliveryStep::Queued && delivery.held > 0);
    is_held && stored.order.status == OrderStatus::Paid && !stored.delivery_due()
}

/// The texts of an order's lines that never end.
fn lasting_texts<'a>(view: &StoredOrder, frozen: &'a FrozenCommands) -> Vec<Text<'a>> {
    let renews = view.effects.subscription.as_ref().is_some_and(OrderSubscription::only_renews);
    let given = if renews { CommandEvent::Renewed } else { CommandEvent::Bought };
    let mut all = texts(view, frozen, &when_paid(frozen, &view.order.lines, given));
    let has_units = |line: u16| view.order.lines.get(usize::from(line)).is_some_and(|line| line.count > 0);
    all.retain(|text| !text.entry.line.expires() && has_units(text.entry.line.line));
    all
}

/// Lets a paid order hold the texts that it does not hold. `false` if it has changed meanwhile, or others have.
pub async fn hold_again(db: &Db, now: i64, id: &InternalId) -> Result<bool, StoreError> {
    let Some(mut stored) = orders::get(db, id).await?.filter(holds) else { return Ok(false) };
    let (view, frozen) = (delivered(&stored), deliveries::frozen(db, id).await?);
    let players = Players::read(db, &stored.order).await?;
    let making =
        Making { stored: &view, frozen: &frozen, players: &players, servers: None, access: None, moves: false, now };
    for text in lasting_texts(&view, &frozen) {
        if making.player(&text.entry).is_none() {
            continue;
        }
        let mut rows = Rows::read(db, std::iter::once(&text), &[]).await?;
        let writes = rows.hold_again(&making, &text)?;
        if writes.is_empty() {
            continue;
        }
        // Nothing of the order has changed since it was read.
        let (mark, next) = stored.set_delivery(stored.effects.delivery.clone().unwrap_or_default())?;
        if !sent(db, [mark].into_iter().chain(writes).collect()).await? {
            return Ok(false);
        }
        stored.effects.delivery = Some(next);
    }
    Ok(true)
}
