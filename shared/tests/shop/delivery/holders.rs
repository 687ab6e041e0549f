//! Orders that are paid hold what takes them back, and no others do: how that is found and repaired if it is not so; and units
//! of a line that are refunded while the order stays paid: what they gave is taken back, once, and the rest goes on.

use super::game_server::{GameServer, Trouble};
use super::shop::{DAY, Shop, bought, on, sells};
use shared::model::CommandEvent::{self, Expired, Refunded};
use shared::model::{CommandTemplate, InternalId, ItemDelivery, Lasting, OrderStatus};
use shared::shop::delivery::{HoldersAudit, audit_holders, hold_again};
use shared::table::codec::encode_live;
use tests::Fault;

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

const MONTH: u32 = 30 * 86_400;

/// Runs what is due, after a sweep.
async fn run(shop: &Shop, server: &mut GameServer) {
    shop.sweep_for(2).await;
    server.round(shop, Trouble::default()).await;
    assert_eq!(audited(shop).await, HoldersAudit::default());
}

/// A shop whose item has these commands and lasts so long, and an order of five that has run.
async fn of_five(commands: Vec<CommandTemplate>, expires_after: Option<u32>) -> (Shop, GameServer, InternalId) {
    let (shop, mut server) = sells(ItemDelivery { commands, expires_after }).await;
    let order = shop.buy_many("a", 5).await;
    server.round(&shop, Trouble::default()).await;
    (shop, server, order)
}

fn claims() -> Vec<CommandTemplate> {
    let (add, take) = ("claims add {player} {count}", "claims take {player} {count}");
    let (join, leave) = ("group join {player}", "group leave {player}");
    vec![bought(add), bought(join), on(Refunded, take), on(Refunded, leave), on(Expired, take)]
}

#[tokio::test]
async fn each_step_takes_its_own_units_and_the_last_takes_what_counts_none() {
    let (shop, mut server, order) = of_five(claims(), None).await;
    for units in [2, 2, 3] {
        shop.refund_units(&order, units).await.unwrap();
        run(&shop, &mut server).await;
    }
    assert_eq!(server.texts()[..2], ["claims add Thornwick 5", "group join Thornwick"]);
    assert_eq!(server.texts()[2..], ["claims take Thornwick 2", "claims take Thornwick 1"]);
    shop.refund_units(&order, 5).await.unwrap();
    run(&shop, &mut server).await;
    assert_eq!(server.texts()[4..], ["claims take Thornwick 2", "group leave Thornwick"]);
    assert_eq!(shop.stored(&order).await.order.status, OrderStatus::Refunded);
    run(&shop, &mut server).await;
    assert_eq!(server.texts().len(), 6);
}

#[tokio::test]
async fn a_refund_of_the_rest_takes_only_the_rest() {
    let (shop, mut server, order) = of_five(claims(), None).await;
    shop.refund_units(&order, 2).await.unwrap();
    shop.refund(&order).await;
    run(&shop, &mut server).await;
    assert_eq!(server.texts()[2..], ["claims take Thornwick 2", "claims take Thornwick 3", "group leave Thornwick"]);
}

#[tokio::test]
async fn the_rest_ends_as_the_rest() {
    let (shop, mut server, order) = of_five(claims(), Some(MONTH)).await;
    shop.refund_units(&order, 2).await.unwrap();
    run(&shop, &mut server).await;
    assert_eq!(server.texts()[2..], ["claims take Thornwick 2"]);
    shop.wait(30 * DAY);
    run(&shop, &mut server).await;
    assert_eq!(server.texts()[3..], ["claims take Thornwick 3"]);
}

#[tokio::test]
async fn refunded_units_move_the_end_back_by_their_time() {
    let commands = vec![bought("add {player}"), on(Expired, "end {player}"), on(Refunded, "take {player}")];
    let (shop, mut server, order) = of_five(commands, Some(MONTH)).await;
    shop.refund_units(&order, 4).await.unwrap();
    run(&shop, &mut server).await;
    shop.wait(29 * DAY);
    run(&shop, &mut server).await;
    assert_eq!(server.texts(), ["add Thornwick"]);
    shop.wait(DAY);
    run(&shop, &mut server).await;
    assert_eq!(server.texts(), ["add Thornwick", "end Thornwick"]);
}

#[tokio::test]
async fn whatever_call_fails_the_repeated_refund_takes_the_units_once() {
    for place in 0..80 {
        let (shop, mut server, order) = of_five(claims(), Some(MONTH)).await;
        let fault = if place % 2 == 0 { Fault::Away } else { Fault::ResponseLost };
        shop.store.faults.fail_from(place, fault);
        let first = shop.refund_units(&order, 2).await;
        shop.store.faults.clear();
        shop.refund_units(&order, 2).await.unwrap();
        run(&shop, &mut server).await;
        shop.wait(31 * DAY);
        run(&shop, &mut server).await;
        assert_eq!(server.texts()[2..], ["claims take Thornwick 2", "claims take Thornwick 3"], "{place}");
        if first.is_ok() {
            assert!(place > 6, "{place}");
            return;
        }
    }
    panic!("it never succeeds");
}
