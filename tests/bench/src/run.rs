//! A run: what is measured, in which order.

use crate::awake::Awake;
use crate::error::BenchError;
use crate::figures::{self, Cold, Figures, Rounds};
use crate::machine;
use crate::measure::warm::Warm;
use crate::measure::{Visits, cold, raw, scale, throughput, warm};
use crate::options::{Options, Part};
use crate::peers::Peer;
use crate::process::Slice;
use crate::programs::{self, FUNCTIONS, HELLO, Program};
use crate::stage::Stage;
use jiff::Timestamp;
use shared::clock::{Clock, SystemClock};
use std::io::Write as _;
use std::path::Path;
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
    let work = harness::repository().join("target/bench");
    let programs = build(options, &work.join("programs"))?;
    let stage = Stage::open(&work).await?;
    let mut visits = Visits::default();
    let awake = Awake::keep();
    let cold = if options.wants(Part::Cold) {
        Some(cold::measure(&stage, &programs, rounds.cold, None, &mut visits).await?)
    } else {
        None
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
    let scale = if options.wants(Part::Scale) {
        scale::measure(&stage, &programs, rounds.warm / 10, &mut visits).await?
    } else {
        Vec::new()
    };
    // Under load nothing halts.
    drop(awake);
    let throughput = if options.wants(Part::Throughput) { throughput::measure(LOAD).await? } else { Vec::new() };
    Ok(Figures {
        date: today(),
        machine: machine::machine(),
        versions: machine::versions(options.peers),
        rounds,
        programs: rows(&programs, cold.as_deref(), slow.as_deref(), &warm.peak_rss)?,
        endpoints: warm.endpoints,
        raw: floor,
        scale,
        throughput,
    })
}

fn rows(
    programs: &[Program],
    cold: Option<&[Cold]>,
    slow: Option<&[Cold]>,
    peak_rss: &[u64],
) -> Result<Vec<figures::Program>, BenchError> {
    let row = |(place, program): (usize, &Program)| {
        let (bytes, zip_bytes) = programs::weigh(&program.deployed)?;
        Ok(figures::Program {
            name: program.name.to_owned(),
            kind: program.kind,
            date: today(),
            bytes: Some(bytes),
            zip_bytes: Some(zip_bytes),
            cold: cold.and_then(|cold| cold.get(place)).copied(),
            slow: slow.and_then(|slow| slow.get(place)).copied(),
            peak_rss: peak_rss.get(place).copied(),
        })
    };
    programs.iter().enumerate().map(row).collect()
}

fn rounds(options: &Options) -> Rounds {
    if options.quick { Rounds { cold: 10, slow: 3, warm: 400 } } else { Rounds { cold: 30, slow: 30, warm: 2_000 } }
}

/// Builds the programs, and lays them down in `place`.
fn build(options: &Options, place: &Path) -> Result<Vec<Program>, BenchError> {
    let mut programs = Vec::new();
    for name in FUNCTIONS.into_iter().chain([HELLO]) {
        say(&format!("building {name}"));
        programs.push(programs::program(name)?);
    }
    if options.peers {
        for peer in Peer::ALL {
            programs.push(programs::peer(peer)?);
        }
    }
    programs.into_iter().map(|program| programs::unpack(program, place)).collect()
}

/// A line on standard error; if nobody reads it, nothing is lost.
pub fn say(line: &str) {
    _ = writeln!(std::io::stderr(), "{line}");
}

fn today() -> String {
    let now = Timestamp::from_second(SystemClock.seconds()).unwrap_or_default();
    now.strftime("%Y-%m-%d").to_string()
}
