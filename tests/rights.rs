//! Each function's rights in template.yaml are exactly the operations that it uses, and reach every row that it uses.
//! The rights in `.github/SECURITY.md` are those of template.yaml.

use crate::payments::support;
use crate::support::configure;
use serde_json::Value;
use shared::model::{AuthType, NoticeTarget, ServerId, TargetKind, User};
use shared::rules::notice::EVENTS;
use shared::shop::delivery::servers;
use shared::shop::delivery::servers::Lease;
use shared::table::published::card_salt;
use shared::table::transaction::{Write, sent};
use shared::table::{keys, read_live};
use shared::token::Via;
use std::collections::BTreeSet;
use std::time::Duration;
use stripe_stand_in::Action;
use tests::{Call, NOW, Need, TestStore, event_names, repository, template};

#[tokio::test]
async fn a_function_has_exactly_the_rights_that_it_uses() {
    for function in template().functions().unwrap() {
        let own = format!("{function}/");
        let mut done = Vec::new();
        // Each on a fresh store with empty caches.
        for name in event_names().iter().filter(|name| name.starts_with(&own)) {
            let store = TestStore::open().await;
            store.calls.clear();
            store.invoke_file(name).await;
            done.extend(store.calls.needs());
        }
        match function.as_str() {
            "payments" => done.extend(needs_of_a_checkout().await),
            "auth" => done.extend(needs_of_a_game_login().await),
            "delivery" => done.extend(needs_of_a_game_server().await),
            "notices" => done.extend(needs_of_the_sender().await),
            _ => {}
        }
        let actions: BTreeSet<String> = done.iter().flat_map(|need| need.actions.clone()).collect();
        assert_eq!(template().actions(&function).unwrap(), actions, "{function}");
        let template = template();
        let statements: Vec<&Value> = template.statements(&function).unwrap().collect();
        for need in done {
            assert!(is_allowed(&statements, &need), "{function}: {need:?}");
        }
    }
}

#[tokio::test]
async fn the_function_of_game_servers_can_make_no_key_and_change_none() {
    let store = TestStore::open().await;
    let key = servers::StoredKey { server: ServerId::new(7), created_at: 0, seen: None };
    let update = |expression: &str| Write::update(keys::server_key("hash"), expression);
    let transactions: [Vec<Write>; 6] = [
        vec![servers::put("hash", &key).unwrap()],
        vec![servers::revoke("hash")],
        vec![update("SET server = :seven, created_at = :seven").number(":seven", 7)],
        vec![update("SET #s = :seven").name("#s", "server").number(":seven", 7)],
        vec![Lease::see(ServerId::new(7), 0), update("SET seen = :seven, server = :seven").number(":seven", 7)],
        vec![servers::see("hash", 0), Lease::end(&Lease::default(), ServerId::new(7))],
    ];
    let (template, db) = (template(), store.functions_db());
    let statements: Vec<&Value> = template.statements("delivery").unwrap().collect();
    for writes in transactions {
        store.calls.clear();
        let what = format!("{writes:?}");
        sent(db, writes).await.unwrap();
        assert_eq!(store.calls.needs().len(), 1, "{what}");
        assert!(store.calls.needs().iter().all(|need| !is_allowed(&statements, need)), "{what}");
    }
    // What it does itself is allowed.
    store.calls.clear();
    sent(db, vec![servers::see("hash", 0), Lease::see(ServerId::new(7), 0)]).await.unwrap();
    assert!(store.calls.needs().iter().all(|need| is_allowed(&statements, need)));
}

#[test]
fn no_function_reaches_the_owners_own_files() {
    let (partition, template) = (keys::version_files("3f9a0c21d4e5b6a7c8d9"), template());
    for function in template.functions().unwrap() {
        for statement in template.statements(&function).unwrap() {
            let actions: Vec<String> = serde_json::from_value(statement["Action"].clone()).unwrap_or_default();
            for action in actions.into_iter().filter(|action| action.starts_with("dynamodb:")) {
                let (actions, keys) = (BTreeSet::from([action]), BTreeSet::from([partition.clone()]));
                let need = Need { actions, keys, attributes: BTreeSet::new() };
                assert!(!is_allowed(&[statement], &need), "{function}: {need:?}");
            }
        }
    }
}

