//! The parts that a line of a bundle gives, and the lines of an order that it makes (rules.md, "Bundles").

use super::missing::value_of;
use crate::model::{Bundle, Chosen, Line, LineId, Money, OfBundle, OrderLine, Part, PublishedItem, Variable};
use std::collections::BTreeMap;

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
