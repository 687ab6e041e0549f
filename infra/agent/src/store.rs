//! The store's calls for game servers.

use crate::book::{Outcome, Row};
use crate::config::Secret;
use bytes::Bytes;
use http::header::{CONTENT_TYPE, RETRY_AFTER, USER_AGENT};
use http::{Method, Request, Response, StatusCode};
use outgoing::{Client, OutgoingError};
use rustls::RootCertStore;
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;

/// How long a call may take; the gateway ends it after 30 seconds.
const LIMIT: Duration = Duration::from_secs(20);
/// The largest response in bytes: 90 commands of 32 KiB.
const LARGEST_RESPONSE: usize = 8 * 1024 * 1024;
/// The longest pause that the store may ask for.
const LONGEST_PAUSE: u64 = 3_600;

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("the store does not know the key, or it was revoked: make one with `storectl server rotate`")]
    Key,
    #[error("another agent runs for this server: {0}")]
    OtherAgent(String),
    #[error("the store responded with status {status}{}", .message.as_ref().map(|text| format!(": {text}")).unwrap_or_default())]
    Status { status: u16, message: Option<String>, pause: Option<Duration> },
    #[error("the store's response cannot be read: {0}")]
    Unreadable(String),
    #[error("the store was not reached")]
    Outgoing(#[from] OutgoingError),
}

#[derive(Debug)]
pub struct Store {
    http: Client,
    base: String,
    key: Secret,
}

/// An id, and the store's `true` or `false` for it.
pub type Answer = (u32, bool);

#[derive(Deserialize)]
struct SentRow {
    id: u32,
    #[serde(default, rename = "type")]
    kind: Option<Value>,
    #[serde(default)]
    username: String,
    command: Option<String>,
    #[serde(default)]
    is_online_required: bool,
    #[serde(default)]
    order: String,
    player_id: Option<String>,
    retry_of: Option<u32>,
}

#[derive(Deserialize)]
struct Results {
    results: Vec<SentAnswer>,
}

#[derive(Deserialize)]
struct SentAnswer {
    id: Option<u32>,
    /// The name of the id in the response to `validated`.
    cmd_id: Option<u32>,
    status: bool,
}

impl Store {
    pub fn new(base: &str, key: Secret) -> Self {
        let roots: RootCertStore = webpki_roots::TLS_SERVER_ROOTS.iter().cloned().collect();
        let http = Client::new(roots).within(LIMIT).at_most(LARGEST_RESPONSE).keeping();
        Self { http, base: base.to_owned(), key }
    }

    /// The commands to run. Other rows are left out: a login in the game is for a plugin.
    pub async fn poll(&self, agent: &str) -> Result<Vec<Row>, StoreError> {
        let call = format!("servers/{}/commands/queue/?agent={agent}", self.key.expose());
        rows(&self.send(Method::GET, &call, Bytes::new()).await?)
    }

    /// The version of the interface, which shows that this is a store.
    pub async fn version(&self) -> Result<String, StoreError> {
        let body = self.send(Method::GET, "getVersion/", Bytes::new()).await?;
        let is_version = body.len() < 20 && body.split(|byte| *byte == b'.').count() == 3;
        let text = is_version.then(|| String::from_utf8_lossy(&body).into_owned());
        text.ok_or_else(|| StoreError::Unreadable("this is not a store".to_owned()))
    }

    /// Reports the outcomes of commands.
    pub async fn executed<'a>(
        &self,
        ended: impl Iterator<Item = (u32, Outcome, &'a str)>,
    ) -> Result<Vec<Answer>, StoreError> {
        let report = |(id, outcome, output): (u32, Outcome, &str)| {
            let (state, refused) = outcome.written();
            json!({ "id": id, "state": state, "refused": refused, "output": output })
        };
        let results: Vec<Value> = ended.map(report).collect();
        self.words("executed", &json!({ "results": results })).await
    }

    /// Reports that commands are kept for their players.
    pub async fn delivered(&self, ids: &[u32]) -> Result<Vec<Answer>, StoreError> {
        self.words("delivered", &json!({ "ids": ids })).await
    }

    /// Asks which commands may run.
    pub async fn validated(&self, ids: &[u32]) -> Result<Vec<Answer>, StoreError> {
        self.words("validated", &json!({ "ids": ids })).await
    }

    /// Gives back what the last poll returned.
    pub async fn give_back(&self, agent: &str) -> Result<(), StoreError> {
        let call = format!("servers/{}/commands/paynow/?agent={agent}", self.key.expose());
        self.send(Method::GET, &call, Bytes::new()).await.map(drop)
    }

