//! One function for each part of the table of budgets.

use super::limits::{self as limit, round_trips};
use super::{Budget, Verdict};
use crate::figures::{Figures, Program, ScalePoint, Spread};
use crate::lookup::{CHECK_STATUS, FUNCTIONS, HELLO, NODE, PYTHON, SCALED, SDK_DEFAULTS, endpoint_of};
use crate::text::{count, real};
use std::collections::BTreeMap;

/// Answers that come out of the cache.
const CACHED: [&str; 2] = ["settings/get", "categories/get"];
/// Endpoints whose answer has much in it: what the budget calls it, and its point of the scale.
const FULL: [(&str, &str); 3] = [
    ("cart/acceptCoupon", "cart/acceptCoupon, 10 lines"),
    ("cart/get", "cart/get, 10 lines"),
    ("categories/get/{url}", "categories/get/{url}, 50 items"),
];
/// Items of the store, lines of the cart, orders of the buyer at which [`FULL`] is judged.
const FULL_AT: (u64, u32, u32) = (1_000, 10, 0);

/// A figure of a program.
type Of<'a> = &'a dyn Fn(&str) -> Option<f64>;
/// A size of a program, in bytes.
type Size = fn(&Program) -> Option<u64>;

/// Every budget, for every program and endpoint that it is about.
pub fn judge(figures: &Figures) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    cold(figures, &mut verdicts);
    first_against_peers(figures, &mut verdicts);
    warm(figures, &mut verdicts);
    full(figures, &mut verdicts);
    sizes(figures, &mut verdicts);
    trips(figures, &mut verdicts);
    flatness(figures, &mut verdicts);
    verdicts
}

fn cold(figures: &Figures, verdicts: &mut Vec<Verdict>) {
    let init = |name: &str| figures.program(name)?.init_unconnected().map(|init| real(init.median));
    let first = |name: &str| figures.program(name)?.cold.map(|cold| real(cold.first_cpu.median));
    let quickest = |name: &str| figures.program(name)?.cold.map(|cold| real(cold.first_cpu.min));
    let table: [(Budget, Of<'_>); 3] = [
        (limit::INIT_CPU, &|name| over(init(name), init(HELLO))),
        (limit::INIT_BELOW_NODE, &|name| over(init(NODE), init(name))),
        (limit::INIT_BELOW_PYTHON, &|name| over(init(PYTHON), init(name))),
    ];
    for (budget, value) in table {
        verdicts.extend(FUNCTIONS.map(|name| budget.judge(name, value(name))));
    }
    verdicts.extend(FUNCTIONS.map(|name| limit::FIRST_CPU.judge(name, first(name)).beside(quickest(name))));
    verdicts.extend(FUNCTIONS.map(|name| {
        let ratio = |of: Of<'_>| over(of(name), of(HELLO));
        limit::FIRST_CPU_RATIO.judge(name, ratio(&first)).beside(ratio(&quickest))
    }));
}

/// Only payments: its one endpoint is what the peers answer.
fn first_against_peers(figures: &Figures, verdicts: &mut Vec<Verdict>) {
    let first = |name: &str| figures.program(name)?.cold.map(|cold| real(cold.first_wall.median));
    let peers =
        [(limit::FIRST_BELOW_NODE, NODE), (limit::FIRST_BELOW_PYTHON, PYTHON), (limit::FIRST_BELOW_SDK, SDK_DEFAULTS)];
    verdicts.extend(peers.map(|(budget, peer)| budget.judge(CHECK_STATUS, over(first(peer), first("payments")))));
}

fn warm(figures: &Figures, verdicts: &mut Vec<Verdict>) {
    let check_status = figures.of_functions(CHECK_STATUS).zip(figures.raw(CHECK_STATUS)).map(|(warm, raw)| {
        let calls = f64::from(raw.calls.max(1));
        (real(warm.wall.min) - real(raw.wall.min)) / calls
    });
    verdicts.push(limit::OVER_RAW.judge(CHECK_STATUS, check_status));
    let hello = figures.hello();
    for name in CACHED {
        let both = figures.of_functions(name).zip(hello);
        let over = |of: fn(&Spread) -> u64| both.map(|(cached, hello)| real(of(&cached.wall)) - real(of(&hello.wall)));
        let verdict = limit::CACHED.judge(name, over(|wall| wall.median));
        verdicts.push(verdict.beside(over(|wall| wall.min)));
    }
    for name in CACHED {
        let cached = figures.of_functions(name).map(|cached| real(cached.cpu));
        verdicts.push(limit::CACHED_RATIO.judge(name, over(cached, hello.map(|hello| real(hello.cpu)))));
    }
}

fn full(figures: &Figures, verdicts: &mut Vec<Verdict>) {
    let hello = figures.hello().map(|hello| real(hello.cpu));
    let cpu = |endpoint: &str| full_point(figures, endpoint).map(|point| real(point.cpu));
    verdicts.extend(FULL.map(|(endpoint, of)| limit::FULL_CPU.judge(of, cpu(endpoint))));
    verdicts.extend(FULL.map(|(endpoint, of)| limit::FULL_CPU_RATIO.judge(of, over(cpu(endpoint), hello))));
}

/// A category has no lines: any point of its store will do, the one with the wanted lines first.
fn full_point<'a>(figures: &'a Figures, endpoint: &str) -> Option<&'a ScalePoint> {
    let (items, lines, orders) = FULL_AT;
    let mut points = figures
        .scale
        .iter()
        .filter(|point| point.endpoint == endpoint && (point.items, point.orders) == (items, orders));
    let wanted = points.clone().find(|point| point.lines == lines);
    if endpoint.starts_with("cart/") { wanted } else { wanted.or_else(|| points.next()) }
}

