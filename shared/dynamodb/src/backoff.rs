//! The wait before a request is sent again.

use std::time::Duration;

/// How long to wait before round `round + 2`: up to 20 ms, doubled each round, with full jitter, so that writers that
/// collided once do not collide again.
pub fn backoff(round: u32) -> Duration {
    let ceiling = 20_u64 << round.min(6);
    let mut noise = [0_u8; 8];
    // Without entropy every writer waits the full time: slower, but never wrong.
    let share = getrandom::fill(&mut noise).map_or(ceiling, |()| u64::from_le_bytes(noise) % (ceiling + 1));
    Duration::from_millis(share)
}
