//! Guessing gift cards from many addresses (rules.md, "Unknown codes").

use serde_json::json;
use shared::store::keys;
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

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn an_ipv4_address_is_one_in_every_spelling() {
    let store = TestStore::open().await;
    let instances = store.instances(4);
    let spellings = ["203.0.113.5", "::ffff:203.0.113.5", "::FFFF:CB00:7105", "0:0:0:0:0:ffff:203.0.113.5"];
    let calls = (0..80_usize)
        .map(|number| guess(&store, "Pebble", &format!("guess {number}")).from_ip(spellings[number % spellings.len()]));
    let replies = spread(&instances, calls.collect()).await;
    assert_eq!(unknown(replies.iter().map(|(reply, _)| reply)), 30);
    assert_eq!(hits(&store, "203.0.113.5").await.as_deref(), Some("30"));
    assert_eq!(hits(&store, "::/64").await, None, "mapped addresses do not share a network of their own");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn a_forged_header_gives_no_further_guesses() {
    let store = TestStore::open().await;
    let instances = store.instances(4);
    let names = ["x-forwarded-for", "forwarded", "x-real-ip", "true-client-ip", "cf-connecting-ip", "x-client-ip"];
    let calls = (0..120_usize).map(|number| {
        let address = format!("192.0.2.{number}");
        let value = if number % names.len() == 1 { format!("for={address}") } else { address };
        guess(&store, "Pebble", &format!("guess {number}")).header(names[number % names.len()], &value)
    });
    let replies = spread(&instances, calls.collect()).await;
    assert_eq!(unknown(replies.iter().map(|(reply, _)| reply)), 30);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn behind_a_trusted_proxy_a_client_counts_once_however_many_addresses_it_adds() {
    let store = TestStore::open_with(&[("TrustedProxies", "10.0.0.0/8")]).await;
    let mut found = 0;
    for number in 0..60 {
        let forwarded = format!("192.0.2.{number}, 2001:db8::{number:x}, 203.0.113.9");
        let call = guess(&store, "Pebble", &format!("guess {number}")).from_ip("10.0.0.1");
        found += unknown([&store.send(call.header("x-forwarded-for", &forwarded)).await]);
    }
    assert_eq!(found, 30);
    assert_eq!(hits(&store, "203.0.113.9").await.as_deref(), Some("30"));
}
