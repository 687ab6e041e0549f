//! Whatever goes wrong: one sentence what happened, what was done and not done, what to do next, and no secret.

use crate::bench::Bench;
use clap::Parser;
use shared::clock::{Clock, SystemClock};
use std::sync::Arc;
use storectl::Cli;
use storectl::console::Console;
use storectl::error::{Exit, Failure};
use tests::{Fault, Faults};

async fn refused(code: &'static str, message: &'static str) -> Failure {
    let bench = Bench::published().await;
    let before = bench.rows().await;
    let refusing = Faults::new(move |_, _| Some(Fault::Refused(code, message)));
    let failure = bench.run_through(refusing, &["revoke", "1"]).await.unwrap_err();
    assert_eq!(bench.rows().await, before);
    assert!(failure.what.ends_with('.') && failure.done.ends_with('.') && !failure.next.is_empty(), "{failure}");
    failure
}

#[tokio::test]
async fn every_way_in_which_aws_says_no_has_its_sentence() {
    for (code, message, exit, word) in [
        (
            "AccessDeniedException",
            "User: arn:x is not authorized to perform: dynamodb:GetItem",
            Exit::Denied,
            "may not do",
        ),
        ("ExpiredTokenException", "The security token included in the request is expired", Exit::Denied, "expired"),
        ("UnrecognizedClientException", "The security token is invalid.", Exit::Denied, "does not accept"),
        ("ResourceNotFoundException", "Requested resource not found", Exit::Denied, "no such table"),
        ("ThrottlingException", "Rate exceeded", Exit::Unavailable, "throttling"),
        ("ProvisionedThroughputExceededException", "slow down", Exit::Unavailable, "throttling"),
        ("InternalServerError", "oops", Exit::Unavailable, "did not respond"),
        ("ValidationException", "something is off", Exit::Denied, "refused"),
    ] {
        let failure = refused(code, message).await;
        assert_eq!(failure.exit, exit, "{code}: {failure}");
        assert!(failure.what.contains(word), "{code}: {failure}");
        assert_eq!(failure.done, "Nothing was changed.", "{code}");
    }
}

#[tokio::test]
async fn a_network_that_drops_in_the_middle_says_what_was_done_and_not_done() {
    let bench = Bench::published().await;
    bench.ok(&["user", "add", "Newt"]).await;
    let failure = bench.run_through(Faults::cut_after(0), &["revoke", "1"]).await.unwrap_err();
    assert_eq!(failure.exit, Exit::Unavailable);
    assert!(failure.done.contains("not known"), "{failure}");
    assert!(failure.next.contains("again"), "{failure}");
}

#[tokio::test]
async fn nobody_at_the_other_end_is_told_in_one_sentence() {
    // A port that no other test is given.
    let cli = Cli::try_parse_from(["storectl", "versions", "--endpoint-url", "http://127.0.0.1:1"]).unwrap();
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let failure = cli.run(&Console::without_terminal(), &clock).await.unwrap_err();
    assert_eq!(failure.exit, Exit::Unavailable, "{failure}");
    assert!(failure.what.contains("did not respond"), "{failure}");
}

#[tokio::test]
async fn a_command_without_a_table_asks_for_one_and_faults_of_files_come_first() {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let run = |line: &[&str]| {
        let cli = Cli::try_parse_from(line).unwrap();
        let clock = Arc::clone(&clock);
        async move { cli.run(&Console::without_terminal(), &clock).await.unwrap_err() }
    };
    let failure = run(&["storectl", "versions", "--region", "eu-central-1"]).await;
    assert!(failure.next.contains("--stack"), "{failure}");
    let failure = run(&["storectl", "publish", "/nowhere", "--region", "eu-central-1"]).await;
    assert_eq!(failure.exit, Exit::Local, "{failure}");
}

/// The program's standard error and exit code.
fn typed(arguments: &[&str]) -> (String, Option<i32>) {
    // Colours are forced, as some terminals and CI services do.
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_storectl"));
    let output = command.args(arguments).env("CLICOLOR_FORCE", "1").output().unwrap();
    assert!(output.stdout.is_empty(), "{output:?}");
    (String::from_utf8(output.stderr).unwrap(), output.status.code())
}

#[test]
fn with_json_every_failure_is_json_without_escape_codes() {
    let store = tempfile::tempdir().unwrap();
    std::fs::write(store.path().join("store.yaml"), "format: 1\ncolour: red\n").unwrap();
    let faulty = store.path().display().to_string();
    for (arguments, exit, word) in [
        (&["--json", "user", "sho"][..], 2, "sho"),
        (&["user", "show", "--json"], 2, "USER"),
        (&["token", "1", "--ttl", "soon", "--json"], 2, "--ttl"),
        (&["versions", "--json", "--local", "/nowhere"], 7, "/nowhere"),
        (&["publish", &faulty, "--json", "--local", "/nowhere"], 3, "store.yaml"),
    ] {
        let (text, code) = typed(arguments);
        assert_eq!((code, text.lines().count()), (Some(exit), 1), "{arguments:?}: {text}");
        let error = serde_json::from_str::<serde_json::Value>(&text).unwrap()["error"].clone();
        assert_eq!(error["exit"], exit, "{arguments:?}");
        assert!(error["what"].as_str().unwrap().contains(word), "{arguments:?}: {error}");
        assert!(!text.contains("u001b") && !text.contains('\u{1b}'), "{arguments:?}: {text}");
    }
    let (text, code) = typed(&["user", "sho"]);
    assert!(code == Some(2) && text.contains("Usage"), "{text}");
}

#[test]
fn json_says_the_same_as_the_text() {
    let failure = Failure::refused("It is not there.", "Look elsewhere.");
    let json: serde_json::Value = serde_json::from_str(&failure.print(true)).unwrap();
    assert_eq!(json["error"]["what"], "It is not there.");
    assert_eq!((&json["error"]["kind"], &json["error"]["exit"]), (&"refused".into(), &4.into()));
    assert!(failure.print(false).contains("It is not there.\nNothing was changed.\nLook elsewhere.\n"));
}
