//! The tool from outside: every command on a real engine in the test's own process.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a helper that fails fails its test")]

mod accounts;
mod bad_input;
mod bans;
mod bench;
mod carts;
mod chat;
mod check;
mod checkouts;
mod codes;
mod currency;
mod deliveries;
mod doctor;
mod erasing;
mod local_store;
mod moving;
mod openapi;
mod operations;
mod orders_between;
mod orders_commands;
mod orders_faults;
mod orders_gifts;
mod orders_patrons;
mod orders_price;
mod orders_property;
mod orders_record;
mod orders_session;
mod orders_shown;
mod orders_statistics;
mod orders_status;
mod orders_sums;
mod orders_support;
mod payments;
mod payments_account;
mod payments_reconcile;
mod payments_refunds;
mod people;
mod publishing;
mod servers;
mod slips;
mod upgrading;
