//! Black-box tests by function and endpoint, and tests of all endpoints.

// The future of the whole tool is deep.
#![recursion_limit = "256"]
#![expect(clippy::panic, clippy::unwrap_used, reason = "a test that cannot continue has failed")]

mod access;
mod attacks;
/// The auth function.
mod auth {
    mod account;
    mod chat;
    mod chat_callback;
    mod game_login;
    mod platform;
    mod visitor;
}
mod bodies;
mod budget;
mod caching;
mod cart;
/// The catalog function.
mod catalog {
    mod calendar;
    mod get_category;
    mod get_category_lookup;
    mod get_profile;
    mod items;
    mod list_categories;
}
/// The content function.
mod content {
    mod get_settings;
    mod pages;
    mod people;
    mod shop;
}
mod contract;
mod coverage;
mod dashboard;
/// The delivery function: the calls of game servers.
mod delivery {
    mod bad_input;
    mod commands;
    mod keys;
    mod lists;
}
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
