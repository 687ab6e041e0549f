//! What a visit costs: measured durations and units at public list prices of us-east-1. Look them up before you rely
//! on them.
//!
//! The billed duration of an invoke is computed, not measured. A run has whole processors and a function has the share
//! `memory / 1769 MB` of one, so its processor time takes longer while its waiting does not:
//!
//! ```text
//! duration = (wall_delayed.median - cpu) + cpu / share        share = min(1, memory / 1769 MB)
//! billed   = duration, rounded up to the millisecond
//! ```

use crate::figures::{CHECK_STATUS, Cost, Endpoint, FIRST_STATUS, Figures};
use crate::text::real;

/// HTTP API, USD per request. <https://aws.amazon.com/api-gateway/pricing/>
pub const GATEWAY_REQUEST: f64 = 1.00 / 1e6;
/// Lambda, USD per request. <https://aws.amazon.com/lambda/pricing/>
pub const LAMBDA_REQUEST: f64 = 0.20 / 1e6;
/// Lambda on arm64, USD per GB-second, init included. <https://aws.amazon.com/lambda/pricing/>
pub const LAMBDA_GB_SECOND: f64 = 0.000_013_333_4;
/// DynamoDB on demand, USD per read request unit. <https://aws.amazon.com/dynamodb/pricing/on-demand/>
pub const READ_UNIT: f64 = 0.125 / 1e6;
/// DynamoDB on demand, USD per write request unit. <https://aws.amazon.com/dynamodb/pricing/on-demand/>
pub const WRITE_UNIT: f64 = 0.625 / 1e6;

/// Memory of a function in MB: the default of `template.yaml`.
pub const MEMORY: f64 = 256.0;
/// Memory in MB at which Lambda gives one whole processor.
/// <https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html>
pub const ONE_PROCESSOR: f64 = 1_769.0;
/// One request in so many starts an instance. AWS: inits are typically under 1 % of invocations.
/// <https://aws.amazon.com/blogs/compute/aws-lambda-standardizes-billing-for-init-phase/>
pub const REQUESTS_PER_START: f64 = 100.0;
/// Visits that are billed.
pub const VISITS: f64 = 1e6;

/// A visit: a buyer opens the store, a category and the cart, enters a coupon, pays, and waits for the order. Part of
/// the visit, request and how often.
pub const VISIT: [(&str, &str, u32); 8] = [
    ("home", "settings/get", 1),
    ("home", "categories/get", 1),
    ("home", "items/getFeaturedDeals", 1),
    ("category", "categories/get/{url}", 1),
    ("cart", "cart/get, with a code applied", 1),
    ("coupon", "cart/acceptCoupon", 1),
    ("status", FIRST_STATUS, 1),
    ("status", CHECK_STATUS, 4),
];
/// Five requests that Node was measured with as well.
pub const POLLS: [(&str, &str, u32); 1] = [("status", CHECK_STATUS, 5)];

/// Requests of one kind within a visit. Times are nanoseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    pub times: u32,
    pub duration: f64,
    pub cost: Cost,
    /// What a start adds to an invoke.
    pub start: f64,
}

