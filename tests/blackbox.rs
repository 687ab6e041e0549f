//! Black-box tests by function and endpoint, and tests of all endpoints.

// The future of the whole tool is deep.
#![recursion_limit = "256"]
#![expect(clippy::panic, clippy::unwrap_used, reason = "a test that cannot continue has failed")]

mod access;
mod attacks;
mod auth;
mod bodies;
mod budget;
mod caching;
mod cart;
mod catalog;
mod content;
mod contract;
mod coverage;
mod dashboard;
mod delivery;
mod edge;
mod events;
mod faults;
mod faults_wire;
mod gateway;
mod notices;
mod outdated;
mod payments;
mod prices;
mod races;
mod rights;
mod rows;
mod schedule;
mod stores;
mod support;