fn sizes(figures: &Figures, verdicts: &mut Vec<Verdict>) {
    let table: [(Budget, Size); 3] = [
        (limit::BYTES, |program| program.bytes),
        (limit::ZIP, |program| program.zip_bytes),
        (limit::RSS, |program| program.peak_rss),
    ];
    for (budget, size) in table {
        verdicts.extend(FUNCTIONS.map(|name| budget.judge(name, figures.program(name).and_then(size).map(real))));
    }
}

/// Every warm row of the functions, and every endpoint that has none.
fn trips(figures: &Figures, verdicts: &mut Vec<Verdict>) {
    let budget = |allowed: u32| Budget { limit: f64::from(allowed), ..limit::ROUND_TRIPS };
    for endpoint in figures.endpoints.iter().filter(|endpoint| FUNCTIONS.contains(&endpoint.program.as_str())) {
        if let Some(allowed) = round_trips(&endpoint.name) {
            verdicts.push(budget(allowed).judge(&endpoint.name, Some(f64::from(endpoint.cost.round_trips))));
        }
    }
    let has_none = |name: &&str| !figures.endpoints.iter().any(|row| endpoint_of(&row.name) == *name);
    for name in limit::endpoints().filter(has_none) {
        verdicts.push(budget(round_trips(name).unwrap_or_default()).judge(name, None));
    }
}

/// Points that differ in one thing alone, against the one that has least of it.
///
/// Calls are judged wherever there are such points. Units and processor time are judged over the store's size for the
/// buyer without orders, and over orders in the smallest store: elsewhere the buyer's ledger has more distinct items,
/// and with those it may grow.
fn flatness(figures: &Figures, verdicts: &mut Vec<Verdict>) {
    let by_items = [limit::FLAT_CALLS, limit::FLAT_UNITS, limit::FLAT_CPU];
    let by_orders = [limit::FLAT_CALLS_ORDERS, limit::FLAT_UNITS_ORDERS, limit::FLAT_CPU_ORDERS];
    for endpoint in SCALED {
        let rows_of = rows(figures, endpoint, |point| (lines_of(point), u64::from(point.orders)), |point| point.items);
        let named = |(lines, orders): Fixed| Row {
            name: format!("{endpoint}{}, {} orders", with_lines(lines), count(orders)),
            calls_alone: orders > 0,
        };
        flat(endpoint, by_items, rows_of.into_iter().map(|(key, points)| (named(key), points)), verdicts);
        let rows_of = rows(figures, endpoint, |point| (lines_of(point), point.items), |point| u64::from(point.orders));
        let smallest = rows_of.keys().map(|(_, items)| *items).min();
        let named = |(lines, items): Fixed| Row {
            name: format!("{endpoint}{}, {} items", with_lines(lines), count(items)),
            calls_alone: Some(items) != smallest,
        };
        flat(endpoint, by_orders, rows_of.into_iter().map(|(key, points)| (named(key), points)), verdicts);
    }
}

