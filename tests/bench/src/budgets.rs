//! What a run is compared with: counts, sizes, memory, and processor time over a hello world's of the same run. Absolute times
//! are shown and not judged: they depend on the machine.

use crate::figures::{FUNCTIONS, Figures, HELLO, Measured, real};

/// Ratios are half as large again as what was measured on 2026-11-22, because runs of a busy machine differ by a quarter:
/// they find a change that makes something slower.
const INIT_CPU: f64 = 2.0;
const FIRST_CPU: f64 = 5.2;
const CACHED_CPU: f64 = 2.0;
const CPU: f64 = 12.0;
/// Bytes of a function's binary, and of what is uploaded.
const BYTES: f64 = 6_000_000.0;
const ZIP: f64 = 3_000_000.0;
/// The most memory that a warm function held: 10 MiB.
const RSS: f64 = 10_485_760.0;

/// Round trips of an endpoint, with the active version fresh and the page in the cache: ordinarily, and with any other outcome.
const ROUND_TRIPS_OF: [(&str, u32, u32); 16] = [
    ("settings/get", 0, 0),
    ("staff", 0, 0),
    ("patrons/get", 0, 0),
    ("categories/get", 0, 0),
    ("pages/get", 0, 0),
    ("auth/chat", 0, 0),
    ("categories/get/{url}", 1, 1),
    ("items/getFeaturedDeals", 1, 1),
    // A code that is on the cart is read after the cart.
    ("cart/get", 1, 2),
    ("cart/getPromoted", 1, 1),
    ("cart/getSelectServers", 1, 1),
    ("user", 1, 1),
    ("cart/acceptCoupon", 2, 2),
    ("cart/setReferral", 2, 2),
    ("cart/removeReferral", 2, 2),
    // The first request of an address's window makes the counter.
    ("payments/checkStatus", 2, 3),
];

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
    for (endpoint, ordinary, otherwise) in ROUND_TRIPS_OF {
        let is_it = |name: &str| name.split(", ").next() == Some(endpoint);
        let rows = || figures.endpoints.iter().filter(|row| FUNCTIONS.contains(&row.program) && is_it(row.name));
        if rows().next().is_none() {
            judge("round trips", endpoint, None, 0.0);
        }
        for row in rows() {
            let allowed = if row.name == endpoint { ordinary } else { otherwise };
            judge("round trips", row.name, Some(row.cost.round_trips.into()), allowed.into());
            if row.cpu > 0 {
                let limit = if row.cost.calls == 0 { CACHED_CPU } else { CPU };
                judge("warm CPU / hello world's", row.name, hello.map(|hello| real(row.cpu) / hello), limit);
            }
        }
    }
    verdicts
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
        let row = |(name, round_trips, _): (&'static str, u32, u32)| {
            let cost = Cost { calls: round_trips as usize, round_trips, read_units: 1.0, write_units: 0.0 };
            Endpoint { program: "cart", name, wall: spread(100_000), cpu: 100_000, cost }
        };
        let mut endpoints: Vec<Endpoint> = ROUND_TRIPS_OF.map(row).into();
        endpoints.push(Endpoint { program: HELLO, ..row((HELLO, 0, 0)) });
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
        assert_eq!(missed(|run| run.programs[1].bytes = 6_000_001), [("binary, bytes", "cart".to_owned())]);
        assert_eq!(missed(|run| run.programs[0].peak_rss = 11 << 20), [("peak RSS warm, bytes", "catalog".to_owned())]);
        assert_eq!(missed(|run| run.programs[2].cold.first_cpu.median *= 6)[0].0, "first invoke CPU / hello world's");
        assert_eq!(missed(|run| run.endpoints[0].cpu *= 3), [("warm CPU / hello world's", "settings/get".to_owned())]);
        assert_eq!(missed(|run| run.endpoints[0].cost.round_trips = 1), [("round trips", "settings/get".to_owned())]);
        let applied = |run: &mut Figures| {
            (run.endpoints[8].name, run.endpoints[8].cost.round_trips) = ("cart/get, with a code applied", 2);
        };
        assert_eq!(missed(applied), []);
        // What was not measured is missed, too.
        assert_eq!(missed(|run| _ = run.endpoints.remove(11)), [("round trips", "user".to_owned())]);
        assert_eq!(missed(|run| _ = run.programs.remove(0)).len(), 5);
    }
}
