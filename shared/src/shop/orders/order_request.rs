//! The lines of an order that is to be recorded, as requested: the operator says what each cost.
//!
//! A checkout's refusals apply to them. What concerns only the payment at a provider (the least amount, the most units at once) is left
//! out: the order is paid elsewhere.

use super::active_version;
use crate::clock::Clock;
use crate::model::{
    Cart, Chosen, Code, CodeText, CouponUses, GiftCardPayment, ItemId, Items, Ledger, Line, LineId, LineVariable,
    Money, OrderLine, PaymentType, Payments, PlayerName, ServerId, User, UserId,
};
use crate::rules::add_line::{LineRefusal, LineToAdd, place};
use crate::rules::cart::PricedLine;
use crate::rules::checkout::{Beneficiary, CheckoutRefusal, Payer, may_own, must_own, recipient_lacks, sale};
use crate::rules::code::{self, AppliedCodes, CodeBuyer, CodeInputs, judge, usable};
use crate::rules::pricing::Buyer;
use crate::rules::sets;
use crate::shop::carts::{CartContext, CartItems, CartSources};
use crate::shop::catalog::ItemPlan;
use crate::shop::codes;
use crate::shop::stock::{Counters, ledgers};
use crate::table::caches::VersionedCache;
use crate::table::keys::{self, Key};
use crate::table::{Db, Rows, StoreError, read_live};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineRequest {
    pub item: ItemId,
    pub count: u32,
    /// The line's total after coupon, in the store's currency.
    pub total: Money,
    /// The account that a gift is for; `None` on every other line, and of a player who has no account yet.
    pub recipient: Option<UserId>,
    pub gift_to: Option<PlayerName>,
    pub variables: Vec<LineVariable>,
    pub server: Option<ServerId>,
}

impl LineRequest {
    pub(super) const fn is_gift(&self) -> bool {
        self.recipient.is_some() || self.gift_to.is_some()
    }

    /// The line as a cart would have it, at a place from 0.
    pub(super) fn in_cart(&self, place: usize) -> Line {
        let payment_type = if self.is_gift() { PaymentType::Gift } else { PaymentType::OneOff };
        let id = LineId::new(u64::try_from(place).unwrap_or_default() + 1);
        Line { payment_type, ..Line::new(id, self.item, self.count) }
    }

    /// [`Self::in_cart`] with what was chosen.
    fn with_choices(&self, place: usize) -> Line {
        Line { variables: self.variables.clone(), server: self.server, ..self.in_cart(place) }
    }

    /// The order's line, with the item's name if it is published.
    fn in_order(&self, place: usize, items: &Items) -> OrderLine {
        let (line, name) = (self.in_cart(place), items.get(&self.item).map(|published| published.item.name.clone()));
        let has_choices = !self.variables.is_empty() || self.server.is_some() || self.gift_to.is_some();
        let chosen = (has_choices || name.is_some()).then(|| Chosen {
            line: line.id,
            name: name.unwrap_or_else(|| self.item.to_string()),
            variables: self.variables.clone(),
            server: self.server,
            gift_to: self.gift_to.clone(),
        });
        let (payment_type, recipient) = (line.payment_type, self.recipient);
        OrderLine { payment_type, recipient, chosen, ..OrderLine::new(self.item, self.count, self.total) }
    }
}

#[derive(Debug, Clone, Copy)]
pub struct OrderRequest<'a> {
    /// The user whose order it is; `None` without one.
    pub owner: Option<UserId>,
    pub lines: &'a [LineRequest],
    pub coupon: Option<&'a CodeText>,
    pub gift_card: Option<&'a GiftCardPayment>,
    /// The second (since 1970 UTC) for which the codes are checked.
    pub at: i64,
    /// Whether it was sold or recorded before, so that it does not matter what a checkout would refuse now.
    pub is_past: bool,
}

