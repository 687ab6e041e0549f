//! Delivery (rules.md): game servers that speak as the vendor's plugin does, against the real engine.

#![recursion_limit = "256"]
#![expect(clippy::unwrap_used, reason = "a test that cannot continue has failed")]

mod agent;
mod game_server;
mod health;
mod poll;
mod property;
mod shop;
mod steps;
mod words;
