//! Endpoints on warm processes, in blocks that take turns, so that a busy moment affects all of them.

use super::{COUNTS, NETWORK, Visits, ask, cost, progress, turns};
use crate::cases::{Cycle, Step, check_status, endpoints};
use crate::error::BenchError;
use crate::figures::{Cost, Endpoint, FIRST_STATUS, Kind, Spread};
use crate::programs::Program;
use crate::runtime::{Sandbox, Times};
use crate::stage::{Cast, Stage};
use std::collections::BTreeMap;
use std::time::Duration;

/// Requests in a block.
const BLOCK: u32 = 50;
/// Requests before the first block, which are not counted.
const WARM_UP: u32 = 50;
/// Requests at the start of a block that are not counted: another program has just used the processor's caches.
const SETTLE: u32 = 10;
/// How many times less often a request is measured with a network's delay.
const DELAYED: u32 = 10;

/// The figures of warm programs.
#[derive(Debug, Default)]
pub struct Warm {
    /// Every endpoint.
    pub endpoints: Vec<Endpoint>,
    /// The most memory that each program held, in bytes, in the order of the programs.
    pub peak_rss: Vec<u64>,
}

/// The measurements of one endpoint.
struct Seen {
    program: &'static str,
    name: &'static str,
    cost: Cost,
    times: Vec<Times>,
    delayed: Vec<Times>,
}

/// Sends every program's requests, each at least `rounds` times.
pub async fn measure(
    stage: &Stage,
    programs: &[Program],
    rounds: u32,
    visits: &mut Visits,
) -> Result<Warm, BenchError> {
    let mut sandboxes = BTreeMap::new();
    for program in programs {
        sandboxes.insert(program.name, stage.start(&Cast::new(program)).await?);
    }
    let cycles = cycles(programs);
    let gone = |name: &str| BenchError::setup("a warm program")(&name);
    let mut seen = Vec::new();
    for cycle in &cycles {
        let sandbox = sandboxes.get_mut(cycle.program).ok_or_else(|| gone(cycle.program))?;
        count(stage, sandbox, cycle, visits, &mut seen).await?;
    }
    let blocks = rounds.div_ceil(BLOCK);
    let bar = progress("warm", u64::from(blocks) * cycles.len() as u64);
    for round in 0..blocks {
        for place in turns(cycles.len(), round) {
            let cycle = &cycles[place];
            let sandbox = sandboxes.get_mut(cycle.program).ok_or_else(|| gone(cycle.program))?;
            settle(sandbox, cycle, visits).await?;
            block(sandbox, cycle, BLOCK, visits, &mut seen, |seen| &mut seen.times).await?;
            stage.front.delay(NETWORK);
            let delayed = block(sandbox, cycle, BLOCK / DELAYED, visits, &mut seen, |seen| &mut seen.delayed).await;
            stage.front.delay(Duration::ZERO);
            delayed?;
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    let peak_rss = programs.iter().map(|program| sandboxes.get(program.name).map_or(0, Sandbox::peak_rss)).collect();
    Ok(Warm { endpoints: seen.iter().map(Seen::endpoint).collect(), peak_rss })
}

/// The functions' endpoints, and the peers' one.
fn cycles(programs: &[Program]) -> Vec<Cycle> {
    let mut cycles = endpoints();
    for peer in programs.iter().filter(|program| program.kind != Kind::Function) {
        let step = match peer.kind {
            Kind::HelloWorld => Step::file(peer.name, "payments/check_status"),
            _ => check_status(),
        };
        cycles.push(Cycle { program: peer.name, steps: vec![step] });
    }
    cycles
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
            if step.is_counted() {
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
        None => seen.push(Seen { program: cycle.program, name, cost, times: Vec::new(), delayed: Vec::new() }),
    }
}

/// Sends requests that are not counted.
async fn settle(sandbox: &mut Sandbox, cycle: &Cycle, visits: &mut Visits) -> Result<(), BenchError> {
    for step in cycle.steps.iter().cycle().take(SETTLE as usize) {
        ask(sandbox, step, visits).await?;
    }
    Ok(())
}

/// Sends `length` requests.
async fn block(
    sandbox: &mut Sandbox,
    cycle: &Cycle,
    length: u32,
    visits: &mut Visits,
    seen: &mut [Seen],
    into: fn(&mut Seen) -> &mut Vec<Times>,
) -> Result<(), BenchError> {
    for _ in 0..length.div_ceil(u32::try_from(cycle.steps.len()).unwrap_or(1)) {
        for step in &cycle.steps {
            let times = ask(sandbox, step, visits).await?.times;
            if let Some(seen) = seen.iter_mut().find(|seen| seen.is(cycle, step.name)) {
                into(seen).push(times);
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
        Endpoint {
            program: self.program.to_owned(),
            name: self.name.to_owned(),
            wall: Spread::of(self.times.iter().map(|times| times.wall)),
            wall_delayed: Spread::of(self.delayed.iter().map(|times| times.wall)),
            cpu: mean_cpu(&self.times),
            cost: self.cost,
        }
    }
}

/// The mean processor time, in nanoseconds.
pub fn mean_cpu(times: &[Times]) -> u64 {
    let sum: Duration = times.iter().map(|times| times.cpu).sum();
    u64::try_from(sum.as_nanos() / (times.len().max(1) as u128)).unwrap_or(u64::MAX)
}
