//! Checkouts: from a cart to an order that is paid once (rules.md, "Checkout").
//!
//! [`create`] holds what a cart sells, in the transaction that writes the pending order, and opens a checkout at the
//! payment provider. [`settle`] asks the provider what became of it and writes that, conditional on the order's status.
//! The steps that follow from a payment are marked on the order: the cart is cleared at once, the statistics are left to
//! [`sweep`], which also finishes what was interrupted.

mod begin;
mod compare;
mod create;
mod desk;
mod dispute;
mod open;
mod operator;
mod provider;
mod reconcile;
mod refund_lines;
mod refunds;
mod renew;
mod reserve;
mod subscription;
mod sweep;
mod webhook_event;

pub use begin::Request;
pub use compare::{Compared, Difference, compare, return_payment};
pub use compare::{NotPaid, paid_checkout};
pub use create::{CreateError, create};
pub use desk::Desk;
pub use desk::{SettleError, Settled};
pub use dispute::note_dispute;
pub use open::Checkout;
pub use operator::{OperatorError, RefundKind, Refunded, open_orders};
pub use provider::{
    DisputeState, PaymentPage, PaymentSubject, Provider, ProviderError, Session, WebhookEvent, WebhookEventPage,
};
pub use refund_lines::LinesRefunded;
pub use refunds::STRANDED;
pub use reserve::{CHECKOUTS, forget_begun};
pub use subscription::extend_subscription;
pub use sweep::OVERDUE;
pub use sweep::Swept;
