//! Checkouts: from a cart to an order that is paid once (rules.md, "Checkout").
//!
//! [`create`] holds what a cart sells, in the transaction that writes the pending order, and opens a checkout at the payment
//! provider. [`settle`] asks the provider what became of it and writes that, conditional on the order's status. What
//! follows from a payment (statistics, the cart) is marked on the order; [`sweep`] finishes what was interrupted.

mod create;
mod existing;
mod follow_up;
mod hold;
mod notice;
mod operator;
mod provider;
mod refund;
mod settle;
mod sweep;
mod take;

pub use create::{Checkout, CreateError, Request, create};
pub use follow_up::follow_up;
pub use notice::act;
pub use operator::{OperatorError, Refunded, cancel, refund, settle_now};
pub use provider::{DisputeState, Notice, Provider, ProviderError, Session};
pub use settle::{SettleError, Settled, ask, settle, settle_with};
pub use sweep::{OVERDUE, Swept, sweep};
