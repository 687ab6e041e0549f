//! The verdicts on a run, by part of the table of budgets.

use super::limits::{self as limit, round_trips};
use super::{Budget, Verdict};
use crate::figures::{CHECK_STATUS, Endpoint, FUNCTIONS, Figures, HELLO, Program, SCALED, ScalePoint};
use crate::text::{count, real};
use std::collections::BTreeMap;

/// Endpoints that respond from the cache.
const CACHED: [&str; 2] = ["settings/get", "categories/get"];
/// Endpoints with a large response, and what the budget calls them.
const FULL: [(&str, &str); 3] = [
    ("cart/acceptCoupon", "cart/acceptCoupon, 10 lines"),
    ("cart/get", "cart/get, 10 lines"),
    ("categories/get/{url}", "categories/get/{url}, 50 items"),
];
/// Items of the store, lines of the cart, orders of the buyer at which [`FULL`] is judged.
const FULL_AT: (u64, u32, u32) = (1_000, 10, 0);

/// Every budget, for every program and endpoint that it is about.
pub fn judge(figures: &Figures) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    programs(figures, &mut verdicts);
    endpoints(figures, &mut verdicts);
    for endpoint in SCALED {
        flatness(figures, endpoint, &mut verdicts);
    }
    verdicts
}

fn programs(figures: &Figures, verdicts: &mut Vec<Verdict>) {
    let init = |program: &Program| {
        let cold = program.cold?;
        Some(real(cold.init_cpu_unconnected.unwrap_or(cold.init_cpu).median))
    };
    let first = |program: &Program| Some(real(program.cold?.first_cpu.median));
    let hello = |of: fn(&Program) -> Option<f64>| figures.program(HELLO).and_then(of);
    let mut each = |budget: Budget, value: &dyn Fn(&Program) -> Option<f64>| {
        verdicts.extend(FUNCTIONS.map(|name| budget.judge(name, figures.program(name).and_then(value))));
    };
    each(limit::INIT_CPU, &|program| over(init(program), hello(init)));
    each(limit::FIRST_CPU, &|program| over(first(program), hello(first)));
    each(limit::BYTES, &|program| Some(real(program.bytes)));
    each(limit::ZIP, &|program| Some(real(program.zip_bytes)));
    each(limit::RSS, &|program| program.peak_rss.map(real));
}

fn endpoints(figures: &Figures, verdicts: &mut Vec<Verdict>) {
    let shortest = |row: &Endpoint| real(row.wall.min);
    let raw = figures.raw.iter().find(|raw| raw.name == CHECK_STATUS).map(|raw| real(raw.wall.min));
    let warm = figures.of_functions(CHECK_STATUS).map(shortest);
    verdicts.push(limit::OVER_RAW.judge(CHECK_STATUS, over(warm, raw)));
    let hello = figures.endpoint(HELLO, HELLO).map(|row| real(row.cpu));
    for name in CACHED {
        let cpu = figures.of_functions(name).map(|row| real(row.cpu));
        verdicts.push(limit::CACHED_CPU.judge(name, over(cpu, hello)));
    }
    for (endpoint, of) in FULL {
        let cpu = full_point(figures, endpoint).map(|point| real(point.cpu));
        verdicts.push(limit::FULL_CPU.judge(of, over(cpu, hello)));
    }
    let budget = |allowed: u32| Budget { limit: f64::from(allowed), ..limit::ROUND_TRIPS };
    for row in figures.endpoints.iter().filter(|row| FUNCTIONS.contains(&row.program.as_str())) {
        if let Some(allowed) = round_trips(&row.name) {
            verdicts.push(budget(allowed).judge(&row.name, Some(f64::from(row.cost.round_trips))));
        }
    }
}

/// A category has no lines: the point with other lines will do.
fn full_point<'a>(figures: &'a Figures, endpoint: &str) -> Option<&'a ScalePoint> {
    let (items, lines, orders) = FULL_AT;
    let is_wanted = |point: &&ScalePoint| {
        point.endpoint == endpoint
            && (point.items, point.orders) == (items, orders)
            && (point.lines == lines || !endpoint.starts_with("cart/"))
    };
    figures.scale.iter().find(is_wanted)
}

