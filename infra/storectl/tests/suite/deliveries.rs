//! `delivery`, and what `order`, `ban`, `user erase` and `doctor` say and do about commands of game servers.

use crate::bench::Bench;
use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::{Value, json};
use shared::clock::{Clock as _, SystemClock};
use shared::model::{CommandId, CommandState, InternalId, ServerId};
use shared::shop::delivery::servers::Lease;
use shared::shop::delivery::{
    Report, ReportedOutcome, ServerKey, add_key, commands, delivered, executed, place_of, poll,
};
use shared::shop::orders;
use shared::table::keys;
use shared::table::transaction::{Write, send};
use std::collections::BTreeSet;
use tests::{Calls, Faults};

/// An order of three keys and a rank for Newt, all on server 1, and the server's key.
async fn sold() -> (Bench, String, ServerKey) {
    let bench = Bench::published().await;
    bench.ok(&["user", "add", "Newt"]).await;
    let order = bench.record("--owner Newt --gateway test --line 201:3:5.97 --line 101:1:4.99").await;
    let (_, key) = add_key(&bench.db, bench.clock.as_ref(), ServerId::new(1)).await.unwrap();
    (bench, order, key)
}

/// The options of an order of a key for Newt.
const KEY: &str = "--owner Newt --gateway test --line 201:1:1.99";

async fn listed(bench: &Bench, options: &[&str]) -> Vec<Value> {
    let list = bench.ok(&[&["delivery", "list"], options].concat()).await;
    list["commands"].as_array().unwrap().clone()
}

fn ids(commands: &[Value]) -> Vec<CommandId> {
    commands.iter().map(|one| CommandId::new(one["id"].as_u64().unwrap()).unwrap()).collect()
}

async fn write(bench: &Bench, writes: Vec<Write>) {
    send(&bench.db, writes).await.unwrap();
}

#[tokio::test]
async fn an_order_shows_its_commands_with_their_times() {
    let (bench, order, key) = sold().await;
    poll(&bench.db, bench.clock.as_ref(), &key, None).await.unwrap();
    let all = ids(&listed(&bench, &[]).await);
    delivered(&bench.db, bench.clock.as_ref(), &key, &all).await.unwrap();
    let report = Report { output: "[LP] done\u{1b}".to_owned(), ..Report::done(all[0]) };
    executed(&bench.db, bench.clock.as_ref(), &key, &[report]).await.unwrap();
    let answer = bench.run(&["order", "show", &order]).await.unwrap();
    let states: Vec<&Value> = answer.json()["commands"].as_array().unwrap().iter().map(|one| &one["state"]).collect();
    assert_eq!(states, ["executed", "delivered", "delivered", "delivered"]);
    assert!(answer.text().contains("lp user Newt parent add squire"), "{}", answer.text());
    assert!(answer.json()["commands"][0]["executed_at"].is_string());
    let evidence = bench.run(&["order", "evidence", &order]).await.unwrap();
    for part in [
        "Evidence for order",
        "Store: Emberfall",
        "Buyer: Newt (user 1)",
        "consent to terms and privacy policy: not recorded",
        "3 × Ember Key (item 201)",
        "bought on Hearth (1) for Newt: executed",
        "crate key give Newt ember 3",
        "None of them says what the command did there.",
        "    responded: [LP] done \n",
    ] {
        assert!(evidence.text().contains(part), "{part}\n{}", evidence.text());
    }
    assert_eq!(evidence.json()["text"], evidence.text());
}

#[tokio::test]
async fn evidence_has_no_code_that_can_be_used_and_nothing_of_the_operators_own() {
    let bench = Bench::published().await;
    let card = bench.ok(&["gift", "add", "--balance", "10"]).await;
    let code = card["gift_cards"][0]["code"].as_str().unwrap().to_owned();
    bench.record(&format!("--id A-1 --gateway g --yes --line 201:1:1.99 --gift {code}:1")).await;
    let id = InternalId::new("A-1");
    let due = Write::update(keys::order(&id), "SET due = :due, review = :review").number(":due", 1);
    write(&bench, vec![due.text(":review", "amount")]).await;
    let shown = bench.run(&["order", "show", "A-1"]).await.unwrap();
    let evidence = bench.run(&["order", "evidence", "A-1"]).await.unwrap();
    for part in [code.as_str(), "something is left to do", "needs an operator"] {
        assert!(shown.text().contains(part), "{part}\n{}", shown.text());
        assert!(!evidence.text().contains(part), "{part}\n{}", evidence.text());
    }
    let masked = format!("gift card ****{} paid 1", &code[code.len() - 4..]);
    assert!(evidence.text().contains(&masked), "{}", evidence.text());
    assert!(!evidence.json().to_string().contains(&code), "{}", evidence.json());
}

