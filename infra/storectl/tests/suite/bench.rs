//! A table of its own for every test, the tool in front of it, and the API on the same table.

use aws_sdk_dynamodb::config::Intercept;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use clap::Parser;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use lambda_http::Body;
use local::functions::Functions;
use local::gateway::Gateway;
use serde_json::{Value, json};
use shared::clock::{Clock, SystemClock};
use shared::table::Db;
use std::io::Write as _;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use storectl::Cli;
use storectl::answer::Printed;
use storectl::console::Console;
use storectl::deployment::{Bucket, Deployment};
use storectl::error::Failure;
use tempfile::TempDir;
use tests::{Fault, Faults, NOW, Prepared, TestClock, TestStore, TestTable, repository, template};

/// The secret of the tests' token key, which must never be seen.
pub const SECRET: &str = "a-secret-that-nobody-may-ever-see-0123456789";

/// A table, a directory, and a clock that does not advance.
pub struct Bench {
    table: TestTable,
    pub clock: Arc<TestClock>,
    pub dir: TempDir,
}

impl Deref for Bench {
    type Target = TestTable;

    fn deref(&self) -> &TestTable {
        &self.table
    }
}

/// The files of the sample store.
pub fn sample() -> String {
    repository().join("infra/sample-store").display().to_string()
}

impl Bench {
    /// An empty table as the template defines it.
    pub async fn empty() -> Self {
        Self::of(TestTable::empty().await.with_time_to_live().await)
    }

    /// The sample store, published by the tool.
    pub async fn published() -> Self {
        static CONTENTS: Prepared = Prepared::new();
        let publish = |bench: Self| async move {
            bench.ok(&["publish", &sample(), "--yes"]).await;
        };
        Self::copy_of(&CONTENTS, publish).await
    }

    /// The sample store with its users, carts, codes and orders.
    pub async fn stocked() -> Self {
        static CONTENTS: Prepared = Prepared::new();
        let load = |bench: Self| async move {
            assert!(TestStore::sample().load_into_empty(&bench.db, NOW).await.unwrap());
        };
        Self::copy_of(&CONTENTS, load).await
    }

    /// A table with what `fill` writes into the first one.
    pub async fn copy_of<F: Future<Output = ()>>(contents: &Prepared, fill: impl FnOnce(Self) -> F) -> Self {
        let fill = |table: TestTable| async { fill(Self::of(table.with_time_to_live().await)).await };
        Self::of(TestTable::copy_of(contents, fill).await)
    }

    fn of(table: TestTable) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("keys.json"), format!(r#"{{"k1":"{SECRET}"}}"#)).unwrap();
        Self { table, clock: Arc::new(TestClock::new()), dir }
    }

