//! Every call of every endpoint to the database and to the chat platform, failing on the wire in every way: the response
//! is right after a retry, or a 503 within the request's time, and nothing is half done.

mod payments;
mod surroundings;
mod world;

use futures_util::future::join_all;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tests::{Endpoint, Reply, WireFault, by_turns, endpoints};
use tokio::task::JoinSet;
use world::{Pacing, Plan, Side, Undisturbed, Verdict, World, undisturbed};

/// Faults after which the client knows at once that the call failed.
pub const QUICK: [WireFault; 16] = [
    WireFault::Reset,
    WireFault::Lost,
    WireFault::CutHead,
    WireFault::HeadOnly,
    WireFault::CutBody,
    WireFault::NotJson,
    WireFault::NotHttp,
    WireFault::TooShort,
    WireFault::Failed(500),
    WireFault::Refused(500, "InternalServerError"),
    WireFault::Refused(503, "ServiceUnavailable"),
    WireFault::Refused(400, "ProvisionedThroughputExceededException"),
    WireFault::Refused(400, "ThrottlingException"),
    WireFault::Refused(400, "ExpiredTokenException"),
    WireFault::Refused(400, "TransactionConflict"),
    WireFault::Refused(400, "TransactionInProgressException"),
];

/// Faults after which the client waits until its time is up.
const SILENT: [WireFault; 3] = [WireFault::Swallowed, WireFault::LostSilently, WireFault::Stalled];

/// Whether one call that fails so is repeated, so that the response is right.
fn is_retried(side: Side, fault: WireFault) -> bool {
    // The SDK repeats nothing after a response that it cannot read. Credentials do not come back in the same process.
    // Nothing is sent twice to the chat platform, which accepts a code only once.
    let is_final = [
        WireFault::NotJson,
        WireFault::NotHttp,
        WireFault::TooShort,
        WireFault::Refused(400, "ExpiredTokenException"),
        // Counters of rate limits and sequences are in no transaction, and do not expect to meet one.
        WireFault::Refused(400, "TransactionConflict"),
    ];
    side == Side::Database && !is_final.contains(&fault)
}

/// Every endpoint whose sample event needs the database. The sample webhook event concerns no order, and nothing is read for it:
/// [`payments`] has webhook events that do.
fn calling() -> Vec<Endpoint> {
    endpoints().into_iter().filter(Endpoint::needs_database).collect()
}

/// Whether a response says that the database is away. Some game servers' calls respond with nothing then, since the plugin
/// stops at an error.
fn is_unavailable(endpoint: &Endpoint, reply: &Reply) -> bool {
    match endpoint.declaration.while_away {
        Some(body) => reply.status == 200 && reply.text == body,
        None => reply.status == 503 && reply.header("retry-after").parse::<u32>().is_ok_and(|seconds| seconds > 0),
    }
}

/// How many plans had each verdict.
type Tally = BTreeMap<String, usize>;

/// The plans of an endpoint, which has a number of its own.
type Plans = fn(&Undisturbed, usize) -> Vec<Plan>;

/// Runs the plans of every endpoint, each in the next of some stores that is free.
async fn every_endpoint(pacing: Pacing, stores: usize, plans: Plans) -> Tally {
    let (all, mut jobs) = (undisturbed().await, JoinSet::new());
    let of = |(number, expected)| plans(expected, number).into_iter().map(move |plan| (expected, plan));
    let rest: Vec<(&Undisturbed, Plan)> = all.iter().enumerate().flat_map(of).collect();
    let rest = Arc::new(Mutex::new(rest.into_iter()));
    for world in join_all((0..stores).map(|_| World::open(pacing))).await {
        let rest = Arc::clone(&rest);
        jobs.spawn(async move {
            let (mut tally, next) = (Tally::new(), || rest.lock().unwrap().next());
            while let Some((expected, plan)) = next() {
                let verdict = world.disturbed(expected, plan).await;
                let must_be_right = !plan.lasts && is_retried(plan.side, plan.fault);
                let name = match verdict {
                    Verdict::Right => "right".to_owned(),
                    _ if must_be_right => format!("not right: {} {plan:?} {verdict:?}", expected.endpoint.route),
                    Verdict::Unavailable => "unavailable".to_owned(),
                    Verdict::Refused => "refused".to_owned(),
                };
                *tally.entry(name).or_default() += 1;
            }
            tally
        });
    }
    let calls = all.iter().map(|expected| expected.database_calls + expected.platform_calls).sum();
    let mut tally = Tally::from([("endpoints".to_owned(), all.len()), ("calls".to_owned(), calls)]);
    while let Some(job) = jobs.join_next().await {
        for (name, count) in job.unwrap() {
            *tally.entry(name).or_default() += count;
        }
    }
    tally
}

