//! A table of its own for every test, the tool before it, and the API beside it.

use aws_sdk_dynamodb::config::interceptors::{
    BeforeDeserializationInterceptorContextMut, BeforeTransmitInterceptorContextRef,
};
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents, SharedInterceptor};
use aws_sdk_dynamodb::error::BoxError;
use clap::Parser;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use lambda_http::Body;
use local::engine::{Engine, ensure_table};
use local::functions::Functions;
use local::gateway::Gateway;
use serde_json::{Value, json};
use shared::clock::{Clock, SystemClock};
use shared::store::{Access, Db};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use storectl::answer::Answer;
use storectl::cli::Cli;
use storectl::commands;
use storectl::console::Console;
use storectl::error::Failure;
use storectl::target::Target;
use tempfile::TempDir;
use tests::{TestClock, operation, repository, template};

/// The secret of the tests' token key, which must never be seen.
pub const SECRET: &str = "a-secret-that-nobody-may-ever-see-0123456789";

/// A table, a directory, and a clock that does not advance.
pub struct Bench {
    pub db: Db,
    pub clock: Arc<TestClock>,
    pub dir: TempDir,
    engine: Engine,
    table: String,
}

/// The files of the sample store.
pub fn sample() -> String {
    repository().join("infra/sample-store").display().to_string()
}

