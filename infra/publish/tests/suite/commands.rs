//! Commands: their faults, their warnings, and what is published of them.

use crate::support::{STORE, lines, store};
use publish::{changes, check, compile, export, load, publish, read, warnings};
use shared::model::{CommandEvent, ItemId};
use shared::store::versions::read_version;
use shared::store::{codec, keys};
use std::fmt::Write;
use tests::TestTable;

/// 2031-03-15T12:00:00Z.
const NOW: i64 = 1_931_342_400;

const SERVERS: &str = "servers: [{id: 1, name: Hearth}, {id: 2, name: Ashlands}, {id: 3, name: Skyforge}]\n";

/// A store whose items are written like this, each in a line of its own from line 5.
fn files(of_store: &str, items: &[&str]) -> Vec<(String, String)> {
    let mut category = String::from("id: 1\nslug: a\nname: A\nitems:\n");
    for (place, item) in items.iter().enumerate() {
        writeln!(category, "  - {{id: {}, name: I{place}, price: 1, {item}}}", place + 1).unwrap();
    }
    vec![("store.yaml".to_owned(), format!("{STORE}{SERVERS}{of_store}")), ("categories/a.yaml".to_owned(), category)]
}

/// Faults and warnings.
fn found(of_store: &str, items: &[&str]) -> (String, String) {
    let files = files(of_store, items);
    let dir = store(&files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect::<Vec<_>>());
    match read(dir.path()) {
        Ok(files) => (lines(&check(&files)), lines(&warnings(&files))),
        Err(faults) => (lines(&faults), String::new()),
    }
}

/// The faults of the only item, without file, line and item.
fn faults_of_item(item: &str) -> String {
    let (faults, _) = found("", &[item]);
    faults.replace("categories/a.yaml, line 5, items[1].", "")
}

fn compiled(of_store: &str, items: &[&str]) -> publish::Compiled {
    let files = files(of_store, items);
    let dir = store(&files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect::<Vec<_>>());
    compile(&read(dir.path()).unwrap()).unwrap_or_else(|faults| panic!("{}", lines(&faults)))
}

const REFUNDED: &str = "{run: undo, on: refunded}";
const TIMED: &str = "expires_after: 1 day, ";

#[test]
fn a_text_that_is_not_a_command_is_named() {
    let of = |run: &str| faults_of_item(&format!("commands: [{{run: {run}}}, {REFUNDED}]"));
    assert_eq!(
        of("'give {username} diamond'"),
        "commands.run: {username} is not a placeholder; there are {player}, {buyer}, {item}, {count}, {price}, {currency}, \
         {order}, {server}, {chat_id}, {var:ID}; write {{ for a brace\n"
    );
    assert_eq!(of("'say {var:1}'"), "commands.run: {var:1} is not known: the item has no variables\n");
    let problem = "must be one line without control characters; write each command as an entry of its own";
    assert_eq!(of("\"say a\\nsay b\""), format!("commands.run: {problem}\n"));
    assert_eq!(of("'say {player'"), "commands.run: the brace before `player` is not closed; write {{ for a brace\n");
    assert_eq!(of("' '"), "commands.run: is empty; write the command that the console runs\n");
    assert_eq!(of("'give {player} stone{{Damage:3}'"), "");
    let variables = "variables: [{id: 4, name: V}, {id: 7, name: W}]";
    let known = faults_of_item(&format!("{variables}, commands: [{{run: 'say {{var:4}} {{var:5}}'}}, {REFUNDED}]"));
    assert_eq!(known, "commands.run: {var:5} is not known: the item's variables are 4, 7\n");
}

