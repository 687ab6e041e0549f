//! Enumeration: beyond what the tables of rules.md say, nothing tells an unknown thing from one of another player.
//! Guesses of gift cards from many addresses (rules.md, "Unknown codes"). And names and codes that look like others
//! (rules.md, "Accounts"; rules.md, "Coupons and gift cards").

use super::observed;
use crate::cart::support::{self, coupon, outcome, percent, put_code};
use crate::support::{category, republish};
use serde_json::{Value, json};
use shared::model::{Code, InternalId, Order, OrderStatus};
use shared::table::{codec, keys};
use tests::{Call, Reply, TestStore, spread};

fn lookup(body: &Value, place: u8) -> Call {
    Call::post("/payments/checkStatus").json(body).from_ip(&format!("203.0.113.{place}"))
}

/// Reads the active version, as a function has done before most requests.
async fn warm(store: &TestStore) {
    store.send(lookup(&json!({ "order_id": "x" }), 255)).await;
    store.send(Call::post("/cart/get").token(&store.token("Pebble"))).await;
}

/// Orders in every status, with the owner Thornwick and without an owner; returns their ids.
async fn orders(store: &TestStore) -> (Vec<String>, Vec<String>) {
    let statuses =
        [OrderStatus::Pending, OrderStatus::Paid, OrderStatus::Failed, OrderStatus::Cancelled, OrderStatus::Refunded];
    let (mut owned, mut unowned) = (Vec::new(), Vec::new());
    let sample = TestStore::sample().live.orders.iter().find(|order| order.owner.is_some_and(|id| id.get() == 1));
    let sample = sample.expect("an order of Thornwick's");
    for (place, status) in statuses.into_iter().enumerate() {
        for (owner, ids) in [(sample.owner, &mut owned), (None, &mut unowned)] {
            let id = format!("probe-{place}-{}", owner.is_some());
            let order = Order { internal_id: InternalId::new(&id), status, owner, ..sample.clone() };
            let row = codec::encode_live(&keys::order(&order.internal_id), &order).unwrap();
            crate::support::put(store, row).await;
            ids.push(id);
        }
    }
    (owned, unowned)
}

#[tokio::test]
async fn every_order_of_another_player_looks_the_same() {
    let store = TestStore::open().await;
    warm(&store).await;
    let (owned, _) = orders(&store).await;
    let pebble = store.token("Pebble");
    let tokens = [None, Some("a.b.c".to_owned()), Some(store.token("Grimble")), Some(pebble)];
    for (row, token) in tokens.iter().enumerate() {
        let ask = |order: &str, place: usize| {
            let place = u8::try_from(row * 50 + place).expect("few requests");
            let call = lookup(&json!({ "order_id": order }), place);
            token.iter().fold(call, |call, token| call.token(token))
        };
        let mut seen = Vec::new();
        for (place, order) in owned.iter().enumerate() {
            seen.push(observed(&store, ask(order, place)).await);
        }
        assert!(seen.windows(2).all(|pair| pair[0] == pair[1]), "{token:?}: {seen:#?}");
        assert!(!seen[0].0.2.contains("probe") && !seen[0].0.2.contains("PAID"), "{}", seen[0].0.2);
    }
}

#[tokio::test]
async fn an_unknown_order_costs_the_same_calls_as_one_of_another_player() {
    let store = TestStore::open().await;
    warm(&store).await;
    let (owned, unowned) = orders(&store).await;
    let unknown = ["probe-9-true", "u2qlyq2uxxth4o4k", "#", "ORDER#probe-1-true", "probe-1-TRUE", "probe-1-true "];
    for (row, token) in [None, Some(store.token("Pebble"))].into_iter().enumerate() {
        let mut calls = Vec::new();
        for (place, order) in owned.iter().chain(&unowned).map(String::as_str).chain(unknown).enumerate() {
            let place = u8::try_from(row * 100 + place).expect("few requests");
            let call = lookup(&json!({ "order_id": order }), place);
            let call = token.iter().fold(call, |call, token| call.token(token));
            let (_, operations, trips) = observed(&store, call).await;
            calls.push((operations, trips));
        }
        assert!(calls.windows(2).all(|pair| pair[0] == pair[1]), "{calls:#?}");
    }
}

