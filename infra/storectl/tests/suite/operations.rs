//! `--local`: the store and the stand-in for Stripe of a local server, which must be running. The steps of infra/docs/operations.md, on
//! one machine, lead to a paid order that checkStatus shows. And `storectl openapi`.

use crate::bench::{ask, copy, sample, words};
use crate::payments::{ITEM, begin_checkout};
use archive::running::{Payments, Running, clock_file};
use clap::Parser;
use http::{Method, StatusCode};
use local::data::{DataLock, lock, payments_file, table_file, token_keys};
use local::engine::{Engine, create_file};
use local::functions::Functions;
use local::gateway::Gateway;
use local::store::Store;
use serde_json::Value;
use shared::clock::{Clock, SystemClock};
use shared::config::PaymentKeys;
use shared::model::{Cart, Line, LineId, UserId};
use shared::providers::Stripe;
use shared::shop::carts;
use shared::table::Db;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use storectl::Cli;
use storectl::answer::Printed;
use storectl::console::Console;
use storectl::error::{Exit, Failure};
use stripe::ApiBase;
use stripe_stand_in::{Action, MovableClock, Options, StandIn, payment_keys, start};
use tests::{repository, template};

/// A local server that begins with an empty table, without its functions.
pub struct LocalServer {
    pub db: Db,
    stand_in: StandIn,
    lock: DataLock,
}

impl LocalServer {
    pub async fn start(data: &Path) -> Self {
        let lock = lock(data).unwrap();
        token_keys(data).unwrap();
        let definition = template().table().unwrap();
        create_file(&table_file(data), &definition).unwrap();
        let engine = Engine::start(Some(&table_file(data))).await.unwrap();
        let stand_in = start(Options { kept: Some(payments_file(data)), ..Options::default() }).await.unwrap();
        let (endpoint, table) = (engine.endpoint().to_owned(), definition.logical_id);
        let payments = Some(Payments { url: stand_in.base_url(), keys: payment_keys() });
        let db = Db::new(engine.access(), &table);
        Running { endpoint, table, payments }.leave(data).unwrap();
        Self { db, stand_in, lock }
    }

    /// Ends it as a kill does: its addresses stay behind.
    async fn kill(self) {
        self.stand_in.stop().await;
        drop(self.lock);
    }
}

/// Runs a command on a data directory.
pub async fn attempt(data: &Path, line: &[&str]) -> Result<Printed, Failure> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let cli = Cli::try_parse_from([&["storectl"], line, &["--local", data.to_str().unwrap()]].concat()).unwrap();
    Box::pin(cli.run(&Console::without_terminal(), &clock)).await
}

/// Runs a command on a data directory; it must succeed.
pub async fn run(data: &Path, line: &[&str]) -> Printed {
    attempt(data, line).await.unwrap_or_else(|failure| panic!("{line:?}: {failure}"))
}

/// The JSON of its answer.
async fn ok(data: &Path, line: &[&str]) -> Value {
    run(data, line).await.json().clone()
}

/// The refusal of a command for want of a server.
async fn refused(data: &Path) {
    let failure = attempt(data, &["user", "add", "Newt"]).await.unwrap_err();
    let start = format!("cargo run -- --data {}", data.display());
    assert!(failure.exit == Exit::Denied && failure.next.contains(&start), "{failure}");
    assert!(failure.what.contains("No server"), "{failure}");
}

#[tokio::test]
async fn a_restore_into_an_empty_store_says_that_the_payments_of_the_stand_in_stay_behind() {
    let dir = tempfile::tempdir().unwrap();
    let (data, other, file) = (dir.path().join("data"), dir.path().join("other"), dir.path().join("backup.gz"));
    let _servers = (LocalServer::start(&data).await, LocalServer::start(&other).await);
    ok(&data, &["publish", &sample(), "--yes"]).await;
    ok(&data, &["backup", file.to_str().unwrap()]).await;
    let restored = run(&other, &["restore", file.to_str().unwrap(), "--yes"]).await;
    assert!(restored.text().contains("the local stand-in stay where they were made"), "{}", restored.text());
}

#[tokio::test]
async fn without_a_server_that_is_ready_a_command_says_how_to_start_one_and_makes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    refused(&data).await;
    assert!(!data.exists());
    let starting = lock(&data).unwrap();
    refused(&data).await;
    drop(starting);
    let server = LocalServer::start(&data).await;
    ok(&data, &["user", "add", "Pebble"]).await;
    server.kill().await;
    refused(&data).await;
    let _next = lock(&data).unwrap();
    refused(&data).await;
}

#[tokio::test]
async fn the_data_directory_of_a_server_is_all_that_a_command_needs() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let LocalServer { db, stand_in, .. } = &LocalServer::start(&data).await;
    ok(&data, &["publish", &sample(), "--yes"]).await;
    ok(&data, &["user", "add", "Newt"]).await;
    assert_eq!(ok(&data, &["token", "1"]).await["username"], "Newt");
    let keys = PaymentKeys::parse(&payment_keys()).unwrap().stripe.unwrap();
    let provider = Stripe::new(keys, ApiBase::parse(&stand_in.base_url()).unwrap());
    let lines = vec![Line::new(LineId::new(1), ITEM.parse().unwrap(), 2)];
    let cart = Cart { lines, next_line: 2, ..Cart::empty(UserId::new(1)) };
    carts::save(db, &cart).await.unwrap();
    let order = begin_checkout(db, &SystemClock, &provider).await;
    stand_in.act(&stand_in.sessions()[0], &Action::Pay).unwrap();
    assert_eq!(ok(&data, &["order", "settle", order.as_str()]).await["status"], "PAID");
    let doctor = ok(&data, &["doctor"]).await;
    let payments = doctor["findings"].as_array().unwrap().iter().find(|one| one["check"] == "payments").unwrap();
    assert_eq!(payments["said"], "Stripe accepts the key, for test money", "{doctor}");
    assert_eq!(ok(&data, &["order", "refund", order.as_str(), "--yes"]).await["status"], "REFUNDED");
}

