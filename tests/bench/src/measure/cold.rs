//! Starts: fresh processes, one after the other, programs in turn.

use super::{Visits, ask, turns};
use crate::cases::first;
use crate::error::BenchError;
use crate::figures::{Cold, Spread};
use crate::programs::Program;
use crate::runtime::Times;
use crate::stage::Stage;

/// The starts of one program.
#[derive(Debug, Default, Clone)]
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
    crate::say("measuring: cold");
    let mut seen = vec![Seen::default(); programs.len()];
    // The first round warms the machine's caches and is not counted.
    for round in 0..=rounds {
        for place in turns(programs.len(), round) {
            let once = start(stage, &programs[place], visits).await?;
            if round > 0 {
                seen[place].init.extend(once.init);
                seen[place].unconnected.extend(once.unconnected);
                seen[place].first.extend(once.first);
            }
        }
    }
    Ok(seen.iter().map(Seen::cold).collect())
}

async fn start(stage: &Stage, program: &Program, visits: &mut Visits) -> Result<Seen, BenchError> {
    let mut seen = Seen::default();
    if program.is_function {
        seen.unconnected.push(stage.start(program, false).await?.started);
    }
    let mut sandbox = stage.start(program, true).await?;
    seen.init.push(sandbox.started);
    seen.first.push(ask(&mut sandbox, &first(program.name), visits).await?.times);
    Ok(seen)
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
