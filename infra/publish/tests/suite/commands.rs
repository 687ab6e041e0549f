//! Commands: their faults, their warnings, and what is published of them.

use crate::support::{self, NOW, STORE, lines};
use publish::{Compiled, Diff, check, compile, load, publish, read};
use shared::model::{CommandEvent, ItemId};
use shared::shop::publishing::read_version;
use shared::table::{codec, keys};
use std::fmt::Write;
use tests::TestTable;

const SERVERS: &str = "servers: [{id: 1, name: Hearth}, {id: 2, name: Ashlands}, {id: 3, name: Skyforge}]\n";

/// A store whose items are written like this, each in a line of its own from line 5.
fn files(of_store: &str, items: &[&str]) -> [(&'static str, String); 2] {
    let mut category = String::from("id: 1\nslug: a\nname: A\nitems:\n");
    for (place, item) in items.iter().enumerate() {
        writeln!(category, "  - {{id: {}, name: I{place}, price: 1, {item}}}", place + 1).unwrap();
    }
    [("store.yaml", format!("{STORE}{SERVERS}{of_store}")), ("categories/a.yaml", category)]
}

/// Faults and warnings.
fn found(of_store: &str, items: &[&str]) -> (String, String) {
    support::found(&files(of_store, items))
}

/// The faults of the only item, without file, line and item.
fn faults_of_item(item: &str) -> String {
    let (faults, _) = found("", &[item]);
    faults.replace("categories/a.yaml, line 5, items[1].", "")
}

fn compiled(of_store: &str, items: &[&str]) -> Compiled {
    support::compiled(&files(of_store, items))
}

const REFUNDED: &str = "{run: undo, on: refunded}";

#[test]
fn an_item_has_at_most_20_commands_of_1024_characters_and_4_kib() {
    let commands = |count: usize, length: usize| {
        let command = format!("{{run: {}}}", "a".repeat(length));
        format!("commands: [{REFUNDED}, {}]", vec![command; count - 1].join(", "))
    };
    assert_eq!(faults_of_item(&commands(20, 100)), "");
    assert_eq!(faults_of_item(&commands(21, 100)), "commands: has 21 commands; at most 20 fit\n");
    assert_eq!(faults_of_item(&commands(2, 1_024)), "");
    assert_eq!(faults_of_item(&commands(2, 1_025)), "commands.run: has 1025 characters; at most 1024 fit\n");
    assert_eq!(faults_of_item(&commands(5, 1_023)), "", "4 and 4 × 1,023 bytes");
    assert_eq!(faults_of_item(&commands(5, 1_024)), "commands: has 4100 bytes in all its commands; at most 4096 fit\n");
}

#[test]
fn a_text_with_too_many_placeholders_is_named() {
    let of = |count: usize| faults_of_item(&format!("commands: [{{run: '{}'}}, {REFUNDED}]", "{item}".repeat(count)));
    assert_eq!(of(25), "");
    assert_eq!(of(26), "commands.run: has 26 placeholders; at most 25 fit\n");
}

const FULL: &str = "promotion: {price: 1}, featured: true, most: 2, expires_after: 30 days, commands: [{run: 'give {player} a'}, \
                    {run: 'b {{}', on: expired, delay: 90 seconds, online: true, once: true, per_unit: true, servers: [3, 1]}, \
                    {run: c, on: refunded}]";

#[test]
fn commands_are_in_the_items_own_row_and_in_no_page() {
    let store = compiled("commands: [{run: thanks}]\n", &[FULL]);
    let delivery = &store.items[0].delivery;
    assert_eq!(delivery.expires_after, Some(30 * 86_400));
    let second = &delivery.commands[1];
    assert_eq!((second.on, second.delay, second.online, second.once), (CommandEvent::Expired, 90, true, true));
    assert!(second.per_unit && store.items[0].item.most == Some(2));
    assert_eq!(second.servers.iter().map(|server| server.get()).collect::<Vec<_>>(), [3, 1]);
    assert_eq!(store.config.delivery.commands[0].run, "thanks");
    assert_eq!(store.config.delivery.servers.len(), 3);
    for (key, part) in store.parts("v") {
        let has_commands = serde_json::to_string(&part).unwrap().contains("give {player} a");
        assert_eq!(has_commands, key == keys::item("v", ItemId::new(1)), "{key}");
    }
}

#[tokio::test]
async fn commands_come_back_out_of_the_table() {
    let store = compiled("commands: [{run: thanks, delay: 1 hour}]\n", &[FULL, "active: true"]);
    let table = TestTable::empty().await;
    publish(&table.db, &store, NOW).await.unwrap();
    let record = read_version(&table.db, &store.version).await.unwrap().unwrap();
    let loaded = load(&table.db, &record).await.unwrap();
    assert_eq!(Compiled { files: store.files.clone(), ..loaded }, store);
}

#[tokio::test]
async fn a_version_from_before_commands_is_read() {
    // Its config has no servers, and its items have no delivery.
    let store = compiled("", &["servers: [1, 2]"]);
    let mut config = store.config.clone();
    config.delivery = shared::model::StoreDelivery::default();
    let text = serde_json::to_string(&config).unwrap();
    assert!(!text.contains("delivery"), "{text}");
    let (key, part) = store.parts("v").into_iter().last().unwrap();
    let row = codec::encode_published(&key, &part).unwrap();
    let (item, _): (shared::model::PublishedItem, usize) = codec::decode_published(&key, &row).unwrap();
    assert!(!serde_json::to_string(&item).unwrap().contains("delivery"));
}

#[test]
fn changes_of_commands_are_shown_by_their_place() {
    let before = compiled("", &["active: true"]);
    let after = compiled(
        "commands: [{run: thanks}]\n",
        &["expires_after: 30 days, commands: [{run: a, on: expired, delay: 1 hour}]"],
    );
    let changed = |before, after| {
        Diff::of(Some(before), after).changes.changed.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(
        changed(&before, &after),
        [
            "configuration: commands.1 none → thanks",
            "item 1 I0: commands.1 none → a (on expired, after 1 hour), expires_after none → 30 days"
        ]
    );
    assert_eq!(changed(&after, &before).len(), 2);
}

#[test]
fn a_command_for_a_player_who_is_there_needs_to_know_who_that_is() {
    let servers = "servers: [{id: 1, name: Hearth}, {id: 2, name: Rust, players: {id: 'ID'}}]\n";
    let checked = |id: &str, of_store: &str, item: &str| {
        let mut files = files(of_store, &[item]);
        files[0].1 = files[0].1.replace(SERVERS, &servers.replace("ID", id));
        let read = read(support::store(&files).path()).unwrap();
        (lines(&check(&read)), read)
    };
    let faults = |id: &str, of_store: &str, item: &str| checked(id, of_store, item).0;
    let online = format!("commands: [{{run: a, online: true}}, {REFUNDED}]");
    let elsewhere = format!("commands: [{{run: a, online: true, servers: [1]}}, {REFUNDED}]");
    let away = format!("commands: [{{run: a}}, {REFUNDED}]");
    let variable = format!("variables: [{{id: 7, name: Steam id}}], {online}");
    let at = "categories/a.yaml, line 5, items[1].commands.online: ";
    let free = "is not for server 2, where anyone may take the buyer's name: give players.id of the server a variable in \
                store.yaml, such as \"{var:7}\"\n";
    assert_eq!(faults("none", "", &online), format!("{at}{free}"));
    assert_eq!(faults("none", "commands: [{run: a, online: true}]\n", &away), format!("{at}{free}"));
    assert_eq!(
        faults("{var:7}", "", &online),
        format!("{at}needs the variable 7, by which server 2 knows its players\n")
    );
    for (id, item) in [("none", &elsewhere), ("none", &away), ("{var:7}", &variable)] {
        assert_eq!(faults(id, "", item), "", "{id} {item}");
    }
    for id in ["7", "{player}", "{var:7} ", "{var:x}", ""] {
        let found = faults(id, "", &away);
        assert!(found.contains("servers[2].players.id: must be a variable in quotes"), "{id}: {found}");
    }
    let known = compile(&checked("{var:7}", "", &variable).1).unwrap();
    assert_eq!(known.config.delivery.free_names[0].variable, Some(7));
}

#[test]
fn a_command_that_is_too_long_for_rcon_with_its_longest_values_is_told_by_its_bytes() {
    let warned = |of_store: &str, item: &str| found(of_store, &[item]).1;
    let item = |run: &str, variables: &str| {
        format!("most: 1, {variables}commands: [{{run: '{run}'}}, {{run: 'hello {{player}}'}}, {REFUNDED}]")
    };
    let at_most = |bytes: usize| "x".repeat(bytes);
    // A name has at most 50 characters.
    let with_name = |others: usize| format!("{{player}}{}", at_most(others));
    assert_eq!(warned("", &item(&with_name(1_013), "")), "");
    let crab = |times: usize| "🦀".repeat(times);
    assert_eq!(warned("", &item(&format!("{}{}", crab(340), at_most(50)), "")), "", "1,410 bytes");
    assert_eq!(
        warned("", &item(&format!("{}{{player}}{{count}}", crab(340)), "")),
        "categories/a.yaml, line 5, items[1].commands.run: has up to 1414 bytes when it is filled with the longest values, for \
         item 1; by RCON at most 1413 reach a Minecraft server: shorten it, or make two commands of it\n"
    );
    let texts =
        "variables: [{id: 1, name: V, options: [a, '\"\"\"\"\"\"\"\"\"\"']}, {id: 2, name: W, kind: steam_id}], ";
    // The ten quotes of an option are twenty bytes of JSON.
    let json = |more: usize| format!("say {{{{a:\"{{var:1}}\"}} {{var:2}} {}{}", crab(338), at_most(more));
    assert_eq!(warned("", &item(&json(12), texts)), "");
    assert!(warned("", &item(&json(13), texts)).contains("has up to 1414 bytes"));
    // Of every sale: the item with the longest name counts.
    let of_store = |more: &str| format!("commands: [{{run: '{}{{player}} {{item}}{more}'}}]\n", crab(340));
    assert!(!warned(&of_store(""), "active: true").contains("bytes"));
    assert!(warned(&of_store("x"), "active: true").contains("store.yaml, line 5, commands.run: has up to 1414 bytes"));
    let long = |more: &str| Diff::of(None, &compiled(&of_store(more), &["active: true"])).long_commands;
    assert_eq!((long(""), long("x")), (0, 1));
}

#[test]
fn the_longest_command_is_what_rcon_takes() {
    assert_eq!(publish::LONGEST_BY_RCON, rcon::LONGEST_COMMAND);
}

#[test]
fn kinds_quotes_and_the_sign_of_bedrock_are_published() {
    let servers =
        "servers: [{id: 1, name: Hearth, quotes: true}, {id: 2, name: Ashlands}]\nplayers: {bedrock: \"+\"}\n";
    let item = "variables: [{id: 1, name: A, kind: steam_id}, {id: 2, name: B, kind: uuid}, {id: 3, name: C, kind: integer, \
                min: -1, max: 64}]";
    let mut files = files("", &[item]);
    files[0].1 = files[0].1.replace(SERVERS, servers);
    let store = support::compiled(&files);
    assert_eq!(store.config.delivery.quotes.iter().map(|server| server.get()).collect::<Vec<_>>(), [1]);
    assert_eq!(store.config.bedrock.map(char::from), Some('+'));
    let limits = &store.items[0].item.variables[2];
    assert_eq!((limits.min, limits.max), (Some(-1), Some(64)));
}
