//! The tool from outside: every command on a real engine in the test's own process.

// The future of the whole tool is deep.
#![recursion_limit = "256"]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a helper that fails fails its test")]

mod accounts;
mod bad_input;
mod bench;
mod cases;
mod deliveries;
mod doctor;
mod moving;
mod notify;
mod operations;
mod orders;
mod payments;
mod payments_connect;
mod payments_reconcile;
mod publishing;
mod servers;
mod shop;
mod subscriptions;
