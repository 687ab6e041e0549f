//! Checkouts: from a cart to an order that is paid once (rules.md, "Checkout").
//!
//! [`create`] holds what a cart sells, in the transaction that writes the pending order, and opens a checkout at the payment
//! provider. [`settle`] asks the provider what became of it and writes that, conditional on the order's status. What
//! follows from a payment (statistics, the cart) is marked on the order; [`sweep`] finishes what was interrupted.

mod attempt;
mod batch;
mod begin_limit;
mod compare;
mod create;
mod draft;
mod existing;
mod follow_up;
mod gone;
mod hold;
mod notice;
mod operator;
mod paid_session;
mod provider;
mod reconcile;
mod refund;
mod review;
mod settle;
mod sweep;
mod take;
mod write;

pub use begin_limit::CHECKOUTS;
pub use compare::{Compared, Difference, compare, return_payment};
pub use create::{Checkout, CreateError, Request, create};
pub use follow_up::follow_up;
pub use gone::STRANDED;
pub use notice::act;
pub use operator::{OperatorError, RefundKind, Refunded, accept, cancel, refund, settle_now};
pub use paid_session::{NotPaid, PaidCheckout, paid_checkout};
pub use provider::{DisputeState, Notice, NoticePage, PaymentPage, Provider, ProviderError, Session};
pub use settle::{SettleError, Settled, ask, settle, settle_with};
pub use sweep::{OVERDUE, Swept, sweep};
