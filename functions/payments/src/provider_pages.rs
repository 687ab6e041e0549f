//! The provider's pages for a buyer. POST /payments/portal: the page of the buyer's subscriptions (api.md,
//! "POST /payments/portal"). POST /payments/receipt: the receipt of an order (api.md, "POST /payments/receipt"); its
//! address is asked for each time, and not stored: who has it sees what the buyer gave the provider.

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
use shared::model::{InternalId, Login, User};
use shared::shop::accounts;
use shared::shop::orders::StoredOrder;
use shared::shop::payments::{Provider as _, ProviderError};
use shared::table::{keys, limiter};
use shared::telemetry;
use shared::token::Claim;
use std::time::Duration;

pub struct Portal;

/// The page to send the buyer to.
#[derive(Serialize, schemars::JsonSchema)]
pub struct PortalReply {
    /// The payment provider's page. A page of the buyer's own is valid for a few minutes; from it the buyer returns to the
    /// storefront's `/subscriptions`.
    url: String,
    /// Whether it is the page of all buyers, on which a buyer logs in with a code that the provider mails to the address that
    /// they paid with: after a login by name, which is not a proof.
    by_email: bool,
}

/// The reason why there is no page.
#[derive(Debug, thiserror::Error)]
pub enum PortalRefusal {
    #[error("{}", too_many_attempts(*retry_seconds))]
    TooManyAttempts { retry_seconds: u64 },
    #[error(
        "Please log in from within the game to manage your subscriptions here. The payment provider's e-mails have a link \
         with which you can cancel them too."
    )]
    NameOnly,
    #[error("You have no subscription that can be managed here.")]
    NoCustomer,
}

impl Refusal for PortalRefusal {
    fn status(&self) -> StatusCode {
        match self {
            Self::TooManyAttempts { .. } => StatusCode::TOO_MANY_REQUESTS,
            Self::NameOnly => StatusCode::FORBIDDEN,
            Self::NoCustomer => StatusCode::NOT_FOUND,
        }
    }

    fn retry_seconds(&self) -> Option<u64> {
        match self {
            Self::TooManyAttempts { retry_seconds } => Some(*retry_seconds),
            Self::NameOnly | Self::NoCustomer => None,
        }
    }

    fn documented() -> Vec<(&'static str, Self)> {
        vec![
            (TOO_MANY_REQUESTS, Self::TooManyAttempts { retry_seconds: REQUESTS.seconds }),
            (
                "The login is one by name, which is not a proof, and the provider's account has no page to log in",
                Self::NameOnly,
            ),
            ("No login that proves the account has begun a subscription", Self::NoCustomer),
        ]
    }
}

type PortalFailure = Error<PortalRefusal>;

impl Endpoint for Portal {
    type State = State;
    type Caller = Claim;
    type Input = WithAddress<()>;
    type Reply = Json<PortalReply>;
    type Refusal = PortalRefusal;

    const ROUTES: &'static [&'static str] = &["POST /payments/portal"];
    const SUMMARY: &'static str = "returns the payment provider's page of the buyer's subscriptions";
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 2, cold: 2 };
    const DEADLINE: Duration = DEADLINE;

    async fn handle(
        state: &State,
        claim: Claim,
        WithAddress((), address): Self::Input,
    ) -> Result<Self::Reply, PortalFailure> {
        let base = &state.base;
        let hit = limiter::hit(&base.db, REQUESTS, &address, base.clock.millis());
        let user = base.db.batch_get(vec![keys::user(claim.user)]);
        let (active, hit, user) = tokio::join!(base.published.active_version(), hit, user);
        let user = accounts::admit(&mut user?, claim)?.ok_or(Error::Unauthorized)?;
        let (active, hit) = (active?, hit?);
        if !hit.allowed {
            telemetry::rate_limited();
            return Err(Error::Refused(PortalRefusal::TooManyAttempts { retry_seconds: hit.reset_seconds }));
        }
        if !claim.login().is_some_and(|login| Login::is_proven(&login)) {
            let url = login_page(state).await?;
            return Ok(Json::of(&PortalReply { url, by_email: true }));
        }
        let return_url = format!("{}/subscriptions", active.config.storefront_url);
        let url = open(state, &user, &return_url).await?;
        Ok(Json::of(&PortalReply { url, by_email: false }))
    }
}

/// The provider's page on which a buyer logs in by e-mail. It shows nothing of an account before that.
async fn login_page(state: &State) -> Result<String, PortalFailure> {
    let page = match &state.stripe {
        Some(provider) => provider.login_page().await,
        None => Ok(None),
    };
    match page {
        Ok(page) => page.ok_or(Error::Refused(PortalRefusal::NameOnly)),
        // A key of before needs no right to read the portal's settings.
        Err(ProviderError::Refused(_) | ProviderError::Key(_) | ProviderError::NoCheckout(_)) => {
            Err(Error::Refused(PortalRefusal::NameOnly))
        }
        Err(ProviderError::Unavailable(reason)) => Err(Error::Provider(reason)),
    }
}

/// Opens the provider's page for the account's customer there.
async fn open(state: &State, user: &User, return_url: &str) -> Result<String, PortalFailure> {
    let no_customer = || Error::Refused(PortalRefusal::NoCustomer);
    let (provider, customer) = state.stripe.as_ref().zip(user.customer.as_ref()).ok_or_else(no_customer)?;
    if customer.account != provider.account() {
        return Err(no_customer());
    }
    provider.portal(&customer.id, return_url).await.map_err(|error| match error {
        // It was deleted in the provider's dashboard.
        ProviderError::NoCheckout(_) => no_customer(),
        ProviderError::Unavailable(reason) | ProviderError::Refused(reason) | ProviderError::Key(reason) => {
            Error::Provider(reason)
        }
    })
}

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

type ReceiptFailure = Error<ReceiptRefusal>;

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
    ) -> Result<Self::Reply, ReceiptFailure> {
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
