//! Units of a line that are refunded while the order stays paid: what they gave is taken back, once. And an outage that is given
//! back: timed items last longer, once per run.

use super::game_server::{GameServer, Trouble};
use super::holders::audited;
use super::shop::{DAY, Shop, bought, on, online};
use shared::model::CommandEvent::{self, Expired, Refunded};
use shared::model::{CommandTemplate, InternalId, ItemDelivery, LineId, OrderStatus, RunName};
use shared::providers::Stripe;
use shared::shop::delivery::{HoldersAudit, extend_end, timed_ends};
use shared::shop::payments::{Desk, OperatorError};
use shared::table::StoreError;
use tests::Fault;

const MONTH: u32 = 30 * 86_400;

/// What of the only line is refunded afterwards.
async fn refund(shop: &Shop, order: &InternalId, units: u32) -> Result<(), OperatorError> {
    let wanted = [(LineId::new(1), units)];
    Desk::new(shop.db(), shop.clock(), None::<&Stripe>).refund_lines(order, &wanted).await.map(drop)
}

/// Runs what is due, after a sweep.
async fn run(shop: &Shop, server: &mut GameServer) {
    shop.sweep_for(2).await;
    server.round(shop, Trouble::default()).await;
    assert_eq!(audited(shop).await, HoldersAudit::default());
}

/// A shop whose item has these commands and lasts so long, and an order of five that has run.
async fn of_five(commands: Vec<CommandTemplate>, expires_after: Option<u32>) -> (Shop, GameServer, InternalId) {
    let shop = Shop::open(Vec::new()).await;
    shop.publish(&[1], ItemDelivery { commands, expires_after }).await;
    let mut server = shop.game_server(1).await;
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
        refund(&shop, &order, units).await.unwrap();
        run(&shop, &mut server).await;
    }
    assert_eq!(server.texts()[..2], ["claims add Thornwick 5", "group join Thornwick"]);
    assert_eq!(server.texts()[2..], ["claims take Thornwick 2", "claims take Thornwick 1"]);
    refund(&shop, &order, 5).await.unwrap();
    run(&shop, &mut server).await;
    assert_eq!(server.texts()[4..], ["claims take Thornwick 2", "group leave Thornwick"]);
    assert_eq!(shop.stored(&order).await.order.status, OrderStatus::Refunded);
    run(&shop, &mut server).await;
    assert_eq!(server.texts().len(), 6);
}

#[tokio::test]
async fn a_refund_of_the_rest_takes_only_the_rest() {
    let (shop, mut server, order) = of_five(claims(), None).await;
    refund(&shop, &order, 2).await.unwrap();
    shop.refund(&order).await;
    run(&shop, &mut server).await;
    assert_eq!(server.texts()[2..], ["claims take Thornwick 2", "claims take Thornwick 3", "group leave Thornwick"]);
}