#[tokio::test]
async fn broken_token_keys_stop_only_what_needs_them() {
    let dir = tempfile::tempdir().unwrap();
    let _server = LocalServer::start(dir.path()).await;
    run(dir.path(), &["publish", &sample(), "--yes"]).await;
    run(dir.path(), &["user", "add", "Newt"]).await;
    assert_eq!(run(dir.path(), &["doctor"]).await.trouble(), None);
    std::fs::write(dir.path().join("token-keys.json"), "{").unwrap();
    assert_eq!(attempt(dir.path(), &["token", "1"]).await.unwrap_err().exit, Exit::Denied);
    run(dir.path(), &["user", "show", "Newt"]).await;
    run(dir.path(), &["publish", &sample(), "--yes"]).await;
    assert_eq!(run(dir.path(), &["doctor"]).await.trouble(), Some(Exit::Faults));
}

#[tokio::test]
async fn commands_have_the_clock_of_the_local_server_which_may_be_moved_ahead() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let _server = LocalServer::start(&data).await;
    ok(&data, &["publish", &sample(), "--yes"]).await;
    MovableClock::of(Some(clock_file(&data))).unwrap().move_ahead(40).unwrap();
    let second = |text: &str| text.parse::<jiff::Timestamp>().unwrap().as_second();
    let moved = SystemClock.seconds() + 40 * 86_400;
    let now = second(ok(&data, &["status"]).await["now"].as_str().unwrap());
    assert!((now - moved).abs() < 60, "{now}");
    let doctor = ok(&data, &["doctor"]).await;
    let clock = doctor["findings"].as_array().unwrap().iter().find(|one| one["check"] == "clock").unwrap();
    let told = second(clock["said"].as_str().unwrap().split(' ').nth(2).unwrap());
    assert!(clock["state"] == "ok" && (told - moved).abs() < 60, "{clock}");
}

const PAGE: &str = include_str!("../../../docs/operations.md");

/// The `storectl` lines of the page, behind any of its two names.
fn lines(page: &str) -> Vec<Vec<String>> {
    let typed = page.lines().map(str::trim).filter_map(|line| {
        let rest = line.strip_prefix("cargo run -p storectl -- ").or_else(|| line.strip_prefix("storectl "))?;
        Some(words(rest))
    });
    typed.collect()
}

#[tokio::test]
async fn a_newcomer_gets_to_a_paid_order_that_check_status_shows() {
    let dir = tempfile::tempdir().unwrap();
    copy(&repository().join("infra/sample-store"), &dir.path().join("my-store"));
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let (_, section) = PAGE.split_once("## On this machine\n").unwrap();
    let (section, _) = section.split_once("`doctor` has").unwrap();
    let mut token = None;
    assert!(section.contains("cargo run -- --data ./data --store my-store\n"), "the page starts the server first");
    let (data, now) = (dir.path().join("data"), clock.seconds());
    let server = LocalServer::start(&data).await;
    Store::read(&dir.path().join("my-store"), now).unwrap().load_into_empty(&server.db, now).await.unwrap();
    for line in lines(section) {
        let here = |word: &String| match word.as_str() {
            "my-store" | "./data" => dir.path().join(word).display().to_string(),
            other => other.to_owned(),
        };
        let line: Vec<String> = line.iter().map(here).collect();
        let cli = Cli::try_parse_from(std::iter::once("storectl".to_owned()).chain(line.clone())).unwrap();
        let outcome = Box::pin(cli.run(&Console::without_terminal(), &clock)).await;
        let answer = outcome.unwrap_or_else(|failure| panic!("{line:?}: {failure}"));
        // There are no game servers here: the sale waits for one.
        let todo = (line[0] == "doctor").then_some(Exit::Faults);
        assert_eq!(answer.trouble(), todo, "{line:?}: {}", answer.text());
        assert!(todo.is_none() || answer.text().contains("server add 1"), "{}", answer.text());
        token = answer.json()["token"].as_str().map(str::to_owned).or(token);
    }
    let keys = local::data::token_keys(&data).unwrap();
    let functions = Functions::new(template(), &server.db, &keys, &clock).unwrap();
    let gateway = Gateway::new(template(), functions, clock).unwrap();
    let body = r#"{"order_id":"first-sale"}"#;
    assert!(PAGE.contains(body), "the page asks for the order that it records");
    let (status, answer) = ask(&gateway, Method::POST, "/payments/checkStatus", token.as_deref(), body).await;
    assert_eq!((status, &answer["order_data"]["status"]), (StatusCode::OK, &Value::from("PAID")), "{answer}");
}

#[test]
fn every_command_of_the_page_can_be_typed() {
    let typed = lines(PAGE);
    assert!(typed.len() > 15);
    for line in typed {
        let read = Cli::try_parse_from(std::iter::once("storectl".to_owned()).chain(line.clone()));
        assert!(read.is_ok(), "{line:?}: {}", read.unwrap_err());
    }
}

#[test]
fn openapi_prints_the_committed_document_and_needs_no_table() {
    let run = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_storectl")).args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let committed = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../openapi.json")).unwrap();
    assert_eq!(run(&["openapi"]), committed);
    let one_line = run(&["openapi", "--json"]);
    assert_eq!(one_line.lines().count(), 1);
    let [document, same]: [serde_json::Value; 2] =
        [&committed, &one_line].map(|text| serde_json::from_str(text).unwrap());
    assert_eq!(document, same);
    assert_eq!(document["openapi"], "3.1.0");
}
