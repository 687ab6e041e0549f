//! The steps after a payment, a refund and a dispute.

use super::game_server::{GameServer, Trouble};
use super::shop::{BUYER, DAY, Shop, bought, on, online};
use shared::model::{
    Command, CommandEvent, CommandId, CommandState, CommandTemplate, DeliveryStep, InternalId, ItemDelivery,
    OrderStatus, UserId, UserName,
};
use shared::rules::erase::ErasedPlayer;
use shared::shop::delivery::{OwnerOutcome, RedeliverError, cancel, follow, redeliver, retry};
use shared::shop::upkeep::erase::stop_commands;

fn many() -> Vec<CommandTemplate> {
    let bought = (0..100).map(|number| bought(&format!("give {{player}} {number}")));
    bought.chain([on(CommandEvent::Refunded, "take {player}")]).collect()
}

/// A game server of the shop, and an order that it was served and ran.
async fn delivered(shop: &Shop) -> (GameServer, InternalId) {
    let mut server = shop.game_server(1).await;
    let order = shop.buy("a").await;
    server.round(shop, Trouble::default()).await;
    (server, order)
}

#[tokio::test]
async fn a_payment_that_is_cut_off_after_any_write_is_finished_by_the_sweep() {
    let shop = Shop::open(many()).await;
    let mut server = shop.game_server(1).await;
    let expected: Vec<String> = (0..100).map(|number| format!("give Thornwick {number}")).collect();
    for passing in 0..8 {
        let order = shop.order(&format!("order{passing}")).await;
        shop.store.faults.fail_writes_after(passing);
        let is_paid = shop.set(&order, OrderStatus::Paid).await;
        shop.store.faults.clear();
        assert!(is_paid || passing == 0, "{passing}");
        if !is_paid {
            assert!(shop.set(&order, OrderStatus::Paid).await);
        }
        shop.sweep_for(1).await;
        assert_eq!(shop.commands(&order).await.len(), 100, "{passing}");
        assert_eq!(shop.stored(&order).await.effects.due, None, "nothing is left to do");
        server.ran.clear();
        for _ in 0..3 {
            server.round(&shop, Trouble::default()).await;
        }
        assert_eq!(server.texts(), expected, "{passing}");
    }
}

#[tokio::test]
async fn a_refund_that_is_cut_off_after_any_write_is_finished_by_the_sweep() {
    let shop = Shop::open(many()).await;
    let mut server = shop.game_server(1).await;
    for passing in 1..12 {
        let order = shop.buy(&format!("order{passing}")).await;
        server.round(&shop, Trouble::default()).await;
        shop.store.faults.fail_writes_after(passing);
        assert!(shop.set(&order, OrderStatus::Refunded).await, "{passing}");
        shop.store.faults.clear();
        shop.sweep_for(3).await;
        let states = shop.states(&order).await;
        assert_eq!(states.iter().filter(|state| **state == "recalled").count(), 10, "{passing}: {states:?}");
        assert_eq!(states.len(), 101, "one takes it back: {states:?}");
        server.ran.clear();
        assert_eq!(server.works(&shop).await, ["take Thornwick"], "{passing}");
    }
}

#[tokio::test]
async fn a_take_back_waits_until_nothing_can_run_and_comes_only_where_something_may_have_run() {
    let delivery = ItemDelivery {
        commands: vec![online(bought("give {player} {server}")), on(CommandEvent::Refunded, "take {player} {server}")],
        expires_after: None,
    };
    let shop = Shop::open(Vec::new()).await;
    shop.publish(&[1, 2], delivery).await;
    let (mut first, mut second) = (shop.game_server(1).await, shop.game_server(2).await);
    let order = shop.buy("a").await;
    first.join(&shop, BUYER.1).await;
    first.round(&shop, Trouble::default()).await;
    second.round(&shop, Trouble::default()).await;
    assert_eq!(shop.states(&order).await, ["validated", "kept"]);
    shop.refund_and_sweep(&order, 3).await;
    assert_eq!(shop.states(&order).await, ["validated", "recalled"], "it may still run");
    first.round(&shop, Trouble::default()).await;
    shop.sweep_for(2).await;
    assert_eq!(shop.states(&order).await, ["executed", "recalled", "ready"]);
    first.round(&shop, Trouble::default()).await;
    second.round(&shop, Trouble::default()).await;
    assert_eq!((first.texts(), second.texts()), (vec!["give Thornwick S1", "take Thornwick S1"], Vec::new()));
    assert_eq!(shop.stored(&order).await.effects.delivery.unwrap().step, DeliveryStep::Over);
}

