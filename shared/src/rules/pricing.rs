//! The price of an item for a caller, and whether the caller can buy it: the same in the catalog, the deals, the
//! promotions and the cart (rules.md, "Limits and availability"). The price of one unit is what is left after the item's own
//! discount, the sales that run, and what the buyer has paid for lower items (rules.md, "Sales").

use super::limits::{self, Standing};
use super::sets::hindrance;
use crate::model::{
    Cart, Discount, Item, ItemId, Ledger, Money, Owned, PriceTier, Promotion, Promotions, PublishedItem, Sale, SaleId,
    Sold, StoreConfig, UserSubscription,
};
use serde::Serialize;

/// A buyer, as far as that decides about prices and about what they can buy.
#[derive(Debug, Clone, Copy)]
pub struct Buyer<'a> {
    pub ledger: &'a Ledger,
    pub subscriptions: &'a [UserSubscription],
    /// The current second.
    pub now: i64,
}

/// The state of the store, as far as it decides about prices and about what can be bought.
#[derive(Debug, Clone, Copy)]
pub struct Terms<'a> {
    /// Units sold of the items that are asked about.
    pub sold: &'a Sold,
    /// The store's sales.
    pub sales: &'a [Sale],
    /// The least amount that can be paid.
    pub least: Money,
    /// The current second.
    pub now: i64,
}

impl<'a> Terms<'a> {
    pub const fn of(config: &'a StoreConfig, sold: &'a Sold, now: i64) -> Self {
        Self { sold, sales: config.sales.as_slice(), least: config.payments.least, now }
    }
}

impl Buyer<'_> {
    /// What the buyer owns of an item. A subscription lasts as long as it gives access, also while a renewal is awaited.
    pub fn owned(&self, item: ItemId) -> Owned {
        let holding = self.ledger.of(item);
        if self.subscribes_to(item) { holding.all } else { holding.at(self.now) }
    }

    /// Whether the buyer owns an item now.
    pub fn owns(&self, item: ItemId) -> bool {
        self.owned(item).units > 0 || self.subscribes_to(item)
    }

    /// Whether the buyer has a subscription of the item that gives access.
    pub fn subscribes_to(&self, item: ItemId) -> bool {
        self.subscriptions.iter().any(|subscription| subscription.item == item && subscription.has_access(self.now))
    }
}

/// The price of one unit of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quote {
    pub price: Money,
    pub discount: Money,
}

impl Quote {
    /// `price` + `discount` (rules.md, "Money and rounding").
    #[must_use]
    pub fn original_price(self) -> Money {
        self.price + self.discount
    }
}

/// An item's limits and how much of each is used. A current value is set exactly if its limit is. Both user fields are
/// `None` for a caller who is not logged in (rules.md, "Limits and availability"). Serialised under the names of the
/// interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, schemars::JsonSchema)]
pub struct Limits {
    /// Units that may be sold in total. Null if there is no limit.
    #[serde(rename = "quantityGlobalLimit")]
    pub global: Option<u32>,
    /// Units sold in total. Null exactly if `quantityGlobalLimit` is null.
    #[serde(rename = "quantityGlobalCurrentLimit")]
    pub global_current: Option<u64>,
    /// Units that the caller may buy. Null if there is no limit or the caller is not logged in.
    #[serde(rename = "quantityUserLimit")]
    pub user: Option<u32>,
    /// Units that the caller has bought, without those that have ended. Null exactly if `quantityUserLimit` is null.
    #[serde(rename = "quantityUserCurrentLimit")]
    pub user_current: Option<u64>,
}

impl Limits {
    /// The tightest of an item's limits: of which the least is left, and of several the first.
    pub fn of(standings: impl Iterator<Item = Standing>) -> Self {
        let tighter = |one: Option<Standing>, other: Standing| {
            Some(one.filter(|one| one.left() <= other.left()).unwrap_or(other))
        };
        let [mut global, mut user] = [None, None];
        for standing in standings {
            let tightest = if standing.per_user { &mut user } else { &mut global };
            *tightest = tighter(*tightest, standing);
        }
        let most = |one: Option<Standing>| one.map(|one| one.most);
        let taken = |one: Option<Standing>| one.map(|one| one.taken);
        Self { global: most(global), global_current: taken(global), user: most(user), user_current: taken(user) }
    }
}

