//! Concurrent requests: every limit holds, and no change is lost. Requests to one cart over several instances
//! (rules.md, "Writing a cart"), checkouts of many buyers of one address (rules.md, "Checkout"), guesses of codes from
//! one address (rules.md, "Unknown codes"), and first logins of one name (rules.md, "Login by name").

use futures_util::future::join_all;
use serde_json::json;
use shared::model::{Cart, InternalId, Money, UserId};
use shared::shop::accounts::names;
use shared::shop::{carts, orders};
use shared::table::codec;
use shared::table::keys::{self, prefix};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use tests::{Call, NOW, Reply, TestStore, items, spread};

fn check_status(address: &str) -> Call {
    Call::post("/payments/checkStatus").json(&json!({ "order_id": "ska237syhxydekce" })).from_ip(address)
}

fn passed(replies: &[Reply]) -> usize {
    for reply in replies {
        assert!([200, 429].contains(&reply.status.as_u16()), "{}: {}", reply.status, reply.text);
    }
    replies.iter().filter(|reply| reply.status == 200).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn exactly_eighteen_of_many_pass_in_each_window() {
    let store = TestStore::open().await;
    for _window in 0..2 {
        let replies = join_all((0..100).map(|_| store.send(check_status("203.0.113.5")))).await;
        assert_eq!(passed(&replies), 18);
        let mut remaining: Vec<u32> = replies
            .iter()
            .filter(|reply| reply.status == 200)
            .map(|reply| reply.header("ratelimit-remaining").parse().unwrap())
            .collect();
        remaining.sort_unstable();
        assert_eq!(remaining, (0..18).collect::<Vec<u32>>(), "each place is given once");
        store.clock.advance(Duration::from_mins(1));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn a_code_and_a_referral_set_at_the_same_time_are_both_kept() {
    for _ in 0..5 {
        let store = TestStore::open().await;
        let token = store.token("Quillfeather");
        let coupon = Call::post("/cart/acceptCoupon").token(&token).json(&json!({ "coupon": "THREEBACK" }));
        let referral = Call::post("/cart/setReferral").token(&token).json(&json!({ "ref_code": "thornwick" }));
        let (coupon, referral) = tokio::join!(store.send(coupon), store.send(referral));
        assert_eq!(coupon.json()["success"], true, "{}", coupon.text);
        assert_eq!(referral.json()["success"], true, "{}", referral.text);
        let cart = store.send(Call::post("/cart/get").token(&token)).await.json();
        assert_eq!(cart["cart"]["coupon_code"], "threeback");
        assert_eq!(cart["cart"]["referral_code"], "thornwick");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn every_write_to_a_cart_counts_its_version_up_by_one() {
    let store = TestStore::open().await;
    let token = store.token("Quillfeather");
    let codes = ["HEARTH10", "THREEBACK", "EIGHTH", "GLOW-7QXM-2K4D", "ASH-3NTV-8WRC", "RANKUP"];
    let calls = codes.map(|code| Call::post("/cart/acceptCoupon").token(&token).json(&json!({ "coupon": code })));
    let before = version(&store).await;
    let replies = join_all(calls.map(|call| store.send(call))).await;
    let written = replies.iter().filter(|reply| reply.json()["success"] == true).count();
    for reply in replies.iter().filter(|reply| reply.json()["success"] == false) {
        let message = reply.json()["message"].as_str().unwrap().to_owned();
        assert!(message.contains("try again") || message.contains("applies to nothing"), "{message}");
    }
    assert!(written > 0);
    assert_eq!(version(&store).await, before + written as u64);
}

async fn version(store: &TestStore) -> u64 {
    let cart = store.db.get(&keys::cart(UserId::new(2)), true).await.unwrap().unwrap();
    cart["version"].as_n().unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn a_first_write_to_a_cart_happens_once() {
    let store = TestStore::open().await;
    let token = store.token("Pebble");
    let call = || Call::post("/cart/setReferral").token(&token).json(&json!({ "ref_code": "lantern" }));
    let replies = join_all((0..16).map(|_| store.send(call()))).await;
    let messages: Vec<String> =
        replies.iter().map(|reply| reply.json()["message"].as_str().unwrap().to_owned()).collect();
    let applied = messages.iter().filter(|message| message.contains("applied")).count();
    assert_eq!(applied, 1, "{messages:?}");
    let cart = store.db.get(&keys::cart(UserId::new(3)), true).await.unwrap().unwrap();
    assert_eq!(cart["version"].as_n().unwrap(), "1");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn misses_at_the_same_time_share_one_read() {
    let store = TestStore::open().await;
    let token = store.token("Pebble");
    let page = || store.send(Call::post("/categories/get/ranks").token(&token));
    let replies = join_all((0..20).map(|_| page())).await;
    assert!(replies.iter().all(|reply| reply.status == 200));
    let operations = store.calls.operations();
    let count = |name: &str| operations.iter().filter(|operation| *operation == name).count();
    assert_eq!(count("Query"), 1, "{operations:?}");
    assert_eq!(count("GetItem"), 1, "the active version: {operations:?}");
}

/// A user who has bought nothing and has no cart.
const BUYER: UserId = UserId::new(3);

async fn stored(store: &TestStore) -> Cart {
    let mut rows = store.db.batch_get(vec![keys::cart(BUYER)]).await.unwrap();
    carts::take(&mut rows, BUYER).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn a_limit_of_three_is_never_shown_as_four() {
    let store = TestStore::open().await;
    let instances = store.instances(8);
    let token = store.token("Pebble");
    let post = |path: &str, count: u64| Call::post(path).token(&token).json(&json!({ "count": count }));
    let mut shown = BTreeSet::new();
    for _ in 0..5 {
        // The cart has one line at most. A removed one comes back with the next id.
        let first = stored(&store).await.next_line;
        let calls = (0..80).map(|number| {
            let line = first.saturating_sub(1) + number / 20;
            match number % 5 {
                0 => post("/cart/add/203", 1),
                1 => post("/cart/add/203", 2 + number / 5 % 2),
                2 => post(&format!("/cart/reload/{line}"), 1 + number / 5 % 4),
                3 => Call::post(&format!("/cart/remove/{line}")).token(&token),
                _ => Call::post("/cart/get").token(&token),
            }
        });
        let replies = spread(&instances, calls.collect()).await;
        for (reply, _) in &replies {
            if let Some(lines) = reply.json()["items"].as_array() {
                shown.insert(lines.iter().map(|line| line["count"].as_u64().unwrap()).sum::<u64>());
            }
        }
        let written = replies.iter().filter(|(_, trace)| !trace.written.is_empty()).count();
        assert!(written > 4, "{written} writes are too few for a race");
        shown.insert(stored(&store).await.lines.iter().map(|line| u64::from(line.count)).sum());
    }
    assert!(shown.contains(&3) && shown.iter().all(|units| *units <= 3), "{shown:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn exactly_ten_of_many_checkouts_of_an_address_begin_in_each_window() {
    let store = TestStore::open().await;
    let mut tokens = Vec::new();
    for place in 0..30 {
        let call = Call::post("/auth/username").json(&json!({ "username": format!("Buyer{place}") }));
        let reply = store.send(call.from_ip(&format!("198.18.0.{place}"))).await;
        tokens.push(reply.json().as_str().unwrap().to_owned());
    }
    let agreed = json!({ "paymentMethod": "Stripe", "termsAndConditions": true, "privacyPolicy": true });
    for _window in 0..2 {
        for token in &tokens {
            let added = Call::post("/cart/add/302").token(token).json(&json!({ "count": 1 }));
            assert_eq!(store.send(added).await.status, 200);
        }
        let before = store.payments.sessions().len();
        let create = |token: &String| Call::post("/payments/create").token(token).json(&agreed);
        let replies = spread(&store.instances(8), tokens.iter().map(create).collect()).await;
        let begun = replies.iter().filter(|(reply, _)| reply.data()["success"] == true).count();
        assert_eq!(begun, 10);
        assert_eq!(store.payments.sessions().len(), before + 10);
        for (reply, _) in replies.iter().filter(|(reply, _)| reply.data()["success"] != true) {
            assert_eq!(reply.data()["message"], "Too many attempts. Please try again in 10 minutes.");
            assert_eq!(reply.header("retry-after"), "600");
        }
        store.clock.advance(Duration::from_mins(10));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn of_many_new_names_of_an_address_no_more_than_a_first_day_allows_begin() {
    let store = TestStore::open().await;
    tests::configure(&store.db, |config| config.payments.first_day = Some(Money::from_minor(800))).await;
    store.clock.advance(Duration::from_mins(1));
    let mut tokens = Vec::new();
    for place in 0..8 {
        let call = Call::post("/auth/username").json(&json!({ "username": format!("Buyer{place}") }));
        let reply = store.send(call).await;
        tokens.push(reply.json().as_str().unwrap().to_owned());
        let added = Call::post("/cart/add/302").token(&tokens[place]).json(&json!({ "count": 1 }));
        assert_eq!(store.send(added).await.status, 200);
    }
    let agreed = json!({ "paymentMethod": "Stripe", "termsAndConditions": true, "privacyPolicy": true });
    let create = |token: &String| Call::post("/payments/create").token(token).json(&agreed);
    let replies = spread(&store.instances(8), tokens.iter().map(create).collect()).await;
    let (begun, refused): (Vec<_>, Vec<_>) = replies.iter().partition(|(reply, _)| reply.data()["success"] == true);
    let message = refused[0].0.data()["message"].clone();
    assert_eq!((begun.len(), store.payments.sessions().len()), (2, 2), "{message}");
    let wanted = "To guard against stolen cards, logins by name from a new internet address can pay at most 8.00 in the first 24 \
                  hours. 2.00 is left of it; more can be paid 24 hours after the first payment.";
    assert_eq!(message, wanted);
}

const HOME: &str = "203.0.113.5";

fn guess(store: &TestStore, code: &str) -> Call {
    Call::post("/cart/acceptCoupon").token(&store.token("Thornwick")).json(&json!({ "coupon": code })).from_ip(HOME)
}

/// How often each message came.
fn messages<'a>(replies: impl Iterator<Item = &'a Reply>) -> BTreeMap<String, usize> {
    let mut messages = BTreeMap::new();
    for reply in replies {
        assert_eq!((reply.status.as_u16(), &reply.json()["success"]), (200, &json!(false)), "{}", reply.text);
        let message = reply.json()["message"].as_str().unwrap_or_default().to_owned();
        assert_eq!(message.contains("Too many attempts"), !reply.header("retry-after").is_empty(), "{}", reply.text);
        *messages.entry(message).or_default() += 1;
    }
    messages
}

fn expected(unknown: usize, refused: usize) -> BTreeMap<String, usize> {
    let message = |text: &str, count| (text.to_owned(), count);
    BTreeMap::from([
        message("This code does not exist.", unknown),
        message("Too many attempts. Please try again in 10 minutes.", refused),
    ])
}

async fn hits(store: &TestStore) -> String {
    let window = store.db.get(&keys::rate("code", HOME), true).await.unwrap().unwrap();
    window["hits"].as_n().unwrap().clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn of_five_hundred_wrong_codes_over_eight_instances_thirty_are_looked_up() {
    let store = TestStore::open().await;
    let instances = store.instances(8);
    let calls = (0..500).map(|number| guess(&store, &format!("guess {number}"))).collect();
    let replies = spread(&instances, calls).await;
    assert_eq!(messages(replies.iter().map(|(reply, _)| reply)), expected(30, 470));
    assert_eq!(hits(&store).await, "30");
    let known = ["EIGHTH", "hearth10", "MIDWINTER"].map(|code| guess(&store, code)).to_vec();
    let replies = spread(&instances, known).await;
    assert!(replies.iter().all(|(_, trace)| trace.written.is_empty()));
    assert_eq!(messages(replies.iter().map(|(reply, _)| reply)).len(), 1, "over the limit every code is the same");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn wrong_codes_that_are_all_read_before_the_first_is_counted_are_counted_too() {
    let store = TestStore::open().await;
    // One instance for each, so that every request is under way at the same time.
    let instances = store.instances(60);
    let calls = (0..60).map(|number| guess(&store, &format!("guess {number}"))).collect();
    let replies = spread(&instances, calls).await;
    assert_eq!(messages(replies.iter().map(|(reply, _)| reply)), expected(30, 30));
}

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
