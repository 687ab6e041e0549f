//! Starts: fresh processes, one after the other, programs in turn.

use super::{Visits, ask, progress, turns};
use crate::cases::first;
use crate::error::BenchError;
use crate::figures::{Cold, Kind, Spread};
use crate::programs::Program;
use crate::runtime::Times;
use crate::stage::{Cast, Stage};

/// The starts of one program.
#[derive(Debug, Default)]
struct Seen {
    init: Vec<Times>,
    unconnected: Vec<Times>,
    first: Vec<Times>,
}

/// Starts every program `rounds` times.
pub async fn measure(
    stage: &Stage,
    programs: &[Program],
    rounds: u32,
    visits: &mut Visits,
) -> Result<Vec<Cold>, BenchError> {
    let bar = progress("cold", u64::from(rounds) * programs.len() as u64);
    let mut seen: Vec<Seen> = programs.iter().map(|_| Seen::default()).collect();
    // The first round warms the machine's caches and is not counted.
    for round in 0..=rounds {
        for place in turns(programs.len(), round) {
            let (program, seen) = (&programs[place], &mut seen[place]);
            let mut once = Seen::default();
            start(stage, program, visits, &mut once).await?;
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

async fn start(stage: &Stage, program: &Program, visits: &mut Visits, seen: &mut Seen) -> Result<(), BenchError> {
    let cast = Cast::new(program);
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
