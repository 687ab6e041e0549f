//! The database of a test: an engine in the test's own process, or a table of its own in any other DynamoDB.
//!
//! `TEST_DYNAMODB` is the URL of another one, such as `http://127.0.0.1:4566`. Region and credentials are then those of the
//! environment, as in a function; an emulator accepts any. A table is deleted when its test ends.

use crate::prepared::Prepared;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::Credentials;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use local::engine::Engine;
use shared::table::{Access, Db, connector};
use std::io::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// The variable with the URL of another database.
const VARIABLE: &str = "TEST_DYNAMODB";
/// The table's name in an engine that has no other one.
const TABLE: &str = "storefront";

/// The reason to count a login's round trips in the embedded engine only: it responds to concurrent calls at almost the same
/// time. Of two chains of calls that run concurrently, a slower database lets the recorder count some steps twice.
pub const TWO_CHAINS: &str = "the round trips of two concurrent chains of calls are counted by the order of responses";

/// A database, and the name of the test's table in it.
#[derive(Debug)]
pub(crate) struct Database {
    endpoint: String,
    table: String,
    is_embedded: bool,
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}

/// Whether the test has to end here, because it needs the embedded engine and another database is used. Prints the reason;
/// .ci/pages.py lists these tests.
pub fn needs_embedded_engine(why: &str) -> bool {
    let skips = variable(VARIABLE).is_some();
    if skips {
        let thread = std::thread::current();
        // Not `eprintln`, which is captured while a test passes.
        _ = writeln!(std::io::stderr(), "skipped {}: {why}", thread.name().unwrap_or_default());
    }
    skips
}

impl Database {
    /// The database that the environment names, else a new engine in memory.
    pub(crate) async fn open() -> Self {
        Self::of(|| async { Engine::start(None).await.expect("an engine in memory") }).await
    }

    /// The same. The new engine has a copy of the table that `fill` writes for the first test.
    pub(crate) async fn filled<F: Future<Output = ()>>(contents: &Prepared, fill: impl FnOnce(Db) -> F) -> Self {
        Self::of(|| contents.engine(|engine| fill(Db::new(engine.access(), TABLE)))).await
    }

    async fn of<F: Future<Output = Engine>>(start: impl FnOnce() -> F) -> Self {
        static OPENED: AtomicUsize = AtomicUsize::new(0);
        if let Some(endpoint) = variable(VARIABLE) {
            let (process, number) = (std::process::id(), OPENED.fetch_add(1, Ordering::SeqCst));
            return Self { endpoint, table: format!("{TABLE}-test-{process}-{number}"), is_embedded: false };
        }
        let engine = start().await;
        Self { endpoint: engine.endpoint().to_owned(), table: TABLE.to_owned(), is_embedded: true }
    }

    pub(crate) fn endpoint(&self) -> &str {
        &self.endpoint
    }

    pub(crate) fn table(&self) -> &str {
        &self.table
    }

    /// How long an attempt of the functions may take. Another database may be slow; no test is about that.
    pub(crate) const fn attempt_timeout(&self) -> Duration {
        Duration::from_secs(if self.is_embedded { 1 } else { 10 })
    }

    /// The functions' access to the database, without what a test puts between.
    pub(crate) fn access(&self) -> Access {
        access_at(&self.endpoint)
    }

    /// The same access without timeouts.
    pub(crate) fn patient(&self) -> Access {
        Access { timeouts: TimeoutConfig::disabled(), ..self.access() }
    }

    /// The SDK's client, without timeouts.
    pub(crate) fn client(&self) -> Client {
        Client::from_conf(self.patient().sdk_config().build())
    }
}

/// The functions' access to the database, or to a server in front of it.
pub(crate) fn access_at(endpoint: &str) -> Access {
    let region = variable("AWS_REGION").unwrap_or_else(|| "us-east-1".to_owned());
    let is_encrypted = endpoint.starts_with("https:");
    let client = if is_encrypted { connector::client(connector::roots()) } else { connector::plain_client() };
    Access::new(&region, Some(endpoint.to_owned()), Some(credentials()), client)
}

fn credentials() -> Credentials {
    let [id, secret] = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"].map(variable);
    let local = || "local".to_owned();
    let token = variable("AWS_SESSION_TOKEN");
    Credentials::new(id.unwrap_or_else(local), secret.unwrap_or_else(local), token, None, "the environment")
}

impl Drop for Database {
    fn drop(&mut self) {
        if self.is_embedded {
            return;
        }
        // A runtime of its own: that of the test may be ending.
        let (client, table) = (self.client(), self.table.clone());
        let deleted = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            let request = client.delete_table().table_name(table).send();
            runtime.block_on(request).map_err(std::io::Error::other)
        });
        if !matches!(deleted.join(), Ok(Ok(_))) {
            _ = writeln!(std::io::stderr(), "the table {} could not be deleted", self.table);
        }
    }
}
