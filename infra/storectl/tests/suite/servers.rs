//! `server`: keys of game servers, and what waits for them.

use crate::bench::{Bench, sample};
use agent::config::Config;
use serde_json::Value;
use shared::clock::Clock as _;
use shared::model::Command;
use shared::usecases::delivery::{ServerKey, poll};
use std::time::Duration;
use storectl::console::Console;
use storectl::error::Exit;

/// The one server of the answer of `server list` with this id.
async fn listed(bench: &Bench, id: u64) -> Value {
    let list = bench.ok(&["server", "list"]).await;
    list["servers"].as_array().unwrap().iter().find(|server| server["id"] == id).unwrap().clone()
}

fn key(answer: &Value) -> ServerKey {
    ServerKey::parse(answer["key"].as_str().unwrap()).unwrap()
}

async fn polls(bench: &Bench, key: &ServerKey) -> Option<Vec<Command>> {
    poll(&bench.db, bench.clock.as_ref(), key, None).await.ok()
}

/// A sale of an item whose commands run on server 1.
async fn sell(bench: &Bench) {
    bench.ok(&["user", "add", "Newt", "--if-absent"]).await;
    bench.ok(&["order", "record", "--owner", "Newt", "--gateway", "test", "--line", "201"]).await;
}

#[tokio::test]
async fn a_key_is_shown_once_and_opens_the_queue_of_its_server() {
    let bench = Bench::published().await;
    let added = bench.ok(&["server", "add", "hearth", "--url", "https://api.shop.example/"]).await;
    let secret = added["key"].as_str().unwrap();
    assert_eq!((&added["server"], &added["name"]), (&1.into(), &"Hearth".into()));
    let setup = format!("/ms autosetup \"https://api.shop.example/plugin/\" {secret} {secret}");
    assert_eq!(added["autosetup"], setup.as_str());
    assert_eq!(polls(&bench, &key(&added)).await, Some(Vec::new()));
    let server = listed(&bench, 1).await;
    assert_eq!((&server["keys"][0]["hash"], &server["waiting"]), (&added["hash"], &0.into()));
    assert!(!bench.run(&["server", "list"]).await.unwrap().text().contains(secret), "only the beginning of its hash");
    assert_eq!(listed(&bench, 2).await["keys"], Value::Array(Vec::new()));
    let failure = bench.fails(&["server", "add", "1"]).await;
    assert_eq!((failure.exit, failure.what.as_str()), (Exit::Refused, "Hearth (1) has a key already."));
    let failure = bench.fails(&["server", "add", "Herth"]).await;
    let known = "Hearth (1), Ashlands (2), Skyforge (3), The Pit (4)";
    assert_eq!(failure.what, format!("There is no server \"Herth\"; there are {known}."));
}

#[tokio::test]
async fn the_file_of_an_agent_is_printed_with_its_key() {
    let bench = Bench::published().await;
    let answer = bench.run(&["server", "add", "1", "--agent", "--url", "https://api.shop.example"]).await.unwrap();
    let (file, secret) = (answer.json()["agent"].as_str().unwrap(), answer.json()["key"].as_str().unwrap());
    assert!(answer.text().contains(file) && answer.text().ends_with(secret), "{}", answer.text());
    assert!(file.starts_with("store: https://api.shop.example/plugin/\n") && !file.contains(secret), "{file}");
    assert!(!answer.text().contains("autosetup"));
    let rotated = bench.run(&["server", "rotate", "1", "--agent"]).await.unwrap();
    assert!(rotated.text().contains("key.txt") && !rotated.text().contains("autosetup"), "{}", rotated.text());
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("key.txt", secret);
    write("rcon.txt", "swordfish");
    let lines = |uncommented: bool| {
        let is_kept = |line: &&str| !uncommented || !line.starts_with("rcon:") && !line.starts_with("players:");
        let bare = |line: &str| if uncommented { line.replacen("# ", "", 1) } else { line.to_owned() };
        let lines = file.lines().filter(|line| !line.starts_with("# For Rust")).filter(is_kept);
        lines.map(bare).collect::<Vec<_>>().join("\n")
    };
    for (text, protocol) in [(lines(false), "Minecraft"), (lines(true), "WebSocket")] {
        write("agent.yaml", &text);
        let read = Config::read(&folder.path().join("agent.yaml"), |_| None).unwrap();
        assert_eq!((format!("{:?}", read.rcon.protocol).as_str(), read.key.expose()), (protocol, secret));
        assert_eq!(read.players.unwrap().is_minecraft(), protocol == "Minecraft");
    }
}