/// The lines of an order. Limits are guarded again by the write. Fails if a checkout would refuse the order, unless it was sold before.
pub async fn lines(db: &Db, clock: &dyn Clock, order: &OrderRequest<'_>) -> Result<Vec<OrderLine>, RequestError> {
    let version = active_version(db).await?.version;
    let cache = VersionedCache::default();
    let plan = ItemPlan::new(&cache, &version, order.lines.iter().map(|line| line.item));
    let mut rows = db.batch_get(plan.keys().collect()).await?;
    let items = plan.complete(&mut rows, |_| false)?;
    let mut next = LineId::new(u64::try_from(order.lines.len()).unwrap_or_default().saturating_add(1));
    let expanded = order.lines.iter().enumerate().flat_map(|(place, line)| {
        let head = line.in_order(place, &items);
        match items.get(&line.item) {
            Some(published) => sets::lines(published, &line.with_choices(place), head, &mut next),
            None => vec![head],
        }
    });
    let lines = expanded.collect();
    if !order.is_past {
        check(db, clock, order).await?;
    }
    Ok(lines)
}

/// The reason why an order cannot be sold.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    #[error(
        "this buyer cannot buy item {0} now: it is not on sale, or they own it or a higher step, or the order has one"
    )]
    Unavailable(ItemId),
    #[error("the coupon does not apply now: {0}")]
    Coupon(code::CodeRefusal),
    #[error("the gift card does not apply now: {0}")]
    GiftCard(code::CodeRefusal),
    #[error("item {item}: {refusal}")]
    Line { item: ItemId, refusal: LineRefusal },
    /// A checkout would refuse it.
    #[error(transparent)]
    Checkout(#[from] CheckoutRefusal),
    #[error("the buyer is banned")]
    Banned,
    #[error("there is no user {0}")]
    UnknownUser(UserId),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The buyer of an order without an owner, who has bought nothing.
const GUEST: UserId = UserId::new(0);

pub(super) async fn check(db: &Db, clock: &dyn Clock, order: &OrderRequest<'_>) -> Result<(), RequestError> {
    let (counters, items) = (Counters::new(Duration::ZERO), VersionedCache::default());
    let sources = CartSources { db, items: &items, counters: &counters, clock };
    let lines = order.lines;
    let mut context = context(db, order.owner).await?;
    context.cart.lines = lines.iter().enumerate().map(|(place, line)| line.in_cart(place)).collect();
    let bans = lines.iter().filter_map(|line| Some(keys::ban(line.gift_to.as_ref()?.key())));
    let mut items = context.load_items(&sources, None, bans).await?;
    context.cart.lines.clear();
    for line in lines {
        let placed = place(&context.inputs(&items), &to_add(line, &items));
        let placed = placed.map_err(|refusal| RequestError::Line { item: line.item, refusal })?;
        if !placed.replaced.is_empty() {
            return Err(RequestError::Unavailable(line.item));
        }
        context.cart = placed.cart;
    }
    check_bans(&mut items.rows, lines)?;
    let priced = items.price(&context);
    check_codes(db, order, &priced, context.ledger.has_bought()).await?;
    let payments = Payments { hold_units: u32::MAX, least: Money::ZERO, ..context.active.config.payments.clone() };
    let CartContext { virtual_currency, subscriptions, .. } = &context;
    let (virtual_currency, now) = (*virtual_currency, clock.seconds());
    let payer = Payer { is_proven: true, has_chat: false, virtual_currency, subscriptions, now };
    sale(&priced, &AppliedCodes::default(), &payments, payer)?;
    check_recipients(db, lines, &priced, now).await
}

/// Checks that the codes can be used at the order's time.
async fn check_codes(
    db: &Db,
    order: &OrderRequest<'_>,
    lines: &[PricedLine<'_>],
    has_bought: bool,
) -> Result<(), RequestError> {
    let of_user = order.coupon.zip(order.owner);
    let mut wanted: Vec<Key> = order.coupon.into_iter().map(keys::code).collect();
    wanted.extend(of_user.map(|(code, user)| keys::code_use(code, user)));
    wanted.extend(order.gift_card.map(|payment| keys::code(&payment.code)));
    if wanted.is_empty() {
        return Ok(());
    }
    let mut rows = db.batch_get(wanted).await?;
    if let Some(payment) = order.gift_card {
        let card = codes::take(&mut rows, &payment.code)?.filter(|code| matches!(code, Code::Gift(_)));
        usable(card.as_ref(), CouponUses::default(), order.at).map_err(RequestError::GiftCard)?;
    }
    if let Some(text) = order.coupon {
        let uses = of_user.map_or(Ok(CouponUses::default()), |(code, user)| codes::take_uses(&mut rows, code, user))?;
        let coupon = codes::take(&mut rows, text)?.filter(|code| code.is_for(order.owner));
        let buyer = CodeBuyer { is_proven: true, has_bought };
        let inputs = CodeInputs { lines, buyer, coupon_sum: Money::ZERO, least: Money::ZERO };
        judge(coupon.as_ref(), uses, inputs, order.at).map_err(RequestError::Coupon)?;
    }
    Ok(())
}

async fn context(db: &Db, owner: Option<UserId>) -> Result<CartContext, RequestError> {
    let active = Arc::new(active_version(db).await?);
    let user: Option<User> = match owner {
        Some(owner) => Some(read_live(db, &keys::user(owner)).await?.ok_or(RequestError::UnknownUser(owner))?),
        None => None,
    };
    if user.as_ref().is_some_and(|user| user.banned) {
        return Err(RequestError::Banned);
    }
    let id = owner.unwrap_or(GUEST);
    let mut rows = match owner {
        Some(owner) => db.batch_get(vec![keys::ledger(owner)]).await?,
        None => Rows::default(),
    };
    Ok(CartContext {
        user: id,
        username: user.as_ref().map_or_else(String::new, |user| user.username.clone()),
        virtual_currency: user.as_ref().map_or(Money::ZERO, |user| user.virtual_currency),
        subscriptions: user.map(|user| user.subscriptions).unwrap_or_default(),
        customer: None,
        active,
        cart: Cart::empty(id),
        ledger: ledgers::take(&mut rows, id)?,
        rows,
    })
}

fn to_add(line: &LineRequest, items: &CartItems) -> LineToAdd {
    let is_any_price = items.items.get(&line.item).is_some_and(|published| published.item.any_price);
    let each = line.total.minor() / i64::from(line.count.max(1));
    LineToAdd {
        item: line.item,
        count: line.count,
        variables: line.variables.clone(),
        server: line.server,
        price: is_any_price.then(|| Money::from_minor(each)),
        payment_type: if line.is_gift() { PaymentType::Gift } else { PaymentType::OneOff },
        promoted: false,
        gift_to: line.gift_to.clone(),
        is_recipient_banned: false,
    }
}

fn check_bans(rows: &mut Rows, lines: &[LineRequest]) -> Result<(), RequestError> {
    let mut names = lines.iter().filter_map(|line| line.gift_to.as_ref());
    if names.any(|name| rows.take(&keys::ban(name.key())).is_some()) {
        return Err(CheckoutRefusal::Banned.into());
    }
    Ok(())
}

/// Recipients must not own what is given, nor have reached its limit, and must own what it requires.
async fn check_recipients(
    db: &Db,
    lines: &[LineRequest],
    priced: &[PricedLine<'_>],
    now: i64,
) -> Result<(), RequestError> {
    let accounts = lines.iter().filter_map(|line| Some((Beneficiary::player(line.gift_to.as_ref()?), line.recipient?)));
    let accounts: BTreeMap<Beneficiary, UserId> = accounts.collect();
    for (who, limits) in may_own(priced, now) {
        if who == Beneficiary::Buyer {
            continue;
        }
        let ledger = of_recipient(db, accounts.get(&who)).await?;
        if let Some(over) =
            limits.iter().find(|limit| limit.is_exceeded(Buyer { ledger: &ledger, subscriptions: &[], now }))
        {
            let line = priced.iter().find(|line| line.item().id == over.sold);
            let name = line.map_or_else(|| over.sold.to_string(), |line| line.item().name.clone());
            return Err(CheckoutRefusal::Recipient { name }.into());
        }
    }
    for (who, needed) in must_own(priced) {
        if who == Beneficiary::Buyer {
            continue;
        }
        let ledger = of_recipient(db, accounts.get(&who)).await?;
        let owns = |item: &ItemId| ledger.of(*item).at(now).units > 0;
        if let Some(lacks) = needed.iter().find(|needed| !needed.any_of.iter().any(owns)) {
            let line = priced.iter().find(|line| line.item().id == lacks.sold);
            return Err(line.map_or(CheckoutRefusal::Empty, |line| recipient_lacks(line.item())).into());
        }
    }
    Ok(())
}

/// The ledger of a recipient; a player without an account owns nothing.
async fn of_recipient(db: &Db, account: Option<&UserId>) -> Result<Ledger, StoreError> {
    let Some(user) = account else { return Ok(Ledger::default()) };
    let mut rows = db.batch_get(vec![keys::ledger(*user)]).await?;
    ledgers::take(&mut rows, *user)
}
