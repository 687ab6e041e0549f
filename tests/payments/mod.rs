//! The payments function.

#![expect(clippy::expect_used, clippy::unwrap_used, reason = "a helper that fails fails its test")]

mod check_status;
mod create;
mod list_methods;
mod rate_limit;
mod stripe_webhook;
pub mod support;
