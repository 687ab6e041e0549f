//! `server`: keys of game servers, and what waits for them.

use crate::bench::Bench;
use agent::config::Config;
use shared::clock::Clock as _;
use shared::model::{Chosen, ItemId, LineId, PlayerName};
use shared::shop::delivery::{ServerKey, delivered, poll, trying};
use shared::table::published::read_active_version;
use shared::table::{keys, read_published};
use std::time::Duration;
use storectl::answer::Printed;
use storectl::error::{Exit, Failure};

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

/// The options of an order of the item.
const SALE: &str = "--owner Newt --gateway test --line 1:1:2.50";

/// A store with these servers, with an item on each of them.
fn write_store(bench: &Bench, servers: &str) -> String {
    let named: String =
        servers.split(", ").map(|id| format!("{{id: {id}, name: S{id}}}")).collect::<Vec<_>>().join(", ");
    bench.write("s/store.yaml", &format!("format: 1\nname: T\ncurrency: {{code: EUR}}\nservers: [{named}]\n"));
    let item = format!("items: [{{id: 1, name: I, price: 1, servers: [{servers}], commands: [{{run: a}}]}}]");
    bench.write("s/categories/a.yaml", &format!("id: 1\nslug: a\nname: A\n{item}\n"));
    bench.path("s").display().to_string()
}

#[tokio::test]
async fn what_a_former_game_server_keeps_is_told_apart_from_what_waits() {
    let bench = Bench::empty().await;
    let dir = write_store(&bench, "1");
    let item = "items: [{id: 1, name: I, price: 1, servers: [1], commands: [{run: a, online: true}]}]";
    bench.write("s/categories/a.yaml", &format!("id: 1\nslug: a\nname: A\n{item}\n"));
    bench.ok(&["publish", &dir, "--yes"]).await;
    bench.ok(&["user", "add", "Newt"]).await;
    let key = bench.ok(&["server", "add", "1"]).await["key"].as_str().unwrap().to_owned();
    bench.record(SALE).await;
    let (key, clock) = (ServerKey::parse(&key).unwrap(), bench.clock.as_ref());
    let served = poll(&bench.db, clock, &key, None).await.unwrap();
    delivered(&bench.db, clock, &key, &[served[0].id]).await.unwrap();
    bench.record(SALE).await;
    bench.ok(&["server", "revoke", "1", "--yes"]).await;
    let answer = bench.run(&["server", "add", "1", "--deliver"]).await.unwrap();
    let text = answer.text();
    assert!(text.contains("\n1 commands wait for it, and run after its first polls."), "{text}");
    assert!(text.contains("\n1 are kept by the game server that was connected"), "{text}");
}

async fn states(bench: &Bench) -> Vec<String> {
    let list = bench.ok(&["delivery", "list"]).await;
    let commands = list["commands"].as_array().unwrap().iter();
    commands.map(|one| format!("{} {}", one["server"], one["state"].as_str().unwrap())).collect()
}

