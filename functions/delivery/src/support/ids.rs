//! The input of the calls that name commands: a key, and a body of ids. The plugin sends the ids of logins as well.

use crate::State;
use crate::support::key::{SentKey, ServerKeyText};
use crate::support::path;
use crate::support::reply::UnknownKey;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize};
use shared::endpoint::{Error, Input, InputKind, Received, RequestSchemas};
use shared::http::body::{self, BodyFault};
use shared::model::CommandId;
use shared::shop::delivery::{self, Answer, ServerKey};
use std::collections::{HashMap, HashSet};
use std::fmt;

/// The largest body of these calls in bytes.
pub const LARGEST: usize = 256 * 1024;
/// The most ids of a call.
pub const MOST: usize = 10_000;

/// A body that names ids.
pub trait Named: DeserializeOwned + schemars::JsonSchema + fmt::Debug + Send {
    /// The ids in the order in which they were sent.
    fn ids(&self) -> Result<Vec<i64>, BodyFault>;
}

#[derive(Debug, Deserialize, schemars::JsonSchema)]
pub struct IdsRequest {
    /// The ids of rows of the queue, at most 10,000.
    #[schemars(with = "Vec<i64>", length(max = MOST))]
    #[serde(deserialize_with = "ids")]
    ids: Vec<i64>,
}

impl Named for IdsRequest {
    fn ids(&self) -> Result<Vec<i64>, BodyFault> {
        Ok(self.ids.clone())
    }
}

/// A key, and a body with its ids, each once.
#[derive(Debug)]
pub struct Ids<B = IdsRequest> {
    key: SentKey,
    /// The fault of the body is named only to a caller with a valid key.
    sent: Result<(B, Vec<i64>), BodyFault>,
}

/// A call with a key that can be one, and ids.
#[derive(Debug)]
pub struct Call {
    pub key: ServerKey,
    /// The ids that can be those of commands.
    pub known: Vec<CommandId>,
    ids: Vec<i64>,
}

impl<B> Ids<B> {
    /// The call and its body. A body that cannot be read is named only to a caller with a valid key.
    pub async fn call(self, state: &State) -> Result<(Call, B), Error<UnknownKey>> {
        let (key, base) = (self.key.required()?.clone(), &state.base);
        match self.sent {
            Ok((body, ids)) => {
                base.published.may_write().await?;
                let known = ids.iter().filter_map(|id| CommandId::new(*id).ok()).collect();
                Ok((Call { key, known, ids }, body))
            }
            Err(fault) => match delivery::server_of(&base.db, &key).await? {
                Some(_) => Err(Error::Body(fault)),
                None => Err(Error::Refused(UnknownKey)),
            },
        }
    }
}

impl Call {
    /// The outcome of each id in the order of the call; `false` for one that cannot be that of a command.
    pub fn answers(&self, answers: &[Answer]) -> impl Iterator<Item = (i64, bool)> {
        let answers: HashMap<u32, bool> = answers.iter().map(|(id, answer)| (id.get(), *answer)).collect();
        let answer = move |id: i64| u32::try_from(id).ok().and_then(|id| answers.get(&id).copied()).unwrap_or(false);
        self.ids.iter().map(move |id| (*id, answer(*id)))
    }
}

impl<B: Named> Input for Ids<B> {
    const KIND: InputKind = InputKind::PathParameterAndJsonBody;

    fn read(received: Received<'_>) -> Result<Self, BodyFault> {
        let body = body::object(received.request);
        let sent = body.and_then(|body: B| body.ids().map(|ids| (body, each_once(ids))));
        Ok(Self { key: SentKey::of(&path::parameters(received.request)), sent })
    }

    fn schemas(generator: &mut schemars::SchemaGenerator) -> RequestSchemas {
        let path_parameters = vec![generator.subschema_for::<ServerKeyText>()];
        RequestSchemas { path_parameters, query: None, body: Some(generator.subschema_for::<B>()) }
    }
}

fn each_once(mut ids: Vec<i64>) -> Vec<i64> {
    let mut seen = HashSet::with_capacity(ids.len());
    ids.retain(|id| seen.insert(*id));
    ids
}

pub fn ids<'de, D: Deserializer<'de>>(field: D) -> Result<Vec<i64>, D::Error> {
    let ids = Vec::deserialize(field)?;
    if ids.len() <= MOST {
        return Ok(ids);
    }
    Err(D::Error::custom(format_args!("must not have more than {MOST} numbers")))
}

/// The response to a call that reports commands.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub struct ToldReply {
    /// Always true.
    status: bool,
    /// Every id of the call.
    results: Vec<ToldId>,
    /// Always empty.
    error: &'static str,
}

/// An id of the call.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub struct ToldId {
    /// The id.
    id: i64,
    /// Whether there is something with this id on the server.
    status: bool,
    /// The reason if there is not; otherwise empty.
    error: &'static str,
}

impl ToldReply {
    /// The response with the outcome for each id.
    pub fn of(results: impl Iterator<Item = (i64, bool)>) -> Self {
        let result = |(id, status)| ToldId { id, status, error: if status { "" } else { "There is no such command." } };
        Self { status: true, results: results.map(result).collect(), error: "" }
    }
}
