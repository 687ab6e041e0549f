//! The crate from outside: faults, compiling, publishing on a real engine, the sample store.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a helper that fails fails its test")]

mod cases;
mod changes;
mod commands;
mod compiling;
mod format_page;
mod limits;
mod own_files;
mod payments;
mod prices;
mod publishing;
mod reading;
mod removing;
mod sample_store;
mod schemas;
mod sizes;
mod subscriptions;
mod support;