#[test]
fn a_command_runs_only_on_servers_of_its_item() {
    let of = |rest: &str| faults_of_item(&format!("{rest}, commands: [{{run: a, servers: [3, 9, 3]}}, {REFUNDED}]"));
    assert_eq!(
        of("active: true"),
        "commands.servers: the item is not delivered to server 9, but to 1, 2, 3\n\
         commands.servers: server 3 is named twice\n"
    );
    assert_eq!(
        of("servers: [1, 2]"),
        "commands.servers: the item is not delivered to server 3, but to 1, 2\n\
         commands.servers: the item is not delivered to server 9, but to 1, 2\n\
         commands.servers: server 3 is named twice\n"
    );
    let dir = store(&[
        ("store.yaml", STORE),
        ("categories/a.yaml", "id: 1\nslug: a\nname: A\nitems: [{id: 1, name: I, price: 1, commands: [{run: a}]}]\n"),
    ]);
    let problem = "has no server to run on: add servers to store.yaml, such as servers: [{id: 1, name: Survival}]";
    let expected = format!("categories/a.yaml, line 4, items[1].commands: {problem}\n");
    assert_eq!(lines(&check(&read(dir.path()).unwrap())), expected);
}

#[test]
fn a_command_of_every_sale_names_what_every_item_has() {
    let of = |command: &str, item: &str| found(&format!("commands:\n  - {command}\n"), &[item]).0;
    let at = "store.yaml, line 6, ";
    assert_eq!(
        of("{run: 'say {var:1}'}", "active: true"),
        format!("{at}commands.run: {{var:1}} is not for a command of every sale: variables belong to an item\n")
    );
    assert_eq!(
        of("{run: a, servers: [3]}", "servers: [1, 2]"),
        format!("{at}commands.servers: no item is delivered to server 3; items are delivered to 1, 2\n")
    );
    assert_eq!(of("{run: a, servers: [3]}", "active: true"), "");
    assert_eq!(
        of("{run: a, on: expired}", "active: true"),
        format!("{at}commands.on: never runs: no item has expires_after or is a subscription\n")
    );
    assert_eq!(of("{run: a, on: expired}", "expires_after: 1 day"), "");
}

#[test]
fn a_duration_is_in_days_or_shorter_units() {
    assert_eq!(
        faults_of_item("expires_after: 1 month, commands: [{run: a, delay: soon}]"),
        "commands.delay: must be a duration such as `30 days`, `3 hours` or `90 seconds`\n\
         expires_after: must be in days or shorter units, because months and years differ in length: write `30 days`\n"
    );
    let problem = "needs expires_after on the item, such as expires_after: 30 days";
    assert_eq!(faults_of_item("commands: [{run: a, on: expired}]"), format!("commands.on: {problem}\n"));
    assert_eq!(
        faults_of_item("commands: [{run: a, on: sold}]"),
        "categories/a.yaml, line 5, on: `sold` is not one of bought, expired, refunded, charged_back, renewed\n"
    );
}

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
fn an_item_that_ends_with_too_many_commands_on_a_server_is_named() {
    let commands = |count: usize, servers: &str| vec![format!("{{run: a, on: expired{servers}}}"); count].join(", ");
    let faults = |of_item: &str, of_store: &str, expires: &str| {
        let of_store = format!("commands: [{of_store}]\n");
        found(&of_store, &[&format!("{expires}commands: [{of_item}]"), "expires_after: 1 day"]).0
    };
    assert_eq!(
        faults(&commands(15, ""), &commands(10, ", servers: [2]"), TIMED),
        "categories/a.yaml, line 5, items[1].expires_after: runs 25 commands on server 2 when the item expires, those of \
         every sale among them; at most 24 fit\n"
    );
    assert_eq!(faults(&commands(15, ""), &commands(9, ""), TIMED), "");
    assert_eq!(faults(&commands(15, ", servers: [1]"), &commands(10, ", servers: [2]"), TIMED), "");
}

#[test]
fn a_text_with_too_many_placeholders_is_named() {
    let of = |count: usize| faults_of_item(&format!("commands: [{{run: '{}'}}, {REFUNDED}]", "{item}".repeat(count)));
    assert_eq!(of(25), "");
    assert_eq!(of(26), "commands.run: has 26 placeholders; at most 25 fit\n");
}

