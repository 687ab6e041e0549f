//! The tool from outside: every command on a real engine in the test's own process.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a helper that fails fails its test")]

mod accounts;
mod bad_input;
mod bans;
mod bench;
mod carts;
mod chat;
mod check;
mod codes;
mod currency;
mod deliveries;
mod doctor;
mod erasing;
mod local_store;
mod moving;
mod openapi;
mod operations;
mod orders_commands;
mod orders_price;
mod orders_session;
mod orders_shown;
mod payments;
mod payments_account;
mod payments_reconcile;
mod payments_refunds;
mod people;
mod publishing;
mod s3;
mod servers;
mod shop;
mod slips;
mod subscriptions;
mod upgrading;
