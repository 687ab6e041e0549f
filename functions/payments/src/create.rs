//! POST /payments/create: begins a checkout of the cart (api.md, "POST /payments/create"; rules.md, "Checkout").

use crate::list_methods::switched_on;
use crate::{DEADLINE, State};
use lambda_http::http::StatusCode;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use shared::endpoint::{
    Contended, Endpoint, Error, ErrorBody, Json, JsonBody, Refusal, RoundTrips, WithAddress, shown_wait,
    too_many_attempts,
};
use shared::http::body;
use shared::model::{ActiveVersion, ChatAccount, ChatId, Money};
use shared::money::{CurrencyFormat, date_and_time};
use shared::providers::return_url;
use shared::rules::checkout::CheckoutRefusal;
use shared::rules::first_day::FirstDay;
use shared::shop::accounts;
use shared::shop::carts::CartContext;
use shared::shop::payments::{self, CHECKOUTS, Checkout, CreateError, ProviderError, Request};
use shared::table::StoreError;
use shared::table::keys::{self, Key};
use shared::table::limiter::{self, RateLimit};
use shared::telemetry;
use shared::token::Claim;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The requests that an address may send, with refused ones and those to payments/portal and payments/receipt. Those that begin
/// a checkout count toward [`CHECKOUTS`] as well.
pub const REQUESTS: RateLimit = RateLimit { kind: "pay", requests: 60, seconds: 600 };
/// When a request is over that limit, for the documentation.
pub const TOO_MANY_REQUESTS: &str =
    "This address has sent 60 requests to payments/create, payments/portal and payments/receipt in 10 minutes";
/// The most entries of `details`.
const MAX_DETAILS: usize = 8;
/// The most characters of an entry of `details`.
const LONGEST_DETAIL: usize = 255;

pub struct Create;

#[derive(Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreateRequest {
    /// The payment method, as payments/get names it.
    #[schemars(with = "body::Text<255>")]
    #[serde(deserialize_with = "body::text::<255, _, _>")]
    payment_method: String,
    /// Whether the buyer agrees to the terms and conditions. Must be true.
    terms_and_conditions: bool,
    /// Whether the buyer agrees to the privacy policy. Must be true.
    privacy_policy: bool,
    /// The currency that the storefront shows. The charge is in the store's own currency.
    #[serde(default)]
    #[expect(dead_code, reason = "only its type is checked")]
    currency: Option<String>,
    /// The buyer's details: at most 8 texts of at most 255 characters. They are checked and not stored.
    #[serde(default, deserialize_with = "details")]
    #[schemars(with = "Option<BTreeMap<String, Option<String>>>", extend("maxProperties" = MAX_DETAILS, "propertyNames" = {"maxLength": LONGEST_DETAIL}, "additionalProperties" = {"type": ["string", "null"], "maxLength": LONGEST_DETAIL}))]
    #[expect(dead_code, reason = "they are checked and then dropped")]
    details: (),
    /// The id of the buyer's chat account. An item that needs one can be bought only after a chat login.
    #[serde(default)]
    chat_id: Option<String>,
    /// The same as `chatId`, under its older name.
    #[serde(default)]
    discord_id: Option<String>,
}

impl CreateRequest {
    const fn has_consented(&self) -> bool {
        self.terms_and_conditions && self.privacy_policy
    }
}

fn details<'de, D: Deserializer<'de>>(field: D) -> Result<(), D::Error> {
    let details: Option<BTreeMap<String, Option<String>>> = Deserialize::deserialize(field)?;
    let details = details.unwrap_or_default();
    if details.len() > MAX_DETAILS {
        return Err(D::Error::custom(format_args!("must not have more than {MAX_DETAILS} entries")));
    }
    let is_long = |text: &String| text.chars().count() > LONGEST_DETAIL;
    if details.iter().any(|(name, text)| is_long(name) || text.as_ref().is_some_and(is_long)) {
        return Err(D::Error::custom(format_args!("must not have texts of more than {LONGEST_DETAIL} characters")));
    }
    Ok(())
}

/// A checkout that can be paid.
#[derive(Serialize, schemars::JsonSchema)]
pub struct CreateReply {
    /// Always true.
    success: bool,
    /// The outcome, as a text for people.
    message: &'static str,
    /// The page to send the buyer to.
    data: Destination,
    /// The order's internal id, for payments/checkStatus.
    order_id: String,
}

/// The page to send the buyer to.
#[derive(Serialize, schemars::JsonSchema)]
struct Destination {
    /// Always `url`.
    #[serde(rename = "type")]
    kind: &'static str,
    /// The payment provider's page, or the storefront's if there is nothing to pay.
    url: String,
}

/// The reason why no checkout begins.
#[derive(Debug, thiserror::Error)]
pub enum CreateRefusal {
    #[error("{}", too_many_attempts(*retry_seconds))]
    TooManyAttempts { retry_seconds: u64 },
    #[error("Please accept the terms and conditions and the privacy policy.")]
    Terms,
    #[error("{0}")]
    Maintenance(String),
    #[error("This payment method is not available.")]
    UnknownMethod,
    #[error("Please log in again before you pay.")]
    LoginAgain,
    #[error("{text}")]
    Checkout {
        refusal: CheckoutRefusal,
        /// Its sentence, with amounts in the store's currency.
        text: String,
    },
    #[error("The payment provider refuses this payment. You have not been charged.")]
    Refused,
}

