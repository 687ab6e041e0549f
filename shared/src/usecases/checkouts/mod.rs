//! Checkouts: from a cart to an order that is paid once (rules.md, "Checkout").
//!
//! [`create`] holds what a cart sells, in the transaction that writes the pending order, and opens a checkout at the
//! payment provider. [`settle`] asks the provider what became of it and writes that, conditional on the order's status.
//! The steps that follow from a payment are marked on the order: the cart is cleared at once, the statistics are left to
//! [`sweep`], which also finishes what was interrupted.

mod attempt;
mod batch;
mod begin_limit;
mod bought;
mod cancel_subscription;
mod compare;
mod create;
mod desk;
mod dispute;
mod draft;
mod drain;
mod existing;
mod extend;
mod gone;
mod hold;
mod open;
mod operator;
mod paid_session;
mod provider;
mod reconcile;
mod refund;
mod refund_lines;
mod renew;
mod reservation;
mod retry;
mod review;
mod settle;
mod status;
mod subscription;
mod sweep;
mod webhook_event;
mod write;

pub use begin_limit::{CHECKOUTS, forget_begun};
pub use compare::{Compared, Difference, compare, return_payment};
pub use create::{CreateError, create};
pub use desk::Desk;
pub use dispute::note_dispute;
pub use draft::Request;
pub use drain::{EndedAll, is_settled, open_orders, settled_at};
pub use extend::extend_subscription;
pub use gone::STRANDED;
pub use open::Checkout;
pub use operator::{OperatorError, RefundKind, Refunded};
pub use paid_session::{NotPaid, PaidCheckout, paid_checkout};
pub use provider::{
    DisputeState, PaymentPage, PaymentSubject, Provider, ProviderError, Session, WebhookEvent, WebhookEventPage,
};
pub use refund_lines::LinesRefunded;
pub use retry::OVERDUE;
pub use status::{SettleError, Settled};
pub use sweep::Swept;
