//! What a run measured, in the form of `infra/docs/performance.json`. Times are nanoseconds, sizes bytes.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// The five functions.
pub const FUNCTIONS: [&str; 5] = ["catalog", "cart", "payments", "content", "auth"];
/// The runtime without a function; its one warm row has the same name.
pub const HELLO: &str = "hello";
/// The peer in Node.
pub const NODE: &str = "node";
/// The peer in Python.
pub const PYTHON: &str = "python";
/// The one endpoint that the peers have as well.
pub const CHECK_STATUS: &str = "payments/checkStatus";
/// The same for the first request of an address's window, which costs a round trip more.
pub const FIRST_STATUS: &str = "payments/checkStatus, first of a window";
/// The endpoints whose cost must not grow with the store.
pub const SCALED: [&str; 4] = ["categories/get/{url}", "cart/get", "cart/acceptCoupon", CHECK_STATUS];

/// Everything that a run measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// The day of the run, `YYYY-MM-DD` in UTC.
    pub date: String,
    /// How the run differed from what the bench does now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remark: Option<String>,
    pub machine: Machine,
    /// Versions of what was measured and of what measured it, by name.
    pub versions: BTreeMap<String, String>,
    pub rounds: Rounds,
    /// The functions, then the peers.
    pub programs: Vec<Program>,
    /// Every endpoint and the peers' one, warm.
    pub endpoints: Vec<Endpoint>,
    /// The calls of endpoints over a bare socket.
    pub raw: Vec<Raw>,
    /// Endpoints in stores of several sizes.
    pub scale: Vec<ScalePoint>,
}

/// The machine of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    pub processor: String,
    /// How many processors the run could use.
    pub cores: usize,
    pub memory: u64,
    pub kernel: String,
}

/// How often things were done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rounds {
    /// Fresh processes of each program.
    pub cold: u32,
    /// Invokes of each endpoint.
    pub warm: u32,
}

/// What a program is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Function,
    /// The runtime without a function: the least that a Rust function can cost.
    HelloWorld,
    /// checkStatus with the Rust SDK's default features.
    SdkDefaults,
    /// checkStatus in Node.
    Node,
    /// checkStatus in Python.
    Python,
}

/// A program that Lambda starts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Program {
    pub name: String,
    pub kind: Kind,
    /// The day on which it was measured: a peer's may be earlier than the run's.
    pub date: String,
    /// Size of the binary, or of the bundle that an interpreter starts.
    pub bytes: u64,
    /// Size of what is uploaded.
    pub zip_bytes: u64,
    /// Its start; `None` if starts were not measured.
    pub cold: Option<Cold>,
    /// The most memory that it held while warm; `None` if that was not measured.
    pub peak_rss: Option<u64>,
}

/// A start: from exec to the first request for work (init), and the first invoke.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cold {
    pub init_wall: Spread,
    pub init_cpu: Spread,
    /// The same without a connection to the database; `None` if the program opens none during init.
    pub init_cpu_unconnected: Option<Spread>,
    pub first_wall: Spread,
    pub first_cpu: Spread,
}

/// The distribution of a number of times, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spread {
    pub min: u64,
    pub median: u64,
    pub p99: u64,
}

/// An endpoint, or a peer's one, warm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Endpoint {
    pub program: String,
    /// The endpoint as api.md names it, and the outcome if it is not the ordinary one.
    pub name: String,
    /// An invoke by the clock.
    pub wall: Spread,
    /// The same with a few milliseconds added to every call to the database, as by a network.
    pub wall_delayed: Spread,
    /// Processor time of an invoke, the mean.
    pub cpu: u64,
    pub cost: Cost,
}

/// What an invoke asks of the database.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    pub calls: u32,
    /// Concurrent calls count once.
    pub round_trips: u32,
    pub read_units: f64,
    pub write_units: f64,
}

/// Calls to the database without SDK, runtime or handler.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Raw {
    pub name: String,
    /// How many calls are sent concurrently.
    pub calls: u32,
    /// From the first byte sent to the last received.
    pub wall: Spread,
}

/// An endpoint in a store of some size, with a cart and a buyer of some size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScalePoint {
    pub endpoint: String,
    /// Items in the store.
    pub items: u64,
    /// Lines in the buyer's cart.
    pub lines: u32,
    /// Orders that the buyer has paid.
    pub orders: u32,
    pub wall: Spread,
    /// Processor time of an invoke, the mean.
    pub cpu: u64,
    pub cost: Cost,
    /// Size of the response's body.
    pub answer_bytes: u64,
}

impl Figures {
    pub fn program(&self, name: &str) -> Option<&Program> {
        self.programs.iter().find(|program| program.name == name)
    }

    /// A warm row of a program by its whole name.
    pub fn endpoint(&self, program: &str, name: &str) -> Option<&Endpoint> {
        self.endpoints.iter().find(|endpoint| endpoint.program == program && endpoint.name == name)
    }

    /// A warm row of the functions by its whole name.
    pub fn of_functions(&self, name: &str) -> Option<&Endpoint> {
        FUNCTIONS.iter().find_map(|function| self.endpoint(function, name))
    }
}

impl Endpoint {
    /// Whether it was timed. Some outcomes are only counted, because they cannot be repeated at will.
    pub const fn is_timed(&self) -> bool {
        self.wall.median > 0
    }
}

impl Cost {
    /// The smaller of two costs of the same request.
    pub fn least(self, other: Self) -> Self {
        let key = |cost: &Self| (cost.round_trips, cost.calls);
        match key(&self).cmp(&key(&other)).then(self.read_units.total_cmp(&other.read_units)) {
            std::cmp::Ordering::Greater => other,
            _ => self,
        }
    }
}

impl Spread {
    /// The distribution of `times`; without any, everything is zero.
    pub fn of(times: impl IntoIterator<Item = Duration>) -> Self {
        let mut nanos: Vec<u64> =
            times.into_iter().map(|time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)).collect();
        nanos.sort_unstable();
        let at =
            |percent: usize| nanos.get((nanos.len() * percent).div_ceil(100).saturating_sub(1)).copied().unwrap_or(0);
        Self { min: at(0), median: at(50), p99: at(99) }
    }
}

/// The endpoint of a row: its name without the outcome.
pub fn endpoint_of(name: &str) -> &str {
    name.split_once(", ").map_or(name, |(endpoint, _)| endpoint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_taken_from_the_sorted_times() {
        let of = |nanos: &[u64]| Spread::of(nanos.iter().copied().map(Duration::from_nanos));
        let all: Vec<u64> = (1..=100).rev().collect();
        assert_eq!(of(&all), Spread { min: 1, median: 50, p99: 99 });
        assert_eq!(of(&[3, 1]), Spread { min: 1, median: 1, p99: 3 });
        assert_eq!(of(&[]), Spread { min: 0, median: 0, p99: 0 });
    }
}
