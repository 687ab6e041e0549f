//! The measurements, one file each.

pub mod cold;
pub mod raw;
pub mod scale;
pub mod warm;

use crate::cases::{PER_ADDRESS, Step};
use crate::error::BenchError;
use crate::figures::Cost;
use crate::front::{Front, round_trips};
use crate::runtime::{Invocation, Sandbox};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal as _;
use std::time::Duration;

/// How often a request is sent if the response is a fault.
const ATTEMPTS: u32 = 3;
/// How often the calls of a request are counted, and the least is taken: one of a few requests also reads what has just
/// become stale.
pub const COUNTS: u32 = 3;
/// What a network adds to a call to the database.
pub const NETWORK: Duration = Duration::from_millis(3);

/// A problem outside the programs.
type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Numbers the requests of a run, so that no address reaches its limit.
#[derive(Debug, Default)]
pub struct Visits(u32);

impl Visits {
    /// The next request's number.
    pub const fn next(&mut self) -> u32 {
        self.0 += 1;
        self.0 - 1
    }

    /// Lets the next request be the first from its address.
    pub const fn new_address(&mut self) {
        self.0 = self.0.next_multiple_of(PER_ADDRESS);
    }
}

/// Sends a request and checks that the response is the one that was to be measured. A machine that is too busy for the
/// function's own timeout gets the request again.
pub async fn ask(sandbox: &mut Sandbox, step: &Step, visits: &mut Visits) -> Result<Invocation, BenchError> {
    for _ in 1..ATTEMPTS {
        let invocation = sandbox.invoke(step.event(visits.next())).await?;
        if !is_fault(&invocation.answer) {
            return step.check(&invocation.answer).map(|()| invocation);
        }
    }
    let invocation = sandbox.invoke(step.event(visits.next())).await?;
    step.check(&invocation.answer).map(|()| invocation)
}

/// Whether a response is a fault, which may be a timeout.
fn is_fault(answer: &[u8]) -> bool {
    let answer: serde_json::Value = serde_json::from_slice(answer).unwrap_or_default();
    answer["statusCode"].as_u64().is_some_and(|status| status >= 500)
}

/// What a request asks of the database, counted in front of it. With a network's delay calls are seen to be
/// concurrent.
pub async fn cost(front: &Front, sandbox: &mut Sandbox, step: &Step, visits: &mut Visits) -> Result<Cost, BenchError> {
    front.delay(NETWORK);
    front.count();
    let asked = ask(sandbox, step, visits).await;
    let calls = front.counted();
    front.delay(Duration::ZERO);
    asked?;
    Ok(Cost {
        calls: u32::try_from(calls.len()).unwrap_or(u32::MAX),
        round_trips: round_trips(&calls),
        read_units: calls.iter().map(|call| call.read_units).sum(),
        write_units: calls.iter().map(|call| call.write_units).sum(),
    })
}

/// Numbers below `length`, in an order that changes from round to round, so that a program does not always find the
/// processor's caches full of the same other one.
pub fn turns(length: usize, round: u32) -> impl Iterator<Item = usize> {
    let mut places: Vec<usize> = (0..length).collect();
    // Squares modulo a prime: no two stay neighbours.
    places.sort_by_key(|place| (place + 1) * (place + 1 + round as usize * 31) % 997);
    places.into_iter()
}

/// A bar on standard error, or a line if that is not a terminal.
pub fn progress(what: &'static str, length: u64) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        crate::run::say(&format!("measuring: {what}"));
    }
    let bar = ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{prefix:<12} [{bar:40}] {pos}/{len}") {
        bar.set_style(style.progress_chars("=> "));
    }
    bar.with_prefix(what)
}

#[cfg(test)]
mod tests {
    use super::turns;

    #[test]
    fn each_has_one_turn_in_a_round_and_other_neighbours_in_the_next() {
        let rounds: Vec<Vec<usize>> = (0..20).map(|round| turns(9, round).collect()).collect();
        for round in &rounds {
            let mut sorted = round.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..9).collect::<Vec<_>>());
        }
        let before_first: std::collections::BTreeSet<Option<usize>> = rounds
            .iter()
            .map(|round| {
                round.iter().position(|place| *place == 0).and_then(|at| at.checked_sub(1)).map(|at| round[at])
            })
            .collect();
        assert!(before_first.len() > 4, "{before_first:?}");
    }
}
