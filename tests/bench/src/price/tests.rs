use super::*;
use crate::figures::Spread;
use crate::fixture;

fn near(left: f64, right: f64) -> bool {
    (left - right).abs() < 1e-9
}

fn invoke(delayed: u64, cpu: u64) -> Endpoint {
    let spread = Spread { min: delayed, median: delayed, p99: delayed };
    let cost = Cost { calls: 2, round_trips: 1, read_units: 1.5, write_units: 1.0 };
    Endpoint { program: "cart".into(), name: "cart/get".into(), wall: spread, wall_delayed: spread, cpu, cost }
}

fn line(times: u32, duration: f64, start: f64) -> Line {
    Line { endpoint: "cart/get".into(), times, duration, cost: invoke(0, 0).cost, start }
}

#[test]
fn only_processor_time_takes_longer_with_less_memory() {
    let invoke = invoke(3_500_000, 500_000);
    assert!(near(duration(&invoke, ONE_PROCESSOR), 3_500_000.0));
    assert!(near(duration(&invoke, 10_240), 3_500_000.0));
    // 256 MB are 0.1447 of a processor: 3 ms of waiting, and 0.5 ms that take 3.455 ms.
    let slow = duration(&invoke, 256);
    assert!((6_455_000.0..6_456_000.0).contains(&slow), "{slow}");
}

#[test]
fn processor_time_beyond_the_wall_is_not_waiting() {
    assert!(near(duration(&invoke(400_000, 500_000), ONE_PROCESSOR), 500_000.0));
}

#[test]
fn every_started_millisecond_is_billed() {
    assert!(
        [(1.0, 1e6), (1e6, 1e6), (1_000_001.0, 2e6), (0.0, 0.0)].iter().all(|(time, bill)| near(billed(*time), *bill))
    );
}

#[test]
fn a_bill_is_requests_time_and_units() {
    let bill = bill(&[line(2, 3_200_000.0, 50_000_000.0)], 1e6);
    assert!(near(bill.gateway, 2.0));
    assert!(near(bill.requests, 0.4));
    // 2 million times 4 ms of a quarter of a GB are 2,000 GB-seconds; 20,000 starts of 50 ms another 250.
    assert!(near(bill.time, 2_000.0 * LAMBDA_GB_SECOND));
    assert!(near(bill.starts, 250.0 * LAMBDA_GB_SECOND));
    assert!(near(bill.reads, 0.375));
    assert!(near(bill.writes, 1.25));
    assert!(near(bill.total(), 2.0 + 0.4 + 2_250.0 * LAMBDA_GB_SECOND + 0.375 + 1.25));
}

#[test]
fn concurrency_is_rate_times_duration() {
    let needs = needs(&[line(2, 4_000_000.0, 0.0), line(1, 2_000_000.0, 0.0)], 1_000.0);
    assert!(near(needs.requests, 3_000.0));
    assert!(near(needs.concurrency, 10.0));
    assert!(near(needs.reads, 4_500.0));
    assert!(near(needs.writes, 3_000.0));
    // Ten run at once, but Lambda takes ten requests per second for each unit of the quota.
    assert!(near(needs.concurrency_quota(), 300.0));
}

#[test]
fn a_visit_is_eleven_requests() {
    assert_eq!(visit::requests(), 11);
    let polls = visit::VISIT.iter().filter(|step| step.part == "status").map(|step| step.times);
    assert_eq!(polls.sum::<u32>(), visit::POLLS[0].times);
}

#[test]
fn a_first_poll_that_was_not_measured_apart_is_a_poll() {
    let mut figures = fixture::figures();
    figures.endpoints.retain(|endpoint| !endpoint.name.ends_with("first of a window"));
    let polls = visit::VISIT.iter().filter(|step| step.part == "status");
    let polls = visit::ours(&figures, polls).expect("polls");
    assert_eq!(polls[0].cost, polls[1].cost);
}

#[test]
fn a_row_that_was_only_counted_takes_a_round_trip_longer() {
    let figures = fixture::figures();
    for polls in [visit::ours(&figures, &visit::VISIT), visit::node_visit(&figures)] {
        let polls = polls.expect("a visit");
        let [.., first, ordinary] = polls.as_slice() else { panic!("no polls") };
        assert!(near(first.duration - ordinary.duration, 3_100_000.0), "{first:?} {ordinary:?}");
        assert!(near(first.cost.write_units, 2.0) && near(ordinary.cost.write_units, 1.0));
    }
}

#[test]
fn without_the_ordinary_outcome_another_stands_for_it() {
    let visit = visit::ours(&fixture::figures(), &visit::VISIT).expect("a visit");
    assert!(visit.iter().any(|line| line.endpoint == "cart/get, with a code applied"));
}

#[test]
fn without_an_endpoint_there_is_no_price() {
    let mut figures = fixture::figures();
    figures.endpoints.retain(|endpoint| !endpoint.name.starts_with("cart/get,"));
    assert_eq!(visit::ours(&figures, &visit::VISIT), None);
    assert!(visit::node_polls(&figures).is_some());
    assert_eq!(visit::node_visit(&figures), None);
}

#[test]
fn node_is_assumed_to_need_as_many_times_our_processor_time_everywhere() {
    let figures = fixture::figures();
    let (ours, node) = (visit::ours(&figures, &visit::VISIT), visit::node_visit(&figures));
    let (ours, node) = (ours.expect("ours"), node.expect("node"));
    for (ours, node) in ours.iter().zip(&node).filter(|(ours, _)| !ours.endpoint.starts_with("payments/")) {
        assert_eq!(ours.cost, node.cost);
        assert!(node.duration > ours.duration, "{}", ours.endpoint);
    }
}
