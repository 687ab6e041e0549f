//! The stand-in for Stripe, by the crate `stripe`: its pages, accounts and limits.

#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]

mod accounts;
mod pages;
mod sessions;
mod subscriptions;
mod support;