#[tokio::test]
async fn all_unknown_orders_look_the_same() {
    let store = TestStore::open().await;
    warm(&store).await;
    let mut seen = Vec::new();
    for (place, order) in
        ["u2qlyq2uxxth4o4k", "x", "../u2qlyq2uxxth4o4j", "ORDER#1", &"y".repeat(255)].iter().enumerate()
    {
        let place = u8::try_from(place).expect("few requests");
        seen.push(observed(&store, lookup(&json!({ "order_id": order }), place)).await);
    }
    assert!(seen.windows(2).all(|pair| pair[0] == pair[1]), "{seen:#?}");
}

#[tokio::test]
async fn the_id_of_a_checkout_opens_no_order_of_another_player_and_asks_no_provider() {
    use crate::payments::support::{buyer, create, login};
    let store = TestStore::open().await;
    warm(&store).await;
    let token = buyer(&store, "Buyer_1", 202, 1).await;
    let begun = create(&store, &token).await;
    let before = store.payments.received().len();
    let other = login(&store, "Buyer_2").await;
    let wrong = ["cs_test_other", "../refunds", "", &begun.session];
    let mut seen = Vec::new();
    for (place, session) in wrong.into_iter().enumerate() {
        let place = u8::try_from(place).expect("few requests");
        let body = json!({ "order_id": begun.order, "checkout_id": session });
        seen.push(observed(&store, lookup(&body, place).token(&other)).await);
        let ((status, _, text), ..) = &seen[usize::from(place)];
        assert!(*status == 200 && text.contains("forbidden"), "{text}");
        let anonymous = observed(&store, lookup(&body, 100 + place)).await;
        assert_eq!(anonymous.0.0, 401);
    }
    assert!(seen.windows(2).all(|pair| pair[0] == pair[1]), "the right session looks different: {seen:#?}");
    assert_eq!(store.payments.received().len(), before, "nothing was sent to the provider");
}

#[tokio::test]
async fn without_a_valid_token_a_code_that_exists_looks_like_one_that_does_not() {
    let store = TestStore::open().await;
    warm(&store).await;
    let gone = store.token_of(shared::model::UserId::new(9_999));
    for token in ["a.b.c", &store.token("Grimble"), &gone] {
        let mut seen = Vec::new();
        for (path, field, code) in [
            ("/cart/acceptCoupon", "coupon", "EIGHTH"),
            ("/cart/acceptCoupon", "coupon", "no such code"),
            ("/cart/acceptCoupon", "coupon", "GLOW-7QXM-2K4D"),
        ] {
            seen.push(observed(&store, Call::post(path).token(token).json(&json!({ field: code }))).await);
        }
        assert_eq!(seen[0].0.0, 401);
        assert!(seen.windows(2).all(|pair| pair[0] == pair[1]), "{seen:#?}");
        let set = |code: &str| Call::post("/cart/setReferral").token(token).json(&json!({ "ref_code": code }));
        assert_eq!(observed(&store, set("toadmail")).await, observed(&store, set("no such code")).await);
    }
}

#[tokio::test]
async fn a_referral_code_that_is_disabled_looks_like_one_that_does_not_exist() {
    use crate::cart::support::{put_referral, sample_referral, text};
    let store = TestStore::open().await;
    let mut disabled = sample_referral("toadmail");
    (disabled.active, disabled.code) = (false, text("resting"));
    put_referral(&store, &disabled).await;
    warm(&store).await;
    let set =
        |code: &str| Call::post("/cart/setReferral").token(&store.token("Pebble")).json(&json!({ "ref_code": code }));
    assert_eq!(observed(&store, set("resting")).await, observed(&store, set("no such code")).await);
}

