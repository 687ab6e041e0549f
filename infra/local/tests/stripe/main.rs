//! The crate `stripe` against the stand-in: every call, every state, and what goes wrong on the way.

#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]

mod accounts;
mod faults;
mod objects;
mod pages;
mod sessions;
mod subscriptions;
mod support;
