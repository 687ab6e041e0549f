//! The words of game servers, and the answers to them.

use super::agent::Agent;
use super::game_server::Trouble;
use super::shop::{BUYER, Shop, bought, online};
use shared::model::{CommandId, OrderStatus};
use shared::shop::delivery::{OwnerOutcome, StopReason, cancel, delivered, poll, retry, stop, validated};

#[tokio::test]
async fn what_waits_for_a_player_runs_when_the_player_joins() {
    let shop = Shop::open(vec![bought("a {player}"), online(bought("b {player} {count} {price} {currency}"))]).await;
    let mut server = shop.game_server(1).await;
    let order = shop.buy_many("a", 3).await;
    assert_eq!(shop.states(&order).await, ["ready", "ready"]);
    server.round(&shop, Trouble::default()).await;
    assert_eq!((server.texts(), shop.states(&order).await), (vec!["a Thornwick"], vec!["delivered", "kept"]));
    server.join(&shop, BUYER.1).await;
    assert_eq!(shop.states(&order).await, ["delivered", "validated"]);
    assert_eq!(server.works(&shop).await, ["a Thornwick", "b Thornwick 3 1.00 EUR"]);
    assert_eq!(shop.states(&order).await, ["executed", "executed"]);
}

#[tokio::test]
async fn a_refund_recalls_what_is_kept_and_the_server_forgets_it() {
    let shop = Shop::open(vec![online(bought("b {player}"))]).await;
    let mut server = shop.game_server(1).await;
    let order = shop.buy("a").await;
    server.round(&shop, Trouble::default()).await;
    shop.refund(&order).await;
    assert_eq!(shop.states(&order).await, ["recalled"]);
    shop.wait(60);
    server.join(&shop, BUYER.1).await;
    assert!(server.ran.is_empty() && server.disk().is_empty());
}

#[tokio::test]
async fn a_fresh_batch_is_never_refused_and_a_later_one_is() {
    let shop = Shop::open(vec![online(bought("b {player}"))]).await;
    let server = shop.game_server(1).await;
    let order = shop.buy("a").await;
    poll(shop.db(), shop.clock(), &server.key, None).await.unwrap();
    assert!(shop.set(&order, OrderStatus::Refunded).await);
    let id = shop.commands(&order).await[0].id;
    let foreign = CommandId::new(CommandId::LARGEST).unwrap();
    let answers = validated(shop.db(), shop.clock(), &server.key, &[foreign, id, id]).await.unwrap();
    assert_eq!(answers, [(foreign, true), (id, true)], "each once, in the order of the call");
    assert_eq!(shop.states(&order).await, ["validated"]);
    shop.wait(60);
    let answers = validated(shop.db(), shop.clock(), &server.key, &[id, foreign]).await.unwrap();
    assert_eq!(answers, [(id, false), (foreign, true)]);
}

#[tokio::test]
async fn the_owner_cancels_and_sends_again_and_a_refund_reaches_what_was_sent_again() {
    let shop = Shop::open(vec![online(bought("b {player}"))]).await;
    let mut server = shop.game_server(1).await;
    let order = shop.buy("a").await;
    let id = shop.commands(&order).await[0].id;
    server.round(&shop, Trouble::default()).await;
    let OwnerOutcome::SentAgain(again) = retry(&shop.store.db, shop.clock(), id).await.unwrap() else { panic!() };
    assert_eq!(shop.states(&order).await, ["retried", "ready"]);
    assert!(matches!(retry(&shop.store.db, shop.clock(), id).await.unwrap(), OwnerOutcome::Refused(_)));
    server.round(&shop, Trouble::default()).await;
    shop.wait(60);
    server.join(&shop, BUYER.1).await;
    assert_eq!(server.ran.len(), 1, "the old one is forgotten");
    let other = shop.buy("b").await;
    let id = shop.commands(&other).await[0].id;
    let OwnerOutcome::Done(_) = cancel(&shop.store.db, shop.clock(), id).await.unwrap() else { panic!() };
    assert_eq!(shop.states(&other).await, ["cancelled"]);
    let OwnerOutcome::SentAgain(last) = retry(&shop.store.db, shop.clock(), id).await.unwrap() else { panic!() };
    shop.refund(&other).await;
    assert_eq!(shop.states(&other).await, ["retried", "recalled"]);
    assert!(again.id < last.id);
}

#[tokio::test]
async fn a_stop_leaves_nothing_of_the_player() {
    let shop = Shop::open(vec![bought("a {player}"), online(bought("b {player}"))]).await;
    let mut server = shop.game_server(1).await;
    let order = shop.buy("a").await;
    let ids: Vec<CommandId> = shop.commands(&order).await.iter().map(|command| command.id).collect();
    assert_eq!(stop(&shop.store.db, shop.clock(), &ids, StopReason::Banned).await.unwrap(), 2);
    assert_eq!(stop(&shop.store.db, shop.clock(), &ids, StopReason::Erased).await.unwrap(), 0);
    assert_eq!(shop.states(&order).await, ["stopped", "stopped"]);
    assert!(shop.commands(&order).await.iter().all(|command| command.text.is_empty() && command.player.is_empty()));
    assert_eq!(server.round(&shop, Trouble::default()).await, 0);
}

#[tokio::test]
async fn what_the_server_lost_while_the_store_was_away_is_unknown_when_its_player_joins_and_the_owner_sends_it_again() {
    let shop = Shop::open(vec![online(bought("b {player}"))]).await;
    let mut server = shop.game_server(1).await;
    let first = shop.buy("a").await;
    server.round(&shop, Trouble::default()).await;
    let lost = shop.buy("b").await;
    // Served to a player who is online: the plugin says that it has it, its question has no answer, and it forgets it.
    let rows = poll(shop.db(), shop.clock(), &server.key, None).await.unwrap();
    let ids: Vec<CommandId> = rows.iter().map(|command| command.id).collect();
    delivered(shop.db(), shop.clock(), &server.key, &ids).await.unwrap();
    assert_eq!(shop.states(&lost).await, ["kept"]);
    shop.wait(59);
    let foreign = CommandId::new(CommandId::LARGEST).unwrap();
    validated(shop.db(), shop.clock(), &server.key, &[foreign]).await.unwrap();
    assert_eq!(shop.states(&lost).await, ["kept"], "this is no join of the player");
    shop.wait(1);
    server.join(&shop, BUYER.1).await;
    assert_eq!((shop.states(&first).await, shop.states(&lost).await), (vec!["validated"], vec!["unknown"]));
    let OwnerOutcome::SentAgain(_) = retry(&shop.store.db, shop.clock(), ids[0]).await.unwrap() else { panic!() };
    server.round(&shop, Trouble::default()).await;
    server.run_slow();
    assert_eq!(server.texts(), ["b Thornwick", "b Thornwick"]);
    // An agent's questions leave out what it need not ask about.
    let mut agent = Agent::new(shop.game_server(1).await.key);
    let kept = shop.buy("c").await;
    shop.wait(300);
    agent.round(&shop, Trouble::default()).await;
    assert_eq!(shop.states(&kept).await, ["kept"]);
    shop.wait(120);
    let later = shop.buy("d").await;
    agent.round(&shop, Trouble::default()).await;
    shop.wait(120);
    let asked = shop.commands(&later).await[0].id;
    validated(shop.db(), shop.clock(), &agent.key, &[asked]).await.unwrap();
    assert_eq!((shop.states(&kept).await, shop.states(&later).await), (vec!["kept"], vec!["validated"]));
}
