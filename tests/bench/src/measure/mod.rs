//! The measurements, one file each.

pub mod cold;
pub mod raw;
pub mod warm;

use crate::cases::{PER_ADDRESS, Step};
use crate::error::BenchError;
use crate::figures::Cost;
use crate::front::{Front, round_trips};
use crate::runtime::{Invocation, Sandbox};
use std::time::Duration;

/// How often a request is sent if the response is a fault.
const ATTEMPTS: u32 = 3;
/// How often the calls of a request are counted, and the least is taken: one of a few requests also reads what has just
/// become stale.
const COUNTS: u32 = 3;
/// The time that a network adds to a call to the database. With it calls are seen to be concurrent.
const NETWORK: Duration = Duration::from_millis(3);

/// Numbers the requests of a run, so that no address reaches its limit.
#[derive(Debug, Default)]
pub struct Visits(u32);

impl Visits {
    /// The next request's number.
    const fn next(&mut self) -> u32 {
        self.0 += 1;
        self.0 - 1
    }

    /// Lets the next request be the first from its address.
    const fn new_address(&mut self) {
        self.0 = self.0.next_multiple_of(PER_ADDRESS);
    }
}

/// Sends a request and checks that the response is the one that was to be measured. A machine that is too busy for the
/// function's own timeout gets the request again.
async fn ask(sandbox: &mut Sandbox, step: &Step, visits: &mut Visits) -> Result<Invocation, BenchError> {
    for _ in 1..ATTEMPTS {
        let invocation = sandbox.invoke(step.event(visits.next())).await?;
        if !is_fault(&invocation.answer) {
            return step.check(&invocation.answer).map(|()| invocation);
        }
    }
    let invocation = sandbox.invoke(step.event(visits.next())).await?;
    step.check(&invocation.answer).map(|()| invocation)
}

/// Whether a response is a fault, which may be a timeout.
fn is_fault(answer: &[u8]) -> bool {
    let answer: serde_json::Value = serde_json::from_slice(answer).unwrap_or_default();
    answer["statusCode"].as_u64().is_some_and(|status| status >= 500)
}

/// The calls of a request to the database, counted in front of it.
async fn cost(front: &Front, sandbox: &mut Sandbox, step: &Step, visits: &mut Visits) -> Result<Cost, BenchError> {
    front.delay(NETWORK);
    front.count();
    let asked = ask(sandbox, step, visits).await;
    let calls = front.counted();
    front.delay(Duration::ZERO);
    asked?;
    Ok(Cost {
        calls: calls.len(),
        round_trips: round_trips(&calls),
        read_units: calls.iter().map(|call| call.read_units).sum(),
        write_units: calls.iter().map(|call| call.write_units).sum(),
    })
}

/// Numbers below `length`, in an order that changes from round to round, so that a program does not always find the
/// processor's caches full of the same other one.
fn turns(length: usize, round: u32) -> impl Iterator<Item = usize> {
    let mut places: Vec<usize> = (0..length).collect();
    // Squares modulo a prime: no two stay neighbours.
    places.sort_by_key(|place| (place + 1) * (place + 1 + round as usize * 31) % 997);
    places.into_iter()
}