#[tokio::test]
async fn a_ban_stops_what_was_bought_and_says_so() {
    let (bench, order, _) = sold().await;
    let banned = bench.ok(&["ban", "newt"]).await;
    assert_eq!(banned["stopped_commands"], 4);
    assert_eq!(listed(&bench, &["--state", "stopped"]).await.len(), 4);
    assert_eq!(bench.ok(&["ban", "Newt"]).await["stopped_commands"], 0);
    // By the clock of the sale: the note is about the last days.
    let doctor = async || bench.run_through(Calls::default(), &["doctor"]).await.unwrap().text().to_owned();
    let text = doctor().await;
    assert!(text.contains("commands that were withdrawn: 4 of paid orders will not run"), "{text}");
    assert!(text.contains(&format!("read as a command: {order} →")), "{text}");
    bench.ok(&["order", "set-status", &order, "REFUNDED"]).await;
    let text = doctor().await;
    assert!(!text.contains("withdrawn"), "{text}");
}

#[tokio::test]
async fn a_ban_stops_what_waits_for_a_former_name_of_the_account_too() {
    let (bench, ..) = sold().await;
    // A gift for the player, and one of the player's own for another.
    bench.record("--owner Newt --gateway test --past --yes --line 201:1:1.99@Pebble").await;
    bench.ok(&["user", "add", "Yew"]).await;
    let gift = bench.record("--owner Yew --gateway test --past --yes --line 201:1:1.99@Newt").await;
    let of_gift = listed(&bench, &["--order", &gift]).await.len();
    bench.ok(&["user", "rename", "Newt", "Wren"]).await;
    assert_eq!(bench.ok(&["ban", "Wren"]).await["stopped_commands"], 4 + of_gift);
    let stopped = listed(&bench, &["--state", "stopped"]).await;
    assert!(stopped.iter().all(|command| command["player"] == "Newt"), "{stopped:?}");
}

#[tokio::test]
async fn what_an_agent_keeps_is_not_lost() {
    let (bench, order, key) = sold().await;
    poll(&bench.db, bench.clock.as_ref(), &key, None).await.unwrap();
    let id = ids(&listed(&bench, &["--order", &order]).await)[0];
    for (by_agent, shown) in [(false, " kept, or lost if the player was online "), (true, " kept ")] {
        let before = commands::get(&bench.db, id).await.unwrap().unwrap();
        let mut after = before.clone();
        (after.delivery.state, after.delivery.by_agent) = (CommandState::Kept, by_agent);
        let change = commands::change(&before, &after, place_of(&before), place_of(&after).as_ref()).unwrap();
        write(&bench, change).await;
        let list = bench.run(&["delivery", "list", "--state", "kept"]).await.unwrap();
        assert!(list.text().contains(shown), "{}", list.text());
    }
}

/// The text of a check of `doctor`.
async fn finding(bench: &Bench, options: &[&str], check: &str) -> (Value, String) {
    findings(bench, options, check).await.remove(0)
}

async fn findings(bench: &Bench, options: &[&str], check: &str) -> Vec<(Value, String)> {
    let answer = bench.run(&[&["doctor"], options].concat()).await.unwrap();
    let findings = answer.json()["findings"].as_array().unwrap().clone();
    let found = findings.iter().filter(|one| one["check"] == check);
    found.map(|one| (one["state"].clone(), one["said"].as_str().unwrap().to_owned())).collect()
}

#[tokio::test]
async fn doctor_names_servers_that_are_silent_or_stuck_while_they_have_a_key() {
    let (bench, ..) = sold().await;
    let found = async || findings(&bench, &[], "game servers").await;
    assert_eq!(found().await, [], "it never polled");
    let waits = "4 commands wait for Hearth (1), which has not polled with its key".to_owned();
    assert_eq!(findings(&bench, &[], "servers that have not polled").await, [("todo".into(), waits)]);
    // The doctor has the machine's clock.
    let polled = async |minutes: i64| {
        let at = SystemClock.seconds() - minutes * 60 - 5;
        write(&bench, vec![Lease::see(ServerId::new(1), at)]).await;
    };
    polled(29).await;
    assert_eq!(found().await, []);
    polled(31).await;
    assert_eq!(found().await, [("todo".into(), "Hearth (1) has not polled for 31 minutes".to_owned())]);
    assert_eq!(findings(&bench, &[], "servers that have not polled").await, []);
    for (minutes, shown) in [(20 * 60, "20 hours"), (5_762, "4 days")] {
        polled(minutes).await;
        assert_eq!(found().await, [("todo".into(), format!("Hearth (1) has not polled for {shown}"))]);
    }
    polled(5).await;
    let (state, said) = found().await.remove(0);
    assert_eq!(state, "todo");
    assert!(said.starts_with("Hearth (1) polls, and commands have been ready for "), "{said}");
    bench.ok(&["server", "revoke", "1", "--yes"]).await;
    assert_eq!(found().await, [], "it has no key any more");
}

