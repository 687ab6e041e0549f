//! Delivery (rules.md): game servers that speak as the vendor's plugin does, against the real engine.

mod agent;
mod game_server;
mod health;
mod holders;
mod holding;
mod moves;
mod poll;
mod possessions;
mod property;
mod runs;
mod season;
mod shop;
mod steps;
mod times;
mod units;
