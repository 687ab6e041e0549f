//! Orders that are paid hold what takes them back, and no others do: how that is found and repaired if it is not so.

use super::game_server::{GameServer, Trouble};
use super::shop::{Shop, bought, on};
use shared::model::{CommandEvent, InternalId, ItemDelivery, Lasting};
use shared::shop::delivery::{HoldersAudit, audit_holders, hold_again};
use shared::table::codec::encode_live;

/// What does not agree with the orders.
pub async fn audited(shop: &Shop) -> HoldersAudit {
    audit_holders(shop.db(), shop.clock().seconds()).await.unwrap()
}

/// A shop that sells a hat for ever, its game server, and two orders of it that have run.
async fn of_two() -> (Shop, GameServer, [InternalId; 2]) {
    let shop = Shop::open(Vec::new()).await;
    let commands = vec![bought("unlock {player}"), on(CommandEvent::Refunded, "lock {player}")];
    shop.publish(&[1], ItemDelivery { commands, expires_after: None }).await;
    let mut server = shop.game_server(1).await;
    let orders = [shop.buy("a").await, shop.buy("b").await];
    server.round(&shop, Trouble::NONE).await;
    (shop, server, orders)
}

/// Changes the only text of the buyer, as no code does.
async fn change(shop: &Shop, change: impl FnOnce(&mut Lasting)) {
    let (key, mut row) = shop.texts(1).await.remove(0);
    change(&mut row);
    tests::put(shop.db(), encode_live(&key, &row).unwrap()).await;
}

fn found(missing: &[&InternalId], stray: &[&InternalId]) -> HoldersAudit {
    let all = |orders: &[&InternalId]| orders.iter().map(|order| (*order).clone()).collect();
    HoldersAudit { missing: all(missing), stray: all(stray) }
}

#[tokio::test]
async fn a_paid_order_that_holds_nothing_is_found_and_holds_again_so_that_the_last_refund_takes_back() {
    let (shop, mut server, [first, second]) = of_two().await;
    assert_eq!(audited(&shop).await, found(&[], &[]));
    change(&shop, |row| row.holders.retain(|holder| holder.order == first)).await;
    assert_eq!(audited(&shop).await, found(&[&second], &[]));
    for _ in 0..2 {
        assert!(hold_again(shop.db(), shop.clock().seconds(), &second).await.unwrap());
        assert_eq!(audited(&shop).await, found(&[], &[]));
    }
    for (order, ran) in [(&first, 2), (&second, 3)] {
        shop.refund_and_sweep(order, 3).await;
        assert_eq!(server.works(&shop).await.len(), ran, "{:?}", server.texts());
        assert_eq!(audited(&shop).await, found(&[], &[]));
    }
    assert_eq!(server.texts().last(), Some(&"lock Thornwick"));
}

#[tokio::test]
async fn an_order_that_was_taken_back_or_is_gone_and_still_holds_is_found_and_holds_nothing_again() {
    let (shop, _, [first, second]) = of_two().await;
    let before = shop.texts(1).await.remove(0).1;
    shop.refund_and_sweep(&first, 3).await;
    assert_eq!(audited(&shop).await, found(&[], &[]));
    let gone = InternalId::new("gone");
    change(&shop, |row| {
        row.holders = before.holders;
        row.holders[1].order = gone.clone();
    })
    .await;
    assert_eq!(audited(&shop).await, found(&[&second], &[&first, &gone]));
    assert!(!hold_again(shop.db(), shop.clock().seconds(), &first).await.unwrap());
    assert!(hold_again(shop.db(), shop.clock().seconds(), &second).await.unwrap());
    assert_eq!(audited(&shop).await, found(&[], &[&first, &gone]));
}
