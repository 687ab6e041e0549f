//! POST /plugin/api/servers/{key}/commands/executed: a game server reports that it has run commands. An agent also reports the
//! server's responses, and the commands that it began and that have none.

use crate::State;
use crate::support::ids::{self, Ids, LARGEST, MOST, Named, ToldReply};
use crate::support::key::refused;
use crate::support::reply::{AsciiJson, UnknownKey};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use shared::endpoint::{Endpoint, Error, RoundTrips};
use shared::http::body::BodyFault;
use shared::model::CommandId;
use shared::shop::delivery::{self, Report, ReportedOutcome};

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
    #[schemars(with = "Vec<i64>", length(max = MOST))]
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
    ids::ids(field).map(Some)
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
    const BODY_LIMIT: usize = LARGEST;

    async fn handle(state: &State, (): (), input: Ids<ReportsRequest>) -> Result<Self::Reply, Error<UnknownKey>> {
        let base = &state.base;
        let (call, body) = input.call(state).await?;
        let reports = body.reports();
        let answers = delivery::executed(&base.db, base.clock.as_ref(), &call.key, &reports).await.map_err(refused)?;
        Ok(AsciiJson::of(&ToldReply::of(call.answers(&answers))))
    }
}
