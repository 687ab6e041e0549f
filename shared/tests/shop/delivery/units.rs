//! Units of a line that are refunded while the order stays paid: what they gave is taken back, once, and the rest goes on.

use super::game_server::{GameServer, Trouble};
use super::holders::audited;
use super::shop::{DAY, Shop, bought, on, sells};
use shared::model::CommandEvent::{Expired, Refunded};
use shared::model::{CommandTemplate, InternalId, ItemDelivery, OrderStatus};
use shared::shop::delivery::HoldersAudit;
use tests::Fault;

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
