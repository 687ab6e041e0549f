//! Orders that are moved to another player: what ran for the wrong one is taken back, and all of it runs for the right one, once.

use super::game_server::{GameServer, Trouble};
use super::shop::{DAY, Shop, bought, on, online};
use shared::model::CommandEvent::{ChargedBack, Expired, Refunded};
use shared::model::{CommandTemplate, InternalId, ItemDelivery, Lasting, LineId, PlayerName};
use shared::shop::delivery::{OwnerOutcome, given_of, retry};
use shared::shop::orders::{MoveError, NewPlayer, move_order};
use shared::shop::payments::OperatorError;
use tests::Fault;

const MONTH: u32 = 30 * 86_400;

fn player(name: &str) -> NewPlayer {
    NewPlayer { user: None, name: Some(PlayerName::parse(name).unwrap()) }
}

/// Moves what is not a gift, or a gift. Whether this call did.
async fn move_line(shop: &Shop, order: &InternalId, line: Option<u64>, to: &str) -> Result<bool, MoveError> {
    let line = line.map(LineId::new);
    let moved = move_order(shop.db(), shop.clock(), order, line, &player(to), false).await?;
    Ok(moved.is_new)
}

async fn move_to(shop: &Shop, order: &InternalId, to: &str) -> bool {
    move_line(shop, order, None, to).await.unwrap()
}

/// Runs what is due, after sweeps; what has run since the last time.
async fn run(shop: &Shop, server: &mut GameServer) -> Vec<String> {
    shop.sweep_for(3).await;
    server.round(shop, Trouble::NONE).await;
    server.take_ran()
}

/// A shop that sells the item so.
async fn sells(commands: Vec<CommandTemplate>, expires_after: Option<u32>) -> (Shop, GameServer) {
    super::shop::sells(ItemDelivery { commands, expires_after }).await
}

fn hat() -> Vec<CommandTemplate> {
    vec![bought("unlock {player}"), on(Refunded, "lock {player}")]
}

fn rank() -> Vec<CommandTemplate> {
    vec![bought("join {player}"), on(Expired, "end {player}"), on(Refunded, "leave {player}")]
}

fn claims() -> Vec<CommandTemplate> {
    let (add, take) = ("add {player} {count}", "take {player} {count}");
    vec![bought(add), on(Expired, take), on(Refunded, take)]
}

#[tokio::test]
async fn what_ran_is_taken_back_and_runs_for_the_new_player_and_a_repeat_runs_nothing() {
    let (shop, mut server) = sells(hat(), None).await;
    let order = shop.buy("a").await;
    assert_eq!(run(&shop, &mut server).await, ["unlock Thornwick"]);
    let given = given_of(&shop.store.db, &shop.stored(&order).await, &[0]).await.unwrap();
    assert_eq!((given.ran.len(), given.waiting.len(), given.stays), (1, 0, Vec::new()));
    assert!(move_to(&shop, &order, "Moss").await);
    assert_eq!(run(&shop, &mut server).await, ["lock Thornwick", "unlock Moss"]);
    assert!(!move_to(&shop, &order, "MOSS").await, "it is the same player");
    assert_eq!(run(&shop, &mut server).await, [""; 0]);
    let delivery = shop.stored(&order).await.effects.delivery.unwrap();
    assert_eq!(delivery.moving, None);
}

#[tokio::test]
async fn there_and_back_it_ends_as_it_began() {
    for (commands, expires_after) in [(hat(), None), (rank(), Some(MONTH)), (claims(), Some(MONTH))] {
        let (shop, mut server) = sells(commands, expires_after).await;
        let order = shop.buy_many("a", 2).await;
        let mut texts = run(&shop, &mut server).await;
        let ends = |rows: Vec<(_, Lasting)>| -> Vec<_> {
            rows.into_iter().map(|(key, row)| (key, row.end(), row.holders, row.owed)).collect()
        };
        let before = (shop.stored(&order).await.order, ends(shop.texts(1).await));
        shop.wait(10 * DAY);
        move_to(&shop, &order, "Moss").await;
        shop.wait(5 * DAY);
        texts.extend(run(&shop, &mut server).await);
        assert!(ends(shop.texts(1).await).is_empty());
        move_to(&shop, &order, "Thornwick").await;
        texts.extend(run(&shop, &mut server).await);
        let after = (shop.stored(&order).await.order, ends(shop.texts(1).await));
        assert_eq!(after.1, before.1);
        let lines = |order: shared::model::Order| (order.moved_to, order.lines[0].term, order.lines[0].recipient);
        assert_eq!(lines(after.0), lines(before.0));
        let names: Vec<&str> = texts.iter().map(|text| text.split(' ').nth(1).unwrap()).collect();
        assert_eq!(names, ["Thornwick", "Thornwick", "Moss", "Moss", "Thornwick"], "{texts:?}");
        assert_eq!(texts[0], texts[4]);
        shop.wait(60 * DAY);
        let is_timed = usize::from(expires_after.is_some());
        assert_eq!(run(&shop, &mut server).await.len(), is_timed, "it ends once");
    }
}

