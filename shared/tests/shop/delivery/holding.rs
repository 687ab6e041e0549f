//! What takes something from a player does not run while another paid order still gives it, and runs when the last one
//! goes.

use super::game_server::{GameServer, Trouble};
use super::holders::audited;
use super::shop::{
    BUYER, DAY, ITEM, OTHER, Shop, bought, expired, for_thirty_days, hat, on, online, permanent, refunded, sells,
};
use super::words::rename_buyer;
use shared::model::{CommandEvent, CommandTemplate, InternalId, ItemDelivery};
use shared::shop::delivery::{HoldersAudit, redeliver};

/// Lets the game server run what is due; what has run since the last time.
async fn round(shop: &Shop, server: &mut GameServer) -> Vec<String> {
    server.round(shop, Trouble::NONE).await;
    assert_eq!(audited(shop).await, HoldersAudit::default());
    server.take_ran()
}

/// Refunds an order, and lets the game server run what follows.
async fn refund(shop: &Shop, server: &mut GameServer, order: &InternalId) -> Vec<String> {
    shop.refund_and_sweep(order, 3).await;
    round(shop, server).await
}

async fn dispute(shop: &Shop, server: &mut GameServer, order: &InternalId) -> Vec<String> {
    shop.dispute(order).await.unwrap();
    shop.sweep_for(3).await;
    round(shop, server).await
}

/// Waits so many days, and lets the game server run what is due.
async fn days(shop: &Shop, server: &mut GameServer, days: u64) -> Vec<String> {
    shop.wait(days * DAY);
    round(shop, server).await
}

#[tokio::test]
async fn a_strangers_gift_that_is_disputed_takes_nothing_that_the_player_has_paid() {
    let (shop, mut server) = sells(hat()).await;
    let own = shop.buy("own").await;
    // Written in another way, it is the same player.
    let gift = shop.give("gift", &["THORNWICK"]).await;
    assert_eq!(round(&shop, &mut server).await, ["unlock Thornwick", "unlock THORNWICK"]);
    assert_eq!(dispute(&shop, &mut server, &gift).await, [""; 0]);
    assert_eq!(refund(&shop, &mut server, &own).await, ["lock Thornwick"]);
}

#[tokio::test]
async fn of_two_purchases_the_refund_of_the_last_one_takes_back_once() {
    let (shop, mut server) = sells(hat()).await;
    let (first, second) = (shop.buy("a").await, shop.buy("b").await);
    round(&shop, &mut server).await;
    assert_eq!(refund(&shop, &mut server, &first).await, [""; 0]);
    assert_eq!(refund(&shop, &mut server, &second).await, ["lock Thornwick"]);
    assert_eq!(shop.texts(1).await, [], "nothing is left of it");
}

#[tokio::test]
async fn the_last_one_takes_back_what_an_earlier_one_gave_although_it_gave_nothing_itself() {
    let (shop, mut server) = sells(hat()).await;
    let first = shop.buy("a").await;
    assert_eq!(round(&shop, &mut server).await, ["unlock Thornwick"]);
    // The game server is away.
    let second = shop.buy("b").await;
    shop.refund_and_sweep(&first, 3).await;
    shop.refund_and_sweep(&second, 3).await;
    assert_eq!(round(&shop, &mut server).await, ["lock Thornwick"]);
}

#[tokio::test]
async fn two_refunds_at_the_same_time_take_back_once() {
    let (shop, mut server) = sells(hat()).await;
    let (first, second) = (shop.buy("a").await, shop.buy("b").await);
    assert_eq!(round(&shop, &mut server).await.len(), 2);
    tokio::join!(shop.refund(&first), shop.refund(&second));
    shop.sweep_for(3).await;
    assert_eq!(round(&shop, &mut server).await, ["lock Thornwick"]);
}

#[tokio::test]
async fn what_runs_at_a_dispute_runs_always() {
    let mut delivery = hat();
    delivery.commands.push(on(CommandEvent::ChargedBack, "ban {buyer}"));
    let (shop, mut server) = sells(delivery).await;
    let (first, _) = (shop.buy("a").await, shop.buy("b").await);
    round(&shop, &mut server).await;
    assert_eq!(dispute(&shop, &mut server, &first).await, ["ban Thornwick"]);
}

#[tokio::test]
async fn an_order_that_is_delivered_again_after_a_dispute_gives_what_it_gave() {
    let (shop, mut server) = sells(hat()).await;
    let (first, second) = (shop.buy("a").await, shop.buy("b").await);
    round(&shop, &mut server).await;
    dispute(&shop, &mut server, &first).await;
    shop.note_dispute(&first, "won").await.unwrap();
    redeliver(&shop.store.db, shop.clock(), &first).await.unwrap();
    round(&shop, &mut server).await;
    assert_eq!(refund(&shop, &mut server, &second).await, [""; 0]);
    assert_eq!(refund(&shop, &mut server, &first).await, ["lock Thornwick"]);
}

