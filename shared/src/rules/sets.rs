//! Items that belong together: those that one requires, those that it excludes, those of which a player has one, and bundles, with
//! the parts that a line of one gives and the lines of an order that it makes (rules.md, "Required and excluded items" and "Bundles").

use super::add_line::LineRefusal;
use super::cart::value_of;
use super::limits;
use super::pricing::{Buyer, Terms, is_cumulative};
use crate::model::{
    Bundle, Chosen, Conditions, Item, ItemId, Line, LineId, Money, NamedItem, OfBundle, OrderLine, Part, PaymentType,
    PublishedItem, UserName, Variable,
};
use std::collections::BTreeMap;

/// The reason why what a player owns, or the rest of a cart, keeps an item from being bought; the end of a sentence for the buyer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Hindrance {
    #[error("buy {} first", .0)]
    Requires(String),
    #[error("you own \"{0}\", and it cannot be had with that")]
    Excludes(String),
    #[error("you have an item of this category, and can have only one")]
    OneOf,
    #[error("it cannot be bought together with \"{0}\"")]
    Together(String),
    #[error("\"{0}\", which is part of it, is sold out")]
    PartSoldOut(String),
    #[error("\"{0}\", which is part of it, is sold out for the selected server")]
    PartServer(String),
    #[error("you own \"{0}\", which is part of it, or something that includes that")]
    PartOwned(String),
    #[error("you have as many of \"{0}\", which is part of it, as one player may have")]
    PartLimit(String),
}

/// The names of items of which one is enough, such as `"Squire" or "Knight"`.
pub fn any_of(items: &[NamedItem]) -> String {
    items.iter().map(|item| format!("\"{}\"", item.name)).collect::<Vec<_>>().join(" or ")
}

/// The names of everything that an item requires.
pub fn required(item: &Item) -> String {
    let parts = item.bundle.iter().flat_map(|bundle| bundle.parts.iter().flat_map(|part| needed(part, &bundle.parts)));
    item.conditions.requires.iter().chain(parts).map(|group| any_of(group)).collect::<Vec<_>>().join(" and ")
}

/// The first reason why what the caller owns, if that is known, or the units sold of a bundle's parts, keep an item from being
/// bought with some choice.
pub fn hindrance(item: &Item, terms: Terms<'_>, buyer: Option<Buyer<'_>>) -> Option<Hindrance> {
    let own = buyer.and_then(|buyer| of_conditions(&item.conditions, &[], buyer));
    own.or_else(|| {
        let bundle = item.bundle.as_ref()?;
        let fixed: Vec<&Part> = bundle.parts.iter().collect();
        let hindered = |part: &&Part| of_part(part, bundle, &fixed, terms, buyer);
        let of_choice = || {
            let mut all: Vec<Hindrance> = bundle.from.iter().filter_map(|part| hindered(&part)).collect();
            let left = bundle.from.len().saturating_sub(all.len());
            let is_hindered = u32::try_from(left).is_ok_and(|left| left < bundle.choices) && !all.is_empty();
            is_hindered.then(|| all.swap_remove(0))
        };
        fixed.iter().find_map(hindered).or_else(of_choice)
    })
}

/// As [`hindrance`], of a line with its choices. What the recipient of a gift owns is not known.
pub fn of_line(item: &Item, line: &Line, terms: Terms<'_>, buyer: Buyer<'_>) -> Option<Hindrance> {
    let buyer = Some(buyer).filter(|_| line.payment_type != PaymentType::Gift);
    let of_choice = || {
        let bundle = item.bundle.as_ref()?;
        let given = given(bundle, &item.variables, line);
        given.iter().find_map(|part| of_part(part, bundle, &given, terms, buyer))
    };
    hindrance(item, terms, buyer).or_else(of_choice)
}

