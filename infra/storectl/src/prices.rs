//! The prices in what a publish prints: those that the calendar will change, and reductions that buyers do not see as such.

use crate::prelude::*;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use publish::{Compiled, PlannedReduction, PriceChange, planned_reductions, price_edges};
use serde::Serialize;
use shared::model::Money;
use shared::money::{CurrencyFormat, Decimal};
use std::fmt::Write as _;

/// How far ahead prices are shown, in seconds: 60 days.
const AHEAD_SECONDS: i64 = 60 * 86_400;

/// The changes of the calendar at a second.
#[derive(Serialize)]
pub struct EdgeFacts {
    at: Time,
    prices: Vec<ChangeFacts>,
}

#[derive(Serialize)]
struct ChangeFacts {
    item: u64,
    name: String,
    /// Null if the item cannot be bought before.
    before: Option<Decimal>,
    /// Null if it cannot be bought any more.
    after: Option<Decimal>,
    sale: Option<String>,
    /// Empty of a price for everyone.
    owners_of: Vec<String>,
}

/// Every price that the calendar changes in the next 60 days, by the second at which it does: as lines in the store's zone, and as
/// facts.
pub fn ahead(store: &Compiled, zone: &TimeZone, now: i64) -> (String, Vec<EdgeFacts>) {
    let format = CurrencyFormat::new(store.config.digits);
    let edges = price_edges(store, now, now.saturating_add(AHEAD_SECONDS));
    let mut text = String::new();
    if !edges.is_empty() {
        _ = write!(text, "\n{}", paint(STRONG, "Prices that the calendar changes in the next 60 days"));
    }
    let facts = edges.into_iter().map(|edge| {
        _ = write!(text, "\n{}", in_zone(edge.at, zone, "%Y-%m-%d %H:%M:%S %Z"));
        let prices = edge.changes.into_iter().map(|change| {
            _ = write!(text, "\n  {}", line(&change, format));
            let PriceChange { item, name, before, after, sale, owners_of } = change;
            let [before, after] = [before, after].map(|price| price.map(|price| format.money(price)));
            ChangeFacts { item: item.get(), name, before, after, sale, owners_of }
        });
        EdgeFacts { at: Time(edge.at), prices: prices.collect() }
    });
    let facts = facts.collect();
    (text, facts)
}

fn line(PriceChange { item, name, before, after, sale, owners_of }: &PriceChange, format: CurrencyFormat) -> String {
    let price = |price: &Option<Money>| {
        price.map_or_else(|| "not for sale".to_owned(), |price| format.money(price).to_string())
    };
    let mut notes: Vec<String> = sale.iter().cloned().collect();
    if !owners_of.is_empty() {
        notes.push(format!("for owners of {}", owners_of.join(" or ")));
    }
    let notes = if notes.is_empty() { String::new() } else { format!(" ({})", notes.join(", ")) };
    format!("item {item} {name}: {} → {}{notes}", price(before), price(after))
}

/// Warnings of reductions that begin with a publish, or are planned by it, and that the shop cannot show as the files say.
pub async fn warnings(at: &Deployment, store: &Compiled, zone: &TimeZone) -> Result<Vec<String>> {
    if !store.config.price_history {
        return Ok(Vec::new());
    }
    let format = CurrencyFormat::new(store.config.digits);
    let day = |second| in_zone(second, zone, "%Y-%m-%d");
    let (mut warnings, mut unknown) = (Vec::new(), Vec::new());
    for PlannedReduction { item, name, reduction } in planned_reductions(&at.db, store, at.clock.seconds()).await? {
        if let Some(raised) = reduction.raised {
            let [from, to] = [raised.from, reduction.regular].map(|price| format.money(price));
            warnings.push(format!(
                "Item {item} {name}: its price was raised from {from} to {to} on {}, less than 30 days before the reduction of {}: \
                 the shop shows the reduction from {from} at most.",
                day(raised.at),
                day(reduction.begins)
            ));
        }
        if reduction.lowest.is_none() {
            unknown.push(format!("{item} {name}"));
        }
    }
    unknown.dedup();
    if !unknown.is_empty() {
        warnings.push(format!(
            "The shop shows no reduction of items of which no price was asked in the 30 days before it: {}.",
            unknown.join(", ")
        ));
    }
    Ok(warnings)
}

fn in_zone(second: i64, zone: &TimeZone, format: &str) -> String {
    let local = Timestamp::from_second(second).map(|at| at.to_zoned(zone.clone()).strftime(format).to_string());
    local.unwrap_or_else(|_| second.to_string())
}