/// A rank for thirty days, and the same rank for ever as another item.
async fn rank() -> (Shop, GameServer) {
    let (shop, server) = sells(for_thirty_days(vec![
        bought("add {player} vip"),
        expired("remove {player} vip"),
        refunded("remove {player} vip"),
    ]))
    .await;
    shop.publish_item(OTHER, &[1], permanent(vec![bought("add {player} vip"), refunded("remove {player} vip")])).await;
    (shop, server)
}

#[tokio::test]
async fn an_end_takes_nothing_that_another_order_gives_for_ever() {
    let (shop, mut server) = rank().await;
    shop.buy("timed").await;
    days(&shop, &mut server, 10).await;
    let permanent = shop.buy_lines("permanent", &[(OTHER, 1, "")]).await;
    round(&shop, &mut server).await;
    assert_eq!(days(&shop, &mut server, 30).await, [""; 0]);
    assert_eq!(refund(&shop, &mut server, &permanent).await, ["remove Thornwick vip"], "the thirty days are over");
}

#[tokio::test]
async fn a_refund_leaves_what_lasts_to_its_end() {
    let (shop, mut server) = rank().await;
    let permanent = shop.buy_lines("permanent", &[(OTHER, 1, "")]).await;
    shop.buy("timed").await;
    round(&shop, &mut server).await;
    assert_eq!(refund(&shop, &mut server, &permanent).await, [""; 0]);
    assert_eq!(days(&shop, &mut server, 29).await, [""; 0]);
    assert_eq!(days(&shop, &mut server, 2).await, ["remove Thornwick vip"]);
}

#[tokio::test]
async fn what_depends_on_the_purchase_ends_and_is_taken_back_once_per_order() {
    let claims = for_thirty_days(vec![
        bought("claims add {player} 5 {count}"),
        expired("claims remove {player} 5 {count}"),
        refunded("claims remove {player} 5 {count}"),
    ]);
    let (shop, mut server) = sells(claims).await;
    shop.buy("a").await;
    days(&shop, &mut server, 10).await;
    shop.buy_many("b", 5).await;
    round(&shop, &mut server).await;
    assert_eq!(days(&shop, &mut server, 20).await, ["claims remove Thornwick 5 1"]);
    assert_eq!(days(&shop, &mut server, 10).await, ["claims remove Thornwick 5 5"], "one period for all units");
    let (third, fourth) = (shop.buy("c").await, shop.buy_many("d", 5).await);
    round(&shop, &mut server).await;
    assert_eq!(dispute(&shop, &mut server, &fourth).await, ["claims remove Thornwick 5 5"]);
    assert_eq!(dispute(&shop, &mut server, &third).await, ["claims remove Thornwick 5 1"]);
    assert_eq!(days(&shop, &mut server, 40).await, [""; 0], "their ends are recalled");
}

#[tokio::test]
async fn a_command_for_each_unit_runs_and_is_taken_back_so_often() {
    let per_unit = |template| CommandTemplate { per_unit: true, ..template };
    let keys = permanent(vec![per_unit(bought("give {player} key 5")), per_unit(refunded("take {player} key 5"))]);
    let (shop, mut server) = sells(keys).await;
    let (first, _) = (shop.buy_many("a", 2).await, shop.buy("b").await);
    assert_eq!(round(&shop, &mut server).await, ["give Thornwick key 5"; 3]);
    assert_eq!(refund(&shop, &mut server, &first).await, ["take Thornwick key 5"; 2]);
}

#[tokio::test]
async fn lines_with_other_variables_end_by_themselves() {
    let pet = for_thirty_days(vec![bought("pet {player} {var:1}"), expired("unpet {player} {var:1}")]);
    let (shop, mut server) = sells(pet).await;
    shop.buy_lines("a", &[(ITEM, 1, "fox"), (ITEM, 1, "toad"), (ITEM, 1, "fox")]).await;
    round(&shop, &mut server).await;
    assert_eq!(days(&shop, &mut server, 30).await, ["unpet Thornwick toad"]);
    assert_eq!(days(&shop, &mut server, 30).await, ["unpet Thornwick fox"], "bought twice");
}

