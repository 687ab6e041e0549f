//! `payments connect` and `show`: what connects a store with its payment provider; `payments reconcile`: whether
//! they agree.

mod account;
mod connect;
mod portal;
mod reconcile;
mod rights;
mod show;

pub(super) use connect::connect;
pub(super) use reconcile::reconcile;
pub(super) use rights::missing as missing_rights;
pub(super) use show::{endpoint_of, show};

use super::deploy::{command, next_revision};
use crate::error::{Exit, Failure};
use crate::target::Target;
use shared::shop::payments::{ProviderError, SettleError};
use stripe::{Error, RefusalKind};

/// The path of the webhooks below the API's address.
const WEBHOOK: &str = "/payments/webhook/stripe";

/// The address of the webhooks: below `url`, or below the stack's own.
pub(super) fn webhook_url(target: &Target, url: Option<&str>) -> Option<String> {
    let api = url.or_else(|| target.stack.as_ref().map(|stack| stack.api_url.as_str()))?;
    Some(format!("{}{WEBHOOK}", api.trim_end_matches('/')))
}

/// The deploy that hands the payment keys to the function.
fn deploy(target: &Target) -> Option<String> {
    let stack = target.stack.as_ref()?;
    let next = next_revision(&stack.key_revision, target.clock.seconds());
    Some(command(&stack.name, &format!("Payments=true KeyRevision={next}")))
}

/// A failure of a call of Stripe's. It never has the key.
pub(super) fn of_stripe(error: &Error) -> Failure {
    let said = |text: &dyn std::fmt::Display| format!("{}.", text.to_string().trim_end_matches('.'));
    match error {
        Error::Refused(refusal) if refusal.kind == RefusalKind::Key => {
            Failure::new(Exit::Denied, "Stripe does not accept the key.", "Copy it again from Stripe's dashboard.")
        }
        Error::Refused(refusal) if refusal.kind == RefusalKind::Permission => {
            let what = format!("The key lacks a right: {}", said(&refusal.message));
            Failure::new(Exit::Denied, what, "Give it the rights that operations.md lists, and run it again.")
        }
        Error::Refused(_) | Error::Invalid(_) => {
            Failure::refused(said(error), "Correct it, or look at Stripe's dashboard.")
        }
        _ => Failure::new(Exit::Unavailable, said(error), "Check the network, then run the same command again."),
    }
}

/// A failure of an order's step at the provider.
pub(super) fn of_settle(error: SettleError) -> Failure {
    match error {
        SettleError::Store(error) => error.into(),
        SettleError::Provider(ProviderError::Refused(text)) => {
            Failure::refused(format!("The payment provider refuses: {text}."), "Look at the provider's dashboard.")
        }
        SettleError::Provider(ProviderError::NoCheckout(text)) => Failure::refused(
            format!("The payment provider has no such checkout: {text}."),
            "Look at it with `storectl order show`, and at the account with `storectl payments show`.",
        ),
        SettleError::Provider(ProviderError::Key(text)) => Failure::new(
            Exit::Denied,
            format!("The payment provider refuses the key: {text}."),
            "Look at it with `storectl payments show`.",
        ),
        SettleError::Provider(ProviderError::Unavailable(text)) => Failure::new(
            Exit::Unavailable,
            format!("The payment provider is not available: {text}."),
            "Run the same command again: nothing is done twice.",
        ),
    }
}

pub(super) fn no_keys() -> Failure {
    let next = "Name the deployed stack with --stack, or connect it first: `storectl payments connect stripe`.";
    Failure::new(Exit::Denied, "There are no payment keys.", next)
}
