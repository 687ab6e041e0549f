//! POST /user: the caller's account (api.md, "POST /user").

use crate::State;
use serde::Serialize;
use shared::endpoint::{Endpoint, Error, Json, RoundTrips};
use shared::model::UserId;
use shared::money::{self, CurrencyFormat, Decimal};
use shared::store::{keys, users};
use shared::token::Claim;
use std::borrow::Cow;
use std::convert::Infallible;

pub struct GetUser;

/// The account.
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
        let user = users::admit(&mut rows?, claim)?.ok_or(Error::Unauthorized)?;
        let config = &active?.config;
        let balance = CurrencyFormat::new(config.digits).money(user.virtual_currency);
        Ok(Json::of(&Account {
            id: user.id,
            username: &user.username,
            avatar: config.picture(&user.avatar),
            system: &user.system,
            identificator: &user.identificator,
            uuid: &user.uuid,
            created_at: money::iso_8601(user.created_at),
            updated_at: money::iso_8601(user.updated_at),
            virtual_currency: config.is_virtual_currency.then_some(balance),
        }))
    }
}
