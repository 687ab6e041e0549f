//! `order record`: an order paid outside, with everything it takes, in one transaction.

use super::effects::{check_codes, take, user_is_there};
use super::inputs::OrderInputs;
use super::statistics::{Statistics, follow};
use super::stored::{GiftPart, OrderEffects, Stored, merged};
use super::transact::{Change, Sent, Write, send};
use super::verdict::{Cancelled, Refusal, Role};
use super::{RETRIES, ids, pause_before};
use shared::clock::Clock;
use shared::model::{
    CodeText, InternalId, ItemId, MAX_LINES, Money, Order, OrderLine, OrderNumber, OrderStatus, PaymentType, UserId,
};
use shared::store::{Db, StoreError};
use std::collections::BTreeSet;

/// How far ahead of our clock the one that dated an order may be, in seconds.
const CLOCK_SKEW: i64 = 300;

/// The most users that the gifts of one order are for: each takes two of the hundred writes of a transaction.
const MAX_RECIPIENTS: usize = 20;

/// A line of an order to be recorded.
pub type NewLine = OrderLine;

/// An order to be recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewOrder {
    /// The id that buyers and the gateway know it by; `None` makes one.
    pub internal_id: Option<InternalId>,
    /// Its status; only a paid order takes anything.
    pub status: OrderStatus,
    /// What the gateway charged, in minor units of `currency`.
    pub price: Money,
    /// Currency code.
    pub currency: String,
    /// Digits of every amount in the order: the store's.
    pub digits: u8,
    /// Name of the payment gateway.
    pub gateway: String,
    /// Whose it is; nobody's after a guest checkout.
    pub owner: Option<UserId>,
    /// What was bought.
    pub lines: Vec<NewLine>,
    /// The coupon that was used.
    pub coupon: Option<CodeText>,
    /// The gift card that was used, and what is taken from it.
    pub gift_card: Option<GiftPart>,
    /// When it was made, seconds since 1970 UTC; `None` is now.
    pub created_at: Option<i64>,
}

/// What recording came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// The order as it stands in the table.
    pub stored: Stored,
    /// Whether it was there already, so that nothing was taken a second time.
    pub already: bool,
    /// Items that are not published any more: counted, but guarded by no limit.
    pub unguarded: Vec<ItemId>,
    /// Whether the statistics have followed.
    pub statistics: Statistics,
}

/// Why an order is not recorded. Nothing of it is in the table then, unless the database did not answer.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// It cannot be an order.
    #[error("{field} {problem}")]
    Invalid {
        /// The field that is wrong.
        field: &'static str,
        /// What is wrong with it.
        problem: String,
    },
    /// Another order has this id.
    #[error("order {id} is recorded already with another {field}")]
    Differs {
        /// The id.
        id: InternalId,
        /// The first field that differs.
        field: &'static str,
    },
    /// There is no such user.
    #[error("there is no user {0}")]
    UnknownUser(UserId),
    /// A limit, a code or a balance does not allow it.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Other writers kept colliding with this one.
    #[error("others kept writing to the same items; nothing was recorded")]
    Busy,
    /// The system gives no randomness for an id.
    #[error("the system gives no random numbers for an id")]
    NoRandomness,
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Records an order. The same internal id again has no second effect; with other content it is an error.
///
/// # Errors
/// [`RecordError`].
pub async fn record(db: &Db, clock: &dyn Clock, new: NewOrder) -> Result<Recorded, RecordError> {
    check(&new, clock.seconds())?;
    let dated = new.created_at.is_some();
    let mut draft = draft(new, clock.seconds())?;
    let mut numbered = false;
    for round in 0..=RETRIES {
        pause_before(round).await;
        let inputs = OrderInputs::read(db, &draft).await?;
        if let Some(stored) = inputs.stored {
            return already(db, &draft, dated, stored).await;
        }
        if let Some(unknown) = draft.users().difference(&inputs.users).next() {
            return Err(RecordError::UnknownUser(*unknown));
        }
        check_codes(&draft, &inputs)?;
        let (mut writes, unguarded) = effects(&draft, &inputs)?;
        if !numbered {
            draft.order.id = ids::next_number(db).await?;
            numbered = true;
        }
        let put = Write::new(Role::Basis, draft.key(), Change::Put(draft.encode()?));
        writes.insert(0, put.only_if("attribute_not_exists(pk)"));
        match send(db, writes).await? {
            Sent::Written => {
                let statistics = follow(db, &draft.order.internal_id).await;
                let stored = super::show(db, &draft.order.internal_id).await.ok().flatten().unwrap_or(draft);
                return Ok(Recorded { stored, already: false, unguarded, statistics });
            }
            Sent::Cancelled(Cancelled::Refused(refusal)) => return Err(refusal.into()),
            Sent::Cancelled(_) => {}
        }
    }
    Err(RecordError::Busy)
}

