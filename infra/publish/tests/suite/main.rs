//! The crate from outside: faults, compiling, publishing on a real engine, the sample store.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a helper that fails fails its test")]

mod cases;
mod commands;
mod compiling;
mod own_files;
mod prices;
mod publishing;
mod sample_store;
mod selling;
mod support;