/// `with` are the parts with which the bundle gives one: what a part requires of another is there.
fn of_part(
    part: &Part,
    bundle: &Bundle,
    with: &[&Part],
    terms: Terms<'_>,
    buyer: Option<Buyer<'_>>,
) -> Option<Hindrance> {
    let units = terms.sold.get(&part.item).map_or(0, |counted| counted.sold);
    // A limit of a server counts once a server is chosen.
    let mut reached = limits::in_time(part.item, &part.limits, terms, buyer, None).filter(|one| one.is_reached());
    let reached = reached.next().map(|one| one.per_user);
    if part.global_limit.is_some_and(|limit| units >= u64::from(limit)) || reached == Some(false) {
        return Some(Hindrance::PartSoldOut(part.name.clone()));
    }
    let buyer = buyer?;
    if !bundle.despite_owned && part.included_in.iter().any(|id| buyer.owns(*id)) {
        return Some(Hindrance::PartOwned(part.name.clone()));
    }
    if reached == Some(true) || part.user_limit.is_some_and(|limit| buyer.owned(part.item).units >= limit) {
        return Some(Hindrance::PartLimit(part.name.clone()));
    }
    of_conditions(&part.conditions, with, buyer)
}

fn of_conditions(conditions: &Conditions, with: &[&Part], buyer: Buyer<'_>) -> Option<Hindrance> {
    let owns = |id: ItemId| buyer.owns(id);
    let has = |item: &NamedItem| owns(item.id) || with.iter().any(|part| part.item == item.id);
    if let Some(group) = conditions.requires.iter().find(|group| !group.iter().any(has)) {
        return Some(Hindrance::Requires(any_of(group)));
    }
    if let Some(item) = conditions.excludes.iter().find(|item| owns(item.id)) {
        return Some(Hindrance::Excludes(item.name.clone()));
    }
    conditions.one_of.iter().any(|id| owns(*id)).then_some(Hindrance::OneOf)
}

/// The items that a part requires and that are not given `with` it.
pub fn needed<'a>(part: &'a Part, with: &'a [Part]) -> impl Iterator<Item = &'a Vec<NamedItem>> {
    let has = |item: &NamedItem| with.iter().any(|other| other.item == item.id);
    part.conditions.requires.iter().filter(move |group| !group.iter().any(has))
}

/// The reason why what a caller owns keeps them from buying an item, as a sentence.
pub fn unavailable_because(item: &Item, terms: Terms<'_>, buyer: Option<Buyer<'_>>) -> Option<String> {
    hindrance(item, terms, buyer).map(|hindrance| LineRefusal::Hindered(hindrance).to_string())
}

/// Whether a player cannot have what two lines give: one excludes the other, both are of a category of which a player has one,
/// or a bundle gives a step of a cumulative category in which the other line gives one as well.
pub fn exclude_each_other(one: &[&PublishedItem], other: &[&PublishedItem]) -> bool {
    let excludes = |one: &Item, other: &Item| one.conditions.unowned().any(|id| id == other.id);
    let is_step = |published: &PublishedItem| is_cumulative(&published.item, &published.price_tiers);
    let has_part = one.len() > 1 || other.len() > 1;
    one.iter().any(|one| {
        other.iter().any(|other| {
            let are_steps = has_part && one.category == other.category && is_step(one) && is_step(other);
            are_steps || excludes(&one.item, &other.item) || excludes(&other.item, &one.item)
        })
    })
}

/// Whether a line is for the cart's owner, and takes the place of their other items of its category.
pub fn is_own_choice(line: &Line, published: &PublishedItem) -> bool {
    line.payment_type != PaymentType::Gift && !published.item.conditions.one_of.is_empty()
}

/// The player that a line is for; `None` is the cart's owner.
pub fn player(line: &Line) -> Option<&UserName> {
    line.gift_to.as_ref().map(crate::model::PlayerName::key)
}

/// The parts that a line's bundle gives: its own, and those that its buyer has chosen.
pub fn given<'a>(bundle: &'a Bundle, variables: &[Variable], line: &Line) -> Vec<&'a Part> {
    let mut given: Vec<&Part> = bundle.parts.iter().collect();
    for id in bundle.variables() {
        let variable = variables.iter().find(|variable| variable.id == id);
        let chosen = variable.and_then(|variable| value_of(line, variable));
        let part = chosen.and_then(|name| bundle.from.iter().find(|part| part.name == name));
        given.extend(part.filter(|part| !given.iter().any(|known| known.item == part.item)));
    }
    given
}

/// The published parts that a line gives; none if it is not a bundle.
pub fn parts<'a>(published: &'a PublishedItem, line: &Line) -> Vec<&'a PublishedItem> {
    let Some(bundle) = &published.item.bundle else { return Vec::new() };
    let given = given(bundle, &published.item.variables, line).into_iter();
    given.filter_map(|part| published.parts.iter().find(|published| published.item.id == part.item)).collect()
}

