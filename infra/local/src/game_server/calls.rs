//! The plugin's calls: a new connection for each, a slash at the end of every path, no retries.

use super::plugin::Row;
use bytes::Bytes;
use http::{Method, Request};
use rustls::RootCertStore;
use serde::Deserialize;
use serde_json::json;
use shared::model::CommandId;
use shared::shop::delivery::Answer;
use tokio::sync::watch;

#[derive(Debug)]
pub(super) struct Calls {
    http: outgoing::Client,
    base: String,
    key: String,
    /// Whether the server is silent: the plugin sets no timeouts, so that its calls wait.
    silent: watch::Sender<bool>,
}

/// A row of the queue: a command, or a login if it has an `auth_id`.
#[derive(Debug, Deserialize)]
pub(super) struct QueueRow {
    pub id: CommandId,
    #[serde(default)]
    pub username: String,
    #[serde(default)]
    command: String,
    #[serde(default)]
    is_online_required: bool,
    pub auth_id: Option<String>,
}

impl From<QueueRow> for Row {
    fn from(row: QueueRow) -> Self {
        Self { id: row.id, player: row.username, text: row.command, online: row.is_online_required }
    }
}

#[derive(Debug, Deserialize)]
struct Results {
    #[serde(default)]
    results: Vec<CommandResult>,
}

#[derive(Debug, Deserialize)]
struct CommandResult {
    cmd_id: CommandId,
    status: bool,
}

impl Calls {
    pub(super) fn new(api: &str, key: &str) -> Self {
        let base = format!("{}/plugin/api/", api.trim_end_matches('/'));
        // The API is on this machine, so no certificate is trusted.
        let http = outgoing::Client::new(RootCertStore::empty());
        Self { http, base, key: key.to_owned(), silent: watch::Sender::new(false) }
    }

    pub(super) fn be_silent(&self, is_silent: bool) {
        self.silent.send_replace(is_silent);
    }

    pub(super) fn is_silent(&self) -> bool {
        *self.silent.borrow()
    }

    /// GET of a call that any server may make.
    pub(super) async fn get(&self, call: &str) -> Result<String, String> {
        self.send(Method::GET, call, Bytes::new()).await
    }

    /// GET of a call with the key in the first place.
    pub(super) async fn content(&self, call: &str) -> Result<String, String> {
        self.get(&format!("{}/{call}", self.key)).await
    }

    pub(super) async fn paynow(&self) -> Result<String, String> {
        self.get(&format!("servers/{}/commands/paynow", self.key)).await
    }

    /// The rows of the queue. An answer with a row that cannot be read counts as empty.
    pub(super) async fn queue(&self) -> Result<Vec<QueueRow>, String> {
        let text = self.get(&format!("servers/{}/commands/queue", self.key)).await?;
        Ok(serde_json::from_str(&text).unwrap_or_default())
    }

    pub(super) async fn delivered(&self, ids: &[CommandId]) -> Result<(), String> {
        self.words("delivered", ids).await.map(drop)
    }

    pub(super) async fn executed(&self, ids: &[CommandId]) -> Result<(), String> {
        self.words("executed", ids).await.map(drop)
    }

    /// Whether each command may run; `None` without an answer.
    pub(super) async fn validated(&self, ids: &[CommandId]) -> Option<Vec<Answer>> {
        let text = self.words("validated", ids).await.ok()?;
        let Results { results } = serde_json::from_str(&text).ok()?;
        Some(results.into_iter().map(|result| (result.cmd_id, result.status)).collect())
    }

    /// Confirms a login: the body is one zero byte.
    pub(super) async fn confirm(&self, auth_id: &str) -> Result<(), String> {
        let call = format!("game_auth/confirm/{auth_id}");
        self.send(Method::POST, &call, Bytes::from_static(&[0])).await.map(drop)
    }

    async fn words(&self, call: &str, ids: &[CommandId]) -> Result<String, String> {
        let ids: Vec<u32> = ids.iter().map(|id| id.get()).collect();
        let body = Bytes::from(json!({ "ids": ids }).to_string());
        self.send(Method::POST, &format!("servers/{}/commands/{call}", self.key), body).await
    }

    async fn send(&self, method: Method, call: &str, body: Bytes) -> Result<String, String> {
        // The sender is in `self`, so that this ends only when the server speaks again.
        _ = self.silent.subscribe().wait_for(|is_silent| !is_silent).await;
        let request = Request::builder().method(method).uri(format!("{}{call}/", self.base));
        let request = request.header("content-type", "application/json").header("user-agent", "Java/17.0.12");
        let request = request.body(body).map_err(|error| error.to_string())?;
        let response = self.http.send(request).await.map_err(|error| error.to_string())?;
        if !response.status().is_success() {
            return Err(format!("the store responded with status {}", response.status().as_u16()));
        }
        Ok(String::from_utf8_lossy(response.body()).into_owned())
    }
}