#[tokio::test]
async fn a_take_back_comes_after_silence() {
    let shop = Shop::open(vec![online(bought("give {player}")), on(CommandEvent::Refunded, "take {player}")]).await;
    let mut server = shop.game_server(1).await;
    let order = shop.buy("a").await;
    server.round(&shop, Trouble { crashes: true, ..Trouble::default() }).await;
    shop.refund_and_sweep(&order, 4).await;
    assert_eq!(shop.states(&order).await, ["unknown"]);
    shop.sweep_for(3).await;
    assert_eq!(shop.states(&order).await, ["unknown", "ready"]);
}

#[tokio::test]
async fn a_dispute_takes_an_order_back_once() {
    let commands =
        vec![bought("give"), on(CommandEvent::Refunded, "take"), on(CommandEvent::ChargedBack, "ban {player}")];
    let shop = Shop::open(commands).await;
    let (mut server, order) = delivered(&shop).await;
    shop.dispute(&order).await.unwrap();
    shop.refund_and_sweep(&order, 3).await;
    assert_eq!(server.works(&shop).await, ["give", "ban Thornwick"]);
    assert!(follow(&shop.store.db, shop.clock(), &shop.stored(&order).await).await.unwrap());
}

#[tokio::test]
async fn a_dispute_without_commands_of_its_own_runs_those_of_a_refund() {
    let shop = Shop::open(vec![bought("give"), on(CommandEvent::Refunded, "take")]).await;
    let (mut server, order) = delivered(&shop).await;
    shop.dispute(&order).await.unwrap();
    shop.sweep_for(2).await;
    assert_eq!(server.works(&shop).await, ["give", "take"]);
    assert_eq!(shop.stored(&order).await.order.status, OrderStatus::Paid);
}

#[tokio::test]
async fn commands_for_a_server_that_is_no_longer_published_are_cancelled() {
    let shop = Shop::open(Vec::new()).await;
    let commands = vec![bought("give {server}"), on(CommandEvent::Refunded, "take {server}")];
    let delivery = ItemDelivery { commands, expires_after: None };
    shop.publish(&[1, 2], delivery.clone()).await;
    let (pending, paid) = (shop.order("a").await, shop.buy("b").await);
    for server in [1, 2] {
        shop.game_server(server).await.round(&shop, Trouble::default()).await;
    }
    shop.publish(&[1], delivery).await;
    assert!(shop.set(&pending, OrderStatus::Paid).await);
    assert_eq!(shop.states(&pending).await, ["ready", "cancelled"]);
    shop.refund_and_sweep(&paid, 3).await;
    assert_eq!(shop.states(&paid).await, ["delivered", "delivered"], "the other order gives the same");
    shop.refund_and_sweep(&pending, 3).await;
    assert_eq!(
        shop.states(&pending).await,
        ["recalled", "cancelled", "ready", "cancelled"],
        "it takes what the first gave"
    );
}

#[tokio::test]
async fn a_command_that_is_too_long_when_it_is_filled_is_cancelled() {
    let shop = Shop::open(vec![bought(&"{order}".repeat(140)), bought("b")]).await;
    let order = shop.buy(&"x".repeat(250)).await;
    assert_eq!(shop.states(&order).await, ["cancelled", "ready"]);
    assert_eq!(shop.commands(&order).await[0].text, "", "it cannot be sent again either");
}

#[tokio::test]
async fn gifts_for_a_player_whose_name_was_written_in_two_ways_are_delivered() {
    let shop = Shop::open(vec![bought("give {player} diamond")]).await;
    let mut server = shop.game_server(1).await;
    let order = shop.give("a", &["Moss", "MOSS"]).await;
    server.round(&shop, Trouble::default()).await;
    server.round(&shop, Trouble::default()).await;
    assert_eq!(shop.states(&order).await, ["executed", "executed"]);
    assert_eq!(server.texts().len(), 2);
}

#[tokio::test]
async fn an_erasure_finds_commands_by_whom_they_are_for_and_not_by_a_name_that_another_player_had() {
    let shop = Shop::open(vec![bought("give {player}")]).await;
    let (_, order) = delivered(&shop).await;
    let names = |name: &str| vec![UserName::parse(name).unwrap()];
    for (user, name, is_found) in [(2, BUYER.1, false), (1, "Renamed", true)] {
        let player = ErasedPlayer { user: UserId::new(user), names: names(name) };
        stop_commands(&shop.store.db, shop.clock(), &player).await.unwrap();
        let command = shop.commands(&order).await.remove(0);
        assert_eq!((command.player.is_empty(), command.text.is_empty()), (is_found, is_found), "{name}");
    }
}

