//! The time from paid to run: measured for every command, once, and kept apart where a player is waited for.

use super::game_server::Trouble;
use super::shop::{BUYER, Shop, bought, online};
use shared::model::{CommandTemplate, ServerId};
use shared::shop::delivery::retry;
use shared::shop::delivery::times::{ServerTimes, times};

async fn last_day(shop: &Shop) -> ServerTimes {
    let now = shop.clock().seconds();
    times(shop.db(), ServerId::new(1), now - 86_400, now + 1).await.unwrap()
}

#[tokio::test]
async fn a_command_is_counted_once_and_what_waits_for_a_player_or_a_delay_apart() {
    let delayed = CommandTemplate { delay: 30, ..bought("c {player}") };
    let shop = Shop::open(vec![bought("a {player}"), online(bought("b {player}")), delayed]).await;
    let mut server = shop.game_server(1).await;
    let order = shop.buy("a").await;
    shop.wait(3);
    server.round(&shop, Trouble::NONE).await;
    shop.wait(4);
    server.join(&shop, BUYER.1).await;
    server.round(&shop, Trouble::NONE).await;
    shop.wait(23);
    for _ in 0..3 {
        server.round(&shop, Trouble::NONE).await;
    }
    assert_eq!(shop.states(&order).await, ["executed", "executed", "executed"]);
    // What the owner sends again was paid long ago.
    retry(shop.db(), shop.clock(), shop.commands(&order).await[0].id).await.unwrap();
    server.round(&shop, Trouble::NONE).await;
    let ServerTimes { own, waited } = last_day(&shop).await;
    assert_eq!(own.iter().collect::<Vec<_>>(), [(3_000, 1)]);
    assert_eq!(waited.iter().collect::<Vec<_>>(), [(7_000, 1), (30_000, 1)]);
    shop.wait(2 * 86_400);
    assert_eq!(last_day(&shop).await, ServerTimes::default());
}

#[tokio::test]
async fn every_command_of_a_call_with_many_is_counted() {
    let shop = Shop::open(vec![CommandTemplate { per_unit: true, ..bought("key {player}") }]).await;
    let mut server = shop.game_server(1).await;
    shop.buy_many("a", 100).await;
    shop.wait(2);
    for _ in 0..3 {
        server.round(&shop, Trouble::NONE).await;
    }
    assert_eq!(last_day(&shop).await.own.iter().collect::<Vec<_>>(), [(2_000, 100)]);
}