/// As if the process had ended after it wrote the order, before it queued its commands.
async fn unqueue(bench: &Bench, order: &str) {
    let all = ids(&listed(bench, &["--order", order]).await);
    for command in commands::read(&bench.db, all.into_iter()).await.unwrap().into_values() {
        write(bench, vec![Write::delete(keys::command(command.id)), Write::delete(place_of(&command).unwrap())]).await;
    }
    let stored = orders::get(&bench.db, &InternalId::new(order)).await.unwrap().unwrap();
    write(bench, vec![stored.set_delivery(shared::model::OrderDelivery::default()).unwrap().0]).await;
}

#[tokio::test]
async fn doctor_finds_paid_orders_whose_commands_are_not_queued() {
    const CHECK: &str = "delivery of orders";
    let (bench, order, _) = sold().await;
    assert_eq!(finding(&bench, &[], CHECK).await.0, "ok");
    unqueue(&bench, &order).await;
    let (state, said) = finding(&bench, &[], CHECK).await;
    assert_eq!((state, said), ("bad".into(), format!("1 paid orders wait for their commands to be queued: {order}")));
    assert_eq!(finding(&bench, &["--repair"], CHECK).await.0, "ok");
    assert_eq!(listed(&bench, &["--state", "ready"]).await.len(), 4);
}