#[tokio::test]
async fn what_is_printed_can_be_entered_into_the_plugin() {
    let bench = Bench::published().await;
    let answer = bench.run(&["server", "add", "1", "--url", "https://api.shop.example"]).await.unwrap();
    let secret = answer.json()["key"].as_str().unwrap();
    for line in [
        format!("  ms autosetup \"https://api.shop.example/plugin/\" {secret} {secret}"),
        "  store-url: https://api.shop.example/plugin/".to_owned(),
        format!("  api.key: {secret}"),
        format!("  weblistener.secret-key: {secret}"),
    ] {
        assert!(answer.text().lines().any(|printed| printed == line), "{line}\n{}", answer.text());
    }
    let answer = bench.run(&["server", "add", "2"]).await.unwrap();
    assert!(answer.text().contains("replace https://YOUR-API"), "{}", answer.text());
    let answer = bench.run(&["server", "add", "3", "--url", "http://10.0.0.1"]).await.unwrap();
    assert!(answer.text().contains("https addresses only"), "{}", answer.text());
}

#[tokio::test]
async fn what_was_sold_before_is_delivered_or_dropped() {
    let bench = Bench::published().await;
    sell(&bench).await;
    let waiting = listed(&bench, 1).await["waiting"].as_u64().unwrap();
    assert!(waiting > 0);
    let failure = bench.fails(&["server", "add", "1"]).await;
    assert_eq!((failure.exit, failure.next.as_str()), (Exit::Declined, "Add --deliver or --drop."));
    assert!(failure.what.contains("wait for Hearth (1)"), "{failure}");
    let delivering = bench.run_before(&Console::answering(true), &["server", "add", "1"]).await.unwrap();
    assert_eq!((&delivering.json()["waiting"], &delivering.json()["dropped"]), (&waiting.into(), &0.into()));
    assert_eq!(listed(&bench, 1).await["waiting"], waiting);
    bench.ok(&["server", "revoke", "1", "--yes"]).await;
    let dropping = bench.ok(&["server", "add", "1", "--drop"]).await;
    assert_eq!((&dropping["waiting"], &dropping["dropped"]), (&waiting.into(), &waiting.into()));
    assert_eq!(listed(&bench, 1).await["waiting"], 0);
    assert_eq!(polls(&bench, &key(&dropping)).await, Some(Vec::new()));
}

#[tokio::test]
async fn an_older_key_works_until_the_newer_one_is_used() {
    let bench = Bench::published().await;
    let failure = bench.fails(&["server", "rotate", "1"]).await;
    assert_eq!(failure.what, "Hearth (1) has no key.");
    let old = key(&bench.ok(&["server", "add", "1"]).await);
    bench.clock.advance(Duration::from_mins(1));
    let new = key(&bench.ok(&["server", "rotate", "1"]).await);
    assert!(polls(&bench, &old).await.is_some());
    let failure = bench.fails(&["server", "rotate", "1", "--finish"]).await;
    assert_eq!(failure.exit, Exit::Declined, "the newest key is not used yet");
    assert!(polls(&bench, &new).await.is_some());
    let finished = bench.ok(&["server", "rotate", "1", "--finish"]).await;
    assert_eq!(finished["revoked"].as_array().unwrap().len(), 1);
    assert!(polls(&bench, &old).await.is_none());
    assert!(polls(&bench, &new).await.is_some());
    assert_eq!(bench.ok(&["server", "rotate", "1", "--finish"]).await["revoked"], Value::Array(Vec::new()));
}

#[tokio::test]
async fn a_revoked_key_opens_nothing() {
    let bench = Bench::published().await;
    let first = bench.ok(&["server", "add", "1"]).await;
    bench.clock.advance(Duration::from_mins(1));
    let second = bench.ok(&["server", "rotate", "1"]).await;
    assert_eq!(bench.fails(&["server", "revoke", "1"]).await.exit, Exit::Declined);
    let hash = first["hash"].as_str().unwrap();
    bench.ok(&["server", "revoke", "1", "--key", hash, "--yes"]).await;
    assert!(polls(&bench, &key(&first)).await.is_none());
    assert!(polls(&bench, &key(&second)).await.is_some());
    bench.ok(&["server", "revoke", "1", "--yes"]).await;
    assert!(polls(&bench, &key(&second)).await.is_none());
    assert_eq!(bench.fails(&["server", "revoke", "1", "--yes"]).await.exit, Exit::Refused);
}