#[tokio::test]
async fn a_gift_does_not_tell_whether_its_recipient_has_an_account() {
    let mut seen = Vec::new();
    for name in ["Thornwick", "Nobody_Has_This"] {
        let store = TestStore::open().await;
        warm(&store).await;
        let call = Call::post("/cart/add/311").token(&store.token("Pebble"));
        let added = observed(&store, call.json(&json!({ "payment_type": 2, "gift_to": name }))).await;
        assert!([200, 422].contains(&added.0.0), "{added:?}");
        let shown = observed(&store, Call::post("/cart/get").token(&store.token("Pebble"))).await;
        let text = shown.0.2.replace(name, "NAME");
        seen.push((added, text, shown.1, shown.2));
    }
    assert_eq!(seen[0], seen[1]);
}

#[tokio::test]
async fn a_hidden_category_looks_like_one_that_does_not_exist() {
    let store = TestStore::open().await;
    republish(&store, |files| category(files, 1).enabled = false).await;
    let token = store.token("Pebble");
    let ask = |url: &str| Call::post(&format!("/categories/get/{url}")).token(&token);
    store.send(ask("crates")).await;
    let unknown = observed(&store, ask("nowhere")).await;
    let hidden = TestStore::sample().compiled.categories.iter().find(|one| one.shelf.head.id.get() == 1);
    let slug = hidden.expect("the category").shelf.head.slug.to_string();
    for url in [slug.trim_start_matches('/'), "1", "999"] {
        assert_eq!(observed(&store, ask(url)).await, unknown, "{url}");
    }
}

#[tokio::test]
async fn an_item_of_a_hidden_category_looks_like_one_that_does_not_exist() {
    let store = TestStore::open().await;
    republish(&store, |files| category(files, 2).enabled = false).await;
    let token = store.token("Pebble");
    let ask = |id: u64| Call::post(&format!("/items/get/{id}")).token(&token);
    assert_eq!(store.send(ask(101)).await.status, 200);
    assert_eq!(observed(&store, ask(202)).await, observed(&store, ask(999_999)).await);
}

fn guess(store: &TestStore, name: &str, code: &str) -> Call {
    Call::post("/cart/acceptCoupon").token(&store.token(name)).json(&json!({ "coupon": code }))
}

fn unknown<'a>(replies: impl IntoIterator<Item = &'a Reply>) -> usize {
    replies.into_iter().filter(|reply| reply.text.contains("does not exist")).count()
}

