//! Moving an order, or a gift line of it, to another player: a buyer typed a wrong name (rules.md, "Moved orders"). Ownership
//! and the player change in one transaction with the first mark of the delivery. Statistics and delivery follow from what is
//! stored, so that whoever repeats the call, and the sweep, continue where another one stopped.

use super::StoredOrder;
use super::change::{account, after_at_once};
use super::effects::{Limits, OrderInputs, move_between};
use super::refusal::{Guarded, Limit, OrderRefusal};
use crate::clock::Clock;
use crate::model::{
    DeliveryStep, InternalId, Ledger, LeftRun, LineId, Moving, Order, OrderDelivery, OrderLine, OrderStatus,
    OrderSubscription, PlayerName, User, UserId, UserName,
};
use crate::rules::dispute::takes_back;
use crate::rules::order::less_returned;
use crate::rules::ownership::with_terms;
use crate::rules::refund::line_id;
use crate::shop::accounts::{self, names};
use crate::shop::stock::ledgers;
use crate::shop::subscriptions::of_orders::{NotMoved, move_to};
use crate::shop::{delivery, orders};
use crate::table::transaction::{Write, send_guarded};
use crate::table::{Db, StoreError, in_turns, keys};
use std::collections::BTreeMap;

/// How often an order is looked at while other processes change it.
const MOVE_TURNS: u32 = 8;

/// The player to whom an order is moved: an account, or a name that has none yet.
#[derive(Debug, Clone)]
pub struct NewPlayer {
    pub user: Option<UserId>,
    pub name: Option<PlayerName>,
}

/// The reason for which an order is not moved.
#[derive(Debug, thiserror::Error)]
pub enum MoveError {
    #[error("there is no order {0}")]
    Unknown(InternalId),
    #[error("the order is {}", .0.as_str())]
    Status(OrderStatus),
    /// A dispute takes it back; its state in the provider's words.
    #[error("its payment is disputed ({0})")]
    Disputed(String),
    #[error("it needs an operator")]
    InReview,
    #[error("it was bought without an account")]
    NoPlayer,
    #[error("the order has no line {0}")]
    NoLine(LineId),
    #[error("line {0} is not a gift")]
    NotAGift(LineId),
    #[error("every line of it is a gift")]
    OnlyGifts,
    #[error("there is no such player")]
    NoAccount,
    /// A limit of the new player does not allow it, or the name is banned.
    #[error(transparent)]
    Refused(OrderRefusal),
    #[error("the player has this subscription, or another rank of its category, already")]
    Subscribed,
    #[error("it pays an older period of its subscription; the newest is order {0}")]
    Older(InternalId),
    #[error("commands that take something back for it are still on their way to a game server")]
    OnItsWay,
    #[error(transparent)]
    Store(#[from] StoreError),
}

crate::table::lost_race!(MoveError);

/// The outcome of a move.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    pub stored: StoredOrder,
    /// Whether this call moved it; if not, another one had.
    pub is_new: bool,
}

/// Moves an order to another player: with `line` that gift, without it what is not a gift. The payer stays. With `force` no
/// limit per user counts. After an error the same call may be repeated at any time, and moves once.
pub async fn move_order(
    db: &Db,
    clock: &dyn Clock,
    id: &InternalId,
    line: Option<LineId>,
    to: &NewPlayer,
    force: bool,
) -> Result<Moved, MoveError> {
    // The moved order, and whether this call has written it.
    let (stored, is_new) = in_turns(MOVE_TURNS, || async {
        let stored = read(db, id).await?;
        let places = moved_lines(&stored.order, line)?;
        if let Some(known) = known(db, to).await?
            && player_of(&stored.order, &places) == Some(known)
        {
            return Ok((stored, false));
        }
        check(&stored)?;
        if has_steps_left(&stored) {
            // What is being queued, or taken back, is so for the player before.
            if !delivery::follow(db, clock, &stored).await? {
                return Err(MoveError::OnItsWay);
            }
            return Err(StoreError::Contended.into());
        }
        let user = match known(db, to).await? {
            Some(user) => user,
            None => match &to.name {
                Some(name) => account(db, clock, name).await?.ok_or(MoveError::Refused(OrderRefusal::Banned))?,
                None => return Err(MoveError::NoAccount),
            },
        };
        let player = accounts::read(db, std::iter::once(user)).await?.remove(&user).ok_or(MoveError::NoAccount)?;
        let limits = if force { Limits::Ignored } else { Limits::Guarded };
        write(db, clock, &stored, &places, (&player, to.name.as_ref()), limits).await?;
        Ok((read(db, id).await?, true))
    })
    .await?;
    Ok(Moved { stored: after_at_once(db, clock, stored).await, is_new })
}