/// Compares points that differ in one thing only with the one that has least of it.
///
/// Calls are compared wherever there are such points. Units and processor time are compared over the store's size for
/// the buyer without orders, and over orders in the smallest store: elsewhere the buyer's ledger has more distinct
/// items, with which it may grow.
fn flatness(figures: &Figures, endpoint: &str, verdicts: &mut Vec<Verdict>) {
    let points = || figures.scale.iter().filter(|point| point.endpoint == endpoint);
    let lines = |point: &ScalePoint| endpoint.starts_with("cart/").then_some(point.lines);
    let named = |lines: Option<u32>| lines.map_or_else(String::new, |lines| format!(", {lines} lines"));
    let smallest = points().map(|point| point.items).min();
    let mut by_items: BTreeMap<_, Vec<&ScalePoint>> = BTreeMap::new();
    let mut by_orders: BTreeMap<_, Vec<&ScalePoint>> = BTreeMap::new();
    for point in points() {
        by_items.entry((lines(point), point.orders)).or_default().push(point);
        by_orders.entry((lines(point), point.items)).or_default().push(point);
    }
    let budgets = [limit::FLAT_CALLS, limit::FLAT_UNITS, limit::FLAT_CPU];
    for ((lines, orders), mut points) in by_items {
        points.sort_by_key(|point| point.items);
        let name = format!("{endpoint}{}, {} orders", named(lines), count(orders.into()));
        flat(budgets, &name, orders > 0, &points, verdicts);
    }
    let budgets = [limit::FLAT_CALLS_ORDERS, limit::FLAT_UNITS_ORDERS, limit::FLAT_CPU_ORDERS];
    for ((lines, items), mut points) in by_orders {
        points.sort_by_key(|point| point.orders);
        let name = format!("{endpoint}{}, {} items", named(lines), count(items));
        flat(budgets, &name, Some(items) != smallest, &points, verdicts);
    }
    if smallest.is_none() {
        verdicts.extend([limit::FLAT_CALLS, limit::FLAT_CALLS_ORDERS].map(|budget| budget.judge(endpoint, None)));
    }
}

fn flat(
    [calls, units, cpu]: [Budget; 3],
    name: &str,
    only_calls: bool,
    points: &[&ScalePoint],
    verdicts: &mut Vec<Verdict>,
) {
    let [least, more @ ..] = points else { return };
    let most =
        |figure: &dyn Fn(&ScalePoint) -> Option<f64>| more.iter().filter_map(|point| figure(point)).reduce(f64::max);
    if more.is_empty() {
        return;
    }
    verdicts.push(calls.judge(name, most(&|point| Some(real(point.cost.calls.abs_diff(least.cost.calls).into())))));
    if only_calls {
        return;
    }
    verdicts.push(units.judge(
        name,
        most(&|point| {
            let reads = (point.cost.read_units - least.cost.read_units).abs();
            Some(reads.max((point.cost.write_units - least.cost.write_units).abs()))
        }),
    ));
    // Of the points whose response is about as long as the last one's: a longer response may cost more time.
    let Some(largest) = more.last() else { return };
    let alike = |point: &ScalePoint| {
        point.answer_bytes.abs_diff(largest.answer_bytes) * 10 <= point.answer_bytes.max(largest.answer_bytes)
    };
    let base = points.iter().find(|point| alike(point)).map(|point| real(point.cpu));
    let ratio = |point: &ScalePoint| if alike(point) { over(Some(real(point.cpu)), base) } else { None };
    verdicts.push(cpu.judge(name, most(&ratio)));
}

fn over(figure: Option<f64>, base: Option<f64>) -> Option<f64> {
    figure.zip(base.filter(|base| *base > 0.0)).map(|(figure, base)| figure / base)
}