/// Whether a role with these statements may do all that a call needs.
fn is_allowed(statements: &[&Value], need: &Need) -> bool {
    need.actions.iter().all(|action| statements.iter().any(|statement| allows(statement, action, need)))
}

/// Whether a statement allows an action on the rows and attributes of a call.
fn allows(statement: &Value, action: &str, need: &Need) -> bool {
    let listed = |operator: &str, key: &str| -> Option<Vec<String>> {
        serde_json::from_value(statement["Condition"][operator][key].clone()).ok()
    };
    let patterns = |operator: &str| listed(operator, "dynamodb:LeadingKeys").unwrap_or_default();
    let (like, unlike) = (patterns("ForAllValues:StringLike"), patterns("ForAllValues:StringNotLike"));
    let is_reached = |key: &String| {
        like.iter().any(|pattern| is_like(key, pattern)) && !unlike.iter().any(|pattern| is_like(key, pattern))
    };
    let attributes = listed("ForAllValues:StringEquals", "dynamodb:Attributes");
    let may_name = |name: &String| attributes.as_ref().is_none_or(|attributes| attributes.contains(name));
    let acts = statement["Action"].as_array().is_some_and(|actions| actions.iter().any(|one| one == action));
    acts && need.keys.iter().all(is_reached) && need.attributes.iter().all(may_name)
}

/// Whether a text matches a pattern with wildcards (`*`), as IAM compares.
fn is_like(text: &str, pattern: &str) -> bool {
    let Some((before, after)) = pattern.split_once('*') else { return text == pattern };
    let Some(rest) = text.strip_prefix(before) else { return false };
    rest.char_indices().map(|(at, _)| at).chain([rest.len()]).any(|at| is_like(&rest[at..], after))
}

/// The needs of the auth function when a login in the game begins and is voided. The sample store logs players in by name.
async fn needs_of_a_game_login() -> Vec<Need> {
    let store = TestStore::open().await;
    configure(&store, |config| config.auth_type = AuthType::Ingame).await;
    store.calls.clear();
    for address in ["192.0.2.1", "192.0.2.2"] {
        store.send(Call::post("/game_auth/init/Thornwick").from_ip(address)).await;
    }
    store.calls.needs()
}

/// The needs of the delivery function for commands that are served, given back, kept, validated and executed, and for a login.
async fn needs_of_a_game_server() -> Vec<Need> {
    let store = TestStore::open().await;
    configure(&store, |config| config.auth_type = AuthType::Ingame).await;
    store.send(Call::post("/game_auth/init/Thornwick")).await;
    let id = store.queue_command("Thornwick", "give Thornwick diamond", true).await;
    store.calls.clear();
    let rows = store.poll().await;
    store.server_says("paynow", None).await;
    store.poll().await;
    for word in ["delivered", "validated", "executed"] {
        store.tell(word, &[id]).await;
    }
    let login = rows.as_array().unwrap().iter().find_map(|row| row["auth_id"].as_str()).unwrap();
    store.send(Call::post(&format!("/plugin/api/game_auth/confirm/{login}/")).bytes([0])).await;
    store.clock.advance(Duration::from_mins(10));
    store.poll().await;
    store.calls.needs()
}

/// The needs of the notices function when one target takes a notice, one takes nothing for a time and one is not connected.
async fn needs_of_the_sender() -> Vec<Need> {
    let mut store = TestStore::open().await;
    crate::notices::with_targets(&mut store, &["good", "busy", "unknown"]).await;
    store.calls.clear();
    assert_eq!(crate::notices::send(&store).await.status, 200);
    store.calls.needs()
}

