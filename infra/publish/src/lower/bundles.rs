//! Bundles: items that are sold as several others.

use super::catalog::Category;
use super::limits::{Names, Written, items_mut, named, written};
use super::site::Site;
use crate::fault::Report;
use crate::files::{CategoryFile, ChooseFile, Source};
use shared::model::{Bundle, Item, ItemId, Money, NamedItem, Part, Variable, VariableKind};
use shared::money::CurrencyFormat;
use std::collections::{BTreeMap, BTreeSet};

/// An item that can be a part.
struct Candidate<'a> {
    item: &'a Item,
    is_bundle: bool,
    /// Whether it and its category are published.
    is_published: bool,
    included_in: Vec<ItemId>,
}

type Candidates<'a> = BTreeMap<ItemId, Candidate<'a>>;

/// The parts of an item that is a bundle: the bundle, the variables of its choices, and whether it needs a chat account.
type Lowered = (Bundle, Vec<Variable>, bool);

/// Gives each bundle its parts.
pub(super) fn resolve(files: &[Source<CategoryFile>], categories: &mut [Category], site: &Site, report: &mut Report) {
    let bundles: BTreeSet<u64> =
        files.iter().flat_map(|source| written(&source.content)).filter(is_bundle).map(|own| *own.item.id).collect();
    let candidates = candidates(categories, &bundles);
    let names: Names = candidates.iter().map(|(id, part)| (id.get(), part.item.name.clone())).collect();
    let mut all: BTreeMap<ItemId, Lowered> = BTreeMap::new();
    for source in files {
        report.enter(&source.path);
        for own in written(&source.content) {
            if is_bundle(&own) {
                all.insert(ItemId::new(*own.item.id), bundle(&own, &candidates, &names, site, report));
            } else if own.item.despite_owned {
                own.fault(None, "despite_owned", "is for a bundle: add bundle: […], or leave it out", report);
            }
        }
    }
    for item in items_mut(categories) {
        let Some((bundle, variables, needs_chat)) = all.remove(&item.id) else { continue };
        item.variables.extend(variables);
        item.needs_chat |= needs_chat;
        item.bundle = Some(bundle);
    }
}

fn is_bundle(own: &Written<'_>) -> bool {
    !own.item.bundle.is_empty() || own.item.choose.is_some()
}

fn candidates<'a>(categories: &'a [Category], bundles: &BTreeSet<u64>) -> Candidates<'a> {
    let mut all = Candidates::new();
    for top in categories {
        for category in std::iter::once(top).chain(&top.subcategories) {
            let is_published = top.visible && category.visible;
            let tiers = category.shelf.price_tiers();
            for item in &category.shelf.items {
                let higher = tiers.iter().filter(|tier| tier.price >= item.price && tier.item != item.id);
                let included_in = std::iter::once(item.id).chain(higher.map(|tier| tier.item)).collect();
                let is_bundle = bundles.contains(&item.id.get());
                all.insert(item.id, Candidate { item, is_bundle, is_published, included_in });
            }
        }
    }
    all
}

fn bundle(own: &Written<'_>, candidates: &Candidates<'_>, names: &Names, site: &Site, report: &mut Report) -> Lowered {
    let file = own.item;
    if file.subscription.is_some() {
        own.fault(None, "bundle", "is not for a subscription: sell the bundle once", report);
    }
    if own.category.cumulative {
        own.fault(None, "bundle", "is not for a cumulative category: move the bundle to another", report);
    }
    let fixed = named(&file.bundle, "bundle", own, names, report);
    let choose = file.choose.as_ref();
    let from = choose.map(|choose| named(&choose.from, "choose.from", own, names, report)).unwrap_or_default();
    let parts = |named: &[NamedItem], name: &str, report: &mut Report| -> Vec<Part> {
        named.iter().filter_map(|part| self::part(own, candidates.get(&part.id)?, name, report)).collect()
    };
    let (fixed, from) = (parts(&fixed, "bundle", report), parts(&from, "choose.from", report));
    let variables = choose.map(|choose| choices(own, choose, &fixed, &from, report)).unwrap_or_default();
    let choices = u32::try_from(variables.len()).unwrap_or_default();
    let bundle = Bundle { parts: fixed, from, choices, despite_owned: file.despite_owned };
    check_together(own, &bundle, candidates, report);
    warn_of_price(own, &bundle, candidates, site, report);
    let needs_chat = bundle.all().filter_map(|part| candidates.get(&part.item)).any(|part| part.item.needs_chat);
    (bundle, variables, needs_chat)
}

