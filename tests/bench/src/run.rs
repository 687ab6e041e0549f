//! A run: what is measured, in which order.

use crate::error::BenchError;
use crate::figures::{self, Cold, Figures, Rounds};
use crate::machine;
use crate::measure::warm::Warm;
use crate::measure::{Visits, cold, raw, scale, warm};
use crate::options::{Options, Part};
use crate::peers::Peer;
use crate::programs::{self, FUNCTIONS, HELLO, Program};
use crate::stage::Stage;
use jiff::Timestamp;
use shared::clock::{Clock, SystemClock};
use std::io::Write as _;
use std::path::Path;

/// Measures what the options ask for.
pub async fn run(options: &Options) -> Result<Figures, BenchError> {
    let rounds = if options.quick { Rounds { cold: 10, warm: 400 } } else { Rounds { cold: 30, warm: 2_000 } };
    let work = harness::repository().join("target/bench");
    let programs = build(options, &work.join("programs"))?;
    let stage = Stage::open(&work).await?;
    let mut visits = Visits::default();
    let mut cold = None;
    if options.wants(Part::Cold) {
        cold = Some(cold::measure(&stage, &programs, rounds.cold, &mut visits).await?);
    }
    let mut warm = Warm::default();
    let mut raw = Vec::new();
    if options.wants(Part::Warm) {
        warm = warm::measure(&stage, &programs, rounds.warm, &mut visits).await?;
        // Its budget is one of the clock's, which a busy machine does not hold.
        if let Some(payments) = programs.iter().find(|program| program.name == "payments" && !options.stable) {
            raw = raw::measure(&stage, payments, rounds.warm, &mut visits).await?;
        }
    }
    let mut scale = Vec::new();
    if options.wants(Part::Scale) {
        scale = scale::measure(&stage, &programs, rounds.warm / 10, &mut visits).await?;
    }
    Ok(Figures {
        date: today(),
        remark: None,
        machine: machine::machine(),
        versions: machine::versions(options.peers),
        rounds,
        programs: rows(&programs, cold.as_deref(), &warm.peak_rss)?,
        endpoints: warm.endpoints,
        raw,
        scale,
    })
}

fn rows(programs: &[Program], cold: Option<&[Cold]>, peak_rss: &[u64]) -> Result<Vec<figures::Program>, BenchError> {
    let row = |(place, program): (usize, &Program)| {
        let (bytes, zip_bytes) = programs::weigh(&program.deployed)?;
        Ok(figures::Program {
            name: program.name.to_owned(),
            kind: program.kind,
            date: today(),
            bytes,
            zip_bytes,
            cold: cold.and_then(|cold| cold.get(place)).copied(),
            peak_rss: peak_rss.get(place).copied(),
        })
    };
    programs.iter().enumerate().map(row).collect()
}

/// Builds the programs, and copies them to `place`.
fn build(options: &Options, place: &Path) -> Result<Vec<Program>, BenchError> {
    let mut programs = Vec::new();
    if let Some(built) = &options.built {
        for name in FUNCTIONS {
            programs.push(programs::built(name, built)?);
        }
    } else {
        say("building the functions");
        programs::build_alike()?;
        for name in FUNCTIONS {
            programs.push(programs::program(name)?);
        }
    }
    programs.push(programs::program(HELLO)?);
    if options.peers {
        for peer in Peer::ALL {
            programs.push(programs::peer(peer)?);
        }
    }
    programs.into_iter().map(|program| programs::unpack(program, place)).collect()
}

/// A line on standard error. A closed standard error is not an error.
pub fn say(line: &str) {
    _ = writeln!(std::io::stderr(), "{line}");
}

fn today() -> String {
    let now = Timestamp::from_second(SystemClock.seconds()).unwrap_or_default();
    now.strftime("%Y-%m-%d").to_string()
}
