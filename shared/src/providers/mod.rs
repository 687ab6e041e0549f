//! The payment providers, as checkouts use them. What a checkout needs of one is
//! [`Provider`](crate::shop::payments::Provider).

mod event;
mod failure;
mod pace;
mod paid;
mod stripe;
mod subscription;

pub use self::stripe::{Stripe, return_url};