#[tokio::test]
async fn what_ends_ends_when_it_would_have_and_for_the_new_player() {
    let (shop, mut server) = sells([rank(), claims()].concat(), Some(MONTH)).await;
    let order = shop.buy("a").await;
    run(&shop, &mut server).await;
    shop.wait(10 * DAY);
    move_to(&shop, &order, "Moss").await;
    run(&shop, &mut server).await;
    shop.wait(19 * DAY);
    assert_eq!(run(&shop, &mut server).await, [""; 0], "the day before");
    shop.wait(DAY);
    let mut ended = run(&shop, &mut server).await;
    ended.sort();
    assert_eq!(ended, ["end Moss", "take Moss 1"]);
}

#[tokio::test]
async fn what_is_over_runs_for_no_other_player() {
    let (shop, mut server) = sells([rank(), claims()].concat(), Some(MONTH)).await;
    let order = shop.buy("a").await;
    run(&shop, &mut server).await;
    shop.wait(40 * DAY);
    run(&shop, &mut server).await;
    move_to(&shop, &order, "Moss").await;
    let texts = run(&shop, &mut server).await;
    assert!(texts.iter().all(|text| !text.contains("Moss") && !text.contains("take")), "{texts:?}");
}

#[tokio::test]
async fn time_is_added_to_what_the_new_player_has_and_comes_back_with_the_order() {
    let (shop, mut server) = sells(rank(), Some(MONTH)).await;
    let (first, second) = (shop.buy("a").await, shop.buy("b").await);
    move_to(&shop, &first, "Moss").await;
    shop.wait(5 * DAY);
    move_to(&shop, &second, "Moss").await;
    run(&shop, &mut server).await;
    shop.wait(54 * DAY);
    assert_eq!(run(&shop, &mut server).await, [""; 0], "two months are not over");
    move_to(&shop, &second, "Thornwick").await;
    let texts = run(&shop, &mut server).await;
    assert!(texts.contains(&"end Moss".to_owned()) || texts.contains(&"leave Moss".to_owned()), "{texts:?}");
}

#[tokio::test]
async fn what_the_wrong_player_has_paid_as_well_stays() {
    let (shop, mut server) = sells(hat(), None).await;
    let (first, second) = (shop.buy("a").await, shop.buy("b").await);
    run(&shop, &mut server).await;
    move_to(&shop, &first, "Moss").await;
    assert_eq!(run(&shop, &mut server).await, ["unlock Moss"]);
    shop.refund(&second).await;
    assert_eq!(run(&shop, &mut server).await, ["lock Thornwick"]);
}

#[tokio::test]
async fn what_has_not_run_is_recalled_and_runs_for_the_new_player_alone() {
    let (shop, mut server) = sells(vec![online(bought("unlock {player}")), on(Refunded, "lock {player}")], None).await;
    let order = shop.buy("a").await;
    // It waits for the player on the game server.
    server.round(&shop, Trouble::NONE).await;
    let given = given_of(&shop.store.db, &shop.stored(&order).await, &[0]).await.unwrap();
    assert_eq!((given.ran.len(), given.waiting.len()), (0, 1));
    move_to(&shop, &order, "Moss").await;
    let again = move_line(&shop, &order, None, "Fern").await;
    assert!(matches!(again, Err(MoveError::OnItsWay)), "{again:?}");
    assert_eq!(run(&shop, &mut server).await, [""; 0]);
    server.join(&shop, "Thornwick").await;
    assert_eq!(server.take_ran(), [""; 0]);
    server.join(&shop, "Moss").await;
    assert_eq!(run(&shop, &mut server).await, ["unlock Moss"]);
}

#[tokio::test]
async fn a_refund_or_a_dispute_afterwards_takes_it_from_the_new_player_and_bans_who_paid() {
    let commands = [hat(), vec![on(ChargedBack, "ban {buyer}"), on(ChargedBack, "lock {player}")]].concat();
    let (shop, mut server) = sells(commands, None).await;
    let (refunded, disputed) = (shop.buy("a").await, shop.buy("b").await);
    for order in [&refunded, &disputed] {
        move_to(&shop, order, "Moss").await;
    }
    run(&shop, &mut server).await;
    shop.refund(&refunded).await;
    assert_eq!(run(&shop, &mut server).await, [""; 0], "the other order gives it still");
    shop.dispute(&disputed).await.unwrap();
    let texts = run(&shop, &mut server).await;
    assert!(texts.contains(&"lock Moss".to_owned()) && texts.contains(&"ban Thornwick".to_owned()), "{texts:?}");
    assert!(!texts.contains(&"lock Thornwick".to_owned()), "{texts:?}");
}

