//! The words between store and game server: what commands are filled with, which are names and texts that a console would read
//! as more than one word, and JSON; and what game servers say, with the answers to it.

use super::agent::Agent;
use super::game_server::Trouble;
use super::shop::{BUYER, Shop, bought, online};
use shared::model::{CommandId, ItemDelivery, OrderStatus, ServerId, User};
use shared::shop::delivery::{OwnerOutcome, StopReason, cancel, delivered, poll, retry, stop, validated};
use shared::table::{codec, keys, read_live};
use tests::configure;

/// Gives the buyer another name, which no login would accept.
pub async fn rename_buyer(shop: &Shop, name: &str) {
    let key = keys::user(BUYER.0);
    let user = User { username: name.to_owned(), ..read_live(&shop.store.db, &key).await.unwrap().unwrap() };
    tests::put(&shop.store.db, codec::encode_live(&key, &user).unwrap()).await;
}

#[tokio::test]
async fn a_name_that_a_console_would_read_as_a_command_reaches_none() {
    let shop = Shop::open(vec![bought("say Thanks {player}"), bought("thank {buyer}"), bought("give {item}")]).await;
    for (place, (name, expected)) in [
        ("x; quit", "cancelled"),
        ("@a", "cancelled"),
        ("a\"b", "cancelled"),
        ("*", "cancelled"),
        ("._-", "cancelled"),
        ("Notch 99999", "cancelled"),
        ("Alex parent add admin", "cancelled"),
        ("Mr.X", "ready"),
        ("Straße", "ready"),
        (".Psychic_Clover", "ready"),
        ("+Alex", "ready"),
        ("!Alex", "ready"),
    ]
    .into_iter()
    .enumerate()
    {
        rename_buyer(&shop, name).await;
        let order = shop.buy(&format!("order-{place}")).await;
        assert_eq!(shop.states(&order).await, [expected, expected, "ready"], "{name}");
    }
}

#[tokio::test]
async fn a_name_with_a_space_runs_in_quotes_where_the_server_reads_them() {
    let commands = vec![bought("eco give \"{player}\" 100"), bought("eco give {player} 100")];
    let shop = Shop::open(Vec::new()).await;
    shop.publish(&[1, 2], ItemDelivery { commands, expires_after: None }).await;
    configure(&shop.store.db, |config| config.delivery.quotes = vec![ServerId::new(2)]).await;
    rename_buyer(&shop, "Notch 99999").await;
    let order = shop.buy("a").await;
    let commands = shop.commands(&order).await;
    let texts = commands.iter().map(|command| (command.server.get(), command.text.as_str()));
    let states = shop.states(&order).await;
    assert_eq!(
        texts.zip(states).collect::<Vec<_>>(),
        [
            ((1, ""), "cancelled"),
            ((2, "eco give \"Notch 99999\" 100"), "ready"),
            ((1, ""), "cancelled"),
            ((2, ""), "cancelled"),
        ]
    );
}

#[tokio::test]
async fn an_items_name_with_quotes_reaches_the_chat_of_the_game_as_it_is() {
    let shop =
        Shop::open(vec![bought("tellraw @a {{\"text\":\"{player} bought {item}\"}"), bought("say {item}")]).await;
    let order = shop.buy_named("a", "The \"Big\" \\ Pack").await;
    let texts: Vec<String> = shop.commands(&order).await.into_iter().map(|command| command.text).collect();
    assert_eq!(
        texts,
        ["tellraw @a {\"text\":\"Thornwick bought The \\\"Big\\\" \\\\ Pack\"}", "say The \"Big\" \\ Pack"]
    );
}

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
