//! The payments function.

#![expect(clippy::expect_used, clippy::unwrap_used, reason = "a helper that fails fails its test")]

mod check_status;
mod rate_limit;