/// A price in US dollars by part.
pub type Bill = [(&'static str, f64); 6];

/// The lines of a visit to some programs; `None` if a request was not measured.
pub fn lines(figures: &Figures, programs: &[&str], visit: &[(&str, &str, u32)]) -> Option<Vec<Line>> {
    visit.iter().map(|(_, name, times)| line(figures, programs, name, *times)).collect()
}

fn line(figures: &Figures, programs: &[&str], name: &str, times: u32) -> Option<Line> {
    let row = |name: &str| programs.iter().find_map(|program| figures.endpoint(program, name));
    let counted = row(name)?;
    // The first request of a window is counted and not timed: it takes a round trip more than the others.
    let warm = if counted.is_timed() { counted } else { row(CHECK_STATUS)? };
    let waiting = real(warm.wall_delayed.median.saturating_sub(warm.wall.median));
    let more = counted.cost.round_trips.saturating_sub(warm.cost.round_trips);
    let trip = waiting / f64::from(warm.cost.round_trips.max(1));
    let cold = figures.program(&warm.program)?.cold?;
    Some(Line {
        times,
        duration: duration(warm, MEMORY) + f64::from(more) * trip,
        cost: counted.cost,
        start: real(cold.init_wall.median + cold.first_wall.median.saturating_sub(warm.wall.median)),
    })
}

/// How long an invoke takes in nanoseconds with the share of a processor that so much memory has.
fn duration(row: &Endpoint, memory: f64) -> f64 {
    let share = (memory / ONE_PROCESSOR).min(1.0);
    real(row.wall_delayed.median.saturating_sub(row.cpu)) + real(row.cpu) / share
}

/// Nanoseconds as they are billed: every started millisecond.
pub fn billed(nanoseconds: f64) -> f64 {
    (nanoseconds / 1e6).ceil() * 1e6
}

/// The price of [`VISITS`] visits.
pub fn bill(lines: &[Line]) -> Bill {
    let sum = |of: &dyn Fn(&Line) -> f64| lines.iter().map(|line| f64::from(line.times) * VISITS * of(line)).sum();
    let time = |nanoseconds: f64| billed(nanoseconds) / 1e9 * MEMORY / 1_024.0 * LAMBDA_GB_SECOND;
    [
        ("API Gateway, requests", sum(&|_| GATEWAY_REQUEST)),
        ("Lambda, requests", sum(&|_| LAMBDA_REQUEST)),
        ("Lambda, time", sum(&|line| time(line.duration))),
        ("Lambda, starts", sum(&|line| time(line.start) / REQUESTS_PER_START)),
        ("DynamoDB, reads", sum(&|line| line.cost.read_units * READ_UNIT)),
        ("DynamoDB, writes", sum(&|line| line.cost.write_units * WRITE_UNIT)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document;
    use crate::figures::{FUNCTIONS, Spread};

    fn near(left: f64, right: f64) -> bool {
        (left - right).abs() < 1e-9
    }

    #[test]
    fn only_processor_time_takes_longer_with_less_memory() {
        let spread = Spread { min: 3_500_000, median: 3_500_000, p99: 3_500_000 };
        let cost = Cost { calls: 2, round_trips: 1, read_units: 1.5, write_units: 1.0 };
        let row = Endpoint {
            program: "cart".into(),
            name: "cart/get".into(),
            wall: spread,
            wall_delayed: spread,
            cpu: 500_000,
            cost,
        };
        assert!(near(duration(&row, ONE_PROCESSOR), 3_500_000.0) && near(duration(&row, 10_240.0), 3_500_000.0));
        // 256 MB are 0.1447 of a processor: 3 ms of waiting, and 0.5 ms that take 3.455 ms.
        assert!((6_455_000.0..6_456_000.0).contains(&duration(&row, 256.0)));
    }

    #[test]
    fn a_bill_is_requests_time_and_units() {
        let cost = Cost { calls: 2, round_trips: 1, read_units: 1.5, write_units: 1.0 };
        let bill = bill(&[Line { times: 2, duration: 3_200_000.0, cost, start: 50_000_000.0 }]).map(|(_, price)| price);
        // 2 million times 4 ms of a quarter of a GB are 2,000 GB-seconds; 20,000 starts of 50 ms another 250.
        let wanted = [2.0, 0.4, 2_000.0 * LAMBDA_GB_SECOND, 250.0 * LAMBDA_GB_SECOND, 0.375, 1.25];
        assert!(bill.iter().zip(wanted).all(|(price, wanted)| near(*price, wanted)), "{bill:?}");
        assert!([(1.0, 1e6), (1e6, 1e6), (1_000_001.0, 2e6)].iter().all(|(time, bill)| near(billed(*time), *bill)));
    }

    #[test]
    fn the_first_request_of_a_window_waits_for_one_round_trip_more() {
        let figures = document::committed().unwrap().unwrap();
        let [first, other] = [FIRST_STATUS, CHECK_STATUS].map(|name| line(&figures, &FUNCTIONS, name, 1).unwrap());
        assert!((3e6..7e6).contains(&(first.duration - other.duration)), "{first:?} {other:?}");
        assert!(lines(&figures, &["auth"], &POLLS).is_none());
    }
}
