//! Figures of game servers that the sweep measures, for metrics and alarms.

use super::game_server::Trouble;
use super::shop::{Shop, bought};
use serde_json::json;
use shared::model::{CommandId, ServerId};
use shared::shop::delivery::leases::Lease;
use shared::shop::delivery::{add_key, poll, revoke_key, sweep_servers, validated};
use shared::table::bulk::write_each;
use shared::table::codec::encode_live;
use shared::table::transaction::{Write, send};
use shared::table::{StoreError, keys};
use shared::telemetry::{ServerFigures, noted_servers, unreadable_rows};

const SERVER: ServerId = ServerId::new(1);

async fn figures(shop: &Shop) -> Vec<ServerFigures> {
    Box::pin(noted_servers(shop.sweep())).await.1
}

/// A poll that is seen and does not get what is ready.
async fn poll_in_vain(shop: &Shop) {
    let see: Write = Lease::see(SERVER, shop.clock().seconds());
    send(&shop.store.db, vec![see]).await.unwrap();
}

#[tokio::test]
async fn a_server_that_polls_and_gets_nothing_is_stuck_and_one_that_does_not_poll_is_silent() {
    let shop = Shop::open(vec![bought("say {player}")]).await;
    let mut server = shop.game_server(1).await;
    server.round(&shop, Trouble::default()).await;
    let sound = ServerFigures { server: SERVER, oldest_ready: Some(0), silence: Some(0), undecided: 0 };
    assert_eq!(figures(&shop).await, [sound]);
    shop.buy("a").await;
    shop.wait(1_000);
    assert_eq!(figures(&shop).await, [ServerFigures { oldest_ready: None, silence: Some(1_000), ..sound }]);
    poll_in_vain(&shop).await;
    assert_eq!(figures(&shop).await, [ServerFigures { oldest_ready: Some(1_000), ..sound }]);
    server.round(&shop, Trouble::default()).await;
    assert_eq!(figures(&shop).await, [sound]);
}

#[tokio::test]
async fn a_server_that_is_not_connected_is_not_missed() {
    let shop = Shop::open(vec![bought("say {player}")]).await;
    shop.buy("a").await;
    shop.wait(10_000);
    assert_eq!(figures(&shop).await, [], "it has no key");
    let (_, first) = add_key(&shop.store.db, shop.clock(), SERVER).await.unwrap();
    let (_, second) = add_key(&shop.store.db, shop.clock(), SERVER).await.unwrap();
    shop.wait(10_000);
    assert_eq!(figures(&shop).await, [], "it never polled");
    poll(shop.db(), shop.clock(), &first, None).await.unwrap();
    assert!(revoke_key(&shop.store.db, first.hash(), None).await.unwrap());
    shop.wait(10_000);
    assert_eq!(figures(&shop).await[0].silence, Some(10_000), "it has another key, and does not use it");
    assert!(revoke_key(&shop.store.db, second.hash(), Some(SERVER)).await.unwrap());
    assert_eq!(figures(&shop).await, [], "it has no key any more");
}

#[tokio::test]
async fn what_may_have_run_is_counted_until_the_owner_decides() {
    let shop = Shop::open(vec![bought("say {player}"), bought("give {player} 1")]).await;
    let server = shop.game_server(1).await;
    shop.buy("a").await;
    let rows = poll(shop.db(), shop.clock(), &server.key, None).await.unwrap();
    let ids: Vec<_> = rows.iter().map(|row| row.id).collect();
    validated(shop.db(), shop.clock(), &server.key, &ids).await.unwrap();
    assert_eq!(figures(&shop).await[0].undecided, 0);
    shop.wait(400);
    assert_eq!(figures(&shop).await[0].undecided, 2);
}

#[tokio::test]
async fn what_cannot_be_read_keeps_no_server_from_being_measured_and_is_counted() {
    let shop = Shop::open(vec![bought("say {player}")]).await;
    let mut server = shop.game_server(1).await;
    server.round(&shop, Trouble::default()).await;
    let now = shop.clock().seconds();
    let lease = encode_live(&keys::lease(ServerId::new(2)), &json!({ "number": "of a later version" })).unwrap();
    let row = encode_live(&keys::queued(SERVER, now, CommandId::new(77).unwrap()), &json!({ "command": 1 })).unwrap();
    write_each(&shop.store.db, [lease, row].into_iter().map(Ok), &|_| ()).await.unwrap();
    let servers = || [2, 1].map(ServerId::new).into_iter();
    let (swept, noted) = noted_servers(sweep_servers(&shop.store.db, shop.clock(), servers())).await;
    assert!(matches!(swept, Err(StoreError::Unreadable { .. })), "it is told");
    assert_eq!(noted, [ServerFigures { server: SERVER, oldest_ready: Some(0), silence: Some(0), undecided: 0 }]);
    let (_, rows) = unreadable_rows(sweep_servers(&shop.store.db, shop.clock(), servers())).await;
    assert_eq!(rows, 2);
}
