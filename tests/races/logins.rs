//! First logins of one name at the same time (rules.md, "Login by name").

use serde_json::json;
use shared::model::InternalId;
use shared::shop::accounts::names;
use shared::shop::orders;
use shared::table::codec;
use shared::table::keys::prefix;
use std::collections::BTreeSet;
use tests::{Call, NOW, TestStore, items, spread};

/// The name in one of 128 spellings.
fn spelled(place: usize) -> String {
    let letter = |(at, letter): (usize, char)| match place >> (at % 7) & 1 {
        0 => letter.to_ascii_lowercase(),
        _ => letter.to_ascii_uppercase(),
    };
    "Wanderer".chars().enumerate().map(letter).collect()
}

fn number(item: &codec::Item, attribute: &str) -> String {
    item[attribute].as_n().unwrap().clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn a_hundred_first_logins_of_one_name_make_one_account() {
    let store = TestStore::open().await;
    let log_in = |place: usize| {
        let call = Call::post("/auth/username").json(&json!({ "username": spelled(place) }));
        call.from_ip(&format!("198.18.0.{place}"))
    };
    let replies = spread(&store.instances(8), (0..100).map(log_in).collect()).await;
    let mut users = BTreeSet::new();
    for (reply, _) in &replies {
        assert_eq!(reply.status, 200, "{}", reply.text);
        users.insert(store.keys.verify(reply.json().as_str().unwrap(), NOW).unwrap().user.to_string());
    }
    assert_eq!(users.len(), 1, "{users:?}");

    let accounts: BTreeSet<String> =
        items(&store.db, prefix::USER).await.iter().map(|user| number(user, "id")).collect();
    let names: Vec<String> = items(&store.db, prefix::NAME).await.iter().map(|row| number(row, names::USER)).collect();
    assert_eq!(accounts.len(), TestStore::sample().live.users.len() + 1, "{accounts:?}");
    assert_eq!(names.len(), accounts.len(), "one name for each account: {names:?}");
    assert_eq!(names.into_iter().collect::<BTreeSet<_>>(), accounts, "no account and no name without the other");
    assert!(accounts.is_superset(&users));
}

/// Checkouts of one cart by several logins of its account at the same time (rules.md, "Logins").
#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn a_login_is_given_only_checkouts_that_it_began_itself() {
    let store = TestStore::open().await;
    let mut tokens = Vec::new();
    for place in 0..16 {
        let call = Call::post("/auth/username").json(&json!({ "username": spelled(place) }));
        let reply = store.send(call.from_ip(&format!("198.18.0.{place}"))).await;
        tokens.push(reply.json().as_str().unwrap().to_owned());
    }
    let added = Call::post("/cart/add/302").token(&tokens[0]).json(&json!({ "count": 1 }));
    assert_eq!(store.send(added).await.status, 200);
    let agreed = json!({ "paymentMethod": "Stripe", "termsAndConditions": true, "privacyPolicy": true });
    let create = |place: usize| {
        let call = Call::post("/payments/create").token(&tokens[place % 16]).json(&agreed);
        call.from_ip(&format!("198.18.0.{place}"))
    };
    let replies = spread(&store.instances(8), (0..48).map(create).collect()).await;
    let mut given = 0;
    for (place, (reply, _)) in replies.iter().enumerate() {
        let data = reply.data();
        if data["success"] != true {
            continue;
        }
        given += 1;
        let order = InternalId::new(data["order_id"].as_str().unwrap());
        let stored = orders::get(&store.db, &order).await.unwrap().unwrap();
        let login = store.keys.verify(&tokens[place % 16], NOW).unwrap().login();
        assert_eq!(stored.effects.login, login, "{data}");
        assert_eq!(stored.effects.provider.unwrap().url.as_deref(), data["data"]["url"].as_str());
    }
    assert!(given > 0, "some are given one");
    let payable = store
        .payments
        .sessions()
        .into_iter()
        .filter(|session| store.payments.act(session, &stripe_stand_in::Action::Pay).is_ok());
    assert!(payable.count() <= 1, "at most one can be paid");
}