impl Refusal for CreateRefusal {
    /// The storefront loses the text of every other status.
    fn status(&self) -> StatusCode {
        StatusCode::OK
    }

    fn retry_seconds(&self) -> Option<u64> {
        match self {
            Self::TooManyAttempts { retry_seconds }
            | Self::Checkout {
                refusal:
                    CheckoutRefusal::TooManyOpen { retry_seconds } | CheckoutRefusal::RefusedPayments { retry_seconds },
                ..
            } => Some(*retry_seconds),
            _ => None,
        }
    }

    fn documented() -> Vec<(&'static str, Self)> {
        let checkout = |refusal| Self::checkout(refusal, CurrencyFormat::new(2));
        vec![
            (
                "This address has begun 10 checkouts in 10 minutes, or sent 60 requests",
                Self::TooManyAttempts { retry_seconds: REQUESTS.seconds },
            ),
            (
                "This address has 10 open checkouts with limited items or coupons, begun within the time of a hold",
                checkout(CheckoutRefusal::TooManyOpen { retry_seconds: 2_100 }),
            ),
            ("The terms or the privacy policy are not accepted", Self::Terms),
            ("The store is closed for maintenance", Self::Maintenance("The store is closed.".to_owned())),
            ("The method is unknown, or switched off", Self::UnknownMethod),
            ("The token was issued for a name before logins had an id", Self::LoginAgain),
            (
                "The cart cannot be paid; the message names the line",
                checkout(CheckoutRefusal::SoldOut { name: "Squire".to_owned() }),
            ),
            (
                "A code on the cart no longer applies",
                checkout(CheckoutRefusal::CodeRemoved { total: Money::from_minor(1_200) }),
            ),
            (
                "Another login by name entered the gift card on the cart",
                checkout(CheckoutRefusal::CardOfAnotherLogin { masked: "****2k4d".to_owned() }),
            ),
            (
                "Three payments of this address were refused within an hour",
                checkout(CheckoutRefusal::RefusedPayments { retry_seconds: 3_000 }),
            ),
            (
                "`first_day` in the store's files allows a new buyer, or a new address of a login by name, less",
                checkout(CheckoutRefusal::FirstDay(FirstDay {
                    most: Money::from_minor(5_000),
                    left: Money::from_minor(2_000),
                    until: Some(1_800_000_000),
                    of_address: false,
                })),
            ),
            ("The last payment has not ended", checkout(CheckoutRefusal::Processing)),
            ("The provider refuses the payment", Self::Refused),
        ]
    }
}

impl CreateRefusal {
    fn checkout(refusal: CheckoutRefusal, format: CurrencyFormat) -> Self {
        let text = match &refusal {
            CheckoutRefusal::TooManyAttempts { retry_seconds } => {
                return Self::TooManyAttempts { retry_seconds: *retry_seconds };
            }
            CheckoutRefusal::BelowLeast { least } => {
                let least = format.money(*least);
                format!("At least {least} must be paid. Put something else into your cart, or remove the coupon.")
            }
            CheckoutRefusal::CodeRemoved { total } => format!("{refusal} The new total is {}.", format.money(*total)),
            CheckoutRefusal::RefusedPayments { retry_seconds } => {
                format!("{refusal} Please try again in {}.", shown_wait(*retry_seconds))
            }
            CheckoutRefusal::FirstDay(first) => first_day(first, format),
            _ => refusal.to_string(),
        };
        Self::Checkout { refusal, text }
    }
}

/// The sentence of a sum that cannot be paid on a first day: how much can be, and when more.
fn first_day(first: &FirstDay, format: CurrencyFormat) -> String {
    let who = if first.of_address { "logins by name from a new internet address" } else { "a new buyer" };
    let when = match first.until {
        Some(until) => format!("from {} UTC", date_and_time(until)),
        None => "24 hours after the first payment".to_owned(),
    };
    let (most, left) = (format.money(first.most), format.money(first.left));
    format!(
        "To guard against stolen cards, {who} can pay at most {most} in the first 24 hours. {left} is left of it; more can be paid {when}."
    )
}

type Failure = Error<CreateRefusal>;

impl Endpoint for Create {
    type State = State;
    type Caller = Claim;
    type Input = WithAddress<JsonBody<CreateRequest>>;
    type Reply = Json<CreateReply>;
    type Refusal = CreateRefusal;

