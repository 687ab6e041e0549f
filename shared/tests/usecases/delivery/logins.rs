//! Logins in the game that game servers are told of.

use super::shop::Shop;
use shared::model::{AuthId, PendingLogin, PlayerName, ServerId};
use shared::store::bulk::write_each;
use shared::store::codec::encode_live;
use shared::store::keys;
use shared::usecases::game_login::due;
use std::collections::BTreeMap;

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

#[tokio::test]
async fn a_login_is_told_although_a_thousand_that_have_ended_are_still_stored() {
    let shop = Shop::open(Vec::new()).await;
    let now = shop.clock().seconds();
    let ended = (1..=1_200).map(|number| login(number, now - 1));
    let rows =
        ended.chain([login(0, now + 300)]).map(|login| encode_live(&keys::pending_login(&login.auth_id), &login));
    write_each(&shop.store.db, rows, &|_| ()).await.unwrap();
    for poll in 1.. {
        let told = due(&shop.store.db, ServerId::new(1), now).await.unwrap();
        if told.iter().any(|login| login.id == 0) {
            break;
        }
        assert!(poll <= 10 && told.is_empty(), "poll {poll}");
    }
}
