//! What a visit costs, and what many at once need: measured durations and units at public list prices.
//!
//! The billed duration of an invoke is computed, not measured. A run has whole processors and a function has the share
//! `memory / 1769 MB` of one, so that its processor time takes longer while its waiting does not:
//!
//! ```text
//! duration = (wall_delayed.median - cpu) + cpu / share        share = min(1, memory / 1769 MB)
//! billed   = duration, rounded up to the millisecond
//! ```
//!
//! `wall_delayed` is the warm invoke with a network's few milliseconds added to every call to the database.

#[cfg(test)]
mod tests;
pub mod visit;

use crate::figures::{Cost, Endpoint, Program};
use crate::text::real;

/// HTTP API, USD per request up to 300 million a month, each metered in steps of 512 KB, which no answer here reaches.
/// <https://aws.amazon.com/api-gateway/pricing/>, us-east-1: the list price; look it up before you rely on it.
pub const GATEWAY_REQUEST: f64 = 1.00 / 1e6;
/// Lambda, USD per request. <https://aws.amazon.com/lambda/pricing/>, us-east-1: the list price; look it up before you
/// rely on it.
pub const LAMBDA_REQUEST: f64 = 0.20 / 1e6;
/// Lambda on arm64, USD per GB-second, first tier, every started millisecond. The same page and date. Init is billed
/// like an invoke: with a custom runtime always, with Lambda's own Node and Python since August 2025.
pub const LAMBDA_GB_SECOND: f64 = 0.000_013_333_4;
/// DynamoDB on demand, USD per read request unit, since November 2024.
/// <https://aws.amazon.com/dynamodb/pricing/on-demand/>, us-east-1: the list price; look it up before you rely on it.
pub const READ_UNIT: f64 = 0.125 / 1e6;
/// DynamoDB on demand, USD per write request unit. The same page and date.
pub const WRITE_UNIT: f64 = 0.625 / 1e6;

/// Memory of a function in MB: the default of `template.yaml`, and what is usual for Node.
pub const MEMORY: u32 = 256;
/// Memory in MB at which Lambda gives one whole processor.
/// <https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html>
pub const ONE_PROCESSOR: u32 = 1_769;
/// One request in so many starts an instance. AWS: inits are typically under 1 % of invocations.
/// <https://aws.amazon.com/blogs/compute/aws-lambda-standardizes-billing-for-init-phase/>
pub const REQUESTS_PER_START: f64 = 100.0;

/// Visits that are billed.
pub const VISITS: f64 = 1e6;
/// Visits per second for which the needs are computed.
pub const VISITS_PER_SECOND: f64 = 10_000.0;

/// Requests per second that API Gateway lets into an account and region, unless raised.
/// <https://docs.aws.amazon.com/apigateway/latest/developerguide/limits.html>
pub const GATEWAY_QUOTA: f64 = 10_000.0;
/// Invokes that Lambda runs at once in an account and region, unless raised.
/// <https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html>
pub const CONCURRENCY_QUOTA: f64 = 1_000.0;
/// Requests per second that Lambda takes for each unit of that quota, however short they are. The same page.
pub const REQUESTS_PER_CONCURRENCY: f64 = 10.0;
/// Requests per second by which a function may grow every ten seconds.
/// <https://docs.aws.amazon.com/lambda/latest/dg/scaling-behavior.html>
pub const GROWTH_IN_TEN_SECONDS: f64 = 10_000.0;
/// Read, and likewise write, request units per second of a table on demand, unless raised.
/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html>
pub const TABLE_QUOTA: f64 = 40_000.0;

/// Requests of one kind within a visit.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// What they ask.
    pub endpoint: String,
    /// How many there are in a visit.
    pub times: u32,
    /// An invoke's duration in nanoseconds at [`MEMORY`].
    pub duration: f64,
    /// What an invoke asks of the database.
    pub cost: Cost,
    /// What a start adds to an invoke, in nanoseconds.
    pub start: f64,
}

