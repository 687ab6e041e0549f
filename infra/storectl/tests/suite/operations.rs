//! The steps of infra/docs/operations.md, on one machine, lead to a paid order that checkStatus shows.

use crate::bench::{ask, copy, words};
use clap::Parser;
use http::{Method, StatusCode};
use local::engine::Engine;
use local::functions::Functions;
use local::gateway::Gateway;
use serde_json::Value;
use shared::clock::{Clock, SystemClock};
use shared::table::Db;
use std::sync::Arc;
use std::time::Duration;
use storectl::Cli;
use storectl::console::Console;
use storectl::error::Exit;
use tests::{repository, template};

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
    let (section, _) = section.split_once("Then start the server").unwrap();
    let mut token = None;
    for line in lines(section) {
        let here = |word: &String| match word.as_str() {
            "my-store" | "./data" => dir.path().join(word).display().to_string(),
            other => other.to_owned(),
        };
        let line: Vec<String> = line.iter().map(here).collect();
        let cli = Cli::try_parse_from(std::iter::once("storectl".to_owned()).chain(line.clone())).unwrap();
        let outcome = Box::pin(cli.run(&Console::without_terminal(), &clock)).await;
        let answer = outcome.unwrap_or_else(|failure| panic!("{line:?}: {failure}"));
        // The sale waits for a game server that has no key yet.
        let todo = (line[0] == "doctor").then_some(Exit::Faults);
        assert_eq!(answer.trouble(), todo, "{line:?}: {}", answer.text());
        assert!(todo.is_none() || answer.text().contains("server add 1"), "{}", answer.text());
        token = answer.json()["token"].as_str().map(str::to_owned).or(token);
    }
    let data = dir.path().join("data");
    let engine = Engine::start(Some(&local::data::table_file(&data))).await.unwrap();
    let keys = local::data::token_keys(&data).unwrap();
    let db = Db::new(engine.access(), &template().table().unwrap().logical_id);
    let functions = Functions::new(template(), &db, &keys, &clock).unwrap();
    let gateway = Gateway::new(template(), functions, clock).unwrap();
    let body = r#"{"order_id":"first-sale"}"#;
    assert!(PAGE.contains(body), "the page asks for the order that it records");
    let (status, answer) = ask(&gateway, Method::POST, "/payments/checkStatus", token.as_deref(), body).await;
    assert_eq!((status, &answer["order_data"]["status"]), (StatusCode::OK, &Value::from("PAID")), "{answer}");
}

#[tokio::test]
async fn a_directory_that_a_server_has_open_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let lock = local::data::lock(&data).unwrap();
    local::engine::create_file(&local::data::table_file(&data), &template().table().unwrap()).unwrap();
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let cli = Cli::try_parse_from(["storectl", "user", "add", "Newt", "--local", data.to_str().unwrap()]).unwrap();
    let console = Console::without_terminal();
    let run = || cli.run(&console, &clock);
    let failure = Box::pin(run()).await.err().unwrap().to_string();
    assert!(failure.contains("in use by another process"), "{failure}");
    drop(lock);
    let mut next = String::new();
    // A process that another test is starting has the lock for a moment.
    for _ in 0..100 {
        next = Box::pin(run()).await.err().map(|failure| failure.to_string()).unwrap_or_default();
        if !next.contains("in use") {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(!next.contains("in use"), "{next}");
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