    async fn words(&self, call: &str, body: &Value) -> Result<Vec<Answer>, StoreError> {
        let call = format!("servers/{}/commands/{call}/", self.key.expose());
        answers(&self.send(Method::POST, &call, Bytes::from(body.to_string())).await?)
    }

    async fn send(&self, method: Method, call: &str, body: Bytes) -> Result<Bytes, StoreError> {
        let request = Request::builder().method(method).uri(format!("{}api/{call}", self.base));
        let request = request.header(CONTENT_TYPE, "application/json");
        let request = request.header(USER_AGENT, concat!("agent/", env!("CARGO_PKG_VERSION"))).body(body);
        let request = request.map_err(|_| StoreError::Unreadable("store: is not a URL".to_owned()))?;
        let response = self.http.send(request).await?;
        match response.status() {
            status if status.is_success() => Ok(response.into_body()),
            StatusCode::UNAUTHORIZED => Err(StoreError::Key),
            StatusCode::CONFLICT => Err(StoreError::OtherAgent(message(&response).unwrap_or_default())),
            status => Err(StoreError::Status {
                status: status.as_u16(),
                message: message(&response),
                pause: response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()).and_then(pause),
            }),
        }
    }
}

fn pause(seconds: &str) -> Option<Duration> {
    seconds.trim().parse().ok().map(|seconds: u64| Duration::from_secs(seconds.min(LONGEST_PAUSE)))
}

fn message(response: &Response<Bytes>) -> Option<String> {
    let body: Value = serde_json::from_slice(response.body()).ok()?;
    Some(body.get("message")?.as_str()?.chars().take(200).collect())
}

fn rows(body: &[u8]) -> Result<Vec<Row>, StoreError> {
    let sent: Vec<Value> =
        serde_json::from_slice(body).map_err(|error| StoreError::Unreadable(format!("queue: {error}")))?;
    let mut rows = Vec::with_capacity(sent.len());
    for value in sent {
        match serde_json::from_value(value) {
            Ok(SentRow {
                kind: None,
                command: Some(text),
                id,
                username,
                is_online_required,
                order,
                player_id,
                retry_of,
            }) => {
                let online = is_online_required;
                rows.push(Row { id, player: username, text, online, order, player_id, retry_of, missed: 0 });
            }
            Ok(SentRow { id, kind: Some(_), .. }) => {
                tracing::info!(id, "a login in the game was ignored: it needs the plugin");
            }
            Ok(SentRow { id, .. }) => tracing::warn!(id, "a row without a command was ignored"),
            Err(error) => tracing::warn!(%error, "a row that cannot be read was ignored"),
        }
    }
    Ok(rows)
}

fn answers(body: &[u8]) -> Result<Vec<Answer>, StoreError> {
    let Results { results } =
        serde_json::from_slice(body).map_err(|error| StoreError::Unreadable(format!("results: {error}")))?;
    let answer = |SentAnswer { id, cmd_id, status }| Some((id.or(cmd_id)?, status));
    Ok(results.into_iter().filter_map(answer).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rows_are_read_as_the_store_sends_them_and_one_that_is_not_understood_hides_no_other() {
        let body = br#"[{"id":1042,"username":"Pebble","command":"give Pebble diamond 3","is_online_required":true,"order":"xi",
            "player_id":"7","retry_of":1007,"later":{}},{"type":"auth","auth_id":"a","id":7,"username":"P"},{"id":"x"},
            {"id":8,"command":null},{"id":9,"command":"b"}]"#;
        let rows = rows(body).unwrap();
        assert_eq!(rows.iter().map(|row| row.id).collect::<Vec<_>>(), [1042, 9]);
        let row = &rows[0];
        assert_eq!((row.player_id.as_deref(), row.retry_of, row.order.as_str()), (Some("7"), Some(1007), "xi"));
    }

    proptest! {
        #[test]
        fn no_response_of_the_store_makes_the_agent_panic(
            body in prop_oneof![
                "\\PC{0,60}",
                "\\[(\\{\"(id|cmd_id|command|type|x)\":(1|-1|9999999999|\"a\"|null|\\[\\])\\},?){0,4}\\]?",
                "\\{\"results\":\\[(\\{\"(cmd_)?id\":[0-9]{1,11},\"status\":(true|1|null)\\},?){0,3}\\]\\}",
            ],
            after in "\\PC{0,8}",
        ) {
            _ = rows(body.as_bytes());
            _ = answers(body.as_bytes());
            prop_assert!(pause(&after).is_none_or(|pause| pause <= Duration::from_secs(LONGEST_PAUSE)));
        }
    }
}
