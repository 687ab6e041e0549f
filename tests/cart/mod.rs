//! The cart function.

#![expect(clippy::expect_used, clippy::unwrap_used, reason = "a helper that fails fails its test")]

mod add;
mod codes;
mod get;
mod lines;
mod offers;
mod referrals;
mod set_variable;
pub mod support;
mod unknown_codes;
mod writes;
