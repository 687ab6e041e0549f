//! Logins in the game that game servers are told of.

use super::shop::Shop;
use shared::model::{AuthId, PendingLogin, PlayerName, ServerId};
use shared::store::bulk::write_each;
use shared::store::codec::encode_live;
use shared::store::keys;
use shared::usecases::game_login::{due, take};
use std::collections::{BTreeMap, BTreeSet};

fn login(number: u16, until: i64) -> PendingLogin {
    let [high, low] = number.to_be_bytes();
    PendingLogin {
        id: number.into(),
        auth_id: AuthId::new([high, low, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        player: PlayerName::parse("Wren").unwrap(),
        until,
        served: BTreeMap::new(),
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