#[tokio::test]
async fn a_player_who_is_in_a_variable_has_what_was_bought_for_that_player() {
    let group = for_thirty_days(vec![bought("usergroup add {var:1} vip"), expired("usergroup remove {var:1} vip")]);
    let (shop, mut server) = sells(group).await;
    shop.buy_lines("a", &[(ITEM, 1, "001")]).await;
    days(&shop, &mut server, 10).await;
    shop.buy_lines("b", &[(ITEM, 1, "002")]).await;
    round(&shop, &mut server).await;
    assert_eq!(days(&shop, &mut server, 20).await, ["usergroup remove 001 vip"]);
    assert_eq!(days(&shop, &mut server, 10).await, ["usergroup remove 002 vip"]);
}

#[tokio::test]
async fn a_purchase_replaces_what_waits_for_the_item_by_what_is_published_then() {
    let vip = |group: &str, perk: bool| {
        let perk = perk.then(|| expired("kit {player} off"));
        let add = bought(&format!("add {{player}} {group}"));
        for_thirty_days([add, expired(&format!("remove {{player}} {group}"))].into_iter().chain(perk).collect())
    };
    let (shop, mut server) = sells(vip("vip", false)).await;
    shop.buy("a").await;
    days(&shop, &mut server, 10).await;
    // The group is renamed, and has a further perk.
    shop.publish(&[1], vip("hero", true)).await;
    shop.buy("b").await;
    round(&shop, &mut server).await;
    assert_eq!(days(&shop, &mut server, 49).await, [""; 0]);
    assert_eq!(days(&shop, &mut server, 1).await, ["remove Thornwick hero", "kit Thornwick off"]);
}

#[tokio::test]
async fn a_purchase_moves_what_ends_to_the_servers_that_are_published_then() {
    let vip = || for_thirty_days(vec![bought("add {player}"), expired("remove {player}")]);
    let (shop, mut first) = sells(vip()).await;
    let mut second = shop.game_server(2).await;
    shop.buy("a").await;
    assert_eq!(days(&shop, &mut first, 10).await, ["add Thornwick"]);
    shop.publish(&[2], vip()).await;
    shop.buy("b").await;
    assert_eq!(days(&shop, &mut first, 60).await, [""; 0]);
    assert_eq!(round(&shop, &mut second).await, ["remove Thornwick"]);
}

#[tokio::test]
async fn what_is_bought_for_ever_does_not_end_with_what_was_bought_before() {
    let vip = |commands: Vec<CommandTemplate>| [vec![bought("add {player}")], commands].concat();
    let (shop, mut server) = sells(for_thirty_days(vip(vec![expired("remove {player}")]))).await;
    shop.buy("a").await;
    assert_eq!(days(&shop, &mut server, 10).await, ["add Thornwick"]);
    shop.publish(&[1], permanent(vip(Vec::new()))).await;
    shop.buy("b").await;
    assert_eq!(days(&shop, &mut server, 40).await, ["add Thornwick"]);
}

#[tokio::test]
async fn an_end_that_is_replaced_waits_for_its_player_as_it_is_published_then() {
    let vip = |end: CommandTemplate| for_thirty_days(vec![bought("add {player}"), end]);
    let (shop, mut server) = sells(vip(expired("remove {player}"))).await;
    shop.buy("a").await;
    shop.publish(&[1], vip(online(expired("remove {player}")))).await;
    shop.buy("b").await;
    round(&shop, &mut server).await;
    assert_eq!(days(&shop, &mut server, 61).await, [""; 0]);
    server.join(&shop, BUYER.1).await;
    assert_eq!(server.take_ran(), ["remove Thornwick"]);
}

/// Thirty days of claims, and of a rank that a further purchase prolongs, for players who are online.
fn claims_and_rank() -> ItemDelivery {
    let take = |event| [on(event, "claims -{count}"), on(event, "rank remove {player}")];
    let mut commands = vec![online(bought("claims {count}")), online(bought("rank add {player}"))];
    commands.extend([CommandEvent::Expired, CommandEvent::Refunded].into_iter().flat_map(take));
    ItemDelivery { commands, expires_after: Some(30 * 86_400) }
}

#[tokio::test]
async fn an_end_takes_no_units_that_were_never_given() {
    let shop = Shop::selling(claims_and_rank()).await;
    let mut server = shop.game_server(1).await;
    shop.buy("a").await;
    shop.wait(31 * DAY);
    assert_eq!(server.works(&shop).await, ["rank remove Thornwick"]);
}

#[tokio::test]
async fn what_counts_units_is_given_until_its_own_end_although_what_it_is_bought_with_ends_before() {
    let given = vec![bought("claims {count}"), bought("rank add {player}")];
    let ends = vec![expired("claims -{count}"), expired("rank remove {player}"), refunded("rank remove {player}")];
    let (shop, mut server) = sells(for_thirty_days([given, ends].concat())).await;
    let first = shop.buy("a").await;
    shop.wait(10 * DAY);
    shop.buy("b").await;
    shop.refund_and_sweep(&first, 3).await;
    // The game server was away until the rank has ended, and the claims have not.
    assert_eq!(days(&shop, &mut server, 25).await, ["claims 1", "rank remove Thornwick"]);
    assert_eq!(days(&shop, &mut server, 5).await, ["claims -1"]);
}