/// The items of which a line gives units: its own, and the parts of a bundle.
pub fn items<'a>(published: &'a PublishedItem, line: &Line) -> impl Iterator<Item = &'a PublishedItem> {
    std::iter::once(published).chain(parts(published, line))
}

/// The lines of an order for a line whose own is `head`: of a bundle the bundle's without its sum, and one for each part, which
/// has its share. `next` is the first id that no other line has.
pub fn lines(published: &PublishedItem, line: &Line, head: OrderLine, next: &mut LineId) -> Vec<OrderLine> {
    let parts = parts(published, line);
    let Some(chosen) = head.chosen.clone().filter(|_| !parts.is_empty()) else { return vec![head] };
    let is_virtual = head.virtual_total > Money::ZERO;
    let shares = head.total.spread(&weights(&parts, false));
    let discounts = head.discount.spread(&weights(&parts, false));
    let virtual_shares = head.virtual_total.spread(&weights(&parts, is_virtual));
    let of = OfBundle { line: chosen.line, item: head.item, count: head.count };
    let part = |(part, (total, virtual_total, discount)): (&PublishedItem, (Money, Money, Money))| {
        let item = &part.item;
        let id = *next;
        *next = LineId::new(id.get().saturating_add(1));
        let is_own = |id: u64| item.variables.iter().any(|variable| variable.id == id);
        OrderLine {
            payment_type: head.payment_type,
            recipient: head.recipient,
            chosen: Some(Chosen {
                line: id,
                name: item.name.clone(),
                variables: chosen.variables.iter().filter(|choice| is_own(choice.id)).cloned().collect(),
                server: chosen.server.filter(|_| item.allow_select_server),
                gift_to: chosen.gift_to.clone(),
            }),
            lasts: part.unit_lasts(),
            virtual_total,
            tax_code: item.tax_code.clone(),
            bundle: Some(of),
            discount,
            ..OrderLine::new(item.id, head.count, total)
        }
    };
    let shares = shares.into_iter().zip(virtual_shares).zip(discounts);
    let shares = shares.map(|((total, virtual_total), discount)| (total, virtual_total, discount));
    let parts: Vec<OrderLine> = parts.into_iter().zip(shares).map(part).collect();
    let head = OrderLine { total: Money::ZERO, virtual_total: Money::ZERO, discount: Money::ZERO, ..head };
    std::iter::once(head).chain(parts).collect()
}

/// The proportions in which parts share a sum: their regular prices; equal ones if they cost nothing.
fn weights(parts: &[&PublishedItem], is_virtual: bool) -> Vec<Money> {
    let prices = |price: fn(&PublishedItem) -> Money| parts.iter().map(|part| price(part)).collect::<Vec<Money>>();
    let is_some = |weights: &Vec<Money>| weights.iter().copied().sum::<Money>() > Money::ZERO;
    let virtual_prices = Some(prices(|part| part.item.virtual_price)).filter(|weights| is_virtual && is_some(weights));
    let regular = || Some(prices(|part| part.item.price)).filter(is_some);
    virtual_prices.or_else(regular).unwrap_or_else(|| vec![Money::SMALLEST; parts.len()])
}

/// The lines as buyers are shown them: a bundle once with its sum, without its parts.
pub fn folded(lines: &[OrderLine]) -> Vec<OrderLine> {
    let mut sums: BTreeMap<LineId, (Money, Money)> = BTreeMap::new();
    for line in lines {
        let Some(of) = line.bundle else { continue };
        let (total, virtual_total) = sums.entry(of.line).or_default();
        *total = *total + line.total;
        *virtual_total = *virtual_total + line.virtual_total;
    }
    let whole = |line: &OrderLine| {
        let id = line.chosen.as_ref().map(|chosen| chosen.line);
        let (total, virtual_total) = id.and_then(|id| sums.get(&id)).copied().unwrap_or_default();
        OrderLine { total: line.total + total, virtual_total: line.virtual_total + virtual_total, ..line.clone() }
    };
    lines.iter().filter(|line| line.bundle.is_none()).map(whole).collect()
}