/// A visit in US dollars, by who is paid for what.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Bill {
    /// API Gateway's requests.
    pub gateway: f64,
    /// Lambda's requests.
    pub requests: f64,
    /// Lambda's time.
    pub time: f64,
    /// Lambda's time for the starts.
    pub starts: f64,
    /// `DynamoDB`'s reads.
    pub reads: f64,
    /// `DynamoDB`'s writes.
    pub writes: f64,
}

/// What a number of visits per second needs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Needs {
    /// Requests per second.
    pub requests: f64,
    /// Invokes that run at once, by Little's law: rate times duration.
    pub concurrency: f64,
    /// Read request units per second.
    pub reads: f64,
    /// Write request units per second.
    pub writes: f64,
}

/// How long an invoke takes in nanoseconds with the processor's share that so much memory has.
pub fn duration(endpoint: &Endpoint, memory: u32) -> f64 {
    let (waiting, computing) = parts(endpoint, memory);
    waiting + computing
}

/// How long an invoke waits, and how long it computes with the processor's share that so much memory has.
fn parts(endpoint: &Endpoint, memory: u32) -> (f64, f64) {
    let share = f64::from(memory.min(ONE_PROCESSOR)) / f64::from(ONE_PROCESSOR);
    (real(endpoint.wall_delayed.median.saturating_sub(endpoint.cpu)), real(endpoint.cpu) / share)
}

/// What a start adds to an invoke, in nanoseconds: the init, and what the first invoke takes longer than a warm one.
/// As measured on whole processors, which is kind to the programs that need most of one to start.
/// `None` where the starts were not measured.
pub fn start(program: &Program, warm: &Endpoint) -> Option<f64> {
    let cold = program.cold?;
    Some(real(cold.init_wall.median + cold.first_wall.median.saturating_sub(warm.wall.median)))
}

/// Nanoseconds as they are billed: every started millisecond.
pub fn billed(nanoseconds: f64) -> f64 {
    (nanoseconds / 1e6).ceil() * 1e6
}

/// The price of a number of visits.
pub fn bill(lines: &[Line], visits: f64) -> Bill {
    let gigabytes = f64::from(MEMORY) / 1_024.0;
    let mut bill = Bill::default();
    for line in lines {
        let requests = f64::from(line.times) * visits;
        bill.gateway += requests * GATEWAY_REQUEST;
        bill.requests += requests * LAMBDA_REQUEST;
        bill.time += requests * billed(line.duration) / 1e9 * gigabytes * LAMBDA_GB_SECOND;
        bill.starts += requests / REQUESTS_PER_START * billed(line.start) / 1e9 * gigabytes * LAMBDA_GB_SECOND;
        bill.reads += requests * line.cost.read_units * READ_UNIT;
        bill.writes += requests * line.cost.write_units * WRITE_UNIT;
    }
    bill
}

/// What a number of visits per second needs, spread evenly.
pub fn needs(lines: &[Line], visits_per_second: f64) -> Needs {
    let sum = |of: &dyn Fn(&Line) -> f64| {
        lines.iter().map(|line| f64::from(line.times) * of(line)).sum::<f64>() * visits_per_second
    };
    Needs {
        requests: sum(&|_| 1.0),
        concurrency: sum(&|line| line.duration / 1e9),
        reads: sum(&|line| line.cost.read_units),
        writes: sum(&|line| line.cost.write_units),
    }
}

impl Bill {
    /// All of it.
    pub fn total(&self) -> f64 {
        self.gateway + self.requests + self.time + self.starts + self.reads + self.writes
    }

    /// What is not the gateway's, which every program pays alike.
    pub fn behind_the_gateway(&self) -> f64 {
        self.total() - self.gateway
    }
}

impl Needs {
    /// The quota of concurrent executions to ask for: it has to hold what runs at once and let the requests in.
    pub fn concurrency_quota(&self) -> f64 {
        self.concurrency.max(self.requests / REQUESTS_PER_CONCURRENCY).ceil()
    }
}
