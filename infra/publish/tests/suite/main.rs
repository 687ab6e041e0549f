//! The crate from outside: faults, compiling, publishing on a real engine, the sample store.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a helper that fails fails its test")]

mod commands;
mod compiling;
mod export;
mod faults;
mod format_page;
mod live_faults;
mod owners_mistakes;
mod payments;
mod publishing;
mod reading;
mod removing;
mod sample_store;
mod schemas;
mod subscriptions;
mod support;