#[tokio::test]
async fn units_that_were_not_given_before_their_end_are_neither_given_nor_taken_after_it() {
    let given = vec![online(bought("claims {count}")), bought("rank add {player}")];
    let ends = vec![expired("claims -{count}"), expired("rank remove {player}"), refunded("claims -{count}")];
    let (shop, mut server) = sells(for_thirty_days([given, ends].concat())).await;
    let orders = [shop.buy("a").await, shop.buy("b").await];
    assert_eq!(round(&shop, &mut server).await, ["rank add Thornwick"; 2]);
    assert_eq!(days(&shop, &mut server, 35).await, [""; 0]);
    server.join(&shop, BUYER.1).await;
    assert_eq!(server.take_ran(), [""; 0], "the rank lasts for two periods, and the claims for one");
    for order in orders {
        let texts = refund(&shop, &mut server, &order).await;
        assert!(!texts.iter().any(|text| text.starts_with("claims")), "{texts:?}");
    }
}

#[tokio::test]
async fn a_refund_takes_no_units_that_their_end_has_taken() {
    let shop = Shop::selling(claims_and_rank()).await;
    let mut server = shop.game_server(1).await;
    let first = shop.buy("a").await;
    shop.buy("b").await;
    server.round(&shop, Trouble::NONE).await;
    server.join(&shop, "Thornwick").await;
    shop.wait(31 * DAY);
    assert_eq!(server.works(&shop).await[4..], ["claims -1"; 2]);
    shop.refund_and_sweep(&first, 7).await;
    assert_eq!(server.works(&shop).await[6..], ["rank remove Thornwick"], "the other order's time is over as well");
}

#[tokio::test]
async fn what_is_left_to_an_end_is_taken_if_the_last_holder_is_refunded_before_it_is_given() {
    let shop = Shop::open(Vec::new()).await;
    let commands = vec![bought("add {player}"), expired("remove {player}"), refunded("remove {player}")];
    shop.publish(&[1], ItemDelivery { commands, expires_after: Some(30 * 86_400) }).await;
    let mut server = shop.game_server(1).await;
    let first = shop.buy("a").await;
    server.round(&shop, Trouble::NONE).await;
    let second = shop.buy("b").await;
    for order in [first, second] {
        shop.refund_and_sweep(&order, 7).await;
    }
    assert_eq!(server.works(&shop).await, ["add Thornwick", "remove Thornwick"]);
}

#[tokio::test]
async fn what_a_player_buys_again_under_another_name_ends_under_that_name() {
    let (shop, mut server) = sells(for_thirty_days(vec![bought("add {player}"), expired("remove {player}")])).await;
    shop.buy("a").await;
    assert_eq!(days(&shop, &mut server, 10).await, ["add Thornwick"]);
    rename_buyer(&shop, "Nightshade").await;
    shop.buy("b").await;
    assert_eq!(round(&shop, &mut server).await, ["add Nightshade"]);
    assert_eq!(days(&shop, &mut server, 49).await, [""; 0]);
    assert_eq!(days(&shop, &mut server, 1).await, ["remove Nightshade"]);
}

#[tokio::test]
async fn what_takes_back_and_waits_does_not_run_after_the_item_is_bought_again() {
    let late = CommandTemplate { delay: 3_600, ..refunded("lock {player}") };
    for takes in [online(refunded("lock {player}")), late] {
        for delivery in [permanent, for_thirty_days] {
            let (shop, mut server) = sells(delivery(vec![bought("unlock {player}"), takes.clone()])).await;
            let first = shop.buy("a").await;
            assert_eq!(round(&shop, &mut server).await, ["unlock Thornwick"]);
            assert_eq!(refund(&shop, &mut server, &first).await, [""; 0]);
            let second = shop.buy("b").await;
            assert_eq!(round(&shop, &mut server).await, ["unlock Thornwick"]);
            shop.wait(3_600);
            assert_eq!(round(&shop, &mut server).await, [""; 0]);
            server.join(&shop, BUYER.1).await;
            assert_eq!(server.take_ran(), [""; 0], "{takes:?}");
            server.leave(BUYER.1);
            assert_eq!(refund(&shop, &mut server, &second).await, [""; 0]);
            shop.wait(3_600);
            let mut texts = round(&shop, &mut server).await;
            server.join(&shop, BUYER.1).await;
            texts.extend(server.take_ran());
            assert_eq!(texts, ["lock Thornwick"], "{takes:?}");
        }
    }
}
