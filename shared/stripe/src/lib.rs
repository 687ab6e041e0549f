//! Stripe's API, as far as a checkout needs it.
//!
//! A [`Call`] is a request as a plain value: [`Session::create`], [`PaymentIntent::retrieve`] and so on.
//! [`Client::send`] sends it and reads the reply. Replies have only the fields that are used; values that are unknown
//! today are kept as `Other`. [`webhook::verify`] checks what Stripe sends to us.
//!
//! This crate does not know orders, the table or the clock, and decides nothing: what a paid session means is the
//! checkout's matter.

mod call;
mod client;
mod event;
mod objects;
mod refund;
mod session;
mod setup;
mod subscription;
mod values;
pub mod webhook;

pub use call::Call;
pub use client::{Client, Error, Failure, Refusal, RefusalKind};
pub use event::{Event, EventKind, EventPage};
pub use objects::{
    BalanceTransaction, Charge, Dispute, DisputeStatus, EvidenceDetails, Expandable, IntentStatus, ListedChange,
    PaymentIntent,
};
pub use refund::{NewRefund, Refund, RefundStatus};
pub use session::{Line, NewSession, NewSubscription, NewTax, PaymentStatus, Session, SessionStatus};
pub use setup::{
    Account, Balance, Deleted, EndpointStatus, LoginPage, NewWebhookEndpoint, PaymentMethodConfiguration,
    PortalConfiguration, PortalSession, TaxCode, TaxSettings, WebhookEndpoint,
};
pub use subscription::{
    BillingReason, Invoice, InvoiceLine, InvoicePayment, InvoiceStatus, PauseCollection, Period, Subscription,
    SubscriptionStatus,
};
pub use values::{ApiBase, IdempotencyKey, Invalid, List, Metadata, ObjectId, SecretKey, WebhookSecret};

/// The version of Stripe's API that every request names. Replies and webhooks have its shapes.
pub const API_VERSION: &str = "2026-09-30.endive";