#[tokio::test]
async fn an_order_whose_dispute_was_won_is_delivered_again_once() {
    let shop = Shop::open(vec![bought("give"), on(CommandEvent::Refunded, "take")]).await;
    let (mut server, order) = delivered(&shop).await;
    shop.dispute(&order).await.unwrap();
    shop.sweep_for(2).await;
    server.round(&shop, Trouble::default()).await;
    let again = || redeliver(&shop.store.db, shop.clock(), &order);
    assert!(matches!(again().await, Err(RedeliverError::Disputed(_))));
    shop.note_dispute(&order, "won").await.unwrap();
    again().await.unwrap();
    assert!(matches!(again().await, Err(RedeliverError::NotTakenBack)));
    assert_eq!(server.works(&shop).await, ["give", "take", "give"]);
    shop.refund_and_sweep(&order, 2).await;
    assert_eq!(server.works(&shop).await, ["give", "take", "give", "take"]);
    assert_eq!(shop.states(&order).await.len(), 4, "the owner sees all of them");
    assert!(matches!(again().await, Err(RedeliverError::NotPaid(OrderStatus::Refunded))));
}

#[tokio::test]
async fn what_takes_an_order_back_does_not_run_after_it_was_delivered_again() {
    let commands = vec![bought("give"), online(on(CommandEvent::ChargedBack, "take"))];
    let shop = Shop::open(commands).await;
    let (mut server, order) = delivered(&shop).await;
    shop.dispute(&order).await.unwrap();
    shop.sweep_for(2).await;
    let again = || redeliver(&shop.store.db, shop.clock(), &order);
    server.round(&shop, Trouble { lost: true, ..Trouble::default() }).await;
    shop.note_dispute(&order, "won").await.unwrap();
    assert!(matches!(again().await, Err(RedeliverError::OnItsWay)));
    shop.wait(60);
    // The player is away, and the game server keeps it.
    server.round(&shop, Trouble::default()).await;
    again().await.unwrap();
    server.round(&shop, Trouble::default()).await;
    shop.wait(120);
    server.join(&shop, BUYER.1).await;
    assert_eq!(server.texts(), ["give", "give"]);
}

#[tokio::test]
async fn what_takes_an_order_back_and_was_sent_again_does_not_run_after_it_was_delivered_again_either() {
    let commands = vec![bought("give"), online(on(CommandEvent::ChargedBack, "take"))];
    let shop = Shop::open(commands).await;
    let (mut server, order) = delivered(&shop).await;
    shop.dispute(&order).await.unwrap();
    shop.sweep_for(2).await;
    server.round(&shop, Trouble::default()).await;
    let taken = shop.commands(&order).await.into_iter().find(|command| command.text == "take").unwrap();
    assert!(matches!(send_again(&shop, taken.id).await, OwnerOutcome::SentAgain(_)));
    server.round(&shop, Trouble::default()).await;
    shop.note_dispute(&order, "won").await.unwrap();
    redeliver(&shop.store.db, shop.clock(), &order).await.unwrap();
    server.round(&shop, Trouble::default()).await;
    shop.wait(120);
    server.join(&shop, BUYER.1).await;
    assert_eq!(server.texts(), ["give", "give"]);
}

async fn send_again(shop: &Shop, id: CommandId) -> OwnerOutcome {
    retry(&shop.store.db, shop.clock(), id).await.unwrap()
}

#[tokio::test]
async fn nothing_of_an_order_that_was_taken_back_is_sent_again() {
    let shop = Shop::open(vec![bought("give"), on(CommandEvent::Refunded, "take")]).await;
    let (_, order) = delivered(&shop).await;
    shop.refund_and_sweep(&order, 2).await;
    let ids: Vec<_> = shop.commands(&order).await.iter().map(|command| (command.event, command.id)).collect();
    for (event, id) in ids {
        let sent = retry(&shop.store.db, shop.clock(), id).await.unwrap();
        assert_eq!(sent == OwnerOutcome::TakenBack, event == CommandEvent::Bought, "{sent:?}");
    }
}

