//! The calls by which a game server says what became of commands, with a key and a body of ids. The plugin sends the
//! ids of logins as well.
//!
//! POST /plugin/api/servers/{key}/commands/delivered: it has run commands, or keeps them for their players.
//! …/validated: it asks which commands may run now; it runs those whose status is `true`, and also those that are
//! missing from the response. …/executed: it has run commands. An agent also reports the server's responses, and the
//! commands that it began and that have none.

use crate::path::{SentKey, ServerKeyText, refused};
use crate::reply::{AsciiJson, UnknownKey};
use crate::{State, path};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize};
use shared::endpoint::{Endpoint, Error, Input, InputKind, Received, RequestSchemas, RoundTrips};
use shared::http::body::{self, BodyFault};
use shared::model::CommandId;
use shared::shop::delivery::{self, Answer, Report, ReportedOutcome, ServerKey};
use std::collections::{HashMap, HashSet};
use std::fmt;

/// The largest body of these calls in bytes.
pub const LARGEST_REPORT: usize = 256 * 1024;
/// The most ids of a call.
pub const MOST_IDS: usize = 10_000;

/// A body that names ids.
pub trait Named: DeserializeOwned + schemars::JsonSchema + fmt::Debug + Send {
    /// The ids in the order in which they were sent.
    fn ids(&self) -> Result<Vec<i64>, BodyFault>;
}

#[derive(Debug, Deserialize, schemars::JsonSchema)]
pub struct IdsRequest {
    /// The ids of rows of the queue, at most 10,000.
    #[schemars(with = "Vec<i64>", length(max = MOST_IDS))]
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
    if ids.len() <= MOST_IDS {
        return Ok(ids);
    }
    Err(D::Error::custom(format_args!("must not have more than {MOST_IDS} numbers")))
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

pub struct Delivered;

impl Endpoint for Delivered {
    type State = State;
    type Caller = ();
    type Input = Ids;
    type Reply = AsciiJson<ToldReply>;
    type Refusal = UnknownKey;

    const NAME: &'static str = "plugin/servers/commands/delivered";
    const ROUTES: &'static [&'static str] = &["POST /plugin/api/servers/{key}/commands/delivered"];
    const SUMMARY: &'static str = "records that a game server has commands";
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 4, cold: 4 };
    const BODY_LIMIT: usize = LARGEST_REPORT;

    async fn handle(state: &State, (): (), input: Ids) -> Result<Self::Reply, Error<UnknownKey>> {
        let base = &state.base;
        let (call, _) = input.call(state).await?;
        let answers =
            delivery::delivered(&base.db, base.clock.as_ref(), &call.key, &call.known).await.map_err(refused)?;
        Ok(AsciiJson::of(&ToldReply::of(call.answers(&answers))))
    }
}

pub struct Validated;

/// Which commands may run.
#[derive(Serialize, schemars::JsonSchema)]
pub struct ValidatedReply {
    /// Always true: the plugin loses or keeps all commands of the call otherwise.
    status: bool,
    /// Every id of the call.
    results: Vec<ValidatedId>,
    /// Always empty.
    error: &'static str,
}

/// An id of the call.
#[derive(Serialize, schemars::JsonSchema)]
pub struct ValidatedId {
    /// The id.
    cmd_id: i64,
    /// Whether the command may run.
    status: bool,
    /// The reason if it may not; otherwise empty.
    error: &'static str,
}

impl Endpoint for Validated {
    type State = State;
    type Caller = ();
    type Input = Ids;
    type Reply = AsciiJson<ValidatedReply>;
    type Refusal = UnknownKey;

    const NAME: &'static str = "plugin/servers/commands/validated";
    const ROUTES: &'static [&'static str] = &["POST /plugin/api/servers/{key}/commands/validated"];
    const SUMMARY: &'static str = "returns which commands a game server may run";
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 4, cold: 4 };
    const BODY_LIMIT: usize = LARGEST_REPORT;

    async fn handle(state: &State, (): (), input: Ids) -> Result<Self::Reply, Error<UnknownKey>> {
        let base = &state.base;
        let (call, _) = input.call(state).await?;
        let answers = delivery::validated(&base.db, base.clock.as_ref(), &call.key, &call.known).await;
        let answers = answers.map_err(refused)?;
        let results = call.answers(&answers).map(|(cmd_id, status)| ValidatedId {
            cmd_id,
            status,
            error: if status { "" } else { "This command must not run." },
        });
        Ok(AsciiJson::of(&ValidatedReply { status: true, results: results.collect(), error: "" }))
    }
}

/// The most results of a call.
const MOST_RESULTS: usize = 1_000;
/// The most bytes of a response.
const LONGEST_RESPONSE: usize = 1_024;

