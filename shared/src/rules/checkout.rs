//! The sale of a checkout: the lines, their totals and the bill (rules.md, "Checkout").

use super::add_line::{ALREADY_SUBSCRIBED, SUBSCRIPTION_NOT_ALONE};
use super::cart::{PricedLine, missing};
use super::code::{Applied, AppliedCodes};
use super::command_servers::{MOST_COMMANDS, MOST_PER_UNIT, are_too_many, runs_per_unit};
use super::first_day::FirstDay;
use super::limits::Standing;
use super::pricing::{Buyer, is_cumulative};
use super::sets;
use super::sets::{Hindrance, required};
use crate::model::{
    Cart, Chosen, Code, CodeText, GiftCardPayment, Item, ItemId, LineId, Money, OrderLine, PaymentType, Payments,
    PlayerName, PriceTier, StoreDelivery, UserSubscription,
};
use crate::money::date_and_time;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// The largest amount of a line and of a checkout: what payment providers take.
pub const LARGEST_CHARGE: Money = Money::from_minor(99_999_999);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sale {
    /// The lines, with their totals after coupon.
    pub lines: Vec<OrderLine>,
    /// The coupon; `None` if it takes nothing off.
    pub coupon: Option<CodeText>,
    pub gift_card: Option<GiftCardPayment>,
    /// The amount to be paid in virtual currency.
    pub virtual_currency: Money,
    pub price: Money,
}

/// The payer, as far as that decides what can be bought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Payer<'a> {
    /// Whether the login proves more than a name (rules.md, "Tokens").
    pub is_proven: bool,
    /// Whether the buyer has completed the chat login.
    pub has_chat: bool,
    pub virtual_currency: Money,
    pub subscriptions: &'a [UserSubscription],
    /// The current second.
    pub now: i64,
}

