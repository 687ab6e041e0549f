//! Recording an order, with everything it takes, in one transaction.

use super::change::{Step, after_at_once, with_accounts};
use super::counted::find_places;
use super::effects::{OrderInputs, Taken, changes, check_codes, users_exist};
use super::lists::OwnedOrder;
use super::refusal::{Guarded, OrderRefusal};
use super::{Payment, StoredOrder, lists, new_internal_id, next_number};
use crate::clock::Clock;
use crate::model::{
    CodeText, GiftCardPayment, InternalId, ItemId, Ledger, Money, Order, OrderEffects, OrderLine, OrderNumber,
    OrderStatus, PaymentType, ProviderAccount, ProviderCheckout, PublishedItem, Tax, UserId,
};
use crate::rules::order::{merged, users};
use crate::rules::ownership::with_terms;
use crate::shop::delivery::freeze;
use crate::shop::orders;
use crate::table::transaction::send_guarded;
use crate::table::{Db, StoreError, TURNS, in_turns};
use std::collections::BTreeSet;

/// How many seconds an order's date may be ahead of our clock.
const CLOCK_SKEW: i64 = 300;

/// An order that is older in seconds is recorded late, and tells the owner nothing.
const TOLD_OF: i64 = 86_400;

/// Whether an order was so old when it was recorded as paid that the owner is told nothing.
pub(in crate::shop) fn is_recorded_late(stored: &StoredOrder) -> bool {
    let recorded_at = stored.effects.paid_at.filter(|_| stored.effects.recorded_as == Some(OrderStatus::Paid));
    recorded_at.is_some_and(|at| stored.order.created_at <= at - TOLD_OF)
}

/// The most recipients of an order's gifts: each takes two of the hundred writes of a transaction.
const MAX_RECIPIENTS: usize = 18;

/// A checkout that was paid at a provider and whose order is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaidCheckout {
    /// The order that the checkout was made for.
    pub order: InternalId,
    pub session: String,
    /// The amount, in minor units of `currency`.
    pub amount: Money,
    /// Currency code, in capitals.
    pub currency: String,
    pub intent: String,
    pub account: ProviderAccount,
    pub tax: Tax,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewOrder {
    /// The id that buyers and the gateway use; `None` creates one.
    pub internal_id: Option<InternalId>,
    /// The status. Only a paid order takes units, uses and balance.
    pub status: OrderStatus,
    /// The amount that the gateway charged, in minor units of `currency`.
    pub price: Money,
    pub currency: String,
    /// Digits of every amount in the order: the store's.
    pub digits: u8,
    pub gateway: String,
    /// The user whose order it is; `None` after a guest checkout.
    pub owner: Option<UserId>,
    pub lines: Vec<OrderLine>,
    pub coupon: Option<CodeText>,
    pub gift_card: Option<GiftCardPayment>,
    /// When it was created, seconds since 1970 UTC; `None` is now.
    pub created_at: Option<i64>,
    /// The provider's payment; `None` if it was paid elsewhere.
    pub payment: Option<PaidCheckout>,
    /// Whether its commands run on game servers when it is paid.
    pub delivers: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    pub stored: StoredOrder,
    /// Whether it was recorded before, so that nothing was taken a second time.
    pub already: bool,
    /// Items that are no longer published: counted, but not guarded by a limit.
    pub unguarded: Vec<ItemId>,
}