async fn read(db: &Db, id: &InternalId) -> Result<StoredOrder, MoveError> {
    orders::get(db, id).await?.ok_or_else(|| MoveError::Unknown(id.clone()))
}

/// The account of a new player; `None` if it is not made yet.
async fn known(db: &Db, to: &NewPlayer) -> Result<Option<UserId>, StoreError> {
    match (to.user, &to.name) {
        (Some(user), _) => Ok(Some(user)),
        (None, Some(name)) => names::owner(db, name.key()).await,
        (None, None) => Ok(None),
    }
}

/// The places of the lines that a move is about.
pub fn moved_lines(order: &Order, line: Option<LineId>) -> Result<Vec<u16>, MoveError> {
    let mut all = (0_u16..).zip(&order.lines);
    let Some(wanted) = line else {
        let own: Vec<u16> = all.filter(|(_, line)| !line.is_gift()).map(|(place, _)| place).collect();
        return match (own.is_empty(), order.owner) {
            (true, _) => Err(MoveError::OnlyGifts),
            (false, None) => Err(MoveError::NoPlayer),
            (false, Some(_)) => Ok(own),
        };
    };
    let found = all.find(|(place, line)| line_id(usize::from(*place), line) == wanted);
    let (place, line) = found.ok_or(MoveError::NoLine(wanted))?;
    if !line.is_gift() {
        return Err(MoveError::NotAGift(wanted));
    }
    // A bundle moves with its parts.
    let parts = (0_u16..).zip(&order.lines).filter(|(_, part)| part.bundle.is_some_and(|of| of.line == wanted));
    Ok(std::iter::once(place).chain(parts.map(|(place, _)| place)).collect())
}

/// The player of lines that are moved together.
pub fn player_of(order: &Order, places: &[u16]) -> Option<UserId> {
    places.first().and_then(|place| order.lines.get(usize::from(*place)))?.beneficiary(order.player())
}

/// Whether an order can be moved as it is.
pub fn check(stored: &StoredOrder) -> Result<(), MoveError> {
    if stored.order.status != OrderStatus::Paid {
        return Err(MoveError::Status(stored.order.status));
    }
    if let Some(dispute) = stored.effects.dispute.as_ref().filter(|dispute| takes_back(dispute)) {
        return Err(MoveError::Disputed(dispute.clone()));
    }
    if stored.effects.review.is_some() { Err(MoveError::InReview) } else { Ok(()) }
}

/// Whether the delivery is neither all queued nor all taken back.
fn has_steps_left(stored: &StoredOrder) -> bool {
    let is_at_rest = |delivery: &OrderDelivery| match delivery.step {
        DeliveryStep::Queued => delivery.units.is_empty(),
        DeliveryStep::Over => true,
        _ => false,
    };
    !stored.effects.delivery.as_ref().is_none_or(is_at_rest)
}

