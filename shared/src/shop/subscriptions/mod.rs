//! Subscriptions: their rows, their part in a change of an order, and bringing them and the payment provider together (rules.md,
//! "Subscriptions").

pub(in crate::shop) mod at_provider;
pub(in crate::shop) mod of_orders;
pub(in crate::shop) mod renew;
mod rows;

pub use at_provider::extend_subscription;
pub use rows::*;
