//! A run: what is measured, in which order.

use crate::error::BenchError;
use crate::figures::{self, Figures, Kind, Rounds};
use crate::machine;
use crate::measure::warm::Warm;
use crate::measure::{Visits, cold, raw, scale, throughput, warm};
use crate::options::{Options, Part};
use crate::process::Slice;
use crate::programs::{self, FUNCTIONS, HELLO, Program};
use crate::stage::Stage;
use jiff::Timestamp;
use shared::clock::{Clock, SystemClock};
use std::io::Write as _;
use std::time::Duration;

/// The share of a processor that Lambda gives a function of 128 MB, in hundredths of a percent.
const SMALL: u64 = 720;
/// How long each endpoint of the local server is under load.
const LOAD: Duration = Duration::from_secs(3);

/// Measures what the options ask for.
///
/// # Errors
/// [`BenchError`] for the first thing that does not work.
pub async fn run(options: &Options) -> Result<Figures, BenchError> {
    let rounds = rounds(options);
    let programs = build(options)?;
    let stage = Stage::open(tests::repository().join("target/bench")).await?;
    let mut visits = Visits::default();
    let cold = match options.wants(Part::Cold) {
        true => Some(cold::measure(&stage, &programs, rounds.cold, None, &mut visits).await?),
        false => None,
    };
    let slice = if options.wants(Part::Slow) { Slice::new(SMALL) } else { None };
    let slow = match &slice {
        Some(slice) => Some(cold::measure(&stage, &programs, rounds.slow, Some(slice), &mut visits).await?),
        None => None,
    };
    let mut warm = Warm::default();
    let mut floor = Vec::new();
    if options.wants(Part::Warm) {
        warm = warm::measure(&stage, &programs, rounds.warm, &mut visits).await?;
        if let Some(payments) = programs.iter().find(|program| program.name == "payments") {
            floor = raw::measure(&stage, payments, rounds.warm, &mut visits).await?;
        }
    }
    let scale = match options.wants(Part::Scale) {
        true => scale::measure(&stage, &programs, rounds.warm / 10, &mut visits).await?,
        false => Vec::new(),
    };
    let throughput = match options.wants(Part::Throughput) {
        true => throughput::measure(LOAD).await?,
        false => Vec::new(),
    };
    let date = today();
    let mut rows = Vec::new();
    for (place, program) in programs.iter().enumerate() {
        let (bytes, zip_bytes) = programs::weigh(&program.deployed)?;
        rows.push(figures::Program {
            name: program.name.to_owned(),
            kind: program.kind,
            date: date.clone(),
            bytes: Some(bytes),
            zip_bytes: Some(zip_bytes),
            cold: cold.as_ref().and_then(|cold| cold.get(place)).copied(),
            slow: slow.as_ref().and_then(|slow| slow.get(place)).copied(),
            peak_rss: warm.peak_rss.get(place).copied(),
        });
    }
    Ok(Figures {
        date,
        machine: machine::machine(),
        versions: machine::versions(options.peers),
        rounds,
        programs: rows,
        endpoints: warm.endpoints,
        raw: floor,
        scale,
        throughput,
    })
}

fn rounds(options: &Options) -> Rounds {
    if options.quick { Rounds { cold: 5, slow: 2, warm: 200 } } else { Rounds { cold: 30, slow: 30, warm: 2_000 } }
}

fn build(options: &Options) -> Result<Vec<Program>, BenchError> {
    let mut programs = Vec::new();
    for name in FUNCTIONS.into_iter().chain([HELLO]) {
        say(&format!("building {name}"));
        programs.push(programs::program(name)?);
    }
    if options.peers {
        todo!()
    }
    Ok(programs)
}

/// A line on standard error; if nobody reads it, nothing is lost.
pub fn say(line: &str) {
    _ = writeln!(std::io::stderr(), "{line}");
}

fn today() -> String {
    let now = Timestamp::from_second(SystemClock.seconds()).unwrap_or_default();
    now.strftime("%Y-%m-%d").to_string()
}