#[tokio::test]
async fn a_refund_while_it_is_moved_gives_it_to_nobody() {
    let (shop, mut server) = sells(hat(), None).await;
    let order = shop.buy("a").await;
    // It is served, and no word comes.
    server.round(&shop, Trouble { lost: true, ..Trouble::NONE }).await;
    move_to(&shop, &order, "Moss").await;
    shop.refund_and_sweep(&order, 12).await;
    assert_eq!(run(&shop, &mut server).await, ["lock Thornwick"]);
    assert!(shop.texts(1).await.is_empty());
}

#[tokio::test]
async fn a_dispute_while_it_is_moved_runs_what_always_runs() {
    let (shop, mut server) = sells([hat(), vec![on(ChargedBack, "ban {buyer}")]].concat(), None).await;
    let order = shop.buy("a").await;
    server.round(&shop, Trouble { lost: true, ..Trouble::NONE }).await;
    move_to(&shop, &order, "Moss").await;
    shop.dispute(&order).await.unwrap();
    shop.sweep_for(12).await;
    assert_eq!(run(&shop, &mut server).await, ["lock Thornwick", "ban Thornwick"]);
}

#[tokio::test]
async fn units_are_not_refunded_while_it_is_moved_and_are_the_new_players_afterwards() {
    let (shop, mut server) = sells(claims(), None).await;
    let order = shop.buy_many("a", 5).await;
    server.round(&shop, Trouble { lost: true, ..Trouble::NONE }).await;
    move_to(&shop, &order, "Moss").await;
    let early = shop.refund_units(&order, 2).await;
    assert!(matches!(early, Err(OperatorError::Moving)), "{early:?}");
    shop.sweep_for(12).await;
    assert_eq!(run(&shop, &mut server).await, ["take Thornwick 5", "add Moss 5"]);
    shop.refund_units(&order, 2).await.unwrap();
    assert_eq!(run(&shop, &mut server).await, ["take Moss 2"]);
}

#[tokio::test]
async fn one_gift_is_moved_and_the_others_stay() {
    let (shop, mut server) = sells([hat(), claims()].concat(), None).await;
    let order = shop.give("gift", &["Moss", "Fern"]).await;
    run(&shop, &mut server).await;
    let own = move_line(&shop, &order, None, "Reed").await;
    assert!(matches!(own, Err(MoveError::OnlyGifts)), "{own:?}");
    assert!(move_line(&shop, &order, Some(2), "Reed").await.unwrap());
    assert!(!move_line(&shop, &order, Some(2), "Reed").await.unwrap());
    let mut texts = run(&shop, &mut server).await;
    texts.sort();
    assert_eq!(texts, ["add Reed 1", "lock Fern", "take Fern 1", "unlock Reed"]);
    let gift_to = shop.stored(&order).await.order.lines[1].chosen.clone().unwrap().gift_to.unwrap();
    assert_eq!(gift_to.as_str(), "Reed");
    shop.refund(&order).await;
    let mut texts = run(&shop, &mut server).await;
    texts.sort();
    assert_eq!(texts, ["lock Moss", "lock Reed", "take Moss 1", "take Reed 1"]);
    assert_eq!(shop.commands(&order).await.len(), 4 + 2 + 2 + 4, "all that ever were of it");
}

#[tokio::test]
async fn a_command_for_the_wrong_player_is_not_sent_again() {
    let (shop, mut server) = sells(hat(), None).await;
    let order = shop.buy("a").await;
    run(&shop, &mut server).await;
    let wrong = shop.commands(&order).await[0].id;
    move_to(&shop, &order, "Moss").await;
    run(&shop, &mut server).await;
    let outcome = retry(&shop.store.db, shop.clock(), wrong).await.unwrap();
    assert_eq!(outcome, OwnerOutcome::TakenBack);
}

#[tokio::test]
async fn whatever_call_fails_the_repeated_move_moves_once() {
    for place in 0..120 {
        let (shop, mut server) = sells([rank(), claims()].concat(), Some(MONTH)).await;
        let order = shop.buy("a").await;
        run(&shop, &mut server).await;
        let fault = if place % 2 == 0 { Fault::Away } else { Fault::ResponseLost };
        shop.store.faults.fail_from(place, fault);
        let first = move_line(&shop, &order, None, "Moss").await;
        shop.store.faults.clear();
        move_to(&shop, &order, "Moss").await;
        let mut texts = run(&shop, &mut server).await;
        texts.sort();
        assert_eq!(texts, ["add Moss 1", "join Moss", "leave Thornwick", "take Thornwick 1"], "{place}");
        shop.wait(31 * DAY);
        let mut texts = run(&shop, &mut server).await;
        texts.sort();
        assert_eq!(texts, ["end Moss", "take Moss 1"], "{place}");
        if first.is_ok() {
            assert!(place > 10, "{place}");
            return;
        }
    }
    panic!("it never succeeds");
}
