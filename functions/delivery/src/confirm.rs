//! POST /plugin/api/game_auth/confirm/{auth_id}: a player has confirmed a login in the game.
//!
//! The response has no body, because the plugin ends its loop of polls at any JSON here. It is the same for an id that is
//! unknown or has ended: the plugin may send an id twice, and does not tell the player.

use crate::State;
use crate::path;
use crate::reply::NoBody;
use shared::endpoint::{Endpoint, Error, Input, InputKind, Received, RequestSchemas, RoundTrips};
use shared::http::body::BodyFault;
use shared::model::AuthId;
use shared::shop::accounts::game_login;
use std::convert::Infallible;

pub struct Confirm;

/// The id of the login; `None` if it cannot be one.
#[derive(Debug)]
pub struct LoginToConfirm(Option<AuthId>);

/// The `auth_id` of the login's row in the queue.
#[derive(schemars::JsonSchema)]
#[expect(dead_code, reason = "for the documentation")]
struct AuthIdText(String);

impl Input for LoginToConfirm {
    const KIND: InputKind = InputKind::PathParameter;

    fn read(received: Received<'_>) -> Result<Self, BodyFault> {
        let sent = path::parameters(received.request).remove("auth_id");
        Ok(Self(sent.and_then(|sent| AuthId::parse(&sent).ok())))
    }

    fn schemas(generator: &mut schemars::SchemaGenerator) -> RequestSchemas {
        let path_parameters = vec![generator.subschema_for::<AuthIdText>()];
        RequestSchemas { path_parameters, ..RequestSchemas::default() }
    }
}

impl Endpoint for Confirm {
    type State = State;
    type Caller = ();
    type Input = LoginToConfirm;
    type Reply = NoBody;
    type Refusal = Infallible;

    const NAME: &'static str = "plugin/game_auth/confirm";
    const ROUTES: &'static [&'static str] = &["POST /plugin/api/game_auth/confirm/{auth_id}"];
    const SUMMARY: &'static str = "confirms a login in the game";
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 3, cold: 3 };

    async fn handle(state: &State, (): (), LoginToConfirm(id): LoginToConfirm) -> Result<Self::Reply, Error> {
        if let Some(id) = id {
            state.base.published.may_write().await?;
            game_login::confirm(&state.base.db, &id, state.base.clock.seconds()).await?;
        }
        Ok(NoBody)
    }
}