async fn hits(store: &TestStore, address: &str) -> Option<String> {
    let window = store.db.get(&keys::rate("code", address), true).await.unwrap();
    window.map(|window| window["hits"].as_n().unwrap().clone())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn thirty_guesses_are_looked_up_from_all_addresses_of_one_network_over_all_instances_and_accounts() {
    let store = TestStore::open().await;
    let instances = store.instances(8);
    let accounts = ["Thornwick", "Pebble", "Quillfeather"];
    let calls = (0..200_u16).map(|number| {
        let code = format!("GLOW-{number:04}-AAAA");
        guess(&store, accounts[usize::from(number % 3)], &code).from_ip(&format!("2001:db8:7:1:{number:x}::{number:x}"))
    });
    let replies = spread(&instances, calls.collect()).await;
    assert_eq!(unknown(replies.iter().map(|(reply, _)| reply)), 30);
    assert_eq!(hits(&store, "2001:db8:7:1::/64").await.as_deref(), Some("30"));
    let next = guess(&store, "Pebble", "GLOW-7QXM-2K4D").from_ip("2001:db8:7:1:ffff:ffff:ffff:ffff");
    assert!(store.send(next).await.text.contains("Too many attempts"), "a card that exists is not looked up either");
    for other in ["2001:db8:7:2::1", "2001:db8:7:0:ffff::1", "2001:db8:7::1"] {
        let reply = store.send(guess(&store, "Pebble", "GLOW-0000-AAAA").from_ip(other)).await;
        assert_eq!(unknown([&reply]), 1, "{other}: {}", reply.text);
    }
}

/// Names that read like Thornwick or Kelvin. All are refused as names.
const LOOK_ALIKES: [&str; 24] = [
    "Ｔｈｏｒｎｗｉｃｋ",
    "Тhornwick",
    "Thоrnwick",
    "Thornwi\u{200b}ck",
    "Thornwick\u{200d}",
    "\u{feff}Thornwick",
    "Thornwick\u{ad}",
    "\u{202e}kciwnrohT",
    "\u{2066}Thornwick\u{2069}",
    "Thornw\u{131}ck",
    "Thornw\u{130}ck",
    "Thornwic\u{212a}",
    "\u{212a}elvin",
    "Thornwick\u{301}",
    "Tho\u{337}rnwick",
    "𝐓𝐡𝐨𝐫𝐧𝐰𝐢𝐜𝐤",
    "Ⓣhornwick",
    "Thornwıck",
    "Thornwick\u{a0}",
    "Thornwick ",
    "Thornwick\0",
    "ſtone",
    "Straße",
    "Player１",
];

#[tokio::test]
async fn no_look_alike_of_a_name_can_log_in() {
    let store = TestStore::open().await;
    for (place, name) in LOOK_ALIKES.into_iter().enumerate() {
        store.calls.clear();
        let call = Call::post("/auth/username").from_ip(&format!("203.0.113.{place}"));
        let reply = store.send(call.json(&json!({ "username": name }))).await;
        assert_eq!(reply.status, 400, "{name:?}: {}", reply.text);
        assert!(store.calls.writes() <= 2, "only the request is counted: {:?}", store.calls.operations());
        assert!(!reply.text.contains(name.trim()), "the response does not repeat it: {}", reply.text);
    }
}

/// Applies codes to Thornwick's cart; returns whether each was accepted.
async fn accepted(store: &TestStore, codes: &[&str]) -> Vec<bool> {
    let mut accepted = Vec::new();
    for (place, code) in codes.iter().enumerate() {
        let call = Call::post("/cart/acceptCoupon").token(&store.token("Thornwick"));
        let call = call.json(&json!({ "coupon": code })).from_ip(&format!("203.0.113.{place}"));
        accepted.push(outcome(&store.send(call).await).0);
    }
    accepted
}

#[tokio::test]
async fn a_code_is_lower_cased_and_never_upper_cased() {
    let store = TestStore::open().await;
    put_code(&store, &Code::Coupon(coupon("straße", percent(1_000)))).await;
    assert_eq!(accepted(&store, &["Straße", "STRAßE", "STRAẞE"]).await, [true; 3]);
    assert_eq!(accepted(&store, &["STRASSE", "strasse", "straſſe"]).await, [false; 3]);
}

#[tokio::test]
async fn a_code_is_found_by_its_lower_case_and_by_nothing_that_looks_like_it() {
    let store = TestStore::open().await;
    put_code(&store, &Code::Coupon(coupon("kelvin10", percent(1_000)))).await;
    // The lower case of the Kelvin sign is k.
    assert_eq!(accepted(&store, &["KELVIN10", "\u{212a}elvin10", "\u{a0}kelvin10\u{3000}"]).await, [true; 3]);
    let others = [
        "ｋｅｌｖｉｎ１０",
        "kelvin１０",
        "kelvin\u{661}\u{660}",
        "kelv\u{131}n10",
        "KELV\u{130}N10",
        "kelvin\u{200b}10",
        "kelvin10\u{200d}",
        "\u{feff}kelvin10",
        "\u{202e}01nivlek",
        "kelvin10\u{301}",
        "kеlvin10",
        "kelvin10\0",
    ];
    assert_eq!(accepted(&store, &others).await, [false; 12]);
}

#[tokio::test]
async fn the_longest_code_grows_when_it_is_lower_cased_and_still_fits_into_a_key() {
    let store = TestStore::open().await;
    // The lower case of this letter has two characters and three bytes.
    assert_eq!(accepted(&store, &["\u{130}".repeat(40).as_str()]).await, [false]);
    let call = Call::post("/cart/setReferral").token(&store.token("Pebble"));
    let reply = store.send(call.json(&json!({ "ref_code": "\u{130}".repeat(255) }))).await;
    assert!(!outcome(&reply).0);
    let key = keys::referral(&support::text(&"\u{130}".repeat(255)));
    assert!(store.db.get(&key, true).await.unwrap().is_none());
}
