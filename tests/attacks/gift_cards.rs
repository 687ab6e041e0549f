//! Guessing gift cards from many addresses (rules.md, "Unknown codes").

use serde_json::json;
use shared::table::keys;
use tests::{Call, Reply, TestStore, spread};

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
