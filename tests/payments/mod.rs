//! The payments function.

#![expect(clippy::expect_used, clippy::unwrap_used, reason = "a helper that fails fails its test")]

mod amounts;
pub mod backlog;
mod check_status;
mod create;
mod delivery;
mod list_methods;
mod list_orders;
mod logins;
mod provider_pages;
mod rate_limit;
mod stripe_webhook;
pub mod support;