#[test]
fn a_delivery_that_looks_forgotten_is_a_warning() {
    let warned = |items: &[&str]| {
        let (faults, warnings) = found("", items);
        assert_eq!(faults, "");
        warnings
    };
    assert_eq!(warned(&["active: true"]), "", "a store without commands delivers nothing");
    let whole = format!("commands: [{{run: a}}, {REFUNDED}]");
    assert_eq!(warned(&[&whole, "active: false"]), "");
    assert_eq!(
        warned(&[&whole, "active: true"]),
        "categories/a.yaml, line 6, items[2].commands: are missing: the item is on sale, and nothing is delivered for it\n"
    );
    assert_eq!(
        warned(&["commands: [{run: /a}]"]),
        "categories/a.yaml, line 5, items[1].commands.run: begins with a slash, which consoles do not know: leave it out\n\
         categories/a.yaml, line 5, items[1].commands: a refund takes nothing back: add a command with on: refunded\n"
    );
    assert_eq!(
        warned(&[&format!("expires_after: 1 day, {whole}")]),
        "categories/a.yaml, line 5, items[1].expires_after: nothing ends when it expires: add a command with on: expired\n"
    );
}

const FULL: &str = "promotion: {price: 1}, featured: true, expires_after: 30 days, commands: [{run: 'give {player} a'}, \
                    {run: 'b {{}', on: expired, delay: 90 seconds, online: true, once: true, servers: [3, 1]}, \
                    {run: c, on: refunded}]";

#[test]
fn commands_are_in_the_items_own_row_and_in_no_page() {
    let store = compiled("commands: [{run: thanks}]\n", &[FULL]);
    let delivery = &store.items[0].delivery;
    assert_eq!(delivery.expires_after, Some(30 * 86_400));
    let second = &delivery.commands[1];
    assert_eq!((second.on, second.delay, second.online, second.once), (CommandEvent::Expired, 90, true, true));
    assert_eq!(second.servers.iter().map(|server| server.get()).collect::<Vec<_>>(), [3, 1]);
    assert_eq!(store.config.delivery.commands[0].run, "thanks");
    assert_eq!(store.config.delivery.servers.len(), 3);
    for (key, part) in store.parts("v") {
        let has_commands = serde_json::to_string(&part).unwrap().contains("give {player} a");
        assert_eq!(has_commands, key == keys::item("v", ItemId::new(1)), "{key}");
    }
}

#[tokio::test]
async fn commands_come_back_out_of_the_table_and_as_files() {
    let store = compiled("commands: [{run: thanks, delay: 1 hour}]\n", &[FULL, "active: true"]);
    let table = TestTable::empty().await;
    publish(&table.db, &store, NOW).await.unwrap();
    let record = read_version(&table.db, &store.version).await.unwrap().unwrap();
    let loaded = load(&table.db, &record).await.unwrap();
    assert_eq!(loaded, store);
    assert_eq!(compile(&export(&loaded)).unwrap(), store);
}

#[tokio::test]
async fn a_version_from_before_commands_is_read_and_exported() {
    // Its config has no servers, and its items have no delivery.
    let store = compiled("", &["servers: [1, 2]"]);
    let mut config = store.config.clone();
    config.delivery = shared::model::StoreDelivery::default();
    let files = export(&publish::Compiled { config: config.clone(), ..store.clone() });
    assert_eq!(files.store.content.servers.len(), 2, "those that items name");
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
    let changed =
        |before, after| changes(Some(before), after).changed.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(
        changed(&before, &after),
        [
            "configuration: commands.1 none → thanks",
            "item 1 I0: commands.1 none → a (on expired, after 1 hour), expires_after none → 30 days"
        ]
    );
    assert_eq!(changed(&after, &before).len(), 2);
}
