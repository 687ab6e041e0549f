//! The figures of a run. Times are nanoseconds, sizes bytes.

use std::time::Duration;

pub const FUNCTIONS: [&str; 6] = ["catalog", "cart", "payments", "content", "auth", "delivery"];
/// The runtime without a function; its one warm row has the same name.
pub const HELLO: &str = "hello";
/// The endpoint that the peers have as well, and whose calls are replayed over a bare socket.
pub const USER: &str = "user";
/// The first request of an address's window, which costs a round trip more.
pub const FIRST_STATUS: &str = "payments/checkStatus, first of a window";

/// Everything that a run measured.
#[derive(Debug, Clone)]
pub struct Figures {
    /// The functions, the hello world, then the peers.
    pub programs: Vec<Measured>,
    /// Every endpoint and the peers' one, warm.
    pub endpoints: Vec<Endpoint>,
    /// The call of [`USER`] over a bare socket, from the first byte sent to the last received.
    pub raw: Spread,
    /// Fresh processes of each program, and warm invokes of each endpoint.
    pub rounds: (u32, u32),
}

/// A program that Lambda starts.
#[derive(Debug, Clone)]
pub struct Measured {
    pub name: &'static str,
    /// Size of the binary, or of the bundle that an interpreter starts.
    pub bytes: u64,
    /// Size of what is uploaded.
    pub zip_bytes: u64,
    pub cold: Cold,
    /// The most memory that it held while warm.
    pub peak_rss: u64,
}

/// A start: from exec to the first request for work (init), and the first invoke.
#[derive(Debug, Clone, Copy)]
pub struct Cold {
    pub init_wall: Spread,
    pub init_cpu: Spread,
    /// The same without a connection to the database; `None` if the program opens none during init.
    pub init_cpu_unconnected: Option<Spread>,
    pub first_wall: Spread,
    pub first_cpu: Spread,
}

/// The distribution of a number of times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spread {
    pub min: u64,
    pub median: u64,
    pub p99: u64,
}

/// An endpoint, or a peer's one, warm.
#[derive(Debug, Clone)]
pub struct Endpoint {
    pub program: &'static str,
    /// The endpoint as api.md names it, and the outcome if it is not the ordinary one.
    pub name: &'static str,
    /// An invoke by the clock. Some outcomes are only counted, because they cannot be repeated at will: then all is zero.
    pub wall: Spread,
    /// Processor time of an invoke, the mean.
    pub cpu: u64,
    pub cost: Cost,
}

/// The calls of an invoke to the database.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    pub calls: usize,
    /// Concurrent calls count once.
    pub round_trips: u32,
    pub read_units: f64,
    pub write_units: f64,
}

impl Figures {
    pub fn program(&self, name: &str) -> Option<&Measured> {
        self.programs.iter().find(|program| program.name == name)
    }

    /// A warm row by its whole name.
    pub fn endpoint(&self, program: &str, name: &str) -> Option<&Endpoint> {
        self.endpoints.iter().find(|endpoint| endpoint.program == program && endpoint.name == name)
    }
}

impl Cost {
    /// The smaller of two costs of the same request.
    pub fn least(self, other: Self) -> Self {
        let is_less = (other.round_trips, other.calls) < (self.round_trips, self.calls);
        if is_less || (other.calls == self.calls && other.read_units < self.read_units) { other } else { self }
    }
}

impl Spread {
    /// The distribution of `times`; without any, everything is zero.
    pub fn of(times: impl IntoIterator<Item = Duration>) -> Self {
        let mut nanos: Vec<u64> = times.into_iter().map(|time| u64::try_from(time.as_nanos()).unwrap_or(0)).collect();
        nanos.sort_unstable();
        let at =
            |percent: usize| nanos.get((nanos.len() * percent).div_ceil(100).saturating_sub(1)).copied().unwrap_or(0);
        Self { min: at(0), median: at(50), p99: at(99) }
    }
}

/// A count as a real number.
#[expect(clippy::cast_precision_loss, reason = "no time, size or count of a run comes near 2^53")]
pub fn real(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_taken_from_the_sorted_times() {
        let of = |nanos: &[u64]| Spread::of(nanos.iter().copied().map(Duration::from_nanos));
        let all: Vec<u64> = (1..=100).rev().collect();
        assert_eq!(of(&all), Spread { min: 1, median: 50, p99: 99 });
        assert_eq!([of(&[3, 1]), of(&[])].map(|spread| (spread.min, spread.p99)), [(1, 3), (0, 0)]);
    }
}
