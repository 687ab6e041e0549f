//! The agent against a store that speaks the queue's protocol, and the stand-in for a game server: as a process that is killed,
//! and in this process with a clock that is moved.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot continue has failed")]
#![expect(clippy::print_stdout, reason = "figures for infra/scripts/prove")]

mod kills;
mod outages;
mod responses;
mod store;
mod world;

use std::time::{Duration, Instant};

/// How often something is done at random: few times here, many in `infra/scripts/prove`.
fn times(variable: &str, few: usize) -> usize {
    std::env::var(variable).map_or(few, |text| text.parse().unwrap())
}

/// Waits until something is true that a process does.
async fn until(is_true: impl Fn() -> bool) {
    let started = Instant::now();
    while !is_true() {
        assert!(started.elapsed() < Duration::from_mins(15));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
