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