    /// A path in the test's directory.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes a file into the test's directory.
    pub fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn as_clock(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.clock) as Arc<dyn Clock>
    }

    fn key_file(&self) -> PathBuf {
        self.path("keys.json")
    }

    /// Runs the tool with these arguments and its target; the console responds to its questions.
    pub async fn run_before(&self, console: &Console, arguments: &[&str]) -> Result<Printed, Failure> {
        let keys = self.key_file().display().to_string();
        let mut line = vec!["storectl", "--endpoint-url", self.endpoint(), "--key-file", &keys];
        line.extend(arguments);
        let cli = Cli::try_parse_from(&line).unwrap_or_else(|error| panic!("{error}"));
        // The doctor compares the clock with the engine's, which is the machine's.
        let clock: Arc<dyn Clock> = if arguments[0] == "doctor" { Arc::new(SystemClock) } else { self.as_clock() };
        let outcome = Box::pin(cli.run(console, &clock)).await;
        let seen = match &outcome {
            Ok(answer) => format!("{}{}", answer.print(false), answer.print(true)),
            Err(failure) => format!("{}{}", failure.print(false), failure.print(true)),
        };
        assert!(!seen.contains(SECRET), "{seen}");
        outcome
    }

    /// Runs the tool without a terminal, so that questions are declined.
    pub async fn run(&self, arguments: &[&str]) -> Result<Printed, Failure> {
        self.run_before(&Console::without_terminal(), arguments).await
    }

    /// Runs the tool; it must succeed. The answer's JSON.
    pub async fn ok(&self, arguments: &[&str]) -> Value {
        match self.run(arguments).await {
            Ok(answer) => answer.json().clone(),
            Err(failure) => panic!("{arguments:?}: {failure}"),
        }
    }

    /// Runs the tool; it must fail.
    pub async fn fails(&self, arguments: &[&str]) -> Failure {
        match self.run(arguments).await {
            Ok(answer) => panic!("{arguments:?}: {}", answer.text()),
            Err(failure) => failure,
        }
    }

    /// Runs a command on the same table through a client that an interceptor observes.
    pub async fn run_through(
        &self,
        interceptor: impl Intercept + 'static,
        arguments: &[&str],
    ) -> Result<Printed, Failure> {
        self.run_on(self.through(interceptor), arguments).await
    }

    /// Runs a command on the same table through a client that loses the first response to an operation which the
    /// database carried out, and that sends the request again, as the SDK does.
    pub async fn run_losing(&self, operation: &'static str, arguments: &[&str]) -> Result<Printed, Failure> {
        let is_lost = Arc::new(AtomicBool::new(false));
        let lost = Arc::clone(&is_lost);
        let first = move |sent: &str| sent == operation && !lost.swap(true, Ordering::SeqCst);
        let losing = Faults::new(move |_, sent| first(sent).then_some(Fault::ResponseLost));
        let retries = RetryConfig::standard().with_initial_backoff(Duration::from_millis(1));
        let outcome = self.run_on(self.through_with(losing, retries), arguments).await;
        assert!(is_lost.load(Ordering::SeqCst), "{arguments:?} sends a {operation}");
        outcome
    }

    async fn run_on(&self, db: Db, arguments: &[&str]) -> Result<Printed, Failure> {
        let cli = Cli::try_parse_from(["storectl"].iter().chain(arguments)).unwrap_or_else(|error| panic!("{error}"));
        let target = Deployment::of(db, &self.as_clock(), Some(&self.key_file()));
        Box::pin(cli.command.run(&target, &Console::without_terminal())).await
    }

    /// Runs a command on the same table, of a stack that has a shop.
    pub async fn run_in_shop(&self, bucket: &Bucket, arguments: &[&str]) -> Result<Printed, Failure> {
        let cli = Cli::try_parse_from(["storectl"].iter().chain(arguments)).unwrap_or_else(|error| panic!("{error}"));
        let mut target = Deployment::of(self.another(), &self.as_clock(), Some(&self.key_file()));
        target.bucket = Some(bucket.clone());
        Box::pin(cli.command.run(&target, &Console::without_terminal())).await
    }

    /// A gateway whose functions have cached nothing yet.
    pub fn gateway(&self) -> Gateway {
        let keys = std::fs::read_to_string(self.key_file()).unwrap();
        let functions = Functions::new(template(), &self.another(), &keys, &self.as_clock()).unwrap();
        Gateway::new(template(), functions, self.as_clock()).unwrap()
    }

    /// Asks the API, whose functions have cached nothing yet.
    pub async fn api(&self, method: Method, path: &str, token: Option<&str>, body: &str) -> (StatusCode, Value) {
        ask(&self.gateway(), method, path, token, body).await
    }

    /// A token of a user, from the tool.
    pub async fn token(&self, user: &str) -> String {
        self.ok(&["token", user]).await["token"].as_str().unwrap().to_owned()
    }

    pub async fn log_in(&self, name: &str) -> (StatusCode, Value) {
        self.api(Method::POST, "/auth/username", None, &format!(r#"{{"username":"{name}"}}"#)).await
    }

    /// Records an order with these options; its id.
    pub async fn record(&self, options: &str) -> String {
        let line: Vec<&str> = ["order", "record"].into_iter().chain(options.split(' ')).collect();
        self.ok(&line).await["internal_id"].as_str().unwrap().to_owned()
    }

    /// Makes a backup in the test's directory; its path.
    pub async fn backup(&self, name: &str) -> String {
        let file = self.path(name).display().to_string();
        self.ok(&["backup", &file]).await;
        file
    }

    /// Sets the functions' clock to the database's time, which dates bans and revocations.
    pub fn tell_the_time(&self) {
        self.clock.advance(Duration::from_secs((SystemClock.seconds() - self.clock.seconds()).unsigned_abs()));
    }

    /// Adds an item to a cart as a client of the API does: user and item, then options named as the fields of the body.
    /// Returns the cart as `cart show` prints it.
    pub async fn cart_add(&self, arguments: &[&str]) -> Value {
        let [user, item, options @ ..] = arguments else { panic!("{arguments:?}") };
        let mut body = json!({ "variables": {} });
        for option in options.chunks_exact(2) {
            match (option[0], option[1]) {
                ("--count", count) => body["count"] = count.parse::<u32>().unwrap().into(),
                ("--server", server) => body["server_id"] = server.parse::<u64>().unwrap().into(),
                ("--price", price) => body["price"] = price.into(),
                ("--type", "gift") => body["payment_type"] = 2.into(),
                ("--gift-to", name) => body["gift_to"] = name.into(),
                ("--var", variable) => {
                    let (id, value) = variable.split_once('=').unwrap();
                    body["variables"][id] = value.into();
                }
                other => panic!("{other:?}"),
            }
        }
        let path = format!("/cart/add/{item}");
        let (_, reply) = self.api(Method::POST, &path, Some(&self.token(user).await), &body.to_string()).await;
        assert_eq!(reply["success"], true, "{path} {body}: {reply}");
        self.ok(&["cart", "show", user]).await
    }

    /// Every row of the table, sorted.
    pub async fn rows(&self) -> Vec<String> {
        let mut rows = Vec::new();
        shared::table::bulk::each(&self.db, "", |item| {
            rows.push(archive::line(&item));
            Ok::<(), shared::table::StoreError>(())
        })
        .await
        .unwrap();
        rows.sort();
        rows
    }
}

pub async fn ask(
    gateway: &Gateway,
    method: Method,
    path: &str,
    token: Option<&str>,
    body: &str,
) -> (StatusCode, Value) {
    let mut headers = HeaderMap::from_iter([(http::header::HOST, HeaderValue::from_static("store.test"))]);
    if let Some(token) = token {
        headers.insert("authorization", HeaderValue::try_from(format!("Bearer {token}")).unwrap());
    }
    let response = gateway.respond(&method, (path, ""), &headers, body.as_bytes(), "198.51.100.7").await;
    let status = response.status();
    let text = match response.into_body() {
        Body::Text(text) => text,
        Body::Binary(bytes) => String::from_utf8(bytes).unwrap(),
        _ => String::new(),
    };
    (status, serde_json::from_str(&text).unwrap_or_default())
}

pub fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

pub fn zipped(text: &str) -> Vec<u8> {
    let mut zip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    zip.write_all(text.as_bytes()).unwrap();
    zip.finish().unwrap()
}

/// The words of a line as a shell takes them apart.
pub fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (place, part) in line.split('\'').enumerate() {
        if place % 2 == 0 {
            words.extend(part.split_whitespace().map(str::to_owned));
        } else {
            words.push(part.to_owned());
        }
    }
    words
}