/// The reason why a checkout of a cart does not begin, as a sentence for the buyer. [`sale`] checks first a subscription, then each
/// line by itself, units, and amounts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CheckoutRefusal {
    #[error("Your cart is empty.")]
    Empty,
    #[error("{SUBSCRIPTION_NOT_ALONE}")]
    SubscriptionNotAlone,
    #[error("{ALREADY_SUBSCRIBED}")]
    AlreadySubscribed,
    /// A login that proves only a name has one subscription at a time (rules.md, "Subscriptions").
    #[error("You have a subscription already. Log in in the game to have more than one.")]
    OneSubscription,
    #[error("\"{name}\" is not complete: {missing}")]
    Incomplete {
        name: String,
        /// The missing part, as a sentence.
        missing: String,
    },
    /// No units are left: before the cart was read, or taken by others since.
    #[error("\"{name}\" is sold out.")]
    SoldOut { name: String },
    #[error("\"{name}\" is sold out for the selected server. Select another one.")]
    SoldOutOnServer { name: String },
    #[error("\"{name}\" cannot be bought now. Remove it from your cart.")]
    Unavailable { name: String },
    /// A limit in time is reached, or its sale has not begun.
    #[error("\"{name}\" can be bought from {} UTC. Remove it from your cart until then.", date_and_time(*.at))]
    Later {
        name: String,
        /// Seconds since 1970 UTC.
        at: i64,
    },
    #[error("\"{name}\" cannot be bought: {why}.")]
    Hindered { name: String, why: Hindrance },
    #[error("\"{name}\" needs a linked chat account. Log in to the chat first.")]
    NoChat { name: String },
    #[error("Only {left} of \"{name}\" can still be bought.")]
    Left {
        name: String,
        /// The units that are left.
        left: u64,
    },
    #[error("Only {left} of \"{name}\" can still be bought for the selected server.")]
    LeftOnServer {
        name: String,
        /// The units that are left.
        left: u64,
    },
    #[error("At most {most} of \"{name}\" can be bought at once.")]
    AtOnce {
        name: String,
        /// The most units.
        most: u32,
    },
    #[error("\"{name}\" cannot be given: its recipient owns it, or would have more than the limit.")]
    Recipient { name: String },
    #[error(
        "Your coupon is for a first purchase, and the player who gets \"{name}\" has bought before. Remove the coupon, or the gift."
    )]
    FirstPurchase { name: String },
    #[error("\"{name}\" cannot be given: its recipient does not own {needed}.")]
    RecipientLacks {
        name: String,
        /// The names of what is required.
        needed: String,
    },
    #[error("A player that a gift is for is banned.")]
    Banned,
    #[error("Virtual currency needs a login proven in the game.")]
    NotProven,
    #[error("You do not have enough virtual currency.")]
    VirtualCurrency,
    #[error("One order can run at most {MOST_COMMANDS} commands on game servers. Remove something from your cart.")]
    TooManyCommands,
    #[error(
        "One order can have at most {} lines and parts of bundles. Remove something from your cart.",
        Cart::MAX_LINES
    )]
    TooManyLines,
    /// A line or the total is above [`LARGEST_CHARGE`].
    #[error("The amount is too large to be paid at once.")]
    TooLarge,
    #[error("The amount is below the least that can be paid.")]
    BelowLeast {
        /// The least amount.
        least: Money,
    },
    /// A code on the cart no longer applies. It has been removed.
    #[error("The code on your cart no longer applies and was removed.")]
    CodeRemoved {
        /// The price of the cart without it.
        total: Money,
    },
    #[error("Please enter your gift card {masked} again before you pay. It was entered by another login.")]
    CardOfAnotherLogin {
        /// Its text, as such a login is shown it.
        masked: String,
    },
    #[error("Your last payment is being processed.")]
    Processing,
    /// The address has begun too many checkouts.
    #[error("Too many attempts.")]
    TooManyAttempts {
        /// Seconds until it may begin another one.
        retry_seconds: u64,
    },
    #[error("Too many payments of limited items or coupons are open at your address. Finish one, or try again later.")]
    TooManyOpen {
        /// Seconds until one of them no longer counts.
        retry_seconds: u64,
    },
    /// Payments of the address were refused, three within an hour.
    #[error("Several payments from your internet address were refused.")]
    RefusedPayments {
        /// Seconds until it may begin another checkout.
        retry_seconds: u64,
    },
    #[error("To guard against stolen cards, only so much can be paid on a first day.")]
    FirstDay(FirstDay),
}