/// The price of an item for a caller, and whether the caller can buy it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Availability {
    pub quote: Quote,
    /// The sale whose price it is.
    pub sale: Option<SaleId>,
    /// The price that codes begin with, see [`UnitPrice::with_codes`].
    pub with_codes: Money,
    /// Its limits and how much of each is used.
    pub limits: Limits,
    /// Whether the caller cannot buy it: it is inactive, a limit is reached, the caller owns it, a higher price tier or the
    /// subscription, or lacks what it requires (rules.md, "Limits and availability").
    pub unavailable: bool,
    /// When it can be bought if it cannot now, in seconds since 1970 UTC; `None` if that is not known.
    pub available_again_at: Option<i64>,
}

impl Availability {
    /// The same at another price.
    #[must_use]
    pub(super) fn at(self, UnitPrice { quote, sale, with_codes }: UnitPrice) -> Self {
        Self { quote, sale, with_codes, ..self }
    }
}

/// The items that a buyer paid for and owns in a cumulative category. It is the same for each of the category's items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UpgradeCredit {
    /// The sum paid for the category's items, less refunds and what is disputed.
    paid: Money,
    /// The highest regular price among the items owned.
    highest: Option<Money>,
}

impl UpgradeCredit {
    /// The credit of `buyer` for these price tiers; `None` if there are no tiers or the caller is anonymous.
    pub fn of(tiers: &[PriceTier], buyer: Option<Buyer<'_>>) -> Option<Self> {
        let buyer = buyer.filter(|_| !tiers.is_empty())?;
        Some(tiers.iter().fold(Self::default(), |credit, tier| {
            let owned = buyer.owned(tier.item);
            let highest = (owned.units > 0).then_some(tier.price);
            Self { paid: credit.paid + owned.paid, highest: credit.highest.max(highest) }
        }))
    }
}

/// The availability of `item` for a caller. `tiers` are the price tiers of its category, empty if the category is not
/// cumulative; `buyer` is a logged-in caller.
pub fn availability(item: &Item, tiers: &[PriceTier], terms: Terms<'_>, buyer: Option<Buyer<'_>>) -> Availability {
    availability_with_credit(item, UpgradeCredit::of(tiers, buyer), terms, buyer)
}

/// [`availability`] if the caller's credit in the item's category is known already.
pub fn availability_with_credit(
    item: &Item,
    credit: Option<UpgradeCredit>,
    terms: Terms<'_>,
    buyer: Option<Buyer<'_>>,
) -> Availability {
    let (limits, now) = (Limits::of(limits::of(item, terms, buyer, None)), terms.now);
    let credit = credit.filter(|_| takes_credit(item));
    // The item itself, which is one of the tiers, or another whose regular price is not lower.
    let owned = credit.is_some_and(|credit| credit.highest >= Some(item.price));
    let subscribes = item.is_subscription && buyer.is_some_and(|buyer| buyer.subscribes_to(item.id));
    let begins = item.on_sale.begins(now);
    let full = limits::full(item, terms, buyer);
    let is_for_good = item.is_off_sale(now) || owned || subscribes || hindrance(item, terms, buyer).is_some();
    let unavailable = is_for_good || begins.is_some() || full.is_some();
    // Reduced by what was paid, a rank that is owned would be shown as free.
    let paid = credit.filter(|_| !unavailable).map(|credit| credit.paid);
    let UnitPrice { quote, sale, with_codes } = unit_price(item, item.price, paid, terms, buyer);
    let again = full.map_or(begins, |again| again.map(|again| begins.map_or(again, |begins| again.max(begins))));
    let available_again_at = again.filter(|again| !is_for_good && !item.on_sale.is_over(*again));
    Availability { quote, sale, with_codes, limits, unavailable, available_again_at }
}

/// The availability of a gift that `owner` pays: at the price of their sales, and not reduced by what they own. Its limit for
/// one user is the recipient's, who is not known here.
pub(super) fn gift_availability(item: &Item, terms: Terms<'_>, owner: Buyer<'_>) -> Availability {
    availability(item, &[], terms, None).at(unit_price(item, item.price, None, terms, Some(owner)))
}

/// The price of a unit for its `owner` if its regular price is `regular`, with a `surcharge` that no credit in its category pays
/// for. `tiers` are those of [`availability`]; something unavailable is not reduced by what was paid.
pub(super) fn price_with(
    item: &Item,
    tiers: &[PriceTier],
    (regular, surcharge): (Money, Money),
    unavailable: bool,
    terms: Terms<'_>,
    owner: Buyer<'_>,
) -> UnitPrice {
    let credit = UpgradeCredit::of(tiers, Some(owner)).filter(|_| takes_credit(item) && !unavailable);
    let paid = credit.map(|credit| credit.paid.min(regular));
    unit_price(item, regular + surcharge, paid, terms, Some(owner))
}

