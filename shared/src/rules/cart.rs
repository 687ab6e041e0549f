//! The price of a cart: its present lines, and the sums over them (rules.md, "Carts"). The choices that a line lacks before it can be
//! paid (rules.md, "Incomplete lines").

use super::limits::{self, Standing};
use super::pricing::{
    Availability, Buyer, Limits, Terms, availability, gift_availability, is_cumulative, price_with, unit_price,
};
use super::sets::{Hindrance, exclude_each_other, of_line, parts, player};
use super::variable;
use crate::model::{
    Bundle, CategoryId, Item, Items, Line, LineId, LineVariable, Money, PaymentType, PublishedItem, ServerId, Variable,
};
use std::collections::BTreeMap;

/// A line of a cart with its current price and availability.
#[derive(Debug, Clone)]
pub struct PricedLine<'a> {
    pub line: &'a Line,
    pub published: &'a PublishedItem,
    pub availability: Availability,
    /// The limits of its item that count its units.
    pub standings: Vec<Standing>,
    /// Units; at most one if the item is cumulative or a subscription (rules.md, "Cumulative categories",
    /// "Subscriptions").
    pub count: u32,
    /// The price of one unit in money. It counts in no sum if [`Item::virtual_only`].
    pub unit_price: Money,
    /// The price of one unit that codes begin with: more than [`Self::unit_price`] if that is the price of a sale without
    /// codes.
    pub with_codes: Money,
    /// The parts that it gives, if it is a bundle, with their limits.
    pub parts: Vec<(&'a PublishedItem, Vec<Standing>)>,
    /// The reason why what its player owns, or another line, keeps it from being bought; what the recipient of a gift owns is
    /// not known here.
    pub hindrance: Option<Hindrance>,
}

impl<'a> PricedLine<'a> {
    pub const fn item(&self) -> &Item {
        &self.published.item
    }

    /// The items of which it gives `count` units: its own, and the parts of a bundle.
    pub fn given(&self) -> impl Iterator<Item = (&'a PublishedItem, &[Standing])> {
        let parts = self.parts.iter().map(|(part, standings)| (*part, standings.as_slice()));
        std::iter::once((self.published, self.standings.as_slice())).chain(parts)
    }

    /// Makes it unavailable, at the price of a caller who owns nothing.
    fn withdraw(&mut self, terms: Terms<'_>, owner: Buyer<'_>) {
        let item = &self.published.item;
        let regular = (item.regular_price(self.count), surcharge(self.line, item));
        let sale = price_with(item, &[], regular, true, terms, owner);
        self.availability = Availability { unavailable: true, ..self.availability }.at(sale);
        (self.unit_price, self.with_codes) = line_prices(self.line, item, self.availability);
    }

    fn published(&self) -> Vec<&'a PublishedItem> {
        self.given().map(|(published, _)| published).collect()
    }

    /// `price` × `count`.
    #[must_use]
    pub const fn total(&self) -> Money {
        self.unit_price.times(self.count)
    }

    /// What the line costs without sale, code and upgrade: of a price that the buyer named, that.
    #[must_use]
    pub fn regular_total(&self) -> Money {
        let item = &self.published.item;
        let is_named = item.any_price && self.line.price.is_some();
        let regular = || item.regular_price(self.count) + surcharge(self.line, item);
        let unit = if is_named { self.unit_price } else { regular() };
        unit.times(self.count)
    }

    /// What a sale takes off the line that does not go with codes.
    #[must_use]
    pub fn without_codes(&self) -> Money {
        self.with_codes.less(self.unit_price).times(self.count)
    }

    /// Whether the line is a step of a cumulative category for the cart's owner.
    pub fn is_own_step(&self) -> bool {
        is_own_step(self.line, self.published)
    }

    /// The order among the steps of a category: by regular price, then by line id.
    const fn step(&self) -> (Money, LineId) {
        (self.published.item.price, self.line.id)
    }

    /// Whether a coupon or gift card can take something off: the line is payable, and paid once (rules.md,
    /// "Subscriptions").
    pub const fn takes_codes(&self) -> bool {
        self.is_payable() && !self.published.item.is_subscription
    }

    /// Whether the line counts in `clear_price` and for a coupon's minimum: available, and paid in money.
    pub const fn is_payable(&self) -> bool {
        !self.availability.unavailable && !self.published.item.virtual_only
    }
}

/// Whether a line is a step of a cumulative category for the cart's owner. A gift is not (rules.md, "Gifts").
pub fn is_own_step(line: &Line, published: &PublishedItem) -> bool {
    line.payment_type != PaymentType::Gift && is_cumulative(&published.item, &published.price_tiers)
}

