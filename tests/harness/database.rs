//! The database of a test: an engine in the test's own process, or a table of its own in any other DynamoDB. Its
//! contents may be written once in a process: a test gets a copy, which takes milliseconds. A [`TestTable`] has no
//! functions in front of it.
//!
//! `TEST_DYNAMODB` is the URL of another one, such as `http://127.0.0.1:4566`. Region and credentials are then those of
//! the environment, as in a function; an emulator accepts any. A table is deleted when its test ends.

use crate::calls::Calls;
use crate::faults::{Fault, Faults};
use crate::store::{create_table, template};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::config::{Credentials, Intercept, SharedInterceptor};
use aws_sdk_dynamodb::types::AttributeValue;
use local::engine::{Engine, ensure_table};
use shared::table::bulk::each;
use shared::table::codec::{Item, encode_live, key_attributes};
use shared::table::keys::Key;
use shared::table::{Access, Db, StoreError, connector};
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::OnceCell;

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

/// The contents, as a file of the engine.
#[derive(Debug, Default)]
pub struct Prepared(OnceCell<Vec<u8>>);

impl Prepared {
    pub const fn new() -> Self {
        Self(OnceCell::const_new())
    }

    /// An engine with a copy of the contents. `fill` writes them for the first test that asks.
    pub async fn engine<F: Future<Output = ()>>(&self, fill: impl FnOnce(Engine) -> F) -> Engine {
        let write = || async {
            let engine = Engine::start(None).await.expect("an engine in memory");
            fill(engine.clone()).await;
            contents_of(&engine)
        };
        engine_with(self.0.get_or_init(write).await).await
    }
}

fn contents_of(engine: &Engine) -> Vec<u8> {
    let copy = new_file();
    engine.copy_into(&copy).expect("a copy of the database");
    let contents = std::fs::read(&copy).expect("the file is there");
    std::fs::remove_file(copy).expect("the file can be removed");
    contents
}

async fn engine_with(contents: &[u8]) -> Engine {
    let copy = new_file();
    std::fs::write(&copy, contents).expect("a file for the copy");
    let engine = Engine::start_from(&copy).await.expect("an engine with the copy");
    std::fs::remove_file(copy).expect("the file can be removed");
    engine
}

fn new_file() -> PathBuf {
    static MADE: AtomicUsize = AtomicUsize::new(0);
    let (process, number) = (std::process::id(), MADE.fetch_add(1, Ordering::SeqCst));
    std::env::temp_dir().join(format!("storefront-test-{process}-{number}.sqlite"))
}

#[derive(Debug)]
pub struct TestTable {
    pub db: Db,
    engine: Engine,
}

impl TestTable {
    pub async fn empty() -> Self {
        let engine = Engine::start(None).await.expect("an engine in memory");
        Self::create(engine).await
    }

    /// A table with a copy of what `fill` writes into the first one.
    pub async fn copy_of<F: Future<Output = ()>>(contents: &Prepared, fill: impl FnOnce(Self) -> F) -> Self {
        let fill = |engine| async { fill(Self::create(engine).await).await };
        Self::on(contents.engine(fill).await)
    }

    /// An independent copy of this table.
    pub async fn copy(&self) -> Self {
        Self::on(engine_with(&contents_of(&self.engine)).await)
    }

    async fn create(engine: Engine) -> Self {
        let table = Self::on(engine);
        create_table(&table.db).await;
        table
    }

    fn on(engine: Engine) -> Self {
        let name = template().table().expect("the template has a table").logical_id;
        Self { db: Db::new(engine.access(), &name), engine }
    }

    /// The same table, from which the engine removes what has expired by the system's clock, as the template defines it.
    pub async fn with_time_to_live(self) -> Self {
        let definition = template().table().expect("the template has a table");
        ensure_table(&self.db, &definition).await.expect("the time to live can be set");
        self
    }

    /// The URL of the engine.
    pub fn endpoint(&self) -> &str {
        self.engine.endpoint()
    }

    /// Another access to the same table.
    pub fn access(&self) -> Access {
        self.engine.access()
    }

