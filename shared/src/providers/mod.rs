//! The payment providers, as checkouts use them. What a checkout needs of one is
//! [`Provider`](crate::shop::payments::Provider).

mod pace;
mod paid;
mod stripe;
mod words;

pub use self::stripe::{Stripe, return_url};

/// The route of Stripe's webhook events.
pub const STRIPE_WEBHOOK: &str = "POST /payments/webhook/stripe";
/// Its path.
pub const STRIPE_WEBHOOK_PATH: &str = STRIPE_WEBHOOK.split_at("POST ".len()).1;
