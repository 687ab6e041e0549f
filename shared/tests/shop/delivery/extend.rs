//! An outage that is given back: timed items last longer, once per run.

use super::game_server::{GameServer, Trouble};
use super::shop::{DAY, Shop, bought, for_thirty_days, on, online, sells};
use shared::model::{CommandEvent, CommandTemplate, RunName};
use shared::shop::delivery::{extend_end, timed_ends};
use shared::table::StoreError;
use tests::Fault;

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
    let (shop, mut server) = sells(for_thirty_days(commands)).await;
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
    assert_eq!(server.works(&shop).await, [""; 0]);
    assert_eq!(extend(&shop, "another").await.unwrap(), 1);
    shop.wait(3 * DAY);
    assert_eq!(server.works(&shop).await, [""; 0]);
    shop.wait(DAY);
    assert_eq!(server.works(&shop).await, ["end Thornwick"]);
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
    assert_eq!(server.works(&shop).await, [""; 0], "{days} days");
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
    shop.refund_and_sweep(&second, 3).await;
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
    assert_eq!(server.works(&shop).await, ["claims add Thornwick 1", "claims end 1"]);
}

#[tokio::test]
async fn what_does_not_end_is_not_moved() {
    let shop = Shop::open(rank()).await;
    let mut server = shop.game_server(1).await;
    shop.buy("a").await;
    server.round(&shop, Trouble::NONE).await;
    assert_eq!(extend(&shop, "outage").await.unwrap(), 0);
}