/// Whether an item is cumulative: at most one unit is sold, for the difference to what was paid.
pub fn is_cumulative(item: &Item, tiers: &[PriceTier]) -> bool {
    !tiers.is_empty() && takes_credit(item)
}

/// Whether an item's price is reduced by the upgrade credit. A subscription's is not, and an any-price item has the
/// buyer's price (rules.md, "Cumulative categories").
const fn takes_credit(item: &Item) -> bool {
    !item.is_subscription && !item.any_price
}

#[derive(Debug, Clone, Copy)]
pub struct Offer<'a> {
    pub published: &'a PublishedItem,
    pub promotion: &'a Promotion,
    /// The item's availability for the caller, at its catalog price.
    pub availability: Availability,
}

/// The promotions of active, available items that are not in the cart, in published order.
pub fn offers<'a>(promotions: &'a Promotions, cart: &Cart, terms: Terms<'_>, buyer: Buyer<'_>) -> Vec<Offer<'a>> {
    let offers = promotions.0.iter().filter_map(|published| {
        let promotion = published.item.promotion.as_ref()?;
        let availability = availability(&published.item, &published.price_tiers, terms, Some(buyer));
        let in_cart = cart.lines.iter().any(|line| line.item == published.item.id);
        (!availability.unavailable && !in_cart).then_some(Offer { published, promotion, availability })
    });
    offers.collect()
}

/// The price of one unit, and the sale that made it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnitPrice {
    pub quote: Quote,
    /// The sale whose price it is; `None` if the item's own discount is as good.
    pub sale: Option<SaleId>,
    /// The price that codes begin with: another than the quote's if that is the price of a sale without codes.
    pub with_codes: Money,
}

/// The price of one unit of an item whose regular price is `regular`. `credit` is what the buyer has paid for items of its
/// cumulative category, `None` if there is nothing to take off; `buyer` is who pays, whoever the unit is for.
pub fn unit_price(
    item: &Item,
    regular: Money,
    credit: Option<Money>,
    terms: Terms<'_>,
    buyer: Option<Buyer<'_>>,
) -> UnitPrice {
    let due = regular.less(credit.unwrap_or_default());
    let own = less(due, item.own_discount(), credit.is_some(), terms.least);
    // The buyer chooses the price; this one holds until then, and could be chosen.
    let own = if item.any_price { own.max(item.min_price) } else { own };
    let (mut price, mut best, mut with_codes) = (own, None::<&Sale>, own);
    let running = terms.sales.iter().filter(|sale| sale.is_running(terms.now) && item.sales.contains(&sale.id));
    for sale in running.filter(|sale| item.takes_sales() && is_for(sale, buyer)) {
        let reduced = less(due, sale.discount, credit.is_some(), terms.least);
        if sale.with_codes {
            with_codes = with_codes.min(reduced);
        }
        // Of two with the same price, the one that goes with codes is better.
        let is_better = reduced == price && sale.with_codes && best.is_some_and(|best| !best.with_codes);
        if reduced < price || is_better {
            (price, best) = (reduced, Some(sale));
        }
    }
    let quote = Quote { price, discount: regular.less(price) };
    UnitPrice { quote, sale: best.map(|sale| sale.id), with_codes }
}

/// What a regular price is in a sale for a buyer who gets it and owns nothing that is taken off, whenever it runs.
pub fn price_in(sale: &Sale, price: Money) -> Money {
    less(price, sale.discount, false, Money::ZERO)
}

/// Whether a buyer, who may be unknown, gets a sale.
fn is_for(sale: &Sale, buyer: Option<Buyer<'_>>) -> bool {
    let owns = |buyer: Buyer<'_>| sale.owners_of.iter().any(|item| buyer.owned(item.id).units > 0);
    sale.owners_of.is_empty() || buyer.is_some_and(owns)
}

/// `due` less a discount. An amount off a difference to what is owned leaves the least that can be paid, so that no step is
/// given away.
fn less(due: Money, discount: Discount, is_difference: bool, least: Money) -> Money {
    match discount {
        Discount::Percentage(percent) => due.less(due.share(percent)),
        Discount::Amount(amount) if is_difference => due.less(amount).max(due.min(least.max(Money::SMALLEST))),
        Discount::Amount(amount) => due.less(amount),
    }
}
