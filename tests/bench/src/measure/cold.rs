//! Starts: fresh processes, one after the other, all programs in turn.

use super::{Visits, ask, progress, turns};
use crate::cases::first;
use crate::error::BenchError;
use crate::figures::{Cold, Kind, Spread};
use crate::process::Slice;
use crate::programs::Program;
use crate::runtime::Times;
use crate::stage::{Cast, Stage};

/// What was seen of one program's starts.
#[derive(Debug, Default)]
struct Seen {
    init: Vec<Times>,
    unconnected: Vec<Times>,
    first: Vec<Times>,
}

/// Starts every program `rounds` times, in a share of a processor where one is given.
///
/// # Errors
/// [`BenchError`] where a program does not start or does not answer.
pub async fn measure(
    stage: &Stage,
    programs: &[Program],
    rounds: u32,
    slice: Option<&Slice>,
    visits: &mut Visits,
) -> Result<Vec<Cold>, BenchError> {
    let what = if slice.is_some() { "cold, slow" } else { "cold" };
    let bar = progress(what, u64::from(rounds) * programs.len() as u64);
    let mut seen: Vec<Seen> = programs.iter().map(|_| Seen::default()).collect();
    // The first round warms the machine's caches and counts for nothing.
    for round in 0..=rounds {
        for place in turns(programs.len(), round) {
            let (program, seen) = (&programs[place], &mut seen[place]);
            let mut once = Seen::default();
            start(stage, program, slice, visits, &mut once).await?;
            if round > 0 {
                seen.init.append(&mut once.init);
                seen.unconnected.append(&mut once.unconnected);
                seen.first.append(&mut once.first);
                bar.inc(1);
            }
        }
    }
    bar.finish_and_clear();
    Ok(seen.iter().map(Seen::cold).collect())
}

async fn start(
    stage: &Stage,
    program: &Program,
    slice: Option<&Slice>,
    visits: &mut Visits,
    seen: &mut Seen,
) -> Result<(), BenchError> {
    let cast = Cast { slice, ..Cast::new(program) };
    if program.kind == Kind::Function {
        let unconnected = stage.start(&Cast { connected: false, ..cast }).await?;
        seen.unconnected.push(unconnected.started);
    }
    let mut sandbox = stage.start(&cast).await?;
    seen.init.push(sandbox.started);
    let first = ask(&mut sandbox, &first(program.name), visits).await?;
    seen.first.push(first.times);
    Ok(())
}

impl Seen {
    fn cold(&self) -> Cold {
        let wall = |times: &[Times]| Spread::of(times.iter().map(|times| times.wall));
        let cpu = |times: &[Times]| Spread::of(times.iter().map(|times| times.cpu));
        Cold {
            init_wall: wall(&self.init),
            init_cpu: cpu(&self.init),
            init_cpu_unconnected: (!self.unconnected.is_empty()).then(|| cpu(&self.unconnected)),
            first_wall: wall(&self.first),
            first_cpu: cpu(&self.first),
        }
    }
}
