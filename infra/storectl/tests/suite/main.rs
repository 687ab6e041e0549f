//! The tool from outside: every command on a real engine in the test's own process.

// The future of the whole tool is deep.
#![recursion_limit = "256"]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a helper that fails fails its test")]

mod accounts;
mod bad_input;
mod bench;
mod cases;
mod chat;
mod codes;
mod deliveries;
mod doctor;
mod erasing;
mod local_store;
mod moving;
mod notify;
mod openapi;
mod operations;
mod orders;
mod payments;
mod payments_account;
mod payments_endpoint;
mod payments_reconcile;
mod people;
mod person;
mod publishing;
mod report;
mod s3;
mod servers;
mod shop;
mod subscriptions;
mod upgrading;
