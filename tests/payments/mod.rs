//! The payments function.

#![expect(clippy::expect_used, clippy::unwrap_used, reason = "a helper that fails fails its test")]

pub mod backlog;
mod chat;
mod check_status;
mod codes;
mod create;
mod delivery;
mod list_methods;
mod list_orders;
mod logins;
mod open_limited;
mod paused;
mod portal;
mod rate_limit;
mod receipt;
mod sales;
mod stripe_webhook;
pub mod support;
