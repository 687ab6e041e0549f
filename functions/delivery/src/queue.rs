//! GET /plugin/api/servers/{key}/commands/queue: what a game server has to run, and the logins that players are asked
//! to confirm. And POST /plugin/api/game_auth/confirm/{auth_id}: a player has confirmed a login in the game.
//!
//! The response to the second has no body, because the plugin ends its loop of polls at any JSON here. It is the same
//! for an id that is unknown or has ended: the plugin may send an id twice, and does not tell the player.

use crate::State;
use crate::path::{self, KeyAndAgent, PollRefusal, refused_poll};
use crate::reply::{AsciiJson, NoBody};
use serde::Serialize;
use shared::endpoint::{Endpoint, Error, Input, InputKind, Received, RequestSchemas, RoundTrips};
use shared::http::body::BodyFault;
use shared::model::{AgentId, AuthId, Command, CommandId, PendingLogin};
use shared::shop::accounts::game_login;
use shared::shop::delivery;
use shared::{fault, telemetry};
use std::convert::Infallible;

pub struct Queue;

/// A row of the queue. The plugin takes a whole response as empty if one row has a field that it cannot read.
#[derive(Serialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum QueueRow {
    /// A command.
    Command {
        /// The command's id.
        #[schemars(range(min = 1, max = 2_147_483_647))]
        id: u32,
        /// The name of the player.
        username: String,
        /// The text for the console.
        command: String,
        /// Whether it runs only while the player is on the server.
        is_online_required: bool,
        #[serde(flatten, skip_serializing_if = "Option::is_none")]
        for_agents: Option<ForAgents>,
    },
    /// A login that the player is asked to confirm.
    Login {
        /// Always `auth`.
        #[serde(rename = "type")]
        kind: &'static str,
        /// The id that the plugin sends to confirm it.
        auth_id: String,
        /// The login's id, of the same numbers as those of commands.
        #[schemars(range(min = 1, max = 2_147_483_647))]
        id: u32,
        /// The name of the player.
        username: String,
    },
}

/// The fields of a command that only agents are sent.
#[derive(Serialize, schemars::JsonSchema)]
pub struct ForAgents {
    /// The id of the order.
    order: String,
    /// The id of the player in the server's list of players. With it, the name does not count; an empty one matches no player.
    #[schemars(default, with = "String")]
    #[serde(skip_serializing_if = "Option::is_none")]
    player_id: Option<String>,
    /// The command in whose place the owner had it sent.
    #[schemars(default, with = "u32")]
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_of: Option<u32>,
}

impl QueueRow {
    fn of(command: Command, agent: Option<&AgentId>) -> Self {
        let Command { id, player, text, delivery, order, player_id, retry_of, .. } = command;
        let retry_of = retry_of.map(CommandId::get);
        let for_agents = agent.map(|_| ForAgents { order: order.to_string(), player_id, retry_of });
        Self::Command { id: id.get(), username: player, command: text, is_online_required: delivery.online, for_agents }
    }
}

impl From<PendingLogin> for QueueRow {
    fn from(login: PendingLogin) -> Self {
        let (auth_id, username) = (login.auth_id.as_str().to_owned(), login.player.into());
        Self::Login { kind: "auth", auth_id, id: login.id, username }
    }
}

impl Endpoint for Queue {
    type State = State;
    type Caller = ();
    type Input = KeyAndAgent;
    type Reply = AsciiJson<Vec<QueueRow>>;
    type Refusal = PollRefusal;

    const NAME: &'static str = "plugin/servers/commands/queue";
    const ROUTES: &'static [&'static str] = &["GET /plugin/api/servers/{key}/commands/queue"];
    const SUMMARY: &'static str = "returns what a game server has to run, and keeps it from other polls";
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 6, cold: 6 };
    const WHILE_AWAY: Option<&'static str> = Some("[]");

    async fn handle(state: &State, (): (), input: KeyAndAgent) -> Result<Self::Reply, Error<PollRefusal>> {
        let base = &state.base;
        let (db, clock, now) = (&base.db, base.clock.as_ref(), base.clock.seconds());
        let (key, agent) = input.checked(db).await?;
        let (key, agent) = (&key, agent.as_ref());
        base.published.may_write().await?;
        let poll = delivery::poll(db, clock, key, agent);
        let (commands, logins) = tokio::join!(poll, game_login::due(db, key.server(), now));
        let commands = commands.map_err(refused_poll)?;
        // What the poll was served is not thrown away because of the logins.
        let logins = match logins {
            Ok(due) => game_login::take(db, key.server(), due, now).await,
            Err(error) => Err(error),
        };
        let logins = match logins {
            Ok(logins) => logins,
            // A fault that does not pass is to be seen, unless commands would be lost with it.
            Err(error) if commands.is_empty() && !error.may_pass() => return Err(error.into()),
            Err(error) => {
                tracing::error!(error = %error, causes = fault::causes(&error), "logins could not be served");
                Vec::new()
            }
        };
        let commands = commands.into_iter().map(|command| QueueRow::of(command, agent));
        let rows: Vec<QueueRow> = commands.chain(logins.into_iter().map(QueueRow::from)).collect();
        if rows.is_empty() {
            telemetry::routine();
        }
        Ok(AsciiJson::of(&rows))
    }
}

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
