//! The measurements, one file each.

pub mod cold;
pub mod raw;
pub mod scale;
pub mod throughput;
pub mod warm;

use crate::cases::{PER_ADDRESS, Step};
use crate::error::BenchError;
use crate::figures::Cost;
use crate::front::{Front, round_trips};
use crate::runtime::{Invocation, Sandbox};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal as _;
use std::time::Duration;

/// What a call to the database takes longer across a network.
pub const NETWORK: Duration = Duration::from_millis(3);

/// What went wrong outside the programs.
type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Numbers the requests of a run, so that no address comes to its limit.
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

/// Sends a request and looks whether the answer is the one that was to be measured.
///
/// # Errors
/// [`BenchError`] where it is not.
pub async fn ask(sandbox: &mut Sandbox, step: &Step, visits: &mut Visits) -> Result<Invocation, BenchError> {
    let invocation = sandbox.invoke(step.event(visits.next())).await?;
    step.check(&invocation.answer)?;
    Ok(invocation)
}

/// What a request asks of the database, counted at the front with a network's delay, so that what goes side by side is
/// seen side by side.
///
/// # Errors
/// [`BenchError`] where it is not answered as it should be.
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
        read_units: calls.iter().fold(0.0, |units, call| units + call.read_units),
        write_units: calls.iter().fold(0.0, |units, call| units + call.write_units),
    })
}

/// Places up to `length`, in an order that changes from round to round, so that nothing always comes after the same
/// neighbour and finds the processor's caches full of it.
pub fn turns(length: usize, round: u32) -> impl Iterator<Item = usize> {
    let mut places: Vec<usize> = (0..length).collect();
    // Squares modulo a prime: no two neighbours stay together.
    places.sort_by_key(|place| (place + 1) * (place + 1 + round as usize * 31) % 997);
    places.into_iter()
}

/// A bar on standard error, a line where that is no terminal.
#[must_use]
pub fn progress(what: &'static str, length: u64) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        crate::run::say(&format!("measuring: {what}"));
    }
    let bar = ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::stderr());
    // The template is ours and sound.
    if let Ok(style) = ProgressStyle::with_template("{prefix:<12} [{bar:40}] {pos}/{len}") {
        bar.set_style(style.progress_chars("=> "));
    }
    bar.with_prefix(what)
}

#[cfg(test)]
mod tests {
    use super::turns;

    #[test]
    fn everybody_has_one_turn_in_each_round_and_other_neighbours_in_the_next() {
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