/// A store with these servers, with an item on each of them.
fn write_store(bench: &Bench, servers: &str) -> String {
    let named: String =
        servers.split(", ").map(|id| format!("{{id: {id}, name: S{id}}}")).collect::<Vec<_>>().join(", ");
    bench.write("s/store.yaml", &format!("format: 1\nname: T\ncurrency: {{code: EUR}}\nservers: [{named}]\n"));
    let item = format!("items: [{{id: 1, name: I, price: 1, servers: [{servers}], commands: [{{run: a}}]}}]");
    bench.write("s/categories/a.yaml", &format!("id: 1\nslug: a\nname: A\n{item}\n"));
    bench.path("s").display().to_string()
}

/// A store of two servers, with a command for each, whose files have only the first; and their folder.
async fn with_a_server_to_remove() -> (Bench, String) {
    let bench = Bench::empty().await;
    let dir = write_store(&bench, "1, 2");
    bench.ok(&["publish", &dir, "--yes"]).await;
    bench.ok(&["user", "add", "Newt"]).await;
    bench.ok(&["order", "record", "--owner", "Newt", "--gateway", "test", "--line", "1"]).await;
    write_store(&bench, "1");
    (bench, dir)
}

async fn states(bench: &Bench) -> Vec<String> {
    let list = bench.ok(&["delivery", "list"]).await;
    let commands = list["commands"].as_array().unwrap().iter();
    commands.map(|one| format!("{} {}", one["server"], one["state"].as_str().unwrap())).collect()
}

#[tokio::test]
async fn a_server_is_not_removed_while_commands_wait_for_it() {
    let (bench, dir) = with_a_server_to_remove().await;
    let failure = bench.fails(&["publish", &dir, "--yes"]).await;
    assert_eq!(failure.exit, Exit::Refused);
    assert!(failure.what.contains("This removes the server S2 (2) while 1 commands wait for it."), "{failure}");
    let planned = bench.run(&["publish", &dir, "--dry-run"]).await.unwrap();
    assert!(planned.text().contains("Publishing this needs --drop-queue."), "{}", planned.text());
    let published = bench.ok(&["publish", &dir, "--yes", "--drop-queue"]).await;
    assert_eq!(published["dropped_commands"], 1);
    assert_eq!(states(&bench).await, ["1 ready", "2 cancelled"]);
    bench.ok(&["publish", &sample(), "--yes", "--allow-removals", "--drop-queue"]).await;
}

#[tokio::test]
async fn killed_after_the_switch_a_removal_of_a_server_is_completed_by_the_same_command() {
    let (bench, dir) = with_a_server_to_remove().await;
    let store = publish::compile(&publish::read(&bench.path("s")).unwrap()).unwrap();
    publish::publish(&bench.db, &store, bench.clock.seconds()).await.unwrap();
    let doctor = bench.run(&["doctor"]).await.unwrap();
    let said = "commands wait for servers that are not published: 1 for server 2";
    assert!(doctor.text().contains(said) && doctor.text().contains("publish DIR --drop-queue"), "{}", doctor.text());
    for without in [&["publish", &dir, "--yes"][..], &["publish", &dir, "--drop-queue", "--dry-run"]] {
        assert_eq!(bench.ok(without).await["dropped_commands"], 0);
        assert_eq!(states(&bench).await, ["1 ready", "2 ready"]);
    }
    let again = bench.run(&["publish", &dir, "--yes", "--drop-queue"]).await.unwrap();
    assert_eq!(again.json()["dropped_commands"], 1);
    assert!(again.text().contains("1 commands that waited for removed servers were cancelled."), "{}", again.text());
    assert_eq!(states(&bench).await, ["1 ready", "2 cancelled"]);
    let doctor = bench.run(&["doctor"]).await.unwrap();
    assert!(!doctor.text().contains("commands wait for servers"), "{}", doctor.text());
}