#[tokio::test]
async fn the_rest_ends_as_the_rest() {
    let (shop, mut server, order) = of_five(claims(), Some(MONTH)).await;
    refund(&shop, &order, 2).await.unwrap();
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
    refund(&shop, &order, 4).await.unwrap();
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
        let first = refund(&shop, &order, 2).await;
        shop.store.faults.clear();
        refund(&shop, &order, 2).await.unwrap();
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

const THREE_DAYS: i64 = 3 * 86_400;

/// Lets a run move what it can, as the tool does; how many ends.
async fn extend(shop: &Shop, run: &str) -> Result<usize, StoreError> {
    let run = RunName::parse(run).unwrap();
    let mut moved = 0;
    for end in timed_ends(&shop.store.db, &run, shop.clock().seconds()).await? {
        moved += usize::from(extend_end(shop.db(), shop.clock(), &end, (&run, THREE_DAYS)).await?);
    }
    Ok(moved)
}

/// A shop whose item has these commands and lasts 30 days, and an order that has run.
async fn sold(commands: Vec<CommandTemplate>) -> (Shop, GameServer) {
    let shop = Shop::open(Vec::new()).await;
    shop.publish(&[1], ItemDelivery { commands, expires_after: Some(30 * 86_400) }).await;
    let mut server = shop.game_server(1).await;
    shop.buy("a").await;
    server.round(&shop, Trouble::NONE).await;
    server.ran.clear();
    (shop, server)
}

fn rank() -> Vec<CommandTemplate> {
    vec![bought("add {player}"), on(CommandEvent::Expired, "end {player}"), on(CommandEvent::Refunded, "end {player}")]
}

#[tokio::test]
async fn a_timed_item_ends_so_much_later_once_per_run() {
    let (shop, mut server) = sold(rank()).await;
    let end = shop.ends_at(1).await;
    assert_eq!(extend(&shop, "outage").await.unwrap(), 1);
    assert_eq!(extend(&shop, "outage").await.unwrap(), 0);
    assert_eq!(shop.ends_at(1).await, end + THREE_DAYS);
    shop.wait(32 * DAY);
    server.round(&shop, Trouble::NONE).await;
    assert_eq!(server.texts(), [""; 0]);
    assert_eq!(extend(&shop, "another").await.unwrap(), 1);
    shop.wait(3 * DAY);
    server.round(&shop, Trouble::NONE).await;
    assert_eq!(server.texts(), [""; 0]);
    shop.wait(DAY);
    server.round(&shop, Trouble::NONE).await;
    assert_eq!(server.texts(), ["end Thornwick"]);
    assert_eq!(extend(&shop, "late").await.unwrap(), 0, "it has ended");
}

#[tokio::test]
async fn a_run_that_is_cut_off_at_any_call_moves_an_end_once() {
    let commands = [rank(), vec![on(CommandEvent::Expired, "claims take {player} {count}")]].concat();
    let (shop, mut server) = sold(commands).await;
    let (mut place, mut is_cut, mut days) = (0, true, 30);
    while is_cut {
        for fault in [Fault::Away, Fault::ResponseLost] {
            let run = format!("run-{place}-{fault:?}").to_lowercase();
            shop.store.faults.fail_at(place, fault);
            drop(extend(&shop, &run).await);
            is_cut = shop.store.faults.calls() > place;
            shop.store.faults.clear();
            extend(&shop, &run).await.unwrap();
            days += 3;
        }
        place += 1;
    }
    assert!(place > 3, "{place} calls");
    shop.wait(days * DAY - 1);
    server.round(&shop, Trouble::NONE).await;
    assert_eq!(server.texts(), [""; 0], "{days} days");
    shop.wait(1);
    server.round(&shop, Trouble::NONE).await;
    let mut texts = server.texts();
    texts.sort_unstable();
    assert_eq!(texts, ["claims take Thornwick 1", "end Thornwick"]);
}

#[tokio::test]
async fn a_refund_takes_off_what_was_paid_and_leaves_what_was_given_back() {
    let (shop, mut server) = sold(rank()).await;
    let end = shop.ends_at(1).await;
    let second = shop.buy("b").await;
    server.round(&shop, Trouble::NONE).await;
    extend(&shop, "outage").await.unwrap();
    shop.refund(&second).await;
    shop.sweep_for(3).await;
    assert_eq!(shop.ends_at(1).await, end + THREE_DAYS);
}

#[tokio::test]
async fn what_waits_for_its_player_is_given_as_long_as_the_item_lasts() {
    let commands = vec![online(bought("claims add {player} {count}")), on(CommandEvent::Expired, "claims end {count}")];
    let (shop, mut server) = sold(commands).await;
    assert_eq!(extend(&shop, "outage").await.unwrap(), 2, "what is given, and its end");
    shop.wait(31 * DAY);
    server.join(&shop, super::shop::BUYER.1).await;
    assert_eq!(server.texts(), ["claims add Thornwick 1"]);
    shop.wait(2 * DAY);
    server.round(&shop, Trouble::NONE).await;
    assert_eq!(server.texts(), ["claims add Thornwick 1", "claims end 1"]);
}

#[tokio::test]
async fn what_does_not_end_is_not_moved() {
    let shop = Shop::open(rank()).await;
    let mut server = shop.game_server(1).await;
    shop.buy("a").await;
    server.round(&shop, Trouble::NONE).await;
    assert_eq!(extend(&shop, "outage").await.unwrap(), 0);
}
