//! Histories of concurrent requests, checked against a sequential model by a linearizability checker.
//!
//! `HISTORIES` is the number of histories (default 8), `HISTORIES_SEED` the seed of a run to repeat: the same requests
//! and faults are tried again, in any order in which they meet.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test that cannot continue has failed")]

mod bench;
mod books;
mod cart;
mod checker;
mod checkout;
mod client;
mod many_buyers;
mod model;
mod one_buyer;
mod one_cart;
mod ops;
mod record;
mod resource;
mod run;
mod shop;
