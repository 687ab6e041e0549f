//! The limit on unknown codes that an address may try (rules.md, "Unknown codes"), which acceptCoupon and getGift
//! share.

use crate::State;
use lambda_http::http::StatusCode;
use shared::endpoint::{Refusal, too_many_attempts};
use shared::table::keys::{self, Key};
use shared::table::limiter::{self, RateLimit, Window};
use shared::table::{Rows, StoreError};
use shared::telemetry;

/// How many unknown codes an address may try, over all functions.
const LIMIT: RateLimit = RateLimit { kind: "code", requests: 30, seconds: 600 };

/// The unknown codes that an address has tried.
#[derive(Debug)]
pub struct Tries<'a> {
    address: &'a str,
    window: Option<Window>,
}

/// The address has tried as many unknown codes as it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{}", too_many_attempts(*retry_seconds))]
pub struct TooMany {
    /// Seconds until it may try again.
    pub retry_seconds: u64,
}

impl Refusal for TooMany {
    /// The client loses the text of a 429.
    fn status(&self) -> StatusCode {
        StatusCode::OK
    }

    fn retry_seconds(&self) -> Option<u64> {
        Some(self.retry_seconds)
    }

    fn documented() -> Vec<(&'static str, Self)> {
        vec![("This address has tried 30 unknown codes in 10 minutes", Self { retry_seconds: LIMIT.seconds })]
    }
}

/// The key of what [`Tries::take`] reads.
pub fn key(address: &str) -> Key {
    keys::rate(LIMIT.kind, address)
}

impl<'a> Tries<'a> {
    /// Takes the tries of an address out of the rows, or refuses it.
    pub fn take(state: &State, rows: &mut Rows, address: &'a str) -> Result<Result<Self, TooMany>, StoreError> {
        let window = limiter::take(rows, LIMIT, address)?;
        let full = window.and_then(|window| window.full(LIMIT, state.base.clock.millis()));
        Ok(full.map_or(Ok(Self { address, window }), |retry_seconds| Err(too_many(retry_seconds))))
    }

    /// Counts a try, before the caller learns that the code is unknown.
    pub async fn count(self, state: &State) -> Result<Result<(), TooMany>, StoreError> {
        let now = state.base.clock.millis();
        let hit = limiter::hit_after(&state.base.db, LIMIT, self.address, now, self.window).await?;
        Ok(if hit.allowed { Ok(()) } else { Err(too_many(hit.reset_seconds)) })
    }
}

fn too_many(retry_seconds: u64) -> TooMany {
    telemetry::rate_limited();
    TooMany { retry_seconds }
}