/// The reason why an order is not recorded. Nothing of it is in the table then, unless the database did not respond.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    #[error("{field} {problem}")]
    Invalid { field: &'static str, problem: String },
    #[error("order {id} is recorded already, and differs in: {field}")]
    Differs {
        id: InternalId,
        /// The first field that differs.
        field: &'static str,
    },
    #[error("there is no user {0}")]
    UnknownUser(UserId),
    /// A limit, a code or a balance does not allow it.
    #[error(transparent)]
    Refused(#[from] OrderRefusal),
    #[error("the system has no random numbers for an id")]
    NoRandomness,
    #[error(transparent)]
    Store(#[from] StoreError),
}

crate::table::lost_race!(RecordError);

/// Records an order. Recording the same internal id again has no second effect; with other content it is an error.
pub async fn record(db: &Db, clock: &dyn Clock, new: NewOrder) -> Result<Recorded, RecordError> {
    check(&new, clock.seconds())?;
    let (dated, delivers) = (new.created_at.is_some(), new.delivers);
    let draft = draft(new, clock.seconds())?;
    in_turns(TURNS, || async {
        let mut draft = draft.clone();
        if let Some(stored) = orders::get(db, &draft.order.internal_id).await? {
            return already(db, clock, &draft, dated, stored).await;
        }
        let mut inputs = OrderInputs::read(db, &draft).await?;
        if let Some(unknown) = users(&draft.order).difference(&inputs.users).next() {
            return Err(RecordError::UnknownUser(*unknown));
        }
        if let Some(lines) = with_accounts(db, clock, &draft.order).await? {
            draft.order.lines = lines;
            inputs = OrderInputs::read(db, &draft).await?;
        }
        if draft.order.lines.iter().any(|line| line.payment_type == PaymentType::Gift && line.recipient.is_none()) {
            return Err(OrderRefusal::Banned.into());
        }
        check_codes(&draft, &inputs)?;
        let owned = draft.order.owner.and_then(|owner| inputs.ledgers.get(&owner));
        draft.effects.first_purchase = draft.order.owner.is_some() && !owned.is_some_and(Ledger::has_bought);
        for line in &mut draft.order.lines {
            line.lasts = inputs.items.get(&line.item).and_then(PublishedItem::unit_lasts);
        }
        if draft.order.status == OrderStatus::Paid {
            // What was sold before ends as long after that.
            let since = if delivers { clock.seconds() } else { draft.order.created_at };
            draft.order.lines = with_terms(&draft.order, &inputs.ledgers, None, since);
            find_places(db, &mut draft.order, &inputs, (clock.seconds(), true)).await?;
        }
        let Taken { mut writes, unguarded } = match draft.order.status {
            OrderStatus::Paid => changes(&draft, &inputs, &Step::to(OrderStatus::Paid, clock.seconds()), None)?,
            _ => Taken { writes: users_exist(&inputs, None), unguarded: Vec::new() },
        };
        draft.order.id = next_number(db).await?;
        if delivers {
            writes.extend(freeze(&mut draft, &inputs.items, &inputs.delivery)?.map(Guarded::from));
        }
        // Its commands are queued at once, or by the sweep.
        draft.effects.due = draft.delivery_due().then(|| clock.seconds());
        writes.extend(draft.due_rows(draft.effects.due)?.into_iter().map(Guarded::from));
        writes.insert(0, draft.put_new()?.into());
        writes.extend(OwnedOrder::put(&draft.order)?.map(Guarded::from));
        writes.extend(lists::put(&draft)?.into_iter().map(Guarded::from));
        writes.extend(draft.intent().map(|intent| Payment::put(&draft.order, intent)).transpose()?.map(Guarded::from));
        if draft.order.status == OrderStatus::Paid && !is_recorded_late(&draft) {
            writes.extend(inputs.telling.paid(&draft, clock.seconds())?.map(Guarded::from));
        }
        send_guarded(db, writes).await??;
        Ok(Recorded { stored: after_at_once(db, clock, draft).await, already: false, unguarded })
    })
    .await
}

/// The result for an order that was recorded before.
async fn already(
    db: &Db,
    clock: &dyn Clock,
    draft: &StoredOrder,
    dated: bool,
    stored: StoredOrder,
) -> Result<Recorded, RecordError> {
    if let Some(field) = difference(draft, dated, &stored) {
        return Err(RecordError::Differs { id: stored.order.internal_id, field });
    }
    Ok(Recorded { stored: after_at_once(db, clock, stored).await, already: true, unguarded: Vec::new() })
}

/// The first field in which an order differs from the one that is recorded. The status may have changed since.
fn difference(draft: &StoredOrder, dated: bool, stored: &StoredOrder) -> Option<&'static str> {
    let (new, old) = (&draft.order, &stored.order);
    let status = new.status == old.status || Some(new.status) == stored.effects.recorded_as;
    // The order of a checkout that was not recorded is another one, also if the provider's session is the same.
    let is_same_payment = draft.effects.provider.is_none()
        || (draft.session() == stored.session() && stored.effects.recorded_as == draft.effects.recorded_as);
    let choices = |line: &OrderLine| {
        let chosen = line.chosen.as_ref()?;
        let variables: Vec<_> = chosen.variables.iter().map(|variable| (variable.id, variable.value.clone())).collect();
        (!variables.is_empty() || chosen.server.is_some()).then_some((variables, chosen.server))
    };
    let lines = |order: &Order| {
        // Units may have been refunded since.
        let whole = order.lines.iter().map(|line| OrderLine { returned: 0, ..line.clone() });
        merged(&whole.collect::<Vec<_>>(), |line| Some((line.item, line.recipient, choices(line))))
    };
    let fields = [
        ("payment", is_same_payment),
        ("status", status),
        ("price", new.price == old.price),
        ("currency", new.currency == old.currency),
        ("gateway", new.gateway == old.gateway),
        ("owner", new.owner == old.owner),
        ("lines", lines(new) == lines(old)),
        ("coupon", draft.effects.coupon == stored.effects.coupon),
        ("gift card", draft.effects.gift_card == stored.effects.gift_card),
        ("created_at", !dated || new.created_at == old.created_at),
    ];
    fields.into_iter().find(|(_, equal)| !equal).map(|(field, _)| field)
}

fn draft(new: NewOrder, now: i64) -> Result<StoredOrder, RecordError> {
    let internal_id = new.internal_id.or_else(new_internal_id).ok_or(RecordError::NoRandomness)?;
    let order = Order {
        // Reserved once it is known that the order is new.
        id: OrderNumber::new(0),
        internal_id,
        price: new.price,
        currency: new.currency,
        digits: new.digits,
        status: new.status,
        gateway: new.gateway,
        created_at: new.created_at.unwrap_or(now),
        owner: new.owner,
        moved_to: None,
        lines: new.lines,
        tax: None,
    };
    let card = new.gift_card.as_ref().map_or(Money::ZERO, |part| part.amount);
    let tax = new.payment.as_ref().map(|paid| paid.tax.clone()).filter(|tax| tax.amount > Money::ZERO);
    let tax = tax.map(|tax| Tax { on_top: order.total().less(card) + tax.amount == order.price, ..tax });
    let order = Order { tax, ..order };
    let at = order.created_at;
    let provider = new.payment.map(|paid| ProviderCheckout::paid(paid.session, Some(paid.intent), paid.account, at));
    let effects = OrderEffects {
        provider,
        recorded_as: Some(order.status),
        coupon: new.coupon,
        gift_card: new.gift_card,
        counted: Some(false),
        paid_at: (order.status == OrderStatus::Paid).then_some(now),
        refunded_at: (order.status == OrderStatus::Refunded).then_some(at),
        ..OrderEffects::default()
    };
    Ok(StoredOrder { order, effects })
}

/// Refuses an invalid order before anything is read.
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
    let problem = format!("must be at most {}", Order::MAX_LINES);
    ensure(new.lines.len() <= Order::MAX_LINES, "lines", &problem)?;
    ensure(new.lines.iter().all(|line| line.count > 0), "count", "must be at least 1")?;
    let name = |line: &OrderLine| line.chosen.as_ref()?.gift_to.as_ref().map(|name| name.key().to_string());
    let named = |line: &OrderLine| {
        (line.recipient.is_some() || name(line).is_some()) == (line.payment_type == PaymentType::Gift)
    };
    ensure(new.lines.iter().all(named), "recipient", "must be given for a gift, and only for a gift")?;
    let recipients: BTreeSet<(Option<UserId>, Option<String>)> = new
        .lines
        .iter()
        .filter(|line| line.payment_type == PaymentType::Gift)
        .map(|line| (line.recipient, name(line).filter(|_| line.recipient.is_none())))
        .collect();
    let problem = format!("must be at most {MAX_RECIPIENTS} users");
    ensure(recipients.len() <= MAX_RECIPIENTS, "recipient", &problem)?;
    ensure(amount(new.price), "price", "must not be negative, nor above the largest amount")?;
    let totals = new.lines.iter().all(|line| amount(line.total));
    ensure(totals, "total", "must not be negative, nor above the largest amount")?;
    ensure(!new.currency.trim().is_empty(), "currency", "must not be blank")?;
    if let Some(part) = &new.gift_card {
        let some = part.amount > Money::ZERO && amount(part.amount);
        ensure(some, "gift card", "must be charged with more than zero")?;
        let total = new.lines.iter().map(|line| line.total).sum();
        ensure(part.amount <= total, "gift card", "must not be charged with more than the lines cost")?;
        ensure(new.coupon.as_ref() != Some(&part.code), "gift card", "must not be the coupon too")?;
    }
    let dated = new.created_at.is_none_or(|at| (0..=now.saturating_add(CLOCK_SKEW)).contains(&at));
    ensure(dated, "created_at", "must not be in the future, nor before 1970")
}
