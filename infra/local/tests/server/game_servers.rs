//! The game servers of the demo, from outside.

use super::data::{begin, database};
use super::process::{HttpReply, Server};
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};

fn console(server: &Server) -> String {
    format!("{}/local/servers.json", server.said("/shop"))
}

fn look(server: &Server) -> Value {
    server.get_with(&console(server), "accept", "*/*").json()["servers"].clone()
}

fn act(server: &Server, id: u64, act: &Value) -> HttpReply {
    let body = json!({ "server": id, "act": act }).to_string();
    server.send(&console(server), &[("origin", server.said("/shop"))], body.as_bytes())
}

/// Buys an item for a player; returns the page on which it was paid.
fn buy(server: &Server, player: &str, item: u64) -> String {
    let (.., page) = begin(server, player, item);
    assert_eq!(server.send_without_redirects(&page, "action=pay").status, 303);
    page
}

/// Looks until the server in this place is as it should be.
fn wait_for(server: &Server, place: usize, is_so: impl Fn(&Value) -> bool) -> Value {
    let began = Instant::now();
    loop {
        let shown = look(server)[place].clone();
        if is_so(&shown) {
            return shown;
        }
        assert!(began.elapsed() < Duration::from_secs(40), "{shown}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn every_server_of_the_store_starts_and_one_that_crashes_starts_again_by_hand() {
    let server = Server::start(&[]);
    let names: Vec<Value> = look(&server).as_array().unwrap().iter().map(|one| one["name"].clone()).collect();
    assert_eq!(names, ["Hearth", "Ashlands", "Skyforge", "The Pit"]);
    wait_for(&server, 0, |shown| shown["power"] == "running");
    act(&server, 1, &json!({ "action": "join", "player": "Bramble" }));
    assert_eq!(look(&server)[0]["players"], json!(["Bramble"]));
    act(&server, 1, &json!({ "action": "crash" }));
    let shown = look(&server)[0].clone();
    assert_eq!((&shown["power"], &shown["players"]), (&json!("crashed"), &json!([])));
    act(&server, 1, &json!({ "action": "start" }));
    wait_for(&server, 0, |shown| shown["power"] == "running");
}

#[test]
fn only_the_page_of_the_demo_may_act() {
    let server = Server::start(&[]);
    let url = console(&server);
    let crash = json!({ "server": 1, "act": { "action": "crash" } }).to_string();
    for origin in ["http://elsewhere.example", "null", server.said("/base_url")] {
        let shown = server.get_with(&url, "origin", origin);
        assert!(!shown.headers.contains_key("access-control-allow-origin"), "no other page reads the response");
        assert_eq!(server.send(&url, &[("origin", origin)], crash.as_bytes()).status, 403, "{origin}");
    }
    assert_eq!(server.send(&url, &[], crash.as_bytes()).status, 403);
    for body in [
        json!({}),
        json!({ "server": 9, "act": { "action": "crash" } }),
        json!({ "server": 1, "act": { "action": "?" } }),
    ] {
        let reply = server.send(&url, &[("origin", server.said("/shop"))], body.to_string().as_bytes());
        assert_eq!(reply.status, 400, "{body}");
    }
    assert_ne!(look(&server)[0]["power"], "crashed");
}

#[test]
fn a_data_directory_keeps_their_keys() {
    let dir = tempfile::tempdir().unwrap();
    let keys = |dir: &Path| std::fs::read_to_string(dir.join("game-servers.json")).unwrap();
    let data = ["--data", dir.path().to_str().unwrap()];
    drop(Server::start(&data).stop());
    let first = keys(dir.path());
    let server = Server::start(&data);
    assert_eq!(keys(dir.path()), first);
    wait_for(&server, 0, |shown| shown["power"] == "running");
}

#[test]
fn a_kill_keeps_what_waits_for_a_player_and_nothing_runs_again_that_an_agent_ran() {
    let dir = tempfile::tempdir().unwrap();
    let data = ["--data", dir.path().to_str().unwrap()];
    let restart = |server: Server| {
        server.process.signal("KILL");
        server.process.end();
        Server::start(&data)
    };
    let has = |shown: &Value, text: &str, fates: &[&str]| {
        let is_it = |one: &Value| one["text"] == text && fates.contains(&one["fate"].as_str().unwrap_or_default());
        shown["commands"].as_array().unwrap().iter().any(is_it)
    };
    let (waits, ran) = ("crate key give Bramble frost 1", "drums announce Clover");
    let server = Server::start(&data);
    buy(&server, "Bramble", 211);
    let server = restart(server);
    wait_for(&server, 0, |shown| has(shown, waits, &["kept"]));
    buy(&server, "Clover", 405);
    wait_for(&server, 3, |shown| shown["commands"][0]["text"] == ran);
    let server = restart(server);
    wait_for(&server, 0, |shown| has(shown, waits, &["kept"]));
    act(&server, 1, &json!({ "action": "join", "player": "Bramble" }));
    wait_for(&server, 0, |shown| has(shown, waits, &["ran", "told"]));
    buy(&server, "Newt", 405);
    let shown = wait_for(&server, 3, |shown| shown["commands"][0]["text"] == "drums announce Newt");
    assert_eq!(shown["commands"].as_array().unwrap().len(), 1, "{shown}");
}

#[test]
fn an_agent_runs_what_is_bought_by_rcon_and_a_refund_while_that_is_away_recalls_it() {
    let server = Server::start(&[]);
    let ran = |player: &str| {
        let text = format!("drums announce {player}");
        wait_for(&server, 3, |shown| shown["commands"][0]["text"] == text.as_str())["commands"].clone()
    };
    let switch = |to: &str| assert_eq!(act(&server, 4, &json!({ "action": "switch", "to": to })).status, 200);
    buy(&server, "Bramble", 405);
    let response = ran("Bramble")[0]["response"].clone();
    assert_eq!(response, "[drums] Done: announce Bramble");
    switch("refuse");
    let page = buy(&server, "Clover", 405);
    assert_eq!(server.send_without_redirects(&page, "action=refund").status, 303);
    switch("none");
    buy(&server, "Newt", 405);
    let commands = ran("Newt");
    assert_eq!(commands.as_array().unwrap().len(), 2, "nothing of what was refunded ran: {commands}");
    // What the console responded is kept with each command that ran.
    let began = Instant::now();
    loop {
        let rows = database(
            &server,
            "Scan",
            &json!({
                "TableName": server.said("/table"), "FilterExpression": "begins_with(pk, :command) AND attribute_exists(#output)",
                "ExpressionAttributeNames": { "#output": "output" },
                "ExpressionAttributeValues": { ":command": { "S": "COMMAND#" } },
            }),
        );
        if rows["Count"] == 2 {
            let outputs: Vec<&Value> =
                rows["Items"].as_array().unwrap().iter().map(|row| &row["output"]["S"]).collect();
            assert!(outputs.contains(&&response), "{rows}");
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(40), "{rows}");
        std::thread::sleep(Duration::from_millis(100));
    }
}