/// The needs of the payments function in checkouts that are paid and refunded or disputed, and in its sweep. No single event
/// does it.
async fn needs_of_a_checkout() -> Vec<Need> {
    let store = TestStore::open().await;
    configure(&store, |config| {
        config.ban_on_dispute = true;
        config.payments.answer_disputes = true;
        // The owner is notified of everything.
        config.notify = vec![NoticeTarget::new("all", TargetKind::Webhook, &EVENTS.map(|(_, event)| event))];
    })
    .await;
    // Some card is banned.
    card_salt(&store.db).await.unwrap();
    let token = support::login(&store, "Buyer").await;
    // A login that proves the name: the buyer of a disputed payment is banned.
    let buyer = store.keys.verify(&token, NOW).unwrap().user;
    let token = store.keys.sign_via(buyer, NOW, 3_600, Some(Via::Game)).unwrap();
    let sweep = serde_json::from_str(include_str!("../infra/local/src/sweep.json")).unwrap();
    let mut needs = Vec::new();
    for end in [Action::Refund(None), Action::Dispute(None)] {
        support::add(&store, &token, 302, 1).await;
        store.calls.clear();
        let begun = support::create(&store, &token).await;
        support::act(&store, &begun, &Action::Pay).await;
        support::act(&store, &begun, &end).await;
        assert_eq!(store.invoke("payments", &sweep).await.status, 200);
        needs.extend(store.calls.needs());
    }
    // Evidence is sent a day before it is due.
    store.clock.advance(Duration::from_hours(6 * 24));
    store.calls.clear();
    assert_eq!(store.invoke("payments", &sweep).await.status, 200);
    needs.extend(store.calls.needs());
    assert!(store.payments.received().iter().any(|one| one.route.starts_with("POST /v1/disputes/")));
    assert!(read_live::<User>(&store.db, &keys::user(buyer)).await.unwrap().unwrap().banned);
    needs
}

/// Function, statement, actions, keys, and whether only in transactions.
type Right = (String, String, Vec<String>, Vec<String>, bool);

/// The statements of every function of the template.
fn of_template() -> Vec<Right> {
    let words = |list: &Value| {
        let words = list.as_array().unwrap().iter().map(|word| word.as_str().unwrap());
        words.map(|word| word.trim_start_matches("dynamodb:").to_owned()).collect()
    };
    let right = |function: &String, statement: &Value| {
        let condition = &statement["Condition"];
        let keys = words(&condition["ForAllValues:StringLike"]["dynamodb:LeadingKeys"]);
        let is_transaction = !condition["ForAnyValue:StringEquals"]["dynamodb:EnclosingOperation"].is_null();
        let name = statement["Sid"].as_str().unwrap().to_owned();
        (function.clone(), name, words(&statement["Action"]), keys, is_transaction)
    };
    let functions = template().functions().unwrap();
    let statements = |name: &String| -> Vec<Right> {
        template().statements(name).unwrap().map(|statement| right(name, statement)).collect()
    };
    functions.iter().flat_map(statements).collect()
}

/// The rows of the page's table.
fn of_page(page: &str) -> Vec<Right> {
    let table = page.split("<!-- rights -->").nth(1).unwrap().split("<!-- /rights -->").next().unwrap();
    let rows = table.lines().filter(|line| line.starts_with("| ")).skip(1);
    let words = |cell: &str| cell.split(',').map(|word| word.trim().trim_matches('`').to_owned()).collect();
    rows.map(|row| {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        (cells[0].to_owned(), cells[1].to_owned(), words(cells[2]), words(cells[3]), cells[4] == "yes")
    })
    .collect()
}

#[test]
fn the_page_lists_the_rights_of_the_template() {
    let page = std::fs::read_to_string(repository().join(".github/SECURITY.md")).unwrap();
    let (mut of_page, mut of_template) = (of_page(&page), of_template());
    of_page.sort();
    of_template.sort();
    assert_eq!(of_page, of_template);
}