pub struct Executed;

/// Reports about commands. One of the two fields is needed.
#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[schemars(extend("anyOf" = [{ "required": ["ids"] }, { "required": ["results"] }]))]
pub struct ReportsRequest {
    /// The ids of rows of the queue that ran.
    #[schemars(with = "Vec<i64>", length(max = MOST_IDS))]
    #[serde(default, deserialize_with = "some_ids")]
    ids: Option<Vec<i64>>,
    /// Rows of the queue that an agent began, at most 1,000. Of several about one id, the first counts.
    #[schemars(with = "Vec<ReportRequest>", length(max = MOST_RESULTS))]
    #[serde(default)]
    results: Option<Vec<ReportRequest>>,
}

/// An agent's report about a command that it began.
#[derive(Debug, Deserialize, schemars::JsonSchema)]
pub struct ReportRequest {
    /// The row's id.
    id: i64,
    /// `done`, or `unknown` if the game server did not respond or `refused` is true.
    #[schemars(with = "String", regex(pattern = "^(done|unknown)$"))]
    #[serde(rename = "state", deserialize_with = "is_done")]
    is_done: bool,
    /// Whether it did nothing: the game server's response says so, or the agent could not send it. Then `state` does not matter.
    #[serde(default)]
    refused: bool,
    /// The game server's response, at most 1,024 bytes.
    #[schemars(length(max = LONGEST_RESPONSE))]
    #[serde(default, deserialize_with = "output")]
    output: String,
}

fn some_ids<'de, D: Deserializer<'de>>(field: D) -> Result<Option<Vec<i64>>, D::Error> {
    ids(field).map(Some)
}

fn is_done<'de, D: Deserializer<'de>>(field: D) -> Result<bool, D::Error> {
    match String::deserialize(field)?.as_str() {
        "done" => Ok(true),
        "unknown" => Ok(false),
        _ => Err(D::Error::custom("must be done or unknown")),
    }
}

fn output<'de, D: Deserializer<'de>>(field: D) -> Result<String, D::Error> {
    let output = String::deserialize(field)?;
    if output.len() <= LONGEST_RESPONSE {
        return Ok(output);
    }
    Err(D::Error::custom(format_args!("must not be longer than {LONGEST_RESPONSE} bytes")))
}

impl Named for ReportsRequest {
    fn ids(&self) -> Result<Vec<i64>, BodyFault> {
        if self.ids.is_none() && self.results.is_none() {
            return Err(BodyFault::missing_field("ids"));
        }
        let results = self.results.as_deref().unwrap_or_default();
        if results.len() > MOST_RESULTS {
            let problem = format!("must not have more than {MOST_RESULTS} entries");
            return Err(BodyFault::Field { field: "results".to_owned(), problem });
        }
        Ok(self.ids.iter().flatten().copied().chain(results.iter().map(|result| result.id)).collect())
    }
}

impl ReportsRequest {
    /// The reports. One with a response is before one without.
    fn reports(self) -> Vec<Report> {
        let results =
            self.results.into_iter().flatten().filter_map(|ReportRequest { id, is_done, refused, output }| {
                let outcome = match (refused, is_done) {
                    (true, _) => ReportedOutcome::Refused,
                    (false, true) => ReportedOutcome::Ran,
                    (false, false) => ReportedOutcome::Unknown,
                };
                CommandId::new(id).ok().map(|id| Report { id, outcome, output })
            });
        let ran = self.ids.into_iter().flatten().filter_map(|id| CommandId::new(id).ok());
        results.chain(ran.map(Report::done)).collect()
    }
}

impl Endpoint for Executed {
    type State = State;
    type Caller = ();
    type Input = Ids<ReportsRequest>;
    type Reply = AsciiJson<ToldReply>;
    type Refusal = UnknownKey;

    const NAME: &'static str = "plugin/servers/commands/executed";
    const ROUTES: &'static [&'static str] = &["POST /plugin/api/servers/{key}/commands/executed"];
    const SUMMARY: &'static str = "records that a game server has run commands, with its responses";
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 4, cold: 4 };
    const BODY_LIMIT: usize = LARGEST_REPORT;

    async fn handle(state: &State, (): (), input: Ids<ReportsRequest>) -> Result<Self::Reply, Error<UnknownKey>> {
        let base = &state.base;
        let (call, body) = input.call(state).await?;
        let reports = body.reports();
        let answers = delivery::executed(&base.db, base.clock.as_ref(), &call.key, &reports).await.map_err(refused)?;
        Ok(AsciiJson::of(&ToldReply::of(call.answers(&answers))))
    }
}
