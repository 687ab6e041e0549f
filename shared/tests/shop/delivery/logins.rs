//! Logins in the game that game servers are told of.

use super::shop::Shop;
use aws_sdk_dynamodb::types::AttributeValue;
use shared::model::{AuthId, PendingLogin, PlayerName, ServerId};
use shared::shop::accounts::game_login::{due, take};
use shared::table::bulk::write_each;
use shared::table::codec::encode_live;
use shared::table::keys;
use shared::table::single::apply;
use shared::table::transaction::Write;
use shared::telemetry::unreadable_rows;
use std::collections::{BTreeMap, BTreeSet};

fn login(number: u16, until: i64) -> PendingLogin {
    let [high, low] = number.to_be_bytes();
    PendingLogin {
        id: number.into(),
        auth_id: AuthId::new([high, low, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        player: PlayerName::parse("Wren").unwrap(),
        until,
        served: BTreeMap::new(),
        is_known: false,
        network: "one".to_owned(),
        expires_at: until + 3_600,
    }
}

async fn put(shop: &Shop, logins: impl Iterator<Item = PendingLogin>) {
    let rows = logins.map(|login| encode_live(&keys::pending_login(&login.auth_id), &login));
    write_each(&shop.store.db, rows, &|_| ()).await.unwrap();
}

#[tokio::test]
async fn a_login_is_told_although_a_thousand_that_have_ended_are_still_stored() {
    let shop = Shop::open(Vec::new()).await;
    let now = shop.clock().seconds();
    put(&shop, (1..=1_200).map(|number| login(number, now - 1)).chain([login(0, now + 300)])).await;
    for poll in 1.. {
        let told = due(&shop.store.db, ServerId::new(1), now).await.unwrap();
        if told.iter().any(|login| login.id == 0) {
            break;
        }
        assert!(poll <= 10 && told.is_empty(), "poll {poll}");
    }
}

/// A server polls every ten seconds, and each login is due again after thirty.
#[tokio::test]
async fn a_login_is_told_soon_although_hundreds_wait_to_be_told_again() {
    let shop = Shop::open(Vec::new()).await;
    let (server, begun) = (ServerId::new(1), shop.clock().seconds());
    put(&shop, (1..=600).map(|number| login(number, begun + 300))).await;
    let mut told = BTreeSet::new();
    for poll in 0..5 {
        let now = begun + 10 * poll;
        let due = due(&shop.store.db, server, now).await.unwrap();
        told.extend(take(&shop.store.db, server, due, now).await.unwrap().into_iter().map(|login| login.id));
    }
    assert_eq!(told.len(), 450, "each poll tells others");
}

/// The ids of the logins that a poll of server 1 is told.
async fn told(shop: &Shop, now: i64) -> Vec<u32> {
    let (db, server) = (&shop.store.db, ServerId::new(1));
    let due = due(db, server, now).await.unwrap();
    take(db, server, due, now).await.unwrap().into_iter().map(|login| login.id).collect()
}

#[tokio::test]
async fn a_crowd_in_one_network_keeps_neither_known_players_nor_other_networks_waiting() {
    let shop = Shop::open(Vec::new()).await;
    let now = shop.clock().seconds();
    let crowd = (1..=1_000).map(|number| login(number, now + 300));
    let others = (1_001..=1_005).map(|number| PendingLogin { network: number.to_string(), ..login(number, now + 300) });
    let known = PendingLogin { is_known: true, ..login(1_006, now + 300) };
    put(&shop, crowd.chain(others).chain([known])).await;
    let told = told(&shop, now).await;
    assert_eq!(told.len(), 90);
    assert_eq!(told[0], 1_006, "the known one is first");
    assert_eq!(
        told[1..7].iter().copied().collect::<BTreeSet<_>>(),
        BTreeSet::from([1, 1_001, 1_002, 1_003, 1_004, 1_005])
    );
    assert_eq!(told[7..10], [2, 3, 4], "then the network that has more");
}

#[tokio::test]
async fn of_more_logins_than_a_poll_reads_each_is_told() {
    let shop = Shop::open(Vec::new()).await;
    let now = shop.clock().seconds();
    // Ids all over the range, as random ones are; the last one read is that of number 0.
    let spread = |number: u16| {
        let [high, low] = (number * 16).to_be_bytes();
        AuthId::new([high, low, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
    };
    let all = (0..4_000).map(|number| PendingLogin { auth_id: spread(number), ..login(number, now + 300) });
    let all = all.map(|login| PendingLogin { is_known: login.id == 0, ..login });
    put(&shop, all).await;
    // Each poll sees one in eight of those that are not read otherwise.
    let mut polls = 0;
    while !due(&shop.store.db, ServerId::new(1), now).await.unwrap().iter().any(|login| login.id == 0) {
        polls += 1;
        assert!(polls < 250);
    }
}

#[tokio::test]
async fn a_login_that_has_just_ended_keeps_no_other_from_being_told() {
    let shop = Shop::open(Vec::new()).await;
    let (db, server, now) = (&shop.store.db, ServerId::new(1), shop.clock().seconds());
    put(&shop, (1..=5).map(|number| login(number, now + 300))).await;
    let found = due(db, server, now).await.unwrap();
    let ended = login(3, now + 300).auth_id;
    assert!(apply(db, Write::delete(keys::pending_login(&ended))).await.unwrap());
    let taken: Vec<u32> = take(db, server, found.clone(), now).await.unwrap().iter().map(|login| login.id).collect();
    assert_eq!(taken, [1, 2, 4, 5]);
    assert!(take(db, server, found, now).await.unwrap().is_empty(), "another poll has them");
}

#[tokio::test]
async fn a_login_that_cannot_be_read_keeps_no_other_from_being_told_and_is_counted() {
    let shop = Shop::open(Vec::new()).await;
    let now = shop.clock().seconds();
    put(&shop, (1..=3).map(|number| login(number, now + 300))).await;
    let mut later = encode_live(&keys::pending_login(&login(2, 0).auth_id), &login(2, now + 300)).unwrap();
    later.insert("until".to_owned(), AttributeValue::S("soon".to_owned()));
    write_each(&shop.store.db, std::iter::once(Ok(later)), &|_| ()).await.unwrap();
    assert_eq!(unreadable_rows(told(&shop, now)).await, (vec![1, 3], 1));
}
