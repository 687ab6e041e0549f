//! The use cases on a real engine in the test's own process: orders, and checkouts from a cart to an order that is paid
//! exactly once.

#![recursion_limit = "256"]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot continue has failed")]

mod at_provider;
mod books;
mod checkouts;
mod contention;
mod delivery;
mod fixture;
mod notices;
mod orders;
mod sending;
mod shop;
mod subscribers;
mod sums;
mod upgrade;

/// Runs a case of a property.
fn block_on<T>(case: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.unwrap().block_on(case)
}
