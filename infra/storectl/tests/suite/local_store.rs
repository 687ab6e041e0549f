//! `--local`: the store and the stand-in for Stripe of a local server, which may be running or not.

use crate::bench::sample;
use crate::payments::{ITEM, begin_checkout};
use clap::Parser;
use local::data::{Running, lock, payments_file, table_file};
use local::engine::Engine;
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
use stripe::ApiBase;
use stripe_stand_in::{Action, MovableClock, Options, payment_keys, start};
use tests::template;

/// Runs a command on a data directory; it must succeed.
async fn run(data: &Path, line: &[&str]) -> Printed {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let line = [&["storectl"], line, &["--local", data.to_str().unwrap()]].concat();
    let cli = Cli::try_parse_from(&line).unwrap();
    let outcome = Box::pin(cli.run(&Console::without_terminal(), &clock)).await;
    outcome.unwrap_or_else(|failure| panic!("{line:?}: {failure}"))
}

/// The JSON of its answer.
async fn ok(data: &Path, line: &[&str]) -> Value {
    run(data, line).await.json().clone()
}

#[tokio::test]
async fn a_restore_says_that_the_payments_of_the_stand_in_stay_behind() {
    let dir = tempfile::tempdir().unwrap();
    let (data, other, file) = (dir.path().join("data"), dir.path().join("other"), dir.path().join("backup.gz"));
    ok(&data, &["publish", &sample(), "--yes"]).await;
    ok(&data, &["backup", file.to_str().unwrap()]).await;
    let restored = run(&other, &["restore", file.to_str().unwrap(), "--yes"]).await;
    assert!(restored.text().contains("the local stand-in stay where they were made"), "{}", restored.text());
}

#[tokio::test]
async fn the_data_directory_is_all_that_a_command_needs() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    ok(&data, &["publish", &sample(), "--yes"]).await;
    ok(&data, &["user", "add", "Newt"]).await;
    // As a server does.
    let open = lock(&data).unwrap();
    let engine = Engine::start(Some(&table_file(&data))).await.unwrap();
    let kept = Some(payments_file(&data));
    let stand_in = start(Options { kept: kept.clone(), ..Options::default() }).await.unwrap();
    let (endpoint, table) = (engine.endpoint().to_owned(), template().table().unwrap().logical_id);
    let db = Db::new(engine.access(), &table);
    Running { endpoint, table, payments: Some(stand_in.base_url()) }.leave(&data).unwrap();
    let keys = PaymentKeys::parse(&payment_keys()).unwrap().stripe.unwrap();
    let provider = Stripe::new(keys, ApiBase::parse(&stand_in.base_url()).unwrap());
    let lines = vec![Line::new(LineId::new(1), ITEM.parse().unwrap(), 2)];
    let cart = Cart { lines, next_line: 2, ..Cart::empty(UserId::new(1)) };
    carts::save(&db, &cart).await.unwrap();
    let order = begin_checkout(&db, &SystemClock, &provider).await;
    stand_in.act(&stand_in.sessions()[0], &Action::Pay).unwrap();
    assert_eq!(ok(&data, &["order", "settle", order.as_str()]).await["status"], "PAID", "while it runs");
    let doctor = ok(&data, &["doctor"]).await;
    let payments = doctor["findings"].as_array().unwrap().iter().find(|one| one["check"] == "payments").unwrap();
    assert_eq!(payments["said"], "Stripe accepts the key, for test money", "{doctor}");
    stand_in.stop().await;
    drop(open);
    let refunded = ok(&data, &["order", "refund", order.as_str(), "--yes"]).await;
    assert_eq!(refunded["status"], "REFUNDED", "after it has stopped");
    assert!(Running::find(&data).is_none(), "its addresses are removed");
    let again = start(Options { kept, ..Options::default() }).await.unwrap();
    assert!(again.act(&again.sessions()[0], &Action::Pay).is_err(), "the next start knows what happened");
}

#[tokio::test]
async fn commands_have_the_clock_of_the_local_server_which_may_be_moved_ahead() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    ok(&data, &["publish", &sample(), "--yes"]).await;
    MovableClock::of(Some(data.join("clock.json"))).unwrap().move_ahead(40).unwrap();
    let second = |text: &Value| text.as_str().unwrap().parse::<jiff::Timestamp>().unwrap().as_second();
    let moved = SystemClock.seconds() + 40 * 86_400;
    let now = second(&ok(&data, &["status"]).await["now"]);
    assert!((now - moved).abs() < 60, "{now}");
    let clock = async || {
        let doctor = ok(&data, &["doctor"]).await;
        let findings = doctor["findings"].as_array().unwrap().clone();
        findings.into_iter().find(|one| one["check"] == "clock").unwrap()
    };
    assert_eq!(clock().await["state"], "ok");
    // As while a server has it open.
    let _open = lock(&data).unwrap();
    let engine = Engine::start(Some(&table_file(&data))).await.unwrap();
    let table = template().table().unwrap().logical_id;
    Running { endpoint: engine.endpoint().to_owned(), table, payments: None }.leave(&data).unwrap();
    let said = clock().await["said"].as_str().unwrap().to_owned();
    let told: jiff::Timestamp = said.split(' ').nth(2).unwrap().parse().unwrap();
    assert!((told.as_second() - moved).abs() < 60, "{said}");
}