fn for_thirty_days() -> ItemDelivery {
    let commands = vec![
        bought("add {player}"),
        on(CommandEvent::Expired, "end {player}"),
        on(CommandEvent::Refunded, "take {player}"),
    ];
    ItemDelivery { commands, expires_after: Some(30 * 86_400) }
}

#[tokio::test]
async fn a_second_purchase_moves_the_end_and_a_refund_moves_it_back() {
    let shop = Shop::selling(for_thirty_days()).await;
    let begun = shop.clock().seconds();
    let (mut server, first) = delivered(&shop).await;
    assert_eq!(shop.ends_at(1).await, begun + 30 * 86_400);
    shop.wait(10 * DAY);
    let second = shop.buy_many("b", 2).await;
    server.round(&shop, Trouble::default()).await;
    assert_eq!(shop.ends_at(1).await, begun + 90 * 86_400);
    assert_eq!(shop.states(&first).await.len() + shop.states(&second).await.len(), 3, "one end for both");
    shop.refund_and_sweep(&first, 3).await;
    assert_eq!(shop.ends_at(1).await, begun + 60 * 86_400);
    assert_eq!(server.works(&shop).await, ["add Thornwick", "add Thornwick"], "the other purchase lasts");
    shop.wait(50 * DAY);
    assert_eq!(server.works(&shop).await, ["add Thornwick", "add Thornwick", "end Thornwick"]);
}

#[tokio::test]
async fn the_last_refund_takes_back_and_ends_nothing_more() {
    let shop = Shop::selling(for_thirty_days()).await;
    let (mut server, order) = delivered(&shop).await;
    shop.refund_and_sweep(&order, 2).await;
    server.round(&shop, Trouble::default()).await;
    shop.wait(40 * DAY);
    assert_eq!(server.works(&shop).await, ["add Thornwick", "take Thornwick"]);
}

#[tokio::test]
async fn an_end_that_is_due_is_set_again_by_a_further_purchase() {
    let shop = Shop::selling(for_thirty_days()).await;
    let (mut server, _) = delivered(&shop).await;
    shop.wait(31 * DAY);
    shop.buy("b").await;
    assert_eq!(server.works(&shop).await, ["add Thornwick", "add Thornwick"], "the end that was due is recalled");
    shop.wait(30 * DAY);
    assert_eq!(server.works(&shop).await.last(), Some(&"end Thornwick"));
}

#[tokio::test]
async fn an_end_has_its_delay_also_after_a_further_purchase_has_moved_it() {
    let shop = Shop::open(Vec::new()).await;
    let end = CommandTemplate { delay: 3 * 86_400, ..on(CommandEvent::Expired, "end {player}") };
    let commands = vec![bought("add {player}"), end];
    shop.publish(&[1], ItemDelivery { commands, ..for_thirty_days() }).await;
    let (mut server, _) = delivered(&shop).await;
    for days in [31, 32] {
        shop.wait(days * DAY);
        server.round(&shop, Trouble::default()).await;
        assert!(!server.texts().contains(&"end Thornwick"), "{:?}", server.texts());
        shop.buy(&days.to_string()).await;
        server.round(&shop, Trouble::default()).await;
    }
    shop.wait(32 * DAY);
    assert_eq!(server.works(&shop).await, ["add Thornwick"; 3]);
    shop.wait(2 * DAY);
    assert_eq!(server.works(&shop).await.last(), Some(&"end Thornwick"));
}

#[tokio::test]
async fn what_expired_before_it_was_served_does_not_run() {
    let shop = Shop::selling(for_thirty_days()).await;
    let mut server = shop.game_server(1).await;
    let order = shop.buy("a").await;
    shop.wait(31 * DAY);
    assert_eq!(server.works(&shop).await, ["end Thornwick"]);
    assert!(shop.states(&order).await.contains(&"recalled"));
}

/// Thirty days of something that is given, and ended, when the player is online.
fn thirty_days_online() -> ItemDelivery {
    let commands = vec![online(bought("add {player}")), online(on(CommandEvent::Expired, "end {player}"))];
    ItemDelivery { commands, ..for_thirty_days() }
}

/// A shop that sells it, with an order whose commands the game server keeps for their player.
async fn kept() -> (Shop, GameServer, InternalId) {
    let shop = Shop::selling(thirty_days_online()).await;
    let (server, order) = delivered(&shop).await;
    (shop, server, order)
}