/// The states of an order's commands.
async fn states(bench: &Bench, order: &str) -> Vec<String> {
    let all = listed(bench, &["--order", order]).await;
    all.iter().map(|one| one["state"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_restore_makes_no_command_ready_however_often_it_was_cut_off() {
    let (bench, order, key) = sold().await;
    let clock = bench.clock.as_ref();
    let all: Vec<CommandId> = poll(&bench.db, clock, &key, None).await.unwrap().iter().map(|row| row.id).collect();
    delivered(&bench.db, clock, &key, &all[..2]).await.unwrap();
    executed(&bench.db, clock, &key, &[Report::done(all[0])]).await.unwrap();
    let (ready, waiting, unmarked) = (bench.record(KEY).await, bench.record(KEY).await, bench.record(KEY).await);
    let of_waiting = ids(&listed(&bench, &["--order", &waiting]).await);
    for mut command in commands::read(&bench.db, of_waiting.into_iter()).await.unwrap().into_values() {
        let before = command.clone();
        command.delivery.state = shared::model::CommandState::Waiting;
        command.delivery.due += 3_600;
        let (from, to) = (place_of(&before), place_of(&command));
        write(&bench, commands::change(&before, &command, from, to.as_ref()).unwrap()).await;
    }
    unqueue(&bench, &unmarked).await;
    bench
        .write_item(shared::table::codec::key_attributes(&keys::pending_login(&shared::model::AuthId::new([7; 16]))))
        .await;
    let file = bench.backup("b.jsonl.gz").await;
    for let_through in Faults::cuts() {
        let other = Bench::empty().await;
        let cut = other.run_through(Faults::cut_after(let_through), &["restore", &file, "--yes"]).await;
        let is_whole = cut.is_ok();
        if is_whole {
            let json = cut.unwrap().json().clone();
            assert_eq!((&json["unknown_commands"], &json["undelivered_orders"]), (&4.into(), &1.into()));
        } else {
            // Much later.
            other.clock.advance(std::time::Duration::from_hours(2));
            other.ok(&["restore", &file, "--yes"]).await;
        }
        assert_eq!(states(&other, &order).await, ["executed", "delivered", "unknown", "unknown"], "{let_through}");
        assert_eq!(states(&other, &ready).await, ["unknown"; 2]);
        // What was due later when the restore began is due by now.
        let due = match let_through {
            _ if is_whole => "waiting",
            0 => "unknown",
            _ => "ready",
        };
        assert_eq!(states(&other, &waiting).await, [due; 2], "{let_through}");
        let rows = other.rows().await.join("\n");
        assert!(!rows.contains("LEASE#") && !rows.contains("LOGINS"), "{rows}");
        let repaired = other.run(&["doctor", "--repair"]).await.unwrap();
        let findings = repaired.json()["findings"].as_array().unwrap();
        for check in ["delivery of orders", "rows of queues", "commands in queues"] {
            let is_well = findings.iter().any(|one| one["check"] == check && one["state"] == "ok");
            assert!(is_well, "{check}: {}", repaired.text());
        }
        assert_eq!(states(&other, &unmarked).await, ["unknown"; 2], "{let_through}");
        let new = ids(&listed(&other, &["--order", &unmarked]).await);
        assert!(new[0].get() > 1_000_000, "{new:?}");
        if is_whole {
            assert_eq!(poll(&other.db, other.clock.as_ref(), &key, None).await.unwrap(), [], "nothing is ready");
            return;
        }
    }
}

#[tokio::test]
async fn restores_of_one_backup_give_no_two_commands_the_same_id() {
    let (bench, ..) = sold().await;
    let file = bench.backup("b.jsonl.gz").await;
    let mut made = Vec::new();
    // After 30 days an agent still knows what has ended since.
    for later in [0, 60, 30 * 86_400] {
        let other = Bench::empty().await;
        other.clock.advance(std::time::Duration::from_secs(later));
        other.ok(&["restore", &file, "--yes"]).await;
        let order = other.record(KEY).await;
        made.extend(ids(&listed(&other, &["--order", &order]).await));
    }
    let different: BTreeSet<&CommandId> = made.iter().collect();
    assert_eq!(different.len(), made.len(), "an agent would not run them: {made:?}");
}

/// The texts that run when items of players end, with how many lines of orders: `EXPIRY#` keys and hours from now.
async fn expiries(bench: &Bench) -> Vec<(String, i64, usize)> {
    let all = shared::table::bulk::all::<shared::model::Lasting>(&bench.db, keys::prefix::EXPIRY).await.unwrap();
    let hours = |ends_at: i64| (ends_at - bench.clock.seconds() + 1_800) / 3_600;
    let waiting = all.into_iter().filter(|(_, text)| text.command.is_some());
    waiting.map(|(key, text)| (key.pk, hours(text.end().unwrap()), text.holders.len())).collect()
}

#[tokio::test]
async fn killed_at_any_write_a_rename_changes_nothing_of_what_expires() {
    for let_through in Faults::cuts() {
        let bench = Bench::published().await;
        bench.tell_the_time();
        bench.ok(&["user", "add", "Newt"]).await;
        let timed = "--owner 1 --gateway test --server 1 --line 401:1:2.99";
        let first = bench.record(timed).await;
        let line = ["user", "rename", "1", "Wren"];
        let killed = bench.run_through(Faults::cut_after(let_through), &line).await;
        let second = bench.record(timed).await;
        let renamed = bench.run(&line).await.unwrap();
        // The hours after which each command runs that waits.
        let waiting = || async {
            let all = ids(&listed(&bench, &["--state", "waiting"]).await);
            let all = commands::read(&bench.db, all.into_iter()).await.unwrap();
            let hours = all.values().map(|command| (command.delivery.due - bench.clock.seconds() + 1_800) / 3_600);
            hours.collect::<std::collections::BTreeSet<i64>>()
        };
        assert_eq!(expiries(&bench).await, [("EXPIRY#1".to_owned(), 4, 2)], "after {let_through} writes");
        assert_eq!(waiting().await, [4].into());
        let note = "commands were made for newt and stay as they are: storectl delivery list --user newt";
        assert!(renamed.text().contains(note), "{}", renamed.text());
        bench.ok(&["order", "set-status", &first, "REFUNDED"]).await;
        assert_eq!(expiries(&bench).await, [("EXPIRY#1".to_owned(), 2, 1)], "after {let_through} writes");
        assert_eq!(waiting().await, [2].into());
        bench.ok(&["order", "set-status", &second, "REFUNDED"]).await;
        assert_eq!(waiting().await, [].into(), "after {let_through} writes");
        if killed.is_ok() {
            assert!(let_through > 1, "there are more writes than that");
            return;
        }
    }
}

#[tokio::test]
async fn a_refund_ends_a_gift_although_its_recipient_has_another_name() {
    let bench = Bench::published().await;
    bench.ok(&["user", "add", "Newt"]).await;
    bench.tell_the_time();
    let gift = "--owner Newt --gateway test --past --yes --server 1 --line 401:1:2.99@Pebble";
    let order = bench.record(gift).await;
    bench.ok(&["user", "rename", "Pebble", "Wren"]).await;
    bench.ok(&["order", "set-status", &order, "REFUNDED"]).await;
    assert_eq!(expiries(&bench).await, []);
    assert_eq!(listed(&bench, &["--state", "waiting"]).await.len(), 0);
}

#[tokio::test]
async fn what_was_refused_or_waits_for_more_than_three_days_is_named_and_listed() {
    let (bench, order, key) = sold().await;
    poll(&bench.db, bench.clock.as_ref(), &key, None).await.unwrap();
    let all = ids(&listed(&bench, &["--order", &order]).await);
    let output = "Unknown or incomplete command, see below for error".to_owned();
    let report = Report { id: all[0], outcome: ReportedOutcome::Refused, output: output.clone() };
    executed(&bench.db, bench.clock.as_ref(), &key, &[report]).await.unwrap();
    let refused = listed(&bench, &["--state", "refused"]).await;
    assert_eq!((ids(&refused), refused[0]["output"].as_str()), (vec![all[0]], Some(output.as_str())));
    let said = "game servers refused 1: they did nothing".to_owned();
    assert_eq!(finding(&bench, &[], "refused commands").await, ("todo".into(), said));
    assert_eq!(bench.ok(&["server", "list"]).await["servers"][0]["refused"], 1);
    // As if a plugin had kept another one for three days and a minute.
    let before = commands::get(&bench.db, all[1]).await.unwrap().unwrap();
    let mut after = before.clone();
    let kept_at = Some(bench.clock.seconds() - 3 * 86_400 - 60);
    (after.delivery.state, after.delivery.delivered_at) = (CommandState::Kept, kept_at);
    assert_eq!(listed(&bench, &["--waiting"]).await, [""; 0]);
    write(&bench, commands::change(&before, &after, place_of(&before), place_of(&after).as_ref()).unwrap()).await;
    let said = "1 have waited for their player for more than three days".to_owned();
    assert_eq!(finding(&bench, &[], "waiting commands").await, ("todo".into(), said));
    assert_eq!(ids(&listed(&bench, &["--waiting"]).await), [all[1]]);
    bench.ok(&["delivery", "done", "--order", &order, "--yes"]).await;
    assert_eq!(findings(&bench, &[], "refused commands").await, []);
    assert_eq!(findings(&bench, &[], "waiting commands").await, []);
}

#[tokio::test]
async fn a_command_that_cannot_be_read_is_named_and_nothing_else_fails_because_of_it() {
    let (bench, order, _) = sold().await;
    let all = ids(&listed(&bench, &[]).await);
    let key = keys::command(all[0]);
    let mut row = bench.db.get(&key, true).await.unwrap().unwrap();
    row.insert("event".to_owned(), AttributeValue::S("of_a_later_version".to_owned()));
    let place = place_of(&commands::get(&bench.db, all[1]).await.unwrap().unwrap()).unwrap();
    let mut copy = bench.db.get(&place, true).await.unwrap().unwrap();
    copy.insert("command".to_owned(), AttributeValue::Bool(true));
    for row in [row, copy] {
        tests::put(&bench.db, row).await;
    }
    let name = format!("{} {}", key.pk, key.sk);
    let list = bench.ok(&["delivery", "list"]).await;
    assert_eq!(list["commands"].as_array().unwrap().len(), all.len() - 1);
    for answer in [list, bench.ok(&["order", "show", &order]).await] {
        assert_eq!(answer["unreadable"], json!([name]));
    }
    for arguments in [&["order", "show", &order][..], &["order", "evidence", &order], &["delivery", "list"]] {
        let text = bench.run(arguments).await.unwrap().text().to_owned();
        assert!(text.contains(&format!("{name} cannot be read")), "{text}");
    }
    bench.ok(&["server", "list"]).await;
    for arguments in [&["doctor"][..], &["doctor", "--repair"]] {
        let sick = bench.run(arguments).await.unwrap();
        for name in [&name, &format!("{} {}", place.pk, place.sk)] {
            assert!(sick.text().contains(name.as_str()), "{}", sick.text());
        }
    }
    // The copy was made again of its command, which can be read.
    assert_eq!(commands::due(&bench.db, ServerId::new(1), i64::MAX / 2, 100).await.unwrap().len(), all.len());
    let healed = bench.run(&["doctor"]).await.unwrap();
    assert!(healed.text().contains(&name) && !healed.text().contains(&place.sk), "{}", healed.text());
}
