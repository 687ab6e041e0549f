//! GET /plugin/api/servers/{key}/commands/queue: what a game server has to run, and the logins that players are asked to confirm.

use crate::State;
use crate::support::key::{SentKey, ServerKeyText};
use crate::support::path;
use crate::support::reply::AsciiJson;
use lambda_http::RequestExt as _;
use lambda_http::http::StatusCode;
use serde::Serialize;
use shared::endpoint::{Endpoint, Error, Input, InputKind, Received, Refusal, RequestSchemas, RoundTrips};
use shared::fault;
use shared::http::body::BodyFault;
use shared::model::{AgentId, Command, NotAnAgentId, PendingLogin};
use shared::usecases::delivery::{self, CallError, PollError};
use shared::usecases::game_login;

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
        let retry_of = retry_of.map(Into::into);
        let for_agents = agent.map(|_| ForAgents { order: order.to_string(), player_id, retry_of });
        Self::Command { id: id.get(), username: player, command: text, is_online_required: delivery.online, for_agents }
    }
}

/// The input of a poll: a key, and the id of the agent if it is one's.
#[derive(Debug)]
pub struct PollInput {
    key: SentKey,
    agent: Result<Option<AgentId>, NotAnAgentId>,
}

/// Which agent polls.
#[derive(schemars::JsonSchema)]
#[expect(dead_code, reason = "for the documentation")]
struct AgentQuery {
    /// The agent's own id: 16 digits from 0 to 9 and a to f. The plugin sends none.
    #[schemars(default, with = "String", regex(pattern = "^[0-9a-f]{16}$"))]
    agent: Option<String>,
}

impl Input for PollInput {
    const KIND: InputKind = InputKind::PathParameter;

    fn read(received: Received<'_>) -> Result<Self, BodyFault> {
        let query = received.request.query_string_parameters();
        let agent = query.first("agent").map(|agent| AgentId::try_from(agent.to_owned())).transpose();
        Ok(Self { key: SentKey::of(&path::parameters(received.request)), agent })
    }

    fn schemas(generator: &mut schemars::SchemaGenerator) -> RequestSchemas {
        let query = Some(generator.subschema_for::<AgentQuery>());
        RequestSchemas { path_parameters: vec![generator.subschema_for::<ServerKeyText>()], query, body: None }
    }
}

/// The reason for which a poll is refused.
#[derive(Debug, thiserror::Error)]
pub enum PollRefusal {
    #[error("Unknown or revoked server key.")]
    UnknownKey,
    #[error("The agent parameter {0}.")]
    WrongAgent(NotAnAgentId),
    #[error(
        "Another agent polled for this server in the last two minutes. Two would run commands twice: end one of them."
    )]
    AnotherAgent,
}

impl Refusal for PollRefusal {
    fn status(&self) -> StatusCode {
        match self {
            Self::UnknownKey => StatusCode::UNAUTHORIZED,
            Self::WrongAgent(_) => StatusCode::BAD_REQUEST,
            Self::AnotherAgent => StatusCode::CONFLICT,
        }
    }

    fn documented() -> Vec<(&'static str, Self)> {
        vec![
            ("No server has the key, or it was revoked", Self::UnknownKey),
            ("The agent's id is not one", Self::WrongAgent(NotAnAgentId)),
            ("Another agent polls for the server", Self::AnotherAgent),
        ]
    }
}

fn refused(error: PollError) -> Error<PollRefusal> {
    match error {
        PollError::AnotherAgent => Error::Refused(PollRefusal::AnotherAgent),
        PollError::Call(CallError::UnknownKey) => Error::Refused(PollRefusal::UnknownKey),
        PollError::Call(CallError::Store(error)) => Error::Store(error),
    }
}

impl From<PendingLogin> for QueueRow {
    fn from(login: PendingLogin) -> Self {
        let (auth_id, username) = (login.auth_id.into(), login.player.into());
        Self::Login { kind: "auth", auth_id, id: login.id, username }
    }
}

impl Endpoint for Queue {
    type State = State;
    type Caller = ();
    type Input = PollInput;
    type Reply = AsciiJson<Vec<QueueRow>>;
    type Refusal = PollRefusal;

    const NAME: &'static str = "plugin/servers/commands/queue";
    const ROUTES: &'static [&'static str] = &["GET /plugin/api/servers/{key}/commands/queue"];
    const SUMMARY: &'static str = "returns what a game server has to run, and keeps it from other polls";
    const NUMBER: Option<u8> = None;
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 6, cold: 6 };
    const WHILE_AWAY: Option<&'static str> = Some("[]");

    async fn handle(state: &State, (): (), input: PollInput) -> Result<Self::Reply, Error<PollRefusal>> {
        let unknown = || Error::Refused(PollRefusal::UnknownKey);
        let SentKey::Key(key) = &input.key else { return Err(unknown()) };
        let base = &state.base;
        let (db, clock, now) = (&base.db, base.clock.as_ref(), base.clock.seconds());
        let agent = match input.agent {
            Ok(agent) => agent,
            Err(error) => {
                delivery::server_of(db, key).await?.ok_or_else(unknown)?;
                return Err(Error::Refused(PollRefusal::WrongAgent(error)));
            }
        };
        let agent = agent.as_ref();
        base.published.may_write().await?;
        let poll = delivery::poll(db, clock, key, agent);
        let (commands, logins) = tokio::join!(poll, game_login::due(db, key.server(), now));
        let commands = commands.map_err(refused)?;
        // What the poll was served is not thrown away because of the logins.
        let logins = match logins {
            Ok(due) => game_login::take(db, key.server(), due, now).await,
            Err(error) => Err(error),
        };
        let logins = logins.unwrap_or_else(|error| {
            tracing::error!(error = %error, causes = fault::causes(&error), "logins could not be served");
            Vec::new()
        });
        let commands = commands.into_iter().map(|command| QueueRow::of(command, agent));
        let rows: Vec<QueueRow> = commands.chain(logins.into_iter().map(QueueRow::from)).collect();
        Ok(AsciiJson::of(&rows))
    }
}