    const ROUTES: &'static [&'static str] = &["POST /payments/create"];
    const SUMMARY: &'static str = "begins a checkout of the cart at the payment provider";
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 7, cold: 9 };
    const ERRORS: ErrorBody = ErrorBody::Success;
    const CONTENDED: Option<Contended> = Some(Contended {
        status: StatusCode::OK,
        text: "Something else changed your cart or sold the same items just now. Please try again.",
        when: "Other requests kept changing the cart or the stock",
    });
    const DEADLINE: Duration = DEADLINE;

    async fn handle(
        state: &State,
        claim: Claim,
        WithAddress(JsonBody(body), address): Self::Input,
    ) -> Result<Self::Reply, Failure> {
        let base = &state.base;
        let chat = body.chat_id.as_deref().or(body.discord_id.as_deref());
        let chat = chat.and_then(|id| ChatId::parse(id).ok());
        let address_hash = base.config.keys.hash_of_address(&address);
        let addresses = [keys::rate(CHECKOUTS.kind, &address), keys::address(&address_hash)];
        let hit = limiter::hit(&base.db, REQUESTS, &address, base.clock.millis());
        let (hit, first) = tokio::join!(hit, load(state, claim, &addresses, chat.as_ref()));
        let buyer = first?.ok_or(Error::Unauthorized)?;
        let hit = hit?;
        if !hit.allowed {
            telemetry::rate_limited();
            return Err(Error::Refused(CreateRefusal::TooManyAttempts { retry_seconds: hit.reset_seconds }));
        }
        let active = Arc::clone(&buyer.context.active);
        let gateway = check(state, &body, &active).map_err(Error::Refused)?;
        let Some(provider) = &state.stripe else { return Err(Error::Refused(CreateRefusal::UnknownMethod)) };
        let login = claim.login().ok_or(Error::Refused(CreateRefusal::LoginAgain))?;
        let request = Request {
            gateway,
            login,
            chat: chat.as_ref().filter(|_| buyer.has_chat),
            has_consented: body.has_consented(),
            address: Some(&address),
            address_hash: Some(&address_hash),
        };
        let reload = || async {
            load(state, claim, &addresses, None).await?.map(|buyer| buyer.context).ok_or(Error::Unauthorized)
        };
        let created = payments::create(&state.sources(), provider, request, buyer.context, reload).await;
        let checkout = created.map_err(|error| failure(error, CurrencyFormat::new(active.config.digits)))?;
        Ok(Json::of(&reply(checkout, &active)))
    }
}

/// Refuses what does not depend on the cart. The name of the method, as the store writes it.
fn check<'a>(state: &State, body: &CreateRequest, active: &'a ActiveVersion) -> Result<&'a str, CreateRefusal> {
    if !body.has_consented() {
        return Err(CreateRefusal::Terms);
    }
    if let Some(message) = active.closed() {
        return Err(CreateRefusal::Maintenance(message.to_owned()));
    }
    let mut methods = switched_on(state, active);
    methods.find(|name| name.eq_ignore_ascii_case(body.payment_method.trim())).ok_or(CreateRefusal::UnknownMethod)
}

/// A buyer, as they are read.
struct Buyer {
    context: CartContext,
    /// Whether the chat login was completed, and the buyer may use it.
    has_chat: bool,
}

/// Reads the buyer with cart and ledger, and what is known of the address under some keys; `None` if the account does not
/// accept the token.
async fn load(
    state: &State,
    claim: Claim,
    addresses: &[Key],
    chat: Option<&ChatId>,
) -> Result<Option<Buyer>, StoreError> {
    let mut wanted = vec![keys::user(claim.user)];
    wanted.extend_from_slice(addresses);
    wanted.extend(CartContext::keys(claim.user));
    let chat = chat.map(keys::chat);
    wanted.extend(chat.clone());
    let base = &state.base;
    let (active, rows) = tokio::join!(base.published.active_version(), base.db.batch_get(wanted));
    let (active, mut rows) = (active?, rows?);
    let account = chat.and_then(|key| Some(rows.take(&key)?.live::<ChatAccount>(&key))).transpose()?;
    let has_chat = account.is_some_and(|account| account.is_for(claim.user, base.clock.seconds()));
    let Some(user) = accounts::admit(&mut rows, claim)? else { return Ok(None) };
    Ok(Some(Buyer { context: CartContext::take(user, active, rows)?, has_chat }))
}

fn failure(error: CreateError<Failure>, format: CurrencyFormat) -> Failure {
    Error::Refused(match error {
        CreateError::Load(error) => return error,
        CreateError::Store(error) => return error.into(),
        CreateError::Provider(ProviderError::Unavailable(reason)) => return Error::Provider(reason),
        CreateError::Provider(
            ProviderError::Refused(reason) | ProviderError::NoCheckout(reason) | ProviderError::Key(reason),
        ) => {
            tracing::error!(reason, "the payment provider refuses a checkout");
            CreateRefusal::Refused
        }
        CreateError::Refused(refusal) => {
            if matches!(refusal, CheckoutRefusal::TooManyAttempts { .. }) {
                telemetry::rate_limited();
            }
            CreateRefusal::checkout(refusal, format)
        }
    })
}

fn reply(checkout: Checkout, active: &ActiveVersion) -> CreateReply {
    let Checkout { order, url } = checkout;
    let message =
        if url.is_some() { "Continue to the payment." } else { "There is nothing to pay: the order is complete." };
    let url = url.unwrap_or_else(|| return_url(&active.config.storefront_url, &order, "free"));
    CreateReply { success: true, message, data: Destination { kind: "url", url }, order_id: order.to_string() }
}