/// What a new order writes beside itself.
fn effects(draft: &Stored, inputs: &OrderInputs) -> Result<(Vec<Write>, Vec<ItemId>), Refusal> {
    if draft.order.status != OrderStatus::Paid {
        return Ok((inputs.users.iter().map(|user| user_is_there(*user)).collect(), Vec::new()));
    }
    let taken = take(draft, inputs)?;
    Ok((taken.writes, taken.unguarded))
}

async fn already(db: &Db, draft: &Stored, dated: bool, stored: Stored) -> Result<Recorded, RecordError> {
    if let Some(field) = difference(draft, dated, &stored) {
        return Err(RecordError::Differs { id: stored.order.internal_id, field });
    }
    let statistics = follow(db, &stored.order.internal_id).await;
    Ok(Recorded { stored, already: true, unguarded: Vec::new(), statistics })
}

/// The first field in which an order differs from the one that is recorded. The status may have moved on since.
fn difference(draft: &Stored, dated: bool, stored: &Stored) -> Option<&'static str> {
    let (new, old) = (&draft.order, &stored.order);
    let status = new.status == old.status || Some(new.status) == stored.trace.recorded_as;
    let lines = |order: &Order| merged(&order.lines, |line| Some((line.item, line.recipient)));
    let fields = [
        ("status", status),
        ("price", new.price == old.price),
        ("currency", new.currency == old.currency),
        ("gateway", new.gateway == old.gateway),
        ("owner", new.owner == old.owner),
        ("lines", lines(new) == lines(old)),
        ("coupon", draft.trace.coupon == stored.trace.coupon),
        ("gift card", draft.trace.gift_card == stored.trace.gift_card),
        ("created_at", !dated || new.created_at == old.created_at),
    ];
    fields.into_iter().find(|(_, alike)| !alike).map(|(field, _)| field)
}

fn draft(new: NewOrder, now: i64) -> Result<Stored, RecordError> {
    let internal_id = new.internal_id.or_else(ids::internal_id).ok_or(RecordError::NoRandomness)?;
    let order = Order {
        // Taken once it is known that the order is new.
        id: OrderNumber::new(0),
        internal_id,
        price: new.price,
        currency: new.currency,
        digits: Some(new.digits),
        status: new.status,
        gateway: new.gateway,
        created_at: new.created_at.unwrap_or(now),
        owner: new.owner,
        lines: new.lines,
    };
    let trace = OrderEffects {
        recorded_as: Some(order.status),
        coupon: new.coupon,
        gift_card: new.gift_card,
        counted: Some(false),
        ..OrderEffects::default()
    };
    Ok(Stored { order, trace })
}

/// Refuses what cannot be an order before the table is touched.
fn check(new: &NewOrder, now: i64) -> Result<(), RecordError> {
    let ensure = |holds: bool, field: &'static str, problem: &str| {
        if holds { Ok(()) } else { Err(RecordError::Invalid { field, problem: problem.to_owned() }) }
    };
    let amount = |amount: Money| (Money::ZERO..=Money::LARGEST).contains(&amount);
    if let Some(id) = &new.internal_id {
        let characters = id.as_str().chars().count();
        let problem = format!("must have 1 to {} characters", InternalId::LONGEST);
        let sound = !id.as_str().trim().is_empty() && characters <= InternalId::LONGEST;
        ensure(sound, "internal id", &problem)?;
    }
    ensure(new.lines.len() <= MAX_LINES, "lines", &format!("must be at most {MAX_LINES}"))?;
    ensure(new.lines.iter().all(|line| line.count > 0), "count", "must be at least 1")?;
    let named = |line: &OrderLine| line.recipient.is_some() == (line.payment_type == PaymentType::Gift);
    ensure(new.lines.iter().all(named), "recipient", "must be named for a gift, and for nothing else")?;
    let recipients: BTreeSet<UserId> = new.lines.iter().filter_map(|line| line.recipient).collect();
    let problem = format!("must be at most {MAX_RECIPIENTS} users");
    ensure(recipients.len() <= MAX_RECIPIENTS, "recipient", &problem)?;
    ensure(amount(new.price), "price", "must be an amount that is not below nothing")?;
    let totals = new.lines.iter().all(|line| amount(line.total));
    ensure(totals, "total", "must be an amount that is not below nothing")?;
    ensure(!new.currency.trim().is_empty(), "currency", "must not be blank")?;
    if let Some(part) = &new.gift_card {
        let some = part.amount > Money::ZERO && amount(part.amount);
        ensure(some, "gift card", "must be charged with more than nothing")?;
        let total = new.lines.iter().map(|line| line.total).sum();
        ensure(part.amount <= total, "gift card", "must not be charged with more than the lines cost")?;
        ensure(new.coupon.as_ref() != Some(&part.code), "gift card", "must not be the coupon too")?;
    }
    let dated = new.created_at.is_none_or(|at| (0..=now.saturating_add(CLOCK_SKEW)).contains(&at));
    ensure(dated, "created_at", "must not lie in the future, nor before 1970")
}
