//! The use cases on a real engine in the test's own process: orders, and checkouts from a cart to an order that is paid
//! exactly once.

#![recursion_limit = "256"]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot continue has failed")]

mod at_provider;
mod fixture;
mod notices;
mod sending;
mod shop;
mod subscribers;
mod sums;
mod upgrade;

/// Checkouts: from a cart to an order that is paid exactly once.
mod checkouts {
    mod abuse;
    mod attempts;
    mod coupons;
    mod create;
    mod disputes;
    mod evidence;
    mod faults;
    mod first_day;
    mod flash;
    mod ladders;
    mod line_refunds;
    mod methods;
    mod operator;
    mod races;
    mod refunds;
    mod refusals;
    mod report;
    mod sets;
    mod settle;
    mod subscription_faults;
    mod subscription_model;
    mod subscription_states;
    mod subscriptions;
    mod sweep;
    mod taxes;
    mod time_limits;
    mod unusual_subscriptions;
    mod upkeep;
}

/// Delivery (rules.md): game servers that speak as the vendor's plugin does, against the real engine.
mod delivery {
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
    mod words;
}

/// Orders: what they take, what follows from them, and what is given back.
mod orders {
    mod ends;
    mod faults;
    mod goals;
    mod moves;
    mod record;
    mod statistics;
    mod status;
}

/// Runs a case of a property.
fn block_on<T>(case: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.unwrap().block_on(case)
}
