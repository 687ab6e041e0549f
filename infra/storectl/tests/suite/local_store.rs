//! `--local`: the store and the stand-in for Stripe of a local server, which must be running.

use crate::bench::sample;
use crate::payments::{ITEM, begin_checkout};
use archive::running::{Payments, Running, clock_file};
use clap::Parser;
use local::data::{DataLock, lock, payments_file, table_file, token_keys};
use local::engine::{Engine, create_file};
use serde_json::Value;
use shared::clock::{Clock, SystemClock};
use shared::config::PaymentKeys;
use shared::model::{Cart, Line, LineId, UserId};
use shared::providers::Stripe;
use shared::shop::carts;
use shared::table::Db;
use std::path::Path;
use std::sync::Arc;
use storectl::Cli;
use storectl::answer::Printed;
use storectl::console::Console;
use storectl::error::{Exit, Failure};
use stripe::ApiBase;
use stripe_stand_in::{Action, MovableClock, Options, StandIn, payment_keys, start};
use tests::template;

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