impl Bench {
    /// An empty table as the template defines it.
    pub async fn empty() -> Self {
        let engine = Engine::start(None).await.unwrap();
        let definition = template().table().unwrap();
        let table = definition.logical_id.clone();
        let db = Db::new(engine.access(), &table);
        ensure_table(db.client(), &table, &definition).await.unwrap();
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("keys.json"), format!(r#"{{"k1":"{SECRET}"}}"#)).unwrap();
        Self { db, clock: Arc::new(TestClock::new()), dir, engine, table }
    }

    /// The sample store, published by the tool, and nothing beside it.
    pub async fn published() -> Self {
        let bench = Self::empty().await;
        bench.ok(&["publish", &sample(), "--yes"]).await;
        bench
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

    /// Runs the tool with these arguments and its target; the console answers its questions.
    pub async fn run_before(&self, console: &Console, arguments: &[&str]) -> Result<Answer, Failure> {
        let keys = self.key_file().display().to_string();
        let mut line = vec!["storectl", "--endpoint-url", self.engine.endpoint(), "--key-file", &keys];
        line.extend(arguments);
        let cli = Cli::try_parse_from(&line).unwrap_or_else(|error| panic!("{error}"));
        // The doctor compares the clock with the engine's, which is the machine's.
        let clock: Arc<dyn Clock> = if arguments[0] == "doctor" { Arc::new(SystemClock) } else { self.as_clock() };
        let outcome = Box::pin(commands::run(&cli, console, &clock)).await;
        let seen = match &outcome {
            Ok(answer) => format!("{}{}", answer.print(false), answer.print(true)),
            Err(failure) => format!("{}{}", failure.print(false), failure.print(true)),
        };
        assert!(!seen.contains(SECRET), "{seen}");
        outcome
    }

    /// Runs the tool without a terminal, so that questions are declined.
    pub async fn run(&self, arguments: &[&str]) -> Result<Answer, Failure> {
        self.run_before(&Console::nobody(), arguments).await
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

    /// Runs a command on the same table through a client that an interceptor looks into.
    pub async fn run_through(
        &self,
        interceptor: impl Intercept + 'static,
        arguments: &[&str],
    ) -> Result<Answer, Failure> {
        let mut line = vec!["storectl"];
        line.extend(arguments);
        let cli = Cli::try_parse_from(&line).unwrap_or_else(|error| panic!("{error}"));
        let target = Target::of(self.through(interceptor), &self.as_clock(), Some(&self.key_file()));
        Box::pin(commands::on_table(&cli.command, &target, &Console::nobody())).await
    }

    /// Runs a command on the same table through a client that loses the first response to an operation which the
    /// database carried out, and that sends the request again, as the SDK does.
    pub async fn run_losing(&self, operation: &'static str, arguments: &[&str]) -> Result<Answer, Failure> {
        let mut line = vec!["storectl"];
        line.extend(arguments);
        let cli = Cli::try_parse_from(&line).unwrap_or_else(|error| panic!("{error}"));
        let retries = RetryConfig::standard().with_initial_backoff(Duration::from_millis(1));
        let losing = Losing { operation, sent: Arc::default(), lost: Arc::default() };
        let lost = Arc::clone(&losing.lost);
        let target = Target::of(self.through_with(losing, retries), &self.as_clock(), Some(&self.key_file()));
        let outcome = Box::pin(commands::on_table(&cli.command, &target, &Console::nobody())).await;
        assert!(lost.load(Ordering::SeqCst), "{arguments:?} sends a {operation}");
        outcome
    }

    /// The same table through a client that an interceptor looks into.
    pub fn through(&self, interceptor: impl Intercept + 'static) -> Db {
        self.through_with(interceptor, RetryConfig::disabled())
    }

    fn through_with(&self, interceptor: impl Intercept + 'static, retries: RetryConfig) -> Db {
        let interceptors = vec![SharedInterceptor::new(interceptor)];
        Db::new(Access { retries, interceptors, ..self.engine.access() }, &self.table)
    }

    /// The same table as functions reach it.
    pub fn functions_db(&self) -> Db {
        Db::new(self.engine.access(), &self.table)
    }

    /// Asks the API, whose functions have cached nothing yet.
    pub async fn api(&self, method: Method, path: &str, token: Option<&str>, body: &str) -> (StatusCode, Value) {
        let keys = std::fs::read_to_string(self.key_file()).unwrap();
        let functions = Functions::new(template(), &self.functions_db(), &keys, &self.as_clock()).unwrap();
        let gateway = Gateway::new(template(), functions, self.as_clock()).unwrap();
        ask(&gateway, method, path, token, body).await
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
        self.changed_cart(user, &format!("/cart/add/{item}"), &body).await
    }

    /// Puts a code on a cart as a client of the API does.
    pub async fn cart_code(&self, user: &str, code: &str) -> Value {
        self.changed_cart(user, "/cart/acceptCoupon", &json!({ "coupon": code })).await
    }

    async fn changed_cart(&self, user: &str, path: &str, body: &Value) -> Value {
        let token = self.ok(&["token", user]).await["token"].as_str().unwrap().to_owned();
        let (_, reply) = self.api(Method::POST, path, Some(&token), &body.to_string()).await;
        assert_eq!(reply["success"], true, "{path} {body}: {reply}");
        self.ok(&["cart", "show", user]).await
    }

    /// Every row of the table, sorted.
    pub async fn rows(&self) -> Vec<String> {
        let mut rows = Vec::new();
        shared::store::bulk::each(&self.db, "", |item| {
            rows.push(storectl::archive::line(&item));
            Ok::<(), shared::store::StoreError>(())
        })
        .await
        .unwrap();
        rows.sort();
        rows
    }
}

/// Asks a gateway.
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

/// Copies a store's files.
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

/// Loses the first response to an operation: the database has carried it out, and the client sees a fault.
#[derive(Debug, Clone)]
struct Losing {
    operation: &'static str,
    /// Whether the request on its way is of that operation; commands send one after another.
    sent: Arc<AtomicBool>,
    lost: Arc<AtomicBool>,
}

impl Intercept for Losing {
    fn name(&self) -> &'static str {
        "Losing"
    }

    fn read_before_transmit(
        &self,
        context: &BeforeTransmitInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        self.sent.store(operation(context.request()) == self.operation, Ordering::SeqCst);
        Ok(())
    }

    fn modify_before_deserialization(
        &self,
        context: &mut BeforeDeserializationInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        if self.sent.load(Ordering::SeqCst) && !self.lost.swap(true, Ordering::SeqCst) {
            assert!(context.response().status().is_success(), "the database carried it out");
            let response = context.response_mut();
            *response.status_mut() = 500.try_into()?;
            *response.body_mut() = r#"{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError"}"#.into();
        }
        Ok(())
    }
}

/// Answers every call with an error of AWS.
#[derive(Debug, Clone)]
pub struct Refusing {
    pub code: &'static str,
    pub message: &'static str,
    pub asked: Arc<Mutex<usize>>,
}

impl Refusing {
    pub fn with(code: &'static str, message: &'static str) -> Self {
        Self { code, message, asked: Arc::default() }
    }
}

impl Intercept for Refusing {
    fn name(&self) -> &'static str {
        "Refusing"
    }

    fn modify_before_deserialization(
        &self,
        context: &mut BeforeDeserializationInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        *self.asked.lock().unwrap() += 1;
        let kind = format!("com.amazonaws.dynamodb.v20120810#{}", self.code);
        let body = serde_json::json!({ "__type": kind, "message": self.message }).to_string();
        let response = context.response_mut();
        *response.status_mut() = 400.try_into()?;
        *response.body_mut() = body.into();
        Ok(())
    }
}
