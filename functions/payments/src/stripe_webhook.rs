//! POST /payments/webhook/stripe: webhook events of Stripe (api.md, "POST /payments/webhook/stripe"). A webhook event
//! says only where to look.

use crate::{DEADLINE, State};
use lambda_http::http::StatusCode;
use serde::Serialize;
use shared::endpoint::{Endpoint, Error, Json, Refusal, RoundTrips, Signed};
use shared::providers::STRIPE_WEBHOOK;
use shared::shop::payments::{Desk, ProviderError, SettleError};
use shared::telemetry;
use std::time::Duration;

pub struct StripeWebhook;

/// The webhook event was acted on, or concerns no order.
#[derive(Serialize, schemars::JsonSchema)]
pub struct Receipt {
    /// Always true.
    received: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum WebhookRefusal {
    #[error("The signature is missing or not valid.")]
    Signature,
}

impl Refusal for WebhookRefusal {
    fn status(&self) -> StatusCode {
        StatusCode::BAD_REQUEST
    }

    fn documented() -> Vec<(&'static str, Self)> {
        vec![("The signature is missing, too old or not by one of our secrets", Self::Signature)]
    }
}

impl Endpoint for StripeWebhook {
    type State = State;
    type Caller = ();
    type Input = Signed;
    type Reply = Json<Receipt>;
    type Refusal = WebhookRefusal;

    const ROUTES: &'static [&'static str] = &[STRIPE_WEBHOOK];
    const SUMMARY: &'static str = "receives Stripe's webhook events";
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 20, cold: 20 };
    const BODY_LIMIT: usize = 256 * 1024;
    const DEADLINE: Duration = DEADLINE;

    async fn handle(state: &State, (): (), signed: Signed) -> Result<Self::Reply, Error<WebhookRefusal>> {
        let clock = state.base.clock.as_ref();
        let Some(stripe) = &state.stripe else { return Err(Error::Refused(WebhookRefusal::Signature)) };
        let event =
            stripe.webhook_event(signed.signature.as_deref(), &signed.body, clock.seconds()).map_err(|error| {
                tracing::error!(error = %error, "a webhook with a bad signature");
                // Stripe signs every webhook event: what has no signature says nothing about our secret.
                if signed.signature.is_some() {
                    telemetry::signature(false);
                }
                Error::Refused(WebhookRefusal::Signature)
            })?;
        telemetry::signature(true);
        if let Some(event) = event {
            state.base.published.may_write().await?;
            Desk::new(&state.base.db, clock, stripe).act(&event).await.or_else(answered)?;
        }
        Ok(Json::of(&Receipt { received: true }))
    }
}

/// Decides whether Stripe sends the webhook event again. A permanent refusal, such as of an object of another account,
/// would be repeated; a refused key is an operator's to correct.
fn answered<R>(error: SettleError) -> Result<(), Error<R>> {
    Err(match error {
        SettleError::Store(error) => error.into(),
        SettleError::Provider(ProviderError::Refused(reason) | ProviderError::NoCheckout(reason)) => {
            tracing::warn!(reason, "a webhook event about something that the payment provider does not show");
            return Ok(());
        }
        SettleError::Provider(ProviderError::Unavailable(reason) | ProviderError::Key(reason)) => {
            Error::Provider(reason)
        }
    })
}
