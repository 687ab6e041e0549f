//! The steps of infra/docs/operations.md, on one machine, lead to a paid order that checkStatus shows.

use crate::bench::{ask, copy, words};
use crate::local_store::LocalServer;
use clap::Parser;
use http::{Method, StatusCode};
use local::functions::Functions;
use local::gateway::Gateway;
use local::store::Store;
use serde_json::Value;
use shared::clock::{Clock, SystemClock};
use std::sync::Arc;
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
