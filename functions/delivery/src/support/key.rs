//! The key of a game server, as the path of a call has it.

use crate::support::path;
use crate::support::reply::UnknownKey;
use lambda_http::RequestExt as _;
use lambda_http::http::StatusCode;
use shared::endpoint::{Error, Input, InputKind, Received, Refusal, RequestSchemas};
use shared::http::body::BodyFault;
use shared::model::{AgentId, NotAnAgentId};
use shared::shop::delivery::{self, CallError, PollError, ServerKey};
use shared::table::Db;
use std::collections::BTreeMap;

/// The key in a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SentKey {
    Absent,
    /// The text is not a key.
    Malformed,
    Key(ServerKey),
}

impl SentKey {
    /// The key among the parameters of a path.
    pub fn of(parameters: &BTreeMap<&'static str, String>) -> Self {
        match parameters.get("key").map(|text| ServerKey::parse(text)) {
            None => Self::Absent,
            Some(None) => Self::Malformed,
            Some(Some(key)) => Self::Key(key),
        }
    }

    /// The key of a call that needs one.
    pub fn required(&self) -> Result<&ServerKey, Error<UnknownKey>> {
        match self {
            Self::Key(key) => Ok(key),
            Self::Absent | Self::Malformed => Err(Error::Refused(UnknownKey)),
        }
    }
}

/// The error of a call of a game server, as a response.
pub fn refused(error: CallError) -> Error<UnknownKey> {
    match error {
        CallError::UnknownKey => Error::Refused(UnknownKey),
        CallError::Store(error) => Error::Store(error),
    }
}

/// The server's key.
#[derive(schemars::JsonSchema)]
#[expect(dead_code, reason = "for the documentation")]
pub struct ServerKeyText(String);

/// The input of a call that has only a key.
#[derive(Debug)]
pub struct KeyOnly(pub SentKey);

impl Input for KeyOnly {
    const KIND: InputKind = InputKind::PathParameter;

    fn read(received: Received<'_>) -> Result<Self, BodyFault> {
        Ok(Self(SentKey::of(&path::parameters(received.request))))
    }

    fn schemas(generator: &mut schemars::SchemaGenerator) -> RequestSchemas {
        let path_parameters = vec![generator.subschema_for::<ServerKeyText>()];
        RequestSchemas { path_parameters, ..RequestSchemas::default() }
    }
}

/// The input of a call that has a key, and the id of the agent if it is one's.
#[derive(Debug)]
pub struct KeyAndAgent {
    key: SentKey,
    agent: Result<Option<AgentId>, NotAnAgentId>,
}

/// Which agent calls.
#[derive(schemars::JsonSchema)]
#[expect(dead_code, reason = "for the documentation")]
struct AgentQuery {
    /// The agent's own id: 16 digits from 0 to 9 and a to f. The plugin sends none.
    #[schemars(default, with = "String", regex(pattern = "^[0-9a-f]{16}$"))]
    agent: Option<String>,
}

impl Input for KeyAndAgent {
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

impl KeyAndAgent {
    /// The key and the agent. An id that is malformed is refused only after the key was found valid.
    pub async fn checked(self, db: &Db) -> Result<(ServerKey, Option<AgentId>), Error<PollRefusal>> {
        let unknown = || Error::Refused(PollRefusal::UnknownKey);
        let SentKey::Key(key) = self.key else { return Err(unknown()) };
        match self.agent {
            Ok(agent) => Ok((key, agent)),
            Err(error) => {
                delivery::server_of(db, &key).await?.ok_or_else(unknown)?;
                Err(Error::Refused(PollRefusal::WrongAgent(error)))
            }
        }
    }
}

/// The reason for which a call that may be an agent's is refused.
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

/// The error of such a call, as a response.
pub fn refused_poll(error: PollError) -> Error<PollRefusal> {
    match error {
        PollError::AnotherAgent => Error::Refused(PollRefusal::AnotherAgent),
        PollError::Call(CallError::UnknownKey) => Error::Refused(PollRefusal::UnknownKey),
        PollError::Call(CallError::Store(error)) => Error::Store(error),
    }
}