/// An item as a part, if it can be one.
fn part(own: &Written<'_>, part: &Candidate<'_>, name: &str, report: &mut Report) -> Option<Part> {
    let item = part.item;
    let asks = item.variables.iter().find(|variable| {
        !own.item.variables.iter().any(|known| *known.id == variable.id && known.name == variable.name)
    });
    let servers = |id: u64| item.servers.iter().any(|server| server.id.get() == id);
    let problem = if part.is_bundle {
        Some("is a bundle, which cannot be in another: name its parts".to_owned())
    } else if item.is_subscription {
        Some("is a subscription, which cannot be in a bundle".to_owned())
    } else if item.any_price {
        Some("has a price that buyers choose, which cannot be in a bundle".to_owned())
    } else if !part.is_published {
        Some("is in a category that is disabled or deleted: move it to another".to_owned())
    } else if let Some(variable) = asks {
        let (id, text) = (variable.id, &variable.name);
        Some(format!("asks for {text:?}: give the bundle the same variable, with id {id} and that name"))
    } else if item.allow_select_server && !own.item.servers.iter().all(|server| servers(**server)) {
        Some("is delivered to a server that buyers select: the bundle's servers must be among its own".to_owned())
    } else if item.allow_select_server && !own.item.select_server {
        Some(
            "is delivered to a server that buyers select: add select_server: true and servers to the bundle".to_owned(),
        )
    } else {
        None
    };
    if let Some(problem) = problem {
        own.fault(None, name, format!("item {} {problem}", item.id), report);
        return None;
    }
    Some(Part {
        item: item.id,
        name: item.name.clone(),
        price: item.price,
        virtual_price: item.virtual_price,
        global_limit: item.global_limit,
        user_limit: item.user_limit,
        limits: item.limits.clone(),
        conditions: item.conditions.clone(),
        included_in: part.included_in.clone(),
    })
}

/// The variables by which parts are chosen.
fn choices(
    own: &Written<'_>,
    choose: &ChooseFile,
    fixed: &[Part],
    from: &[Part],
    report: &mut Report,
) -> Vec<Variable> {
    let most = from.len();
    let count = usize::try_from(*choose.count).unwrap_or(usize::MAX);
    if count == 0 || count >= most.max(1) {
        let problem = format!("must be at least 1 and below the number of items to choose from, {most}");
        own.fault(choose.count.line, "choose.count", problem, report);
        return Vec::new();
    }
    if let Some(twice) = from.iter().find(|part| fixed.iter().any(|other| other.item == part.item)) {
        own.fault(None, "choose.from", format!("item {} is in `bundle` already", twice.item), report);
    }
    let options: Vec<String> = from.iter().map(|part| part.name.clone()).collect();
    let names: BTreeSet<&String> = options.iter().collect();
    if names.len() < options.len() {
        own.fault(None, "choose.from", "has two items with the same name, which buyers could not tell apart", report);
    }
    let first = Bundle::FIRST_CHOICE;
    let variable = |(place, id): (usize, u64)| Variable {
        id,
        name: if count == 1 { choose.name.clone() } else { format!("{} {}", choose.name, place + 1) },
        options: options.clone(),
        surcharges: BTreeMap::new(),
        kind: VariableKind::default(),
        min: None,
        max: None,
    };
    (0..count).zip(first..).map(variable).collect()
}

/// Notes parts that one player cannot have together.
fn check_together(own: &Written<'_>, bundle: &Bundle, candidates: &Candidates<'_>, report: &mut Report) {
    let of = |part: &Part| candidates.get(&part.item);
    for (place, part) in bundle.parts.iter().enumerate() {
        for other in bundle.all().skip(place + 1) {
            let excludes = |one: &Part, other: &Part| one.conditions.unowned().any(|id| id == other.item);
            let includes = |one: &Part, other: &Part| of(one).is_some_and(|one| one.included_in.contains(&other.item));
            let apart =
                excludes(part, other) || excludes(other, part) || includes(part, other) || includes(other, part);
            if apart {
                let problem = format!("one player cannot have both item {} and item {}", part.item, other.item);
                own.fault(None, "bundle", problem, report);
            }
        }
    }
}

/// Warns of a bundle that costs more than its parts.
fn warn_of_price(own: &Written<'_>, bundle: &Bundle, candidates: &Candidates<'_>, site: &Site, report: &mut Report) {
    let price =
        |part: &Part| candidates.get(&part.item).map_or(Money::ZERO, |part| part.item.price.less(part.item.discount));
    let mut chosen: Vec<Money> = bundle.from.iter().map(price).collect();
    chosen.sort_unstable();
    let chosen = chosen.into_iter().take(usize::try_from(bundle.choices).unwrap_or_default());
    let parts: Money = bundle.parts.iter().map(price).chain(chosen).sum();
    let digits = site.config.digits;
    let own_price = own.item.price.as_ref().and_then(|price| price.money(digits).ok());
    if own_price.is_some_and(|own| own > parts) && !own.item.virtual_only {
        let parts = CurrencyFormat::new(digits).money(parts);
        let line = own.item.price.as_ref().and_then(crate::files::Decimal::line);
        report.warn(line, own.field("price"), format!("is more than its parts cost one by one, {parts}"));
    }
}
