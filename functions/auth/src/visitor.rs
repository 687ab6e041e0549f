//! What a page asks of its visitor first. POST /user: the caller's account (api.md, "POST /user").
//! GET /checkAccessibility: whether the storefront may be shown (api.md, "GET /checkAccessibility").

use crate::State;
use serde::Serialize;
use shared::endpoint::{Endpoint, Error, Json, RoundTrips, TokenCookie};
use shared::model::{ItemId, SubscriptionState, User, UserId, UserSubscription};
use shared::money::{self, CurrencyFormat, Decimal};
use shared::shop::accounts;
use shared::table::keys;
use shared::token::Claim;
use std::borrow::Cow;
use std::convert::Infallible;

pub struct GetUser;

/// The account; `subscriptions` is an addition (api.md, "Added fields").
#[derive(Serialize, schemars::JsonSchema)]
pub struct Account<'a> {
    /// The user's id.
    id: UserId,
    /// The name in the game.
    username: &'a str,
    /// The URL of the user's image. Empty if there is none.
    avatar: Cow<'a, str>,
    /// The game system that the account belongs to.
    system: &'a str,
    /// The account's identifier in that system.
    identificator: &'a str,
    /// The account's UUID.
    uuid: &'a str,
    /// The time of creation: ISO 8601 in UTC, such as `2026-06-15T09:00:00Z`.
    created_at: String,
    /// The time of the last change: ISO 8601 in UTC.
    updated_at: String,
    /// Virtual currency: the balance. Absent unless the store uses virtual currency.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Decimal")]
    virtual_currency: Option<Decimal>,
    /// The subscriptions that are not over. Empty if there are none.
    #[schemars(extend("x-beyond-contract" = true))]
    subscriptions: Vec<SubscriptionBody<'a>>,
}

/// A subscription that is not over.
#[derive(Serialize, schemars::JsonSchema)]
struct SubscriptionBody<'a> {
    /// The item's id.
    item_id: ItemId,
    /// The item's name when it was bought.
    name: &'a str,
    /// Money: what a period costs. Later changes of the item's price do not change it.
    price: Decimal,
    /// The state.
    state: SubscriptionState,
    /// Whether it gives access now. One that does not can be bought again, which ends it for good.
    has_access: bool,
    /// The time of the next payment: ISO 8601 in UTC. Absent unless it renews by itself, and while a payment is late.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    renews_at: Option<String>,
    /// The time at which access ends or has ended: ISO 8601 in UTC. Beside `renews_at` only if the store has set an end.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    ends_at: Option<String>,
}

impl<'a> SubscriptionBody<'a> {
    fn of(subscription: &'a UserSubscription, format: CurrencyFormat, now: i64) -> Self {
        let state = subscription.state();
        let renews_at = Some(subscription.until).filter(|until| state.renews() && *until > now);
        // A row of before has the end of access only of what does not renew.
        let access_until = subscription.access_until.or(Some(subscription.until).filter(|_| !state.renews()));
        let ends_at = if renews_at.is_some() { subscription.ends_at } else { access_until };
        Self {
            item_id: subscription.item,
            name: &subscription.name,
            price: format.money(subscription.price),
            state,
            has_access: subscription.has_access(now),
            renews_at: renews_at.map(money::iso_8601),
            ends_at: ends_at.map(money::iso_8601),
        }
    }
}

impl Endpoint for GetUser {
    type State = State;
    type Caller = Claim;
    type Input = ();
    type Reply = Json<Account<'static>>;
    type Refusal = Infallible;

    const ROUTES: &'static [&'static str] = &["POST /user"];
    const SUMMARY: &'static str = "returns the caller's account";
    const NUMBER: Option<u8> = Some(12);
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 1, cold: 1 };

    async fn handle(state: &State, claim: Claim, (): ()) -> Result<Self::Reply, Error> {
        let read = state.base.db.batch_get(vec![keys::user(claim.user)]);
        let (active, rows) = tokio::join!(state.base.published.active_version(), read);
        let user = accounts::admit(&mut rows?, claim)?.ok_or(Error::Unauthorized)?;
        let config = &active?.config;
        let (format, now) = (CurrencyFormat::new(config.digits), state.base.clock.seconds());
        let current = user.subscriptions.iter().filter(|subscription| !subscription.is_over(now));
        Ok(Json::of(&Account {
            id: user.id,
            username: &user.username,
            avatar: config.picture_url(&user.avatar),
            system: &user.system,
            identificator: &user.identificator,
            uuid: &user.uuid,
            created_at: money::iso_8601(user.created_at),
            updated_at: money::iso_8601(user.updated_at),
            virtual_currency: config.is_virtual_currency.then(|| format.money(user.virtual_currency)),
            subscriptions: current.map(|subscription| SubscriptionBody::of(subscription, format, now)).collect(),
        }))
    }
}

pub struct CheckAccessibility;

/// Whether the storefront may be shown to the visitor. Always 200: the storefront reads every response as JSON.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub struct Accessibility<'a> {
    /// Whether the storefront may be shown.
    success: bool,
    /// The first reason that applies: `maintenance`, `banned` or `invalid_token`. Absent if `success` is true.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    status: Option<&'static str>,
    /// The reason, as a text for people. Absent if `success` is true.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    message: Option<&'a str>,
}

impl Endpoint for CheckAccessibility {
    type State = State;
    type Caller = ();
    type Input = TokenCookie;
    type Reply = Json<Accessibility<'static>>;
    type Refusal = Infallible;

    const ROUTES: &'static [&'static str] = &["GET /checkAccessibility"];
    const SUMMARY: &'static str = "returns whether the storefront may be shown to the visitor";
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 1, cold: 1 };

    async fn handle(state: &State, (): (), TokenCookie(token): TokenCookie) -> Result<Self::Reply, Error> {
        let (active, visitor) = tokio::join!(state.base.published.active_version(), visitor(state, token.as_deref()));
        let (active, visitor) = (active?, visitor?);
        let blocked = |status, message| Accessibility { success: false, status: Some(status), message: Some(message) };
        Ok(Json::of(&match (active.closed(), visitor) {
            (Some(message), _) => blocked("maintenance", message),
            (None, Visitor::Banned) => blocked("banned", "You are banned from this store."),
            (None, Visitor::Unknown) => blocked("invalid_token", "Your login has expired. Please log in again."),
            (None, Visitor::Welcome) => Accessibility { success: true, status: None, message: None },
        }))
    }
}

enum Visitor {
    /// A visitor without a token, or with a valid one.
    Welcome,
    /// The owner of a token whose name is banned.
    Banned,
    /// A visitor whose token is not valid.
    Unknown,
}

async fn visitor(state: &State, token: Option<&str>) -> Result<Visitor, Error> {
    let Some(token) = token else { return Ok(Visitor::Welcome) };
    let base = &state.base;
    let Ok(claim) = base.config.keys.verify(token, base.clock.seconds()) else { return Ok(Visitor::Unknown) };
    let key = keys::user(claim.user);
    let mut rows = base.db.batch_get(vec![key.clone()]).await?;
    let user: Option<User> = rows.take_live(&key)?;
    Ok(match user {
        Some(user) if user.banned => Visitor::Banned,
        Some(user) if user.admits(claim.issued_at) => Visitor::Welcome,
        _ => Visitor::Unknown,
    })
}
