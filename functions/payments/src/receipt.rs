//! POST /payments/receipt: the provider's receipt of an order (api.md, "POST /payments/receipt"). Its address is asked for each time,
//! and not stored: who has it sees what the buyer gave the provider.

use crate::check_status::{FORBIDDEN, NOT_FOUND, read};
use crate::create::{REQUESTS, TOO_MANY_REQUESTS};
use crate::delivery::may_act;
use crate::{DEADLINE, State};
use lambda_http::http::StatusCode;
use serde::{Deserialize, Serialize};
use shared::endpoint::{
    Endpoint, Error, ErrorBody, Json, JsonBody, Refusal, RoundTrips, WithAddress, too_many_attempts,
};
use shared::http::body;
use shared::model::InternalId;
use shared::shop::orders::StoredOrder;
use shared::shop::payments::{Provider as _, ProviderError};
use shared::table::limiter;
use shared::telemetry;
use shared::token::Claim;
use std::time::Duration;

pub struct Receipt;

#[derive(Deserialize, schemars::JsonSchema)]
pub struct ReceiptRequest {
    /// The order's internal id, matched exactly.
    #[schemars(with = "body::Text<{ InternalId::LONGEST }>")]
    #[serde(deserialize_with = "body::text::<{ InternalId::LONGEST }, _, _>")]
    order_id: InternalId,
}

/// Where the receipt is.
#[derive(Serialize, schemars::JsonSchema)]
pub struct ReceiptReply {
    /// Always true.
    success: bool,
    /// The payment provider's page of the receipt, or of the invoice.
    url: String,
}

/// The reason why there is no receipt.
#[derive(Debug, thiserror::Error)]
pub enum ReceiptRefusal {
    #[error("{}", too_many_attempts(*retry_seconds))]
    TooManyAttempts { retry_seconds: u64 },
    #[error("{NOT_FOUND}")]
    Unknown,
    #[error("{FORBIDDEN}")]
    Foreign,
    #[error("Please log in from within the game to see this receipt, or look where you paid: a name is not a proof.")]
    NameOnly,
    #[error("There is no receipt of this payment.")]
    NoReceipt,
}

impl Refusal for ReceiptRefusal {
    fn status(&self) -> StatusCode {
        StatusCode::OK
    }

    fn retry_seconds(&self) -> Option<u64> {
        match self {
            Self::TooManyAttempts { retry_seconds } => Some(*retry_seconds),
            Self::Unknown | Self::Foreign | Self::NameOnly | Self::NoReceipt => None,
        }
    }

    fn documented() -> Vec<(&'static str, Self)> {
        vec![
            (TOO_MANY_REQUESTS, Self::TooManyAttempts { retry_seconds: REQUESTS.seconds }),
            ("The order does not exist", Self::Unknown),
            ("The order belongs to another user", Self::Foreign),
            ("The login is one by name, and not the one that paid", Self::NameOnly),
            ("Nothing was paid at the provider, or it has no receipt of it", Self::NoReceipt),
        ]
    }
}

type Failure = Error<ReceiptRefusal>;

impl Endpoint for Receipt {
    type State = State;
    type Caller = Claim;
    type Input = WithAddress<JsonBody<ReceiptRequest>>;
    type Reply = Json<ReceiptReply>;
    type Refusal = ReceiptRefusal;

    const ROUTES: &'static [&'static str] = &["POST /payments/receipt"];
    const SUMMARY: &'static str = "returns the payment provider's receipt of an order";
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 2, cold: 2 };
    const ERRORS: ErrorBody = ErrorBody::Success;
    const DEADLINE: Duration = DEADLINE;

    async fn handle(
        state: &State,
        claim: Claim,
        WithAddress(JsonBody(body), address): Self::Input,
    ) -> Result<Self::Reply, Failure> {
        let base = &state.base;
        let hit = limiter::hit(&base.db, REQUESTS, &address, base.clock.millis());
        let found = read(state, &body.order_id, Some(claim));
        // Of data of an earlier version nothing is read.
        let (hit, found, active) = tokio::join!(hit, found, base.published.active_version());
        let ((stored, caller), _) = (found?, active?);
        if caller.is_none() {
            return Err(Error::Unauthorized);
        }
        let hit = hit?;
        if !hit.allowed {
            telemetry::rate_limited();
            return Err(Error::Refused(ReceiptRefusal::TooManyAttempts { retry_seconds: hit.reset_seconds }));
        }
        let session = paid_session(stored.as_ref(), claim).map_err(Error::Refused)?;
        let no_receipt = || Error::Refused(ReceiptRefusal::NoReceipt);
        match state.stripe.as_ref().ok_or_else(no_receipt)?.receipt(session).await {
            Ok(url) => Ok(Json::of(&ReceiptReply { success: true, url: url.ok_or_else(no_receipt)? })),
            // It was deleted, or is one of another account.
            Err(ProviderError::NoCheckout(_) | ProviderError::Refused(_)) => Err(no_receipt()),
            Err(ProviderError::Unavailable(reason) | ProviderError::Key(reason)) => Err(Error::Provider(reason)),
        }
    }
}

/// The session of an order that is paid, if the login may see its receipt.
fn paid_session(stored: Option<&StoredOrder>, claim: Claim) -> Result<&str, ReceiptRefusal> {
    let stored = stored.ok_or(ReceiptRefusal::Unknown)?;
    match stored.order.owner {
        None => Err(ReceiptRefusal::NoReceipt),
        Some(owner) if owner != claim.user => Err(ReceiptRefusal::Foreign),
        Some(_) if !may_act(stored, Some(claim)) => Err(ReceiptRefusal::NameOnly),
        Some(_) => stored.session().filter(|_| stored.intent().is_some()).ok_or(ReceiptRefusal::NoReceipt),
    }
}