#[tokio::test]
async fn killed_after_the_switch_a_removal_of_a_server_is_completed_by_the_same_command() {
    // A store of two servers, with a command for each, whose files have only the first.
    let bench = Bench::empty().await;
    let dir = write_store(&bench, "1, 2");
    bench.ok(&["publish", &dir, "--yes"]).await;
    bench.ok(&["user", "add", "Newt"]).await;
    bench.record(SALE).await;
    write_store(&bench, "1");
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

#[tokio::test]
async fn a_rollback_to_a_version_without_a_server_warns_of_what_waits_for_it() {
    let bench = Bench::empty().await;
    for servers in ["1", "1, 2"] {
        let dir = write_store(&bench, servers);
        bench.ok(&["publish", &dir, "--yes"]).await;
    }
    bench.ok(&["user", "add", "Newt"]).await;
    bench.record(SALE).await;
    let back = bench.run(&["rollback", "--yes"]).await.unwrap();
    let warning = back.json()["plan"]["warnings"][0].as_str().unwrap();
    assert!(warning.starts_with("1 commands wait for the server"), "{warning}");
    assert!(back.text().contains(warning), "{}", back.text());
    assert_eq!(states(&bench).await, ["1 ready", "2 ready"]);
}

/// The store of a try: an item with its end, and what every sale runs.
async fn with_an_item() -> (Bench, ServerKey) {
    let bench = Bench::empty().await;
    let store = "format: 1\nname: T\ncurrency: {code: EUR}\nservers: [{id: 1, name: Ash}]\ncommands: [{run: say thanks}]\n\
                 goals: [{id: 1, name: G, amount: 1, commands: [{run: say goal}]}]\n";
    bench.write("s/store.yaml", store);
    let commands = "commands: [{run: 'hat {player}', delay: 5 minutes}, {run: 'unhat {player}', on: refunded}, \
                    {run: 'unhat {player}', on: expired}]";
    let item = format!("{{id: 1, name: Hat, price: 1, expires_after: 30 days, {commands}}}");
    bench.write("s/categories/a.yaml", &format!("id: 1\nslug: a\nname: A\nitems: [{item}]\n"));
    bench.ok(&["publish", &bench.path("s").display().to_string(), "--yes"]).await;
    bench.ok(&["user", "add", "Newt"]).await;
    let key = bench.ok(&["server", "add", "1"]).await["key"].as_str().unwrap().to_owned();
    (bench, ServerKey::parse(&key).unwrap())
}

/// Runs the tool while the game server polls and runs what it is given; what ran.
async fn beside_a_game_server(
    bench: &Bench,
    key: &ServerKey,
    line: &[&str],
) -> (Result<Printed, Failure>, Vec<String>) {
    let mut ran = Vec::new();
    let serve = async {
        loop {
            let rows = poll(&bench.db, bench.clock.as_ref(), key, None).await.unwrap();
            let ids: Vec<_> = rows.iter().map(|row| row.id).collect();
            ran.extend(rows.into_iter().map(|row| row.text));
            delivered(&bench.db, bench.clock.as_ref(), key, &ids).await.unwrap();
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let printed = tokio::select! { printed = bench.run(line) => printed, () = serve => unreachable!() };
    (printed, ran)
}

/// The rows that a purchase would change: without those of keys and leases, and the last ids.
async fn traces(bench: &Bench) -> Vec<String> {
    let is_of_server = |row: &String| ["SEQ#", "LEASE#", "SERVER#"].iter().any(|kind| row.contains(kind));
    bench.rows().await.into_iter().filter(|row| !is_of_server(row)).collect()
}

#[tokio::test]
async fn a_try_runs_what_a_sale_runs_takes_it_back_and_leaves_nothing() {
    let (bench, key) = with_an_item().await;
    poll(&bench.db, bench.clock.as_ref(), &key, None).await.unwrap();
    let before = traces(&bench).await;
    let line = ["try", "1", "--player", "newt"];
    let (printed, ran) = beside_a_game_server(&bench, &key, &line).await;
    let printed = printed.unwrap();
    assert_eq!(ran, ["hat Newt", "unhat Newt"], "without the delay, and without what every sale runs");
    assert!(
        printed.text().contains("server 1: hat Newt: ran after") && printed.trouble().is_none(),
        "{}",
        printed.text()
    );
    assert_eq!(traces(&bench).await, before);
    // Killed after the game server has run it: what takes it back comes first.
    let name = trying::run_of(ItemId::new(1)).unwrap();
    let active = read_active_version(&bench.db).await.unwrap().unwrap();
    let published = read_published(&bench.db, &keys::item(&active.version, ItemId::new(1))).await.unwrap().unwrap();
    let chosen =
        Chosen { line: LineId::new(1), name: String::new(), variables: Vec::new(), server: None, gift_to: None };
    let (clock, player) = (bench.clock.as_ref(), PlayerName::parse("Newt").unwrap());
    let plan = trying::plan(&bench.db, clock, (&active, "EUR"), (&published, chosen), &player).await.unwrap().unwrap();
    let killed = trying::begin(&bench.db, &name, plan.clone()).await.unwrap().unwrap();
    assert_eq!(trying::begin(&bench.db, &name, plan.clone()).await.unwrap(), None, "one at a time");
    let served = poll(&bench.db, clock, &key, None).await.unwrap();
    delivered(&bench.db, clock, &key, &[served[0].id]).await.unwrap();
    let doctor = bench.run(&["doctor"]).await.unwrap();
    assert!(doctor.text().contains("tries: not taken back: item 1 for Newt → "), "{}", doctor.text());
    let (printed, ran) = beside_a_game_server(&bench, &key, &line).await;
    printed.unwrap();
    let doctor = bench.run(&["doctor"]).await.unwrap();
    assert!(!doctor.text().contains("tries: "), "{}", doctor.text());
    assert_eq!(ran, ["unhat Newt", "hat Newt", "unhat Newt"]);
    assert_eq!(traces(&bench).await, before);
    // It was not killed and comes to its end: another one has ended it, and a third one stays.
    let third = trying::begin(&bench.db, &name, plan).await.unwrap();
    assert!(trying::finish(&bench.db, clock, (&name, &killed)).await.unwrap());
    assert_eq!(trying::unfinished(&bench.db, &name).await.unwrap(), third);
    // A game server that does not answer: what was not served is recalled.
    let printed = bench.run(&["try", "1", "--player", "Newt", "--wait", "0"]).await.unwrap();
    assert!(
        printed.text().contains("hat Newt: ready") && printed.trouble() == Some(Exit::Faults),
        "{}",
        printed.text()
    );
    assert_eq!(traces(&bench).await, before);
}
