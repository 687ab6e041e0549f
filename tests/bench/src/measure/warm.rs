//! Endpoints on warm processes, in blocks that take turns, so that a busy moment affects all of them.

use super::{COUNTS, Visits, ask, cost, turns};
use crate::cases::{Cycle, cycles};
use crate::error::BenchError;
use crate::figures::{Cost, Endpoint, FIRST_STATUS, Spread};
use crate::programs::Program;
use crate::runtime::{Sandbox, Times};
use crate::stage::Stage;
use std::collections::BTreeMap;
use std::time::Duration;

/// Requests in a block.
const BLOCK: u32 = 50;
/// Requests before the first block, which are not counted.
const WARM_UP: u32 = 50;
/// Requests at the start of a block that are not counted: another program has just used the processor's caches.
const SETTLE: usize = 10;

/// The measurements of one endpoint.
struct Seen {
    program: &'static str,
    name: &'static str,
    cost: Cost,
    times: Vec<Times>,
}

/// Sends every program's requests, each at least `rounds` times. Returns the endpoints, and the most memory that each
/// program held, in bytes.
pub async fn measure(
    stage: &Stage,
    programs: &[Program],
    rounds: u32,
    visits: &mut Visits,
) -> Result<(Vec<Endpoint>, Vec<u64>), BenchError> {
    crate::say("measuring: warm");
    let mut sandboxes = BTreeMap::new();
    for program in programs {
        sandboxes.insert(program.name, stage.start(program, true).await?);
    }
    let mut cycles = cycles();
    cycles.retain(|cycle| sandboxes.contains_key(cycle.program));
    let gone = |name: &str| BenchError::setup("a warm program")(&name);
    let mut seen = Vec::new();
    for cycle in &cycles {
        let sandbox = sandboxes.get_mut(cycle.program).ok_or_else(|| gone(cycle.program))?;
        count(stage, sandbox, cycle, visits, &mut seen).await?;
    }
    for round in 0..rounds.div_ceil(BLOCK) {
        for cycle in turns(cycles.len(), round).map(|place| &cycles[place]) {
            let sandbox = sandboxes.get_mut(cycle.program).ok_or_else(|| gone(cycle.program))?;
            for step in cycle.steps.iter().cycle().take(SETTLE) {
                ask(sandbox, step, visits).await?;
            }
            block(sandbox, cycle, visits, &mut seen).await?;
        }
    }
    let peak_rss = programs.iter().map(|program| sandboxes.get(program.name).map_or(0, Sandbox::peak_rss)).collect();
    Ok((seen.iter().map(Seen::endpoint).collect(), peak_rss))
}

/// Warms a cycle up and counts what its requests ask of the database.
async fn count(
    stage: &Stage,
    sandbox: &mut Sandbox,
    cycle: &Cycle,
    visits: &mut Visits,
    seen: &mut Vec<Seen>,
) -> Result<(), BenchError> {
    for _ in 0..WARM_UP {
        for step in &cycle.steps {
            ask(sandbox, step, visits).await?;
        }
    }
    for _ in 0..COUNTS {
        visits.new_address();
        for step in &cycle.steps {
            if step.counted {
                let first = cost(&stage.front, sandbox, step, visits).await?;
                note(seen, cycle, FIRST_STATUS, first);
            }
            let cost = cost(&stage.front, sandbox, step, visits).await?;
            note(seen, cycle, step.name, cost);
        }
    }
    Ok(())
}

/// Keeps the least cost of a request.
fn note(seen: &mut Vec<Seen>, cycle: &Cycle, name: &'static str, cost: Cost) {
    match seen.iter_mut().find(|seen| seen.is(cycle, name)) {
        Some(seen) => seen.cost = seen.cost.least(cost),
        None => seen.push(Seen { program: cycle.program, name, cost, times: Vec::new() }),
    }
}

/// Sends the requests of a block.
async fn block(sandbox: &mut Sandbox, cycle: &Cycle, visits: &mut Visits, seen: &mut [Seen]) -> Result<(), BenchError> {
    for _ in 0..BLOCK.div_ceil(u32::try_from(cycle.steps.len()).unwrap_or(1)) {
        for step in &cycle.steps {
            let times = ask(sandbox, step, visits).await?.times;
            if let Some(seen) = seen.iter_mut().find(|seen| seen.is(cycle, step.name)) {
                seen.times.push(times);
            }
        }
    }
    Ok(())
}

impl Seen {
    fn is(&self, cycle: &Cycle, name: &str) -> bool {
        self.program == cycle.program && self.name == name
    }

    fn endpoint(&self) -> Endpoint {
        let cpu: Duration = self.times.iter().map(|times| times.cpu).sum();
        Endpoint {
            program: self.program,
            name: self.name,
            wall: Spread::of(self.times.iter().map(|times| times.wall)),
            cpu: u64::try_from(cpu.as_nanos() / (self.times.len().max(1) as u128)).unwrap_or(u64::MAX),
            cost: self.cost,
        }
    }
}