/// The sale of a checkout of a cart. `lines` are the cart's priced lines, `codes` those on it that apply; what the
/// buyer's own checkout holds does not count in their availability. Fails with the first [`CheckoutRefusal`].
pub fn sale(
    lines: &[PricedLine<'_>],
    codes: &AppliedCodes<'_>,
    payments: &Payments,
    payer: Payer<'_>,
) -> Result<Sale, CheckoutRefusal> {
    if lines.is_empty() {
        return Err(CheckoutRefusal::Empty);
    }
    check_subscription(lines, payer)?;
    lines.iter().try_for_each(|line| check_line(line, payer))?;
    check_units(lines, payments)?;
    let mut next = first_free(lines);
    let discounted = lines.iter().zip(discounts(lines, codes));
    let sold = discounted.flat_map(|(line, off)| {
        let head = order_line(line, off);
        sets::lines(line.published, line.line, head, &mut next)
    });
    let sold: Vec<OrderLine> = sold.collect();
    if sold.len() > Cart::MAX_LINES {
        return Err(CheckoutRefusal::TooManyLines);
    }
    let sale = Sale {
        lines: sold,
        coupon: used(codes.coupon.as_ref()).map(|applied| applied.code.text().clone()),
        gift_card: used(codes.gift_card.as_ref())
            .map(|applied| GiftCardPayment { code: applied.code.text().clone(), amount: applied.sum }),
        virtual_currency: virtual_price(lines),
        price: Money::ZERO,
    };
    check_amounts(sale, payments, payer)
}

/// The first id after those of a cart's lines.
fn first_free(lines: &[PricedLine<'_>]) -> LineId {
    let last = lines.iter().map(|line| line.line.id.get()).max().unwrap_or_default();
    LineId::new(last.saturating_add(1))
}

/// Whether an order of these lines makes no more commands than one may, and no line more for its units.
pub fn check_commands(lines: &[PricedLine<'_>], delivery: &StoreDelivery) -> Result<(), CheckoutRefusal> {
    let mut large = lines.iter().filter(|line| line.count > MOST_PER_UNIT);
    if let Some(line) = large.find(|line| line.given().any(|(given, _)| runs_per_unit(given, delivery))) {
        return Err(CheckoutRefusal::AtOnce { name: line.item().name.clone(), most: MOST_PER_UNIT });
    }
    let given = lines.iter().flat_map(|line| line.given().map(|(given, _)| (given, line.line)));
    let are_too_many = are_too_many(given, delivery);
    if are_too_many { Err(CheckoutRefusal::TooManyCommands) } else { Ok(()) }
}

/// Checks what concerns only a cart with a subscription. A line whose item is a subscription no more is not one.
fn check_subscription(lines: &[PricedLine<'_>], payer: Payer<'_>) -> Result<(), CheckoutRefusal> {
    let Some(line) = lines.iter().find(|line| line.item().is_subscription) else { return Ok(()) };
    let mut current = payer.subscriptions.iter().filter(|subscription| subscription.has_access(payer.now));
    if lines.len() > 1 {
        return Err(CheckoutRefusal::SubscriptionNotAlone);
    }
    if current.clone().any(|subscription| subscription.item == line.item().id) {
        return Err(CheckoutRefusal::AlreadySubscribed);
    }
    if !payer.is_proven && current.next().is_some() {
        return Err(CheckoutRefusal::OneSubscription);
    }
    Ok(())
}

fn check_line(line: &PricedLine<'_>, payer: Payer<'_>) -> Result<(), CheckoutRefusal> {
    let item = line.item();
    let name = || item.name.clone();
    if let Some(missing) = missing(line.line, item).first() {
        return Err(CheckoutRefusal::Incomplete { name: name(), missing: missing.to_string() });
    }
    if line.availability.unavailable {
        // Of a bundle's parts, the hindrance says which one it is.
        let mut reached = line.standings.iter().filter(|standing| !standing.per_user && standing.is_reached());
        return Err(match (&line.hindrance, line.availability.available_again_at) {
            (None, Some(at)) => CheckoutRefusal::Later { name: name(), at },
            _ if reached.clone().any(|standing| standing.server.is_none()) => CheckoutRefusal::SoldOut { name: name() },
            _ if reached.next().is_some() => CheckoutRefusal::SoldOutOnServer { name: name() },
            (Some(why), _) if !item.is_off_sale(payer.now) => {
                CheckoutRefusal::Hindered { name: name(), why: why.clone() }
            }
            _ => CheckoutRefusal::Unavailable { name: name() },
        });
    }
    if item.needs_chat && !payer.has_chat {
        return Err(CheckoutRefusal::NoChat { name: name() });
    }
    Ok(())
}

/// Several lines may sell the same item; the limits are those of the item.
fn check_units(lines: &[PricedLine<'_>], payments: &Payments) -> Result<(), CheckoutRefusal> {
    let (mut all, mut counted): (BTreeMap<ItemId, u64>, BTreeMap<(ItemId, usize), u64>) = Default::default();
    for (line, (published, standings)) in lines.iter().flat_map(|line| line.given().map(move |given| (line, given))) {
        let item = &published.item;
        let (name, count) = (item.name.clone(), u64::from(line.count));
        let total = all.entry(item.id).or_default();
        *total += count;
        if let Some(most) = item.most.filter(|most| *total > u64::from(*most)) {
            return Err(CheckoutRefusal::AtOnce { name, most });
        }
        let mut exceeds = |standing: &&Standing| {
            let units = counted.entry((item.id, standing.number)).or_default();
            *units += count;
            *units > standing.left()
        };
        let [of_all, own] = [false, true].map(|own| standings.iter().filter(move |one| one.per_user == own));
        if let Some(standing) = of_all.into_iter().find(&mut exceeds) {
            let left = standing.left();
            return Err(match standing.server {
                Some(_) => CheckoutRefusal::LeftOnServer { name, left },
                None => CheckoutRefusal::Left { name, left },
            });
        }
        if item.is_counted() && *total > u64::from(payments.hold_units) {
            return Err(CheckoutRefusal::AtOnce { name, most: payments.hold_units });
        }
        if let Some(standing) = own.into_iter().find(&mut exceeds) {
            return Err(CheckoutRefusal::Left { name, left: standing.left() });
        }
    }
    Ok(())
}

fn check_amounts(mut sale: Sale, payments: &Payments, payer: Payer<'_>) -> Result<Sale, CheckoutRefusal> {
    if sale.virtual_currency > Money::ZERO && !payer.is_proven {
        return Err(CheckoutRefusal::NotProven);
    }
    if sale.virtual_currency > payer.virtual_currency {
        return Err(CheckoutRefusal::VirtualCurrency);
    }
    let total: Money = sale.lines.iter().map(|line| line.total).sum();
    if total > LARGEST_CHARGE {
        return Err(CheckoutRefusal::TooLarge);
    }
    sale.price = sale.gift_card.as_ref().map_or(total, |payment| total.less(payment.amount));
    // What costs nothing is not charged, but a subscription is charged again.
    let is_free =
        sale.price == Money::ZERO && !sale.lines.iter().any(|line| line.payment_type == PaymentType::Subscription);
    let least = payments.least.max(Money::from_minor(1));
    if !is_free && sale.price < least {
        return Err(CheckoutRefusal::BelowLeast { least });
    }
    Ok(sale)
}

fn discounts(lines: &[PricedLine<'_>], codes: &AppliedCodes<'_>) -> Vec<Money> {
    let parts = codes.coupon.as_ref().map(|applied| applied.lines.as_slice()).unwrap_or_default();
    (0..lines.len()).map(|place| parts.get(place).map_or(Money::ZERO, |part| part.off)).collect()
}

/// A code that takes nothing off is not used.
fn used<'a>(applied: Option<&'a Applied<'a>>) -> Option<&'a Applied<'a>> {
    applied.filter(|applied| applied.sum > Money::ZERO)
}

fn virtual_price(lines: &[PricedLine<'_>]) -> Money {
    let lines = lines.iter().filter(|line| line.item().virtual_only);
    lines.map(|line| line.item().virtual_price.times(line.count)).sum()
}

fn order_line(line: &PricedLine<'_>, off: Money) -> OrderLine {
    let (item, chosen) = (line.item(), line.line);
    let total = if item.virtual_only { Money::ZERO } else { line.total().less(off) };
    OrderLine {
        payment_type: chosen.payment_type,
        chosen: Some(Chosen {
            line: chosen.id,
            name: item.name.clone(),
            variables: chosen.variables.clone(),
            server: chosen.server,
            gift_to: chosen.gift_to.clone(),
        }),
        lasts: line.published.unit_lasts(),
        virtual_total: if item.virtual_only { item.virtual_price.times(line.count) } else { Money::ZERO },
        tax_code: item.tax_code.clone(),
        discount: if item.virtual_only { Money::ZERO } else { line.regular_total().less(total) },
        ..OrderLine::new(item.id, line.count, total)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Beneficiary {
    Buyer,
    /// The player with this name, in lower case.
    Player(String),
}

impl Beneficiary {
    pub fn player(name: &PlayerName) -> Self {
        Self::Player(name.key().to_string())
    }
}

/// The players who get what a coupon for a first purchase takes something off, each with an item of it.
pub fn first_purchases(lines: &[PricedLine<'_>], codes: &AppliedCodes<'_>) -> BTreeMap<Beneficiary, ItemId> {
    let Some(Applied { code: Code::Coupon(coupon), lines: parts, .. }) = &codes.coupon else { return BTreeMap::new() };
    let reduced = lines.iter().zip(parts).filter(|(_, part)| coupon.first_purchase && part.off > Money::ZERO);
    reduced.map(|(line, _)| (beneficiary(line), line.item().id)).collect()
}

/// The most units of an item that a player may own before a checkout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MayOwn {
    pub item: ItemId,
    /// The most units.
    pub most: u64,
    pub sold: ItemId,
    /// Its limit for one user; `None` if it is about a step of a cumulative category, or an item that another excludes.
    pub limit: Option<u32>,
    /// The second (since 1970 UTC) from which bought units count; `None` if all count that are owned.
    pub since: Option<i64>,
    /// Whether the limit is at least the units that are bought now.
    pub fits: bool,
}

impl MayOwn {
    /// Whether a player has more than that, or would get more than anyone may own.
    pub fn is_exceeded(&self, player: Buyer<'_>) -> bool {
        let units = match self.since {
            None => u64::from(player.owned(self.item).units),
            Some(since) => {
                let times = player.ledger.times(self.item).iter();
                times.filter(|time| **time >= since).map(|_| 1).sum()
            }
        };
        !self.fits || units > self.most
    }
}

/// Items of which a player must own one before a checkout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MustOwn {
    pub any_of: Vec<ItemId>,
    pub sold: ItemId,
}

/// For each player who gets a line, the most that they may already own at `now` (seconds since 1970 UTC): limits per user, steps of
/// cumulative categories, and what an item excludes.
pub fn may_own(lines: &[PricedLine<'_>], now: i64) -> BTreeMap<Beneficiary, Vec<MayOwn>> {
    let given = || lines.iter().flat_map(|line| line.given().map(move |(given, _)| (line, given)));
    let mut units: BTreeMap<(Beneficiary, ItemId), u64> = BTreeMap::new();
    for (line, given) in given() {
        *units.entry((beneficiary(line), given.item.id)).or_default() += u64::from(line.count);
    }
    let mut all: BTreeMap<Beneficiary, Vec<MayOwn>> = BTreeMap::new();
    let mut judged = BTreeSet::new();
    for (line, given) in given() {
        let (item, who, sold) = (&given.item, beneficiary(line), line.item().id);
        let is_despite = line.item().bundle.as_ref().is_some_and(|bundle| bundle.despite_owned);
        let is_part = item.id != sold;
        if !judged.insert((who.clone(), item.id, is_part, is_despite)) {
            continue;
        }
        let wanted = units.get(&(who.clone(), item.id)).copied().unwrap_or_default();
        let of = all.entry(who).or_default();
        let none = |item: ItemId| MayOwn { item, most: 0, sold, limit: None, since: None, fits: true };
        if let Some(limit) = item.user_limit {
            let most = u64::from(limit).saturating_sub(wanted);
            let fits = wanted <= u64::from(limit);
            of.push(MayOwn { item: item.id, most, sold, limit: Some(limit), since: None, fits });
        }
        for limit in item.limits.iter().filter(|limit| limit.per_user) {
            let most = u64::from(limit.most).saturating_sub(wanted);
            let since = limit.counted_at(now).map(|counted| counted.start);
            let (most_in_time, fits) = (Some(limit.most), wanted <= u64::from(limit.most));
            of.push(MayOwn { item: item.id, most, sold, limit: most_in_time, since, fits });
        }
        if is_cumulative(item, &given.price_tiers) && !(is_part && is_despite) {
            let higher = given.price_tiers.iter().filter(|tier| tier.price >= item.price);
            let mut higher: Vec<&PriceTier> = higher.collect();
            // The dearest first: a condition compares only the first of very many.
            higher.sort_by_key(|tier| Reverse(tier.price));
            of.extend(higher.into_iter().map(|tier| none(tier.item)));
        } else if is_part && !is_despite {
            of.push(none(item.id));
        }
        of.extend(item.conditions.unowned().map(none));
    }
    all.retain(|_, limits| !limits.is_empty());
    all
}

/// For each player who gets a line, what they must already own.
pub fn must_own(lines: &[PricedLine<'_>]) -> BTreeMap<Beneficiary, Vec<MustOwn>> {
    let mut all: BTreeMap<Beneficiary, Vec<MustOwn>> = BTreeMap::new();
    for line in lines {
        let (who, sold) = (beneficiary(line), line.item().id);
        let is_part = |item: ItemId| line.parts.iter().any(|(part, _)| part.item.id == item);
        for (given, group) in
            line.given().flat_map(|(given, _)| given.item.conditions.requires.iter().map(move |group| (given, group)))
        {
            // What a part requires of another is there.
            if given.item.id != sold && group.iter().any(|item| is_part(item.id)) {
                continue;
            }
            let any_of = group.iter().map(|item| item.id).collect();
            let (of, needed) = (all.entry(who.clone()).or_default(), MustOwn { any_of, sold });
            if !of.contains(&needed) {
                of.push(needed);
            }
        }
    }
    all
}

/// The refusal of a gift whose recipient does not own what it requires.
pub fn recipient_lacks(item: &Item) -> CheckoutRefusal {
    CheckoutRefusal::RecipientLacks { name: item.name.clone(), needed: required(item) }
}

fn beneficiary(line: &PricedLine<'_>) -> Beneficiary {
    line.line.gift_to.as_ref().map_or(Beneficiary::Buyer, Beneficiary::player)
}

/// A line of the bill at the payment provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BillLine {
    /// Name, recipient of a gift and units, such as "Squire (for Thornwick) × 2".
    pub name: String,
    pub amount: Money,
    pub tax_code: Option<String>,
}

/// The bill of an order. The payment with a gift card is taken off from the last line up, and lines without an amount
/// are left out, so that the amounts add up to the order's price. A bundle is one line, without its parts.
pub fn bill(lines: &[OrderLine], gift_card: Option<&GiftCardPayment>) -> Vec<BillLine> {
    let mut paid = gift_card.map_or(Money::ZERO, |payment| payment.amount);
    let mut bill: Vec<BillLine> = Vec::with_capacity(lines.len());
    for line in sets::folded(lines).iter().rev() {
        let off = paid.min(line.total);
        paid = paid.less(off);
        let name = line.chosen.as_ref().map_or_else(|| line.item.to_string(), |chosen| chosen.name.clone());
        // The payment page names the recipient of a gift: another login of the account may have put it into the cart.
        let gift_to = line.chosen.as_ref().and_then(|chosen| chosen.gift_to.as_ref());
        let name = gift_to.map_or_else(|| name.clone(), |player| format!("{name} (for {player})"));
        let name = if line.count == 1 { name } else { format!("{name} × {}", line.count) };
        bill.push(BillLine { name, amount: line.total.less(off), tax_code: line.tax_code.clone() });
    }
    bill.reverse();
    bill.retain(|line| line.amount > Money::ZERO);
    bill
}

/// The cart once an order is paid: without the units that were bought, and without the codes that were used. Units and
/// lines that were added meanwhile stay.
pub fn without_bought(cart: &Cart, lines: &[OrderLine], codes: &[&CodeText]) -> Cart {
    let mut cart = cart.clone();
    for bought in lines.iter().filter(|line| line.bundle.is_none()) {
        let Some(chosen) = &bought.chosen else { continue };
        for line in cart.lines.iter_mut().filter(|line| line.id == chosen.line && line.item == bought.item) {
            line.count = line.count.saturating_sub(bought.count);
        }
    }
    cart.lines.retain(|line| line.count > 0);
    cart.coupon.take_if(|coupon| codes.contains(&&coupon.code));
    cart.gift_card.take_if(|card| codes.contains(&&card.code));
    cart.checkout = None;
    cart
}
