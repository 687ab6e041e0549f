//! The start of the local server: its options, and its errors.

use super::process::{End, Process, Server};
use archive::running::Running;
use local::data::table_file;
use local::engine::Engine;
use serde_json::Value;
use shared::table::codec::key_attributes;
use shared::table::{Db, keys};
use std::path::Path;

const TABLE: &str = "StoreTable";

#[test]
fn help_explains_every_option() {
    let End { status, out, err } = Process::start(&["--help"]).end();
    let help = out.join("\n");
    assert_eq!((status.code(), err.len()), (Some(0), 0));
    for word in [
        "--port",
        "--demo-port",
        "--chat-port",
        "--data",
        "--store",
        "--empty",
        "--republish",
        "--quiet",
        "--json",
        "--parameter",
        "--base-path",
        "4010",
        "AWS_ENDPOINT_URL_DYNAMODB",
    ] {
        assert!(help.contains(word), "{word}\n{help}");
    }
}

/// The error of a start with these arguments: one sentence, no panic, no standard output.
#[track_caller]
fn refusal(arguments: &[&str]) -> String {
    let End { status, out, err } = Process::start(&[&["--port", "0"], arguments].concat()).end();
    let text = err.join("\n");
    assert!(status.code().is_some_and(|code| code != 0), "{status}: {text}");
    assert!(out.is_empty(), "{out:?}");
    assert!(text.starts_with("error: "), "{text}");
    for word in ["panicked", "backtrace", "RUST_BACKTRACE", "StartError", "Os {"] {
        assert!(!text.contains(word), "{text}");
    }
    text
}

#[track_caller]
pub fn sentence(arguments: &[&str]) -> String {
    let text = refusal(arguments);
    assert_eq!(text.lines().count(), 1, "{text}");
    text
}

#[test]
fn a_port_in_use_is_reported() {
    let server = Server::start(&[]);
    let port = server.said("/base_url").rsplit(':').next().unwrap().to_owned();
    let End { status, out, err } = Process::start(&["--port", &port]).end();
    assert_eq!((status.code(), out.len(), err.len()), (Some(1), 0, 1), "{err:?}");
    assert!(err[0].contains(&port) && err[0].contains("taken") && err[0].contains("--port"), "{err:?}");
    assert_eq!(server.get("/staff").status, 200, "the first server continues");
    for (option, url) in [("--chat-port", "/chat/url"), ("--demo-port", "/shop")] {
        let port = server.said(url).rsplit(':').next().unwrap().to_owned();
        let text = refusal(&[option, &port]);
        assert!(text.contains(&port) && text.contains("taken") && text.contains(option), "{text}");
    }
}

#[test]
fn a_store_that_cannot_be_read_is_named_with_file_and_line() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().to_str().unwrap();
    assert!(refusal(&["--store", path]).contains("store.yaml"));
    let missing = dir.path().join("missing");
    assert!(refusal(&["--store", missing.to_str().unwrap()]).contains("missing"));
    std::fs::write(dir.path().join("store.yaml"), "format: 1\nname: Test\ncurrency: {code: EUR\n").unwrap();
    let text = refusal(&["--store", path]);
    assert!(text.contains("store.yaml, line 3"), "{text}");
    std::fs::write(dir.path().join("store.yaml"), "format: 1\nname: Test\ncurrency: {code: EUR}\ncolour: red\n")
        .unwrap();
    let text = refusal(&["--store", path]);
    assert!(text.contains("store.yaml, line 4") && text.contains("colour"), "{text}");
    std::fs::write(dir.path().join("store.yaml"), "format: 1\nname: Test\ncurrency: {code: EUR}\n").unwrap();
    let live = dir.path().join(publish::LIVE);
    std::fs::write(&live, "[]").unwrap();
    assert!(sentence(&["--store", path]).contains("live.jsonl does not have the live data of a demo store"));
    std::fs::remove_file(live).unwrap();
    std::fs::write(dir.path().join("store.yaml"), b"format: 1\nname: \xff\n").unwrap();
    assert!(refusal(&["--store", path]).contains("store.yaml"));
    let file = dir.path().join("store.yaml");
    assert!(refusal(&["--store", file.to_str().unwrap()]).contains("store.yaml"));
}

#[test]
fn parameters_are_checked_as_at_a_deploy() {
    assert!(sentence(&["--parameter", "Colour=red"]).contains("Colour"));
    assert!(sentence(&["--parameter", "ThrottleRate=0"]).contains("ThrottleRate"));
    assert!(sentence(&["--parameter", "AllowedOrigins=https://a.example/path"]).contains("AllowedOrigins"));
    assert!(refusal(&["--parameter", "ThrottleRate"]).contains("NAME=VALUE"));
    let port = Process::start(&["--port", "65536"]).end();
    assert!(port.status.code() == Some(2) && port.err[0].contains("65536"), "{:?}", port.err);
    assert!(refusal(&["--colour"]).contains("--colour"));
}

#[test]
fn a_data_directory_that_cannot_be_used_is_one_sentence() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, "x").unwrap();
    assert!(sentence(&["--data", file.to_str().unwrap()]).contains("file"));
    let keys = dir.path().join("token-keys.json");
    for text in ["", "{}", r#"{"local":"too short, and secret"}"#] {
        std::fs::write(&keys, text).unwrap();
        let text = sentence(&["--data", dir.path().to_str().unwrap()]);
        assert!(text.contains("token-keys.json") && !text.contains("too short, and secret"), "{text}");
    }
    std::fs::write(&keys, format!(r#"{{"local":"{}"}}"#, "k".repeat(32))).unwrap();
    std::fs::write(dir.path().join("table.db"), "no database, and longer than any header that would be one".repeat(50))
        .unwrap();
    assert!(sentence(&["--data", dir.path().to_str().unwrap()]).contains("database"));
}

/// Takes the schema number of the data away, as versions before it left them.
fn take_number(data: &Path) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let engine = Engine::start(Some(&table_file(data))).await.unwrap();
        let db = Db::new(engine.access(), TABLE);
        let key = key_attributes(&keys::active_version());
        let update = db.client().update_item().table_name(TABLE).set_key(Some(key)).update_expression("REMOVE #schema");
        update.expression_attribute_names("#schema", "schema").send().await.unwrap();
    });
}

#[test]
fn data_of_an_earlier_version_are_not_served_but_the_tool_reaches_them() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().to_str().unwrap();
    Server::start(&["--data", data]).stop();
    take_number(dir.path());
    for more in [&[][..], &["--republish"]] {
        let server = Server::start(&[&["--data", data], more].concat());
        let said = server.process.error_line();
        assert!(said.contains("schema number 1") && said.contains("another --data directory"), "{said}");
        assert_eq!(server.get("/categories/get").status, 503);
        assert_eq!(server.ready["tokens"], serde_json::json!({}));
        assert!(Running::find(dir.path()).is_some());
    }
}

#[test]
fn a_server_can_begin_with_an_empty_table() {
    let dir = tempfile::tempdir().unwrap();
    let data = ["--data", dir.path().to_str().unwrap()];
    let server = Server::start(&[&data[..], &["--empty"]].concat());
    assert_eq!((server.get("/categories/get").text.as_str(), &server.ready["console"]), ("[]", &Value::Null));
    server.stop();
    assert_ne!(Server::start(&data).get("/categories/get").text, "[]");
}