/// A row of points that differ in one thing alone.
struct Row {
    name: String,
    calls_alone: bool,
}

/// Lines of the cart, where the endpoint looks at the cart.
fn lines_of(point: &ScalePoint) -> Option<u32> {
    point.endpoint.starts_with("cart/").then_some(point.lines)
}

fn with_lines(lines: Option<u32>) -> String {
    lines.map_or_else(String::new, |lines| format!(", {lines} lines"))
}

/// What the points of a row have in common: lines of the cart, and items or orders.
type Fixed = (Option<u32>, u64);

/// The points of an endpoint that have the same `fixed` and more than one `varied`, the least first.
fn rows<'a>(
    figures: &'a Figures,
    endpoint: &str,
    fixed: fn(&ScalePoint) -> Fixed,
    varied: fn(&ScalePoint) -> u64,
) -> BTreeMap<Fixed, Vec<&'a ScalePoint>> {
    let mut rows: BTreeMap<Fixed, Vec<&ScalePoint>> = BTreeMap::new();
    for point in figures.scale.iter().filter(|point| point.endpoint == endpoint) {
        rows.entry(fixed(point)).or_default().push(point);
    }
    rows.retain(|_, points| {
        points.sort_by_key(|point| varied(point));
        points.first().map(|point| varied(point)) != points.last().map(|point| varied(point))
    });
    rows
}

fn flat<'a>(
    endpoint: &str,
    [calls, units, cpu]: [Budget; 3],
    rows: impl Iterator<Item = (Row, Vec<&'a ScalePoint>)>,
    verdicts: &mut Vec<Verdict>,
) {
    let before = verdicts.len();
    for (Row { name, calls_alone }, points) in rows {
        verdicts.push(
            calls.judge(&name, most(&points, |least, point| apart(least.cost.calls.into(), point.cost.calls.into()))),
        );
        if calls_alone {
            continue;
        }
        let units_apart = |least: &ScalePoint, point: &ScalePoint| {
            let reads = apart(least.cost.read_units, point.cost.read_units);
            reads.max(apart(least.cost.write_units, point.cost.write_units))
        };
        verdicts.push(units.judge(&name, most(&points, units_apart)));
        let alike = of_one_answer(&points);
        verdicts.push(cpu.judge(name, most(&alike, |least, point| real(point.cpu) / real(least.cpu.max(1)))));
    }
    if verdicts.len() == before {
        verdicts.extend([calls, units, cpu].map(|budget| budget.judge(endpoint, None)));
    }
}

/// The largest figure of any point against the first; `None` where there is no other.
fn most(points: &[&ScalePoint], figure: impl Fn(&ScalePoint, &ScalePoint) -> f64) -> Option<f64> {
    let (least, more) = points.split_first()?;
    more.iter().map(|point| figure(least, point)).reduce(f64::max)
}

fn apart(one: f64, other: f64) -> f64 {
    (one - other).abs()
}

/// The points whose answer is about as long as the last one's: what the answer itself contains may cost time.
fn of_one_answer<'a>(points: &[&'a ScalePoint]) -> Vec<&'a ScalePoint> {
    let Some(last) = points.last() else { return Vec::new() };
    points.iter().copied().filter(|point| point.is_alike(last)).collect()
}

fn over(figure: Option<f64>, base: Option<f64>) -> Option<f64> {
    figure.zip(base.filter(|base| *base > 0.0)).map(|(figure, base)| figure / base)
}
