//! Checkouts: from a cart to an order that is paid once (rules.md, "Checkout").
//!
//! [`create`] holds what a cart sells, in the transaction that writes the pending order, and opens a checkout at the
//! payment provider. [`settle`] asks the provider what became of it and writes that, conditional on the order's status.
//! The steps that follow from a payment are marked on the order: the cart is cleared at once, the statistics are left to
//! [`sweep`], which also finishes what was interrupted.

mod answers;
mod balance;
pub(in crate::shop) mod begin;
pub(in crate::shop) mod cards;
pub(in crate::shop) mod compare;
pub(in crate::shop) mod create;
pub(in crate::shop) mod desk;
pub(in crate::shop) mod open;
pub(in crate::shop) mod operator;
pub(in crate::shop) mod provider;
pub(in crate::shop) mod reconcile;
mod refund_lines;
pub(in crate::shop) mod refunds;
pub(in crate::shop) mod reserve;
pub(in crate::shop) mod sweep;
pub mod webhook_events;

pub use answers::BEFORE as ANSWERED_BEFORE;
pub use balance::BalanceCursor;
pub use begin::Request;
pub use compare::{Compared, Difference, NotPaid, compare, paid_checkout, return_payment};
pub use create::{CreateError, create};
pub use desk::{Desk, SettleError, Settled, note_dispute};
pub use open::Checkout;
pub use operator::{OperatorError, RefundKind, Refunded, open_orders};
pub use provider::{
    AwaitedEvidence, BalancePage, DisputeState, PaymentPage, PaymentSubject, Provider, ProviderError, RefusedAttempt,
    Session, WebhookEvent, WebhookEventPage,
};
pub use refund_lines::LinesRefunded;
pub use refunds::STRANDED;
pub use reserve::{CHECKOUTS, forget_begun};
pub use sweep::{DEADLINE, OVERDUE, Swept};
