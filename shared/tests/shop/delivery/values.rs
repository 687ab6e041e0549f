//! What commands are filled with: names and texts that a console would read as more than one word, and JSON.

use super::shop::{BUYER, Shop, bought};
use shared::model::{ItemDelivery, ServerId, User};
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
