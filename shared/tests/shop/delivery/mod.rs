//! Delivery (rules.md): game servers that speak as the vendor's plugin does, against the real engine.

mod agent;
mod extend;
mod game_server;
mod health;
mod holders;
mod holding;
mod logins;
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
mod values;
mod words;