/// Prices every line whose item is still published, in the order of the cart. What the owner bought counts for their
/// own lines only, and for the sales that they get: a gift costs the sale price. A
/// line is unavailable if its item has become a subscription since it was added, or is none any more.
pub fn price_lines<'a>(lines: &'a [Line], items: &'a Items, terms: Terms<'_>, owner: Buyer<'_>) -> Vec<PricedLine<'a>> {
    let priced = lines.iter().filter_map(|line| {
        let published = items.get(&line.item)?.as_ref();
        let item = &published.item;
        let mut availability = match line.payment_type {
            PaymentType::Gift => gift_availability(item, terms, owner),
            _ => availability(item, &published.price_tiers, terms, Some(owner)),
        };
        let buyer = (line.payment_type != PaymentType::Gift).then_some(owner);
        let standings: Vec<Standing> = limits::of(item, terms, buyer, line.server).collect();
        availability.limits = Limits::of(standings.iter().copied());
        let full = limits::reached(standings.iter().copied()).filter(|_| !availability.unavailable);
        availability.available_again_at = full.unwrap_or(availability.available_again_at);
        if full.is_some() || (line.payment_type == PaymentType::Subscription) != item.is_subscription {
            availability = Availability { unavailable: true, ..availability }.at(unit_price(
                item,
                item.price,
                None,
                terms,
                Some(owner),
            ));
        }
        let count = if is_single(published) { line.count.min(1) } else { line.count };
        let regular = (item.regular_price(count), surcharge(line, item));
        if regular != (item.price, Money::ZERO) {
            let tiers = if line.payment_type == PaymentType::Gift { &[][..] } else { &published.price_tiers };
            availability = availability.at(price_with(item, tiers, regular, availability.unavailable, terms, owner));
        }
        let (unit_price, with_codes) = line_prices(line, item, availability);
        let hindrance = of_line(item, line, terms, owner);
        let parts = parts(published, line).into_iter().map(|part| {
            let server = line.server.filter(|_| part.item.allow_select_server);
            (part, limits::of(&part.item, terms, buyer, server).collect::<Vec<Standing>>())
        });
        let parts: Vec<(&PublishedItem, Vec<Standing>)> = parts.collect();
        let full = limits::reached(parts.iter().flat_map(|(_, standings)| standings).copied());
        if let Some(again) = full.filter(|_| !availability.unavailable) {
            availability.available_again_at = again;
        }
        availability.unavailable |= hindrance.is_some() || full.is_some();
        Some(PricedLine { line, published, availability, standings, count, unit_price, with_codes, parts, hindrance })
    });
    let mut priced: Vec<PricedLine<'a>> = priced.collect();
    keep_one_step(&mut priced, terms, owner);
    keep_apart(&mut priced, terms, owner);
    priced
}

/// Whether a player has at most one unit of an item.
pub fn is_single(published: &PublishedItem) -> bool {
    let item = &published.item;
    let is_one = item.is_subscription || is_cumulative(item, &published.price_tiers);
    is_one || !item.conditions.one_of.is_empty() || published.parts.iter().any(is_single)
}

/// Of two lines that one player cannot have both, the first stays available.
fn keep_apart(lines: &mut [PricedLine<'_>], terms: Terms<'_>, owner: Buyer<'_>) {
    for place in 1..lines.len() {
        let (before, rest) = lines.split_at_mut(place);
        let Some(line) = rest.first_mut().filter(|line| !line.availability.unavailable) else { continue };
        let is_apart = |other: &&PricedLine<'_>| {
            let is_same_player = player(other.line) == player(line.line);
            !other.availability.unavailable
                && is_same_player
                && exclude_each_other(&other.published(), &line.published())
        };
        if let Some(other) = before.iter().find(is_apart) {
            line.hindrance = Some(Hindrance::Together(other.item().name.clone()));
            line.withdraw(terms, owner);
        }
    }
}

/// Of several steps of one category that the owner could buy only the highest stays available: it includes the lower
/// ones. The others cost what they cost a caller who owns nothing (rules.md, "Cumulative categories").
fn keep_one_step(lines: &mut [PricedLine<'_>], terms: Terms<'_>, owner: Buyer<'_>) {
    let mut highest: BTreeMap<CategoryId, (Money, LineId)> = BTreeMap::new();
    for line in lines.iter().filter(|line| line.is_own_step() && !line.availability.unavailable) {
        let kept = highest.entry(line.published.category).or_insert_with(|| line.step());
        *kept = line.step().max(*kept);
    }
    for line in lines.iter_mut().filter(|line| line.is_own_step()) {
        if highest.get(&line.published.category).is_some_and(|kept| *kept != line.step()) {
            line.withdraw(terms, owner);
        }
    }
}

/// What one unit costs more with the options that are chosen.
pub fn surcharge(line: &Line, item: &Item) -> Money {
    let priced = item.variables.iter().filter(|variable| !variable.surcharges.is_empty());
    priced.filter_map(|variable| variable.surcharges.get(value_of(line, variable)?)).copied().sum()
}

/// The price of one unit, and the one that codes begin with. A line added from a promotion keeps the promoted price while the promotion is published. An
/// any-price line has the buyer's price, but at least the item's current minimum. Every other line has the catalog's
/// price, also an any-price line without a chosen price (rules.md, "Carts").
fn line_prices(line: &Line, item: &Item, availability: Availability) -> (Money, Money) {
    let own = match (&item.promotion, line.price) {
        (Some(promotion), _) if line.promoted => promotion.price + surcharge(line, item),
        (_, Some(named)) if item.any_price => named.max(item.min_price),
        _ => return (availability.quote.price, availability.with_codes),
    };
    (own, own)
}

/// The sums before any code is applied (rules.md, "Carts").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sums {
    /// Σ count over available lines. An unavailable line counts in no sum.
    pub items: u64,
    /// Σ price × count over available lines paid in money.
    pub clear_price: Money,
    /// Σ virtual price × count over available lines sold for virtual currency only.
    pub virtual_price: Money,
}