/// Plans for each call of a request, by the faults that `kinds` returns for the number of the call.
fn each_call(expected: &Undisturbed, lasts: bool, kinds: impl Fn(usize) -> Vec<WireFault>) -> Vec<Plan> {
    let calls = [(Side::Database, expected.database_calls), (Side::ChatPlatform, expected.platform_calls)];
    let places = calls.into_iter().flat_map(|(side, count)| (0..count).map(move |place| (side, place)));
    let plans = places.enumerate().flat_map(|(number, (side, place))| {
        kinds(number).into_iter().map(move |fault| Plan { side, fault, place, lasts })
    });
    plans.collect()
}

/// Shows the figures of a run, with `--nocapture`.
#[expect(clippy::print_stderr, reason = "figures of tests")]
fn figures(text: &str) {
    eprintln!("{text}");
}

fn report(what: &str, tally: &Tally) {
    figures(&format!("{what}: {tally:?}"));
    assert!(tally.keys().all(|name| !name.starts_with("not right")), "{tally:#?}");
    assert!(tally["endpoints"] > 30 && tally["calls"] > tally["endpoints"], "{tally:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_call_that_fails_is_repeated_or_the_response_is_503() {
    let plans: Plans = |expected, turn| each_call(expected, false, |call| by_turns(&QUICK, turn * 3 + call * 5, 1));
    let tally = every_endpoint(Pacing::Shortened, 4, plans).await;
    report("one call fails", &tally);
    assert!(tally["right"] > tally["unavailable"], "{tally:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn while_calls_keep_failing_the_response_is_503_and_afterwards_right() {
    const LASTING: [WireFault; 7] = [
        WireFault::Reset,
        WireFault::Lost,
        WireFault::CutBody,
        WireFault::NotJson,
        WireFault::Failed(500),
        WireFault::Refused(400, "ThrottlingException"),
        WireFault::Refused(400, "TransactionConflict"),
    ];
    let plans: Plans = |expected, turn| each_call(expected, true, |call| by_turns(&LASTING, turn + call * 2, 1));
    let tally = every_endpoint(Pacing::Shortened, 4, plans).await;
    report("all calls fail", &tally);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_lost_without_a_word_is_repeated() {
    let plans: Plans = |expected, turn| each_call(expected, false, |call| by_turns(&SILENT, turn + call, 1));
    let tally = every_endpoint(Pacing::Shortened, 24, plans).await;
    report("one call gets no response", &tally);
}

/// With the timeouts and the pacing of production.
#[tokio::test(flavor = "multi_thread")]
async fn in_production_every_kind_of_fault_ends_in_time() {
    const LATE: WireFault = WireFault::Late(Duration::from_millis(1_600));
    const ONCE: [WireFault; 6] = [
        WireFault::Swallowed,
        WireFault::LostSilently,
        WireFault::Stalled,
        LATE,
        WireFault::Lost,
        WireFault::Refused(400, "ThrottlingException"),
    ];
    let plans: Plans = |expected, turn| {
        let calls = expected.database_calls;
        let place = |number: usize| (turn + number).checked_rem(calls).unwrap_or(0);
        let once = by_turns(&ONCE, turn, 2).into_iter().enumerate();
        let once = once.map(|(number, fault)| (place(number), fault, false));
        // A database that is gone from one call on.
        let lasting = [(place(0), WireFault::Swallowed, true)];
        let plans = once.chain(lasting).take(if calls == 0 { 0 } else { usize::MAX });
        plans.map(|(place, fault, lasts)| Plan { side: Side::Database, fault, place, lasts }).collect()
    };
    let tally = every_endpoint(Pacing::Deployed, 24, plans).await;
    report("production's pacing", &tally);
}