    /// The same table through a connection of its own.
    pub fn another(&self) -> Db {
        Db::new(self.access(), self.db.table())
    }

    /// The same table through a client that an interceptor observes, and which never tries again by itself.
    pub fn through(&self, interceptor: impl Intercept + 'static) -> Db {
        self.through_with(interceptor, RetryConfig::disabled())
    }

    pub fn through_with(&self, interceptor: impl Intercept + 'static, retries: RetryConfig) -> Db {
        let interceptors = vec![SharedInterceptor::new(interceptor)];
        Db::new(Access { retries, interceptors, ..self.access() }, self.db.table())
    }

    /// The same table through a client whose calls fail as `rule` says, and which never tries again by itself.
    pub fn with_faults(&self, rule: impl FnMut(usize, &str) -> Option<Fault> + Send + 'static) -> Db {
        self.through(Faults::new(rule))
    }

    /// The same table through a client whose calls do not fail, and the operations that it has sent so far.
    pub fn recording(&self) -> (Db, impl Fn() -> Vec<String> + use<>) {
        let calls = Calls::default();
        (self.through(calls.clone()), move || calls.operations())
    }

    /// The same table through a client right before whose `nth` transaction `happens` happens.
    pub fn interrupted<F: Future<Output = ()>>(&self, nth: usize, happens: impl Fn(Db) -> F + Send + 'static) -> Db {
        let (db, mut transactions) = (self.db.clone(), 0);
        self.with_faults(move |_, operation| {
            transactions += usize::from(operation == "TransactWriteItems");
            if operation == "TransactWriteItems" && transactions == nth {
                tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(happens(db.clone())));
            }
            None
        })
    }

    /// The items of a kind, see [`each`].
    pub async fn items(&self, kind: &str) -> Vec<Item> {
        items(&self.db, kind).await
    }

    /// Writes an item unchanged.
    pub async fn write_item(&self, item: Item) {
        put(&self.db, item).await;
    }

    pub async fn put<T: serde::Serialize>(&self, key: &Key, thing: &T) {
        self.write_item(encode_live(key, thing).expect("what can be stored")).await;
    }

    /// Writes many items at once.
    pub async fn write_all(&self, items: Vec<Item>) {
        shared::table::bulk::write_each(&self.db, items.into_iter().map(Ok), &|_| {})
            .await
            .expect("a database that responds");
    }

    pub async fn delete(&self, key: &Key) {
        delete(&self.db, key).await;
    }

    /// A number of an item; 0 if either is missing.
    pub async fn number(&self, key: &Key, attribute: &str) -> i64 {
        let item = self.db.get(key, true).await.expect("a database that responds").unwrap_or_default();
        let text = item.get(attribute).map(|value| value.as_n().expect("a number"));
        text.map_or(0, |text| text.parse().expect("a whole number"))
    }

    /// Sets a number of an item, as an operator does by hand.
    pub async fn set_number(&self, key: &Key, attribute: &str, number: i64) {
        let update = self.db.client().update_item().table_name(self.db.table());
        let update = update.set_key(Some(key_attributes(key))).update_expression("SET #a = :n");
        let update = update.expression_attribute_names("#a", attribute);
        let update = update.expression_attribute_values(":n", AttributeValue::N(number.to_string()));
        update.send().await.expect("a database that responds");
    }
}

/// The items of a kind, see [`each`].
pub async fn items(db: &Db, kind: &str) -> Vec<Item> {
    let mut items = Vec::new();
    let take = |item| {
        items.push(item);
        Ok::<(), StoreError>(())
    };
    each(db, kind, take).await.expect("a database that responds");
    items
}

pub async fn delete(db: &Db, key: &Key) {
    let delete = db.client().delete_item().table_name(db.table()).set_key(Some(key_attributes(key)));
    delete.send().await.expect("a database that responds");
}

/// Writes an item into a table.
pub async fn put(db: &Db, item: Item) {
    let put = db.client().put_item().table_name(db.table()).set_item(Some(item));
    put.send().await.expect("a write that succeeds");
}