pub fn sums(lines: &[PricedLine<'_>]) -> Sums {
    let available = || lines.iter().filter(|line| !line.availability.unavailable);
    let virtual_lines = available().filter(|line| line.item().virtual_only);
    Sums {
        items: available().map(|line| u64::from(line.count)).sum(),
        clear_price: lines.iter().filter(|line| line.is_payable()).map(PricedLine::total).sum(),
        virtual_price: virtual_lines.map(|line| line.item().virtual_price.times(line.count)).sum(),
    }
}

/// Something that a line lacks. The text is a sentence for the buyer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Missing {
    #[error("The player who receives the gift is missing.")]
    Recipient,
    #[error("\"{name}\" is missing.")]
    Variable { id: u64, name: String },
    #[error("\"{name}\" must be another than the choice before it.")]
    Different { id: u64, name: String },
    #[error("A server must be selected for this item.")]
    Server,
}

/// Everything that a line lacks; empty if the line is complete.
pub fn missing(line: &Line, item: &Item) -> Vec<Missing> {
    let recipient = line.payment_type == PaymentType::Gift && line.gift_to.is_none();
    let unset = item.variables.iter().filter(|variable| value_of(line, variable).is_none());
    let variables = unset.map(|variable| Missing::Variable { id: variable.id, name: variable.name.clone() });
    let alike = item.bundle.iter().flat_map(Bundle::variables).filter_map(|id| {
        let variable = item.variables.iter().find(|variable| variable.id == id)?;
        let value = value_of(line, variable)?;
        let before = |other: &&Variable| (Bundle::FIRST_CHOICE..id).contains(&other.id);
        let mut before = item.variables.iter().filter(before).filter_map(|other| value_of(line, other));
        before.any(|other| other == value).then(|| Missing::Different { id, name: variable.name.clone() })
    });
    let server = item.allow_select_server && server_of(line, item).is_none();
    let missing = recipient.then_some(Missing::Recipient).into_iter().chain(variables).chain(alike);
    missing.chain(server.then_some(Missing::Server)).collect()
}

/// The value that a line has for a variable, if it is still right.
pub fn value_of<'a>(line: &'a Line, variable: &Variable) -> Option<&'a str> {
    let chosen = line.variables.iter().find(|chosen| chosen.id == variable.id)?;
    is_stored(variable, &chosen.value).then_some(chosen.value.as_str())
}

/// Whether a value could be stored like this now. Under an earlier kind of the variable another form of it may have been.
fn is_stored(variable: &Variable, value: &str) -> bool {
    variable::parse(variable, value).is_ok_and(|stored| stored == value)
}

/// The server that is selected, if the item still has it.
pub fn server_of(line: &Line, item: &Item) -> Option<ServerId> {
    line.server.filter(|id| item.allow_select_server && item.servers.iter().any(|server| server.id == *id))
}

/// Whether a line costs the promoted price: it was added from a promotion that is still published (rules.md,
/// "Promotions").
pub const fn is_promoted(line: &Line, item: &Item) -> bool {
    line.promoted && item.promotion.is_some()
}

/// The line without the choices that its item no longer has, which are shown as unset. They must not keep the buyer
/// from making the other choices.
pub fn with_valid_choices(line: &Line, item: &Item) -> Line {
    let is_valid = |chosen: &&LineVariable| {
        let mut variables = item.variables.iter().filter(|variable| variable.id == chosen.id);
        variables.any(|variable| is_stored(variable, &chosen.value))
    };
    let variables = line.variables.iter().filter(is_valid).cloned().collect();
    let can_choose = item.any_price && !is_promoted(line, item);
    let price = line.price.filter(|_| can_choose).map(|price| price.max(item.min_price));
    Line { variables, server: server_of(line, item), price, ..line.clone() }
}
