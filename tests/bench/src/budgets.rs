//! The limits that a run is compared with: counts, sizes, memory, and processor time over a hello world's of the same run. Absolute times
//! are shown and not judged: they depend on the machine.

use crate::figures::{FUNCTIONS, Figures, HELLO, Measured, real};
use local::functions::Functions;

/// Ratios are half as large again as what was measured on 2026-11-22, because runs of a busy machine differ by a quarter:
/// they find a change that makes something slower.
const INIT_CPU: f64 = 2.0;
const FIRST_CPU: f64 = 5.2;
const CACHED_CPU: f64 = 2.0;
const CPU: f64 = 12.0;
/// Bytes of a function's binary, and of what is uploaded.
const BYTES: f64 = 6_200_000.0;
const ZIP: f64 = 3_000_000.0;
/// The most memory that a warm function held: 10 MiB.
const RSS: f64 = 10_485_760.0;

/// A limit on a figure, and the figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    pub what: &'static str,
    /// The program or endpoint.
    pub of: String,
    pub value: f64,
    pub limit: f64,
}

impl Verdict {
    pub fn is_missed(&self) -> bool {
        // Not a number if it was not measured.
        self.value.is_nan() || self.value > self.limit
    }

    /// How much of the budget is used.
    pub fn used(&self) -> f64 {
        if self.limit > 0.0 { self.value / self.limit } else { 1.0 + self.value }
    }
}

/// Every budget, for every program and endpoint that it is about.
pub fn judge(figures: &Figures) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    let mut judge = |what, of: &str, value: Option<f64>, limit| {
        verdicts.push(Verdict { what, of: of.to_owned(), value: value.unwrap_or(f64::NAN), limit });
    };
    let init = |one: &Measured| real(one.cold.init_cpu_unconnected.unwrap_or(one.cold.init_cpu).median);
    let first = |one: &Measured| real(one.cold.first_cpu.median);
    let hello = figures.program(HELLO);
    for name in FUNCTIONS {
        let of = |value: &dyn Fn(&Measured) -> f64| figures.program(name).map(value);
        let ratio = |value: &dyn Fn(&Measured) -> f64| Some(of(value)? / hello.map(value)?);
        judge("binary, bytes", name, of(&|one| real(one.bytes)), BYTES);
        judge("zip, bytes", name, of(&|one| real(one.zip_bytes)), ZIP);
        judge("peak RSS warm, bytes", name, of(&|one| real(one.peak_rss)), RSS);
        judge("init CPU without connection / hello world's", name, ratio(&init), INIT_CPU);
        judge("first invoke CPU / hello world's", name, ratio(&first), FIRST_CPU);
    }
    let hello = figures.endpoint(HELLO, HELLO).map(|row| real(row.cpu));
    for row in figures.endpoints.iter().filter(|row| FUNCTIONS.contains(&row.program)) {
        judge("round trips", row.name, Some(row.cost.round_trips.into()), round_trips(row.name));
        if row.cpu > 0 {
            let limit = if row.cost.calls == 0 { CACHED_CPU } else { CPU };
            judge("warm CPU / hello world's", row.name, hello.map(|hello| real(row.cpu) / hello), limit);
        }
    }
    verdicts
}

/// The most round trips of a row, warm, as its endpoint declares them. An outcome other than the ordinary one may need those of an
/// empty cache, such as the first request of a window.
fn round_trips(name: &str) -> f64 {
    let endpoint = name.split(", ").next().unwrap_or_default();
    let is_it = |route: &&str| route.split_once(" /").is_some_and(|(_, path)| path.replace("+}", "}") == endpoint);
    let mut all = Functions::declarations().into_iter().map(|(_, declaration)| declaration);
    let declared = all.find(|one| one.routes.iter().any(is_it)).map(|one| one.round_trips);
    declared.map_or(-1.0, |trips| {
        let most = if name == endpoint { trips.warm } else { trips.warm.max(trips.cold) };
        real(u64::try_from(most).unwrap_or(u64::MAX))
    })
}

/// The verdicts on one line each, those that were missed last.
pub fn summary(verdicts: &[Verdict]) -> String {
    let mut sorted: Vec<&Verdict> = verdicts.iter().collect();
    sorted.sort_by_key(|verdict| verdict.is_missed());
    let lines = sorted.iter().map(|verdict| {
        let Verdict { what, of, value, limit } = verdict;
        let outcome = if verdict.is_missed() { "MISSED" } else { "held" };
        format!("{outcome:6} {what:44} {of:40} {value:>12.2} of {limit:>12.2}\n")
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::{Cold, Cost, Endpoint, Spread};

    /// A run in which everything costs as much as a hello world.
    fn figures() -> Figures {
        let spread = |median| Spread { min: median, median, p99: median };
        let (init_cpu, first_cpu) = (spread(1_000_000), spread(200_000));
        let cold = Cold {
            init_wall: init_cpu,
            init_cpu,
            init_cpu_unconnected: Some(init_cpu),
            first_wall: first_cpu,
            first_cpu,
        };
        let program = |name| Measured { name, bytes: 4_000_000, zip_bytes: 2_000_000, cold, peak_rss: 7 << 20 };
        let row = |name: &'static str, round_trips: u32| {
            let cost = Cost { calls: round_trips as usize, round_trips, read_units: 1.0, write_units: 0.0 };
            Endpoint { program: "cart", name, wall: spread(100_000), cpu: 100_000, cost }
        };
        let mut endpoints = vec![row("settings/get", 0), row("cart/get", 2), row("cart/acceptCoupon, cold", 4)];
        endpoints.push(Endpoint { program: HELLO, ..row(HELLO, 0) });
        let programs = FUNCTIONS.into_iter().chain([HELLO]).map(program).collect();
        Figures { programs, endpoints, raw: spread(50_000), rounds: (1, 1) }
    }

    fn missed(change: impl FnOnce(&mut Figures)) -> Vec<(&'static str, String)> {
        let mut figures = figures();
        change(&mut figures);
        let verdicts = judge(&figures).into_iter().filter(Verdict::is_missed);
        verdicts.map(|verdict| (verdict.what, verdict.of)).collect()
    }

    #[test]
    fn what_is_larger_slower_or_asks_more_is_found() {
        assert_eq!(missed(|_| {}), []);
        assert_eq!(missed(|run| run.programs[1].bytes = 6_200_001), [("binary, bytes", "cart".to_owned())]);
        assert_eq!(missed(|run| run.programs[0].peak_rss = 11 << 20), [("peak RSS warm, bytes", "catalog".to_owned())]);
        assert_eq!(missed(|run| run.programs[2].cold.first_cpu.median *= 6)[0].0, "first invoke CPU / hello world's");
        assert_eq!(missed(|run| run.endpoints[0].cpu *= 3), [("warm CPU / hello world's", "settings/get".to_owned())]);
        assert_eq!(missed(|run| run.endpoints[0].cost.round_trips = 1), [("round trips", "settings/get".to_owned())]);
        assert_eq!(missed(|run| run.endpoints[1].cost.round_trips = 3), [("round trips", "cart/get".to_owned())]);
        assert_eq!(missed(|run| run.endpoints[1].name = "orders/get"), [("round trips", "orders/get".to_owned())]);
        // What was not measured is missed, too.
        assert_eq!(missed(|run| _ = run.programs.remove(0)).len(), 5);
    }
}