/// Writes a move with everything that changes with it. `false` if something changed in between.
async fn write(
    db: &Db,
    clock: &dyn Clock,
    stored: &StoredOrder,
    places: &[u16],
    (player, typed): (&User, Option<&PlayerName>),
    limits: Limits,
) -> Result<(), MoveError> {
    let now = clock.seconds();
    let from = player_of(&stored.order, places);
    let (ledgers, subscription) =
        tokio::try_join!(read_ledgers(db, [from, Some(player.id)]), move_to(db, stored, player.id, now))?;
    let subscription = subscription.map_err(|refusal| match refusal {
        NotMoved::Older(newest) => MoveError::Older(newest),
        NotMoved::Subscribed => MoveError::Subscribed,
    })?;
    let after = after(stored, places, (player, typed), &ledgers);
    let changed = StoredOrder { order: after.clone(), effects: stored.effects.clone() };
    let inputs = OrderInputs { ledgers, ..OrderInputs::read(db, &changed).await? };
    let moving = moving(stored, places);
    let begun = moving.map(|next| stored.begin_delivery(next, now)).transpose()?;
    let (with, others) = begun.map_or((None, Vec::new()), |(own, others)| (Some(own), others));
    let mut writes: Vec<Guarded> = Vec::new();
    if subscription.is_empty() {
        writes.push(accounts::must_exist(player.id).into());
    }
    let own = stored.move_lines(&after, now, with)?;
    writes.extend(own.into_iter().chain(others).chain(subscription).map(Guarded::from));
    let [before, then] = [&stored.order, &after].map(|order| lines_at(&less_returned(order, &stored.effects), places));
    writes.extend(move_between(&before, &then, &inputs, limits, now).map_err(MoveError::Refused)?);
    if player.banned {
        return Err(MoveError::Refused(OrderRefusal::Banned));
    }
    if let Ok(name) = UserName::parse(&player.username) {
        writes.push(Write::check(keys::ban(&name)).only_if_absent().guarded_by(Limit::Ban));
    }
    send_guarded(db, writes).await?.map_err(MoveError::Refused)
}

async fn read_ledgers(db: &Db, of: [Option<UserId>; 2]) -> Result<BTreeMap<UserId, Ledger>, StoreError> {
    let of = of.into_iter().flatten();
    let mut rows = db.batch_get(of.clone().map(keys::ledger).collect()).await?;
    ledgers::take_existing(&mut rows, of)
}

fn lines_at(order: &Order, places: &[u16]) -> Order {
    let lines = (0_u16..).zip(&order.lines).filter(|(place, _)| places.contains(place));
    Order { lines: lines.map(|(_, line)| line.clone()).collect(), ..order.clone() }
}

/// The delivery that begins to move lines; `None` if nothing was delivered, or all of it is taken back.
fn moving(stored: &StoredOrder, places: &[u16]) -> Option<OrderDelivery> {
    let delivery = stored.effects.delivery.clone().filter(|delivery| delivery.step == DeliveryStep::Queued)?;
    let gift = places.last().and_then(|place| stored.order.lines.get(usize::from(*place)));
    let gift = gift.filter(|line| line.is_gift());
    let moving = Moving {
        lines: places.to_vec(),
        from: gift.map_or(stored.order.moved_to, |gift| gift.recipient),
        gift_to: gift.and_then(|gift| gift.chosen.as_ref()?.gift_to.clone()),
        restart: stored.effects.subscription.as_ref().is_some_and(|own| own.restart),
        season: None,
    };
    Some(OrderDelivery { step: DeliveryStep::Recall, next: 0, moving: Some(moving), ..delivery })
}

/// The order with lines that are another player's, as if they had been from the beginning.
fn after(
    stored: &StoredOrder,
    places: &[u16],
    (player, typed): (&User, Option<&PlayerName>),
    ledgers: &BTreeMap<UserId, Ledger>,
) -> Order {
    let from = player_of(&stored.order, places);
    let mut after = stored.order.clone();
    let period = stored.effects.subscription.clone();
    // It gives the new player what a subscription gives at its beginning.
    let period = period.map(|period| OrderSubscription { restart: period.renewal, ..period });
    let is_gift =
        places.iter().any(|place| stored.order.lines.get(usize::from(*place)).is_some_and(OrderLine::is_gift));
    if !is_gift {
        after.moved_to = Some(player.id).filter(|id| stored.order.owner != Some(*id));
    }
    for place in places {
        let Some(line) = after.lines.get_mut(usize::from(*place)) else { continue };
        let since = line.paid_at(&stored.order);
        let left = from.zip(line.term).map(|(user, term)| LeftRun { user, begun: term.begun });
        if let Some(run) = left.filter(|run| !line.left.contains(run)) {
            line.left.push(run);
        }
        line.since = Some(since);
        if is_gift {
            line.recipient = Some(player.id);
            if let Some(chosen) = &mut line.chosen {
                chosen.gift_to = typed.cloned().or_else(|| PlayerName::parse(&player.username).ok());
            }
        }
        let alone = Order { lines: vec![line.clone()], moved_to: after.moved_to, ..stored.order.clone() };
        line.term = with_terms(&alone, ledgers, period.as_ref(), since).pop().and_then(|line| line.term);
    }
    after
}