#[tokio::test]
async fn what_waits_for_a_player_is_given_as_long_as_what_was_bought_lasts() {
    let (shop, mut server, _) = kept().await;
    shop.wait(20 * DAY);
    shop.buy("b").await;
    server.round(&shop, Trouble::default()).await;
    // The first one alone would have ended.
    shop.wait(15 * DAY);
    server.join(&shop, BUYER.1).await;
    assert_eq!(server.texts(), ["add Thornwick", "add Thornwick"]);
}

#[tokio::test]
async fn what_waits_for_a_player_is_not_given_after_a_refund_has_moved_the_end_before_that() {
    let shop = Shop::selling(thirty_days_online()).await;
    let mut server = shop.game_server(1).await;
    let first = shop.buy("a").await;
    shop.buy("b").await;
    server.round(&shop, Trouble::default()).await;
    shop.refund_and_sweep(&first, 3).await;
    // The second one alone lasts thirty days, and nothing ends it after that.
    shop.wait(31 * DAY);
    server.join(&shop, BUYER.1).await;
    assert!(!server.texts().contains(&"add Thornwick"), "{:?}", server.texts());
}

#[tokio::test]
async fn what_is_sent_again_ends_when_it_would_have_ended() {
    let (shop, mut server, order) = kept().await;
    let given = |commands: Vec<Command>| commands.into_iter().rfind(|command| command.event == CommandEvent::Bought);
    shop.wait(10 * DAY);
    let kept = given(shop.commands(&order).await).unwrap();
    let OwnerOutcome::SentAgain(again) = send_again(&shop, kept.id).await else { panic!("{kept:?}") };
    server.round(&shop, Trouble::default()).await;
    shop.wait(21 * DAY);
    assert_eq!(send_again(&shop, again.id).await, OwnerOutcome::Ended);
    server.join(&shop, BUYER.1).await;
    assert_eq!(server.texts(), [""; 0]);
}

#[tokio::test]
async fn what_is_given_where_nothing_ends_it_waits_for_its_player_for_any_time() {
    let shop = Shop::open(Vec::new()).await;
    let commands = vec![online(bought("add {player}"))];
    shop.publish(&[1], ItemDelivery { commands, ..for_thirty_days() }).await;
    let (mut server, _) = delivered(&shop).await;
    shop.wait(40 * DAY);
    server.join(&shop, BUYER.1).await;
    assert_eq!(server.texts(), ["add Thornwick"]);
}

#[tokio::test]
async fn an_end_that_was_cancelled_waits_again_for_its_time_and_is_moved_by_a_further_purchase() {
    let shop = Shop::selling(for_thirty_days()).await;
    let (mut server, order) = delivered(&shop).await;
    let ends = shop.commands(&order).await.into_iter().find(|command| command.event == CommandEvent::Expired).unwrap();
    assert!(matches!(cancel(&shop.store.db, shop.clock(), ends.id).await.unwrap(), OwnerOutcome::Done(_)));
    let OwnerOutcome::SentAgain(again) = send_again(&shop, ends.id).await else { panic!("{ends:?}") };
    assert_eq!((again.delivery.state, again.delivery.due), (CommandState::Waiting, shop.ends_at(1).await));
    shop.wait(20 * DAY);
    shop.buy("b").await;
    server.round(&shop, Trouble::default()).await;
    // It serves the second purchase too, which has thirty days left from the beginning of the first one.
    shop.refund_and_sweep(&order, 3).await;
    shop.wait(9 * DAY);
    assert_eq!(server.works(&shop).await, ["add Thornwick", "add Thornwick"], "the second purchase lasts");
    shop.wait(2 * DAY);
    assert_eq!(server.works(&shop).await.last(), Some(&"end Thornwick"));
}

#[tokio::test]
async fn an_end_that_is_sent_again_does_not_end_a_later_purchase() {
    let (shop, mut server, order) = kept().await;
    server.join(&shop, BUYER.1).await;
    server.leave(BUYER.1);
    shop.wait(31 * DAY);
    server.round(&shop, Trouble::default()).await;
    let ends = shop.commands(&order).await.into_iter().find(|command| command.event == CommandEvent::Expired).unwrap();
    let OwnerOutcome::SentAgain(again) = send_again(&shop, ends.id).await else { panic!("{ends:?}") };
    server.round(&shop, Trouble::default()).await;
    shop.buy("b").await;
    server.round(&shop, Trouble::default()).await;
    assert_eq!(send_again(&shop, again.id).await, OwnerOutcome::LastsAgain);
    shop.wait(120);
    server.join(&shop, BUYER.1).await;
    assert_eq!(server.texts(), ["add Thornwick", "add Thornwick"]);
}
