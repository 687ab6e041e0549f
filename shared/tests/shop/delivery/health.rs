//! Figures of game servers that the sweep measures, for metrics and alarms; and the time from paid to run, which is measured for
//! every command, once, and kept apart where a player is waited for.

use super::game_server::Trouble;
use super::shop::{BUYER, Shop, bought, online};
use crate::notices::{ids, tell, told};
use serde_json::json;
use shared::model::{About, CommandId, CommandTemplate, NoticeEvent, ServerId};
use shared::shop::delivery::measures::{ServerTimes, times};
use shared::shop::delivery::servers::Lease;
use shared::shop::delivery::{
    Report, ReportedOutcome, add_key, executed, poll, retry, revoke_key, sweep_servers, validated,
};
use shared::table::bulk::write_each;
use shared::table::codec::encode_live;
use shared::table::transaction::{Write, send};
use shared::table::{StoreError, keys};
use shared::telemetry::{ServerFigures, noted_servers, unreadable_rows};

const SERVER: ServerId = ServerId::new(1);

async fn figures(shop: &Shop) -> Vec<ServerFigures> {
    Box::pin(noted_servers(shop.sweep())).await.1
}

/// A poll that is seen and does not get what is ready.
async fn poll_in_vain(shop: &Shop) {
    let see: Write = Lease::see(SERVER, shop.clock().seconds());
    send(&shop.store.db, vec![see]).await.unwrap();
}

#[tokio::test]
async fn a_server_that_polls_and_gets_nothing_is_stuck_and_one_that_does_not_poll_is_silent() {
    let shop = Shop::open(vec![bought("say {player}")]).await;
    let mut server = shop.game_server(1).await;
    server.round(&shop, Trouble::default()).await;
    let sound = ServerFigures { server: SERVER, oldest_ready: Some(0), silence: Some(0), undecided: 0 };
    assert_eq!(figures(&shop).await, [sound]);
    shop.buy("a").await;
    shop.wait(1_000);
    assert_eq!(figures(&shop).await, [ServerFigures { oldest_ready: None, silence: Some(1_000), ..sound }]);
    poll_in_vain(&shop).await;
    assert_eq!(figures(&shop).await, [ServerFigures { oldest_ready: Some(1_000), ..sound }]);
    server.round(&shop, Trouble::default()).await;
    assert_eq!(figures(&shop).await, [sound]);
}

#[tokio::test]
async fn a_server_that_is_not_connected_is_not_missed() {
    let shop = Shop::open(vec![bought("say {player}")]).await;
    shop.buy("a").await;
    shop.wait(10_000);
    assert_eq!(figures(&shop).await, [], "it has no key");
    let (_, first) = add_key(&shop.store.db, shop.clock(), SERVER).await.unwrap();
    let (_, second) = add_key(&shop.store.db, shop.clock(), SERVER).await.unwrap();
    shop.wait(10_000);
    assert_eq!(figures(&shop).await, [], "it never polled");
    poll(shop.db(), shop.clock(), &first, None).await.unwrap();
    assert!(revoke_key(&shop.store.db, first.hash(), None).await.unwrap());
    shop.wait(10_000);
    assert_eq!(figures(&shop).await[0].silence, Some(10_000), "it has another key, and does not use it");
    assert!(revoke_key(&shop.store.db, second.hash(), Some(SERVER)).await.unwrap());
    assert_eq!(figures(&shop).await, [], "it has no key any more");
}

#[tokio::test]
async fn what_may_have_run_is_counted_until_the_owner_decides() {
    let shop = Shop::open(vec![bought("say {player}"), bought("give {player} 1")]).await;
    let server = shop.game_server(1).await;
    shop.buy("a").await;
    let rows = poll(shop.db(), shop.clock(), &server.key, None).await.unwrap();
    let ids: Vec<_> = rows.iter().map(|row| row.id).collect();
    validated(shop.db(), shop.clock(), &server.key, &ids).await.unwrap();
    assert_eq!(figures(&shop).await[0].undecided, 0);
    shop.wait(400);
    assert_eq!(figures(&shop).await[0].undecided, 2);
}

#[tokio::test]
async fn what_cannot_be_read_keeps_no_server_from_being_measured_and_is_counted() {
    let shop = Shop::open(vec![bought("say {player}")]).await;
    let mut server = shop.game_server(1).await;
    server.round(&shop, Trouble::default()).await;
    let now = shop.clock().seconds();
    let lease = encode_live(&keys::lease(ServerId::new(2)), &json!({ "number": "of a later version" })).unwrap();
    let row = encode_live(&keys::queued(SERVER, now, CommandId::new(77).unwrap()), &json!({ "command": 1 })).unwrap();
    write_each(&shop.store.db, [lease, row].into_iter().map(Ok), &|_| ()).await.unwrap();
    let servers = || [2, 1].map(ServerId::new).into_iter();
    let (swept, noted) = noted_servers(sweep_servers(&shop.store.db, shop.clock(), servers())).await;
    assert!(matches!(swept, Err(StoreError::Unreadable { .. })), "it is told");
    assert_eq!(noted, [ServerFigures { server: SERVER, oldest_ready: Some(0), silence: Some(0), undecided: 0 }]);
    let (_, rows) = unreadable_rows(sweep_servers(&shop.store.db, shop.clock(), servers())).await;
    assert_eq!(rows, 2);
}

#[tokio::test]
async fn the_owner_is_told_once_of_what_was_refused_or_given_up_whatever_cannot_be_read() {
    let shop = Shop::open(vec![bought("say {player}"), bought("give {player} 1")]).await;
    tell(shop.db()).await;
    let server = shop.game_server(1).await;
    let order = shop.buy("a").await;
    let rows = poll(shop.db(), shop.clock(), &server.key, None).await.unwrap();
    let ids_of: Vec<_> = rows.iter().map(|row| row.id).collect();
    validated(shop.db(), shop.clock(), &server.key, &ids_of).await.unwrap();
    let output = "Unknown command".to_owned();
    let refused = Report { id: ids_of[0], outcome: ReportedOutcome::Refused, output };
    executed(shop.db(), shop.clock(), &server.key, &[refused]).await.unwrap();
    shop.wait(400);
    let now = shop.clock().seconds();
    let row = encode_live(
        &keys::open_command(SERVER, shared::model::CommandState::Refused, now - 9, ids_of[1]),
        &json!({ "command": 1 }),
    );
    write_each(&shop.store.db, [row].into_iter(), &|_| ()).await.unwrap();
    shop.sweep_for(3).await;
    let all = told(shop.db()).await;
    let of_commands: Vec<_> = all
        .iter()
        .filter_map(|notice| match &notice.about {
            About::Command { text, answer, .. } => Some((notice.event, text.as_str(), answer.as_str())),
            _ => None,
        })
        .collect();
    let texts: Vec<String> = shop.commands(&order).await.into_iter().map(|command| command.text).collect();
    assert_eq!(
        of_commands,
        [
            (NoticeEvent::GaveUp, texts[1].as_str(), ""),
            (NoticeEvent::RefusedCommand, texts[0].as_str(), "Unknown command")
        ]
    );
    // It is sent again, and refused again.
    retry(&shop.store.db, shop.clock(), ids_of[0]).await.unwrap();
    let again = poll(shop.db(), shop.clock(), &server.key, None).await.unwrap()[0].id;
    let refused = Report { id: again, outcome: ReportedOutcome::Refused, output: String::new() };
    executed(shop.db(), shop.clock(), &server.key, &[refused]).await.unwrap();
    shop.sweep_for(2).await;
    assert_eq!(ids(shop.db(), NoticeEvent::RefusedCommand).await.len(), 2);
    // Who tries the item sees the answer, and there is no order to look at.
    let tried = shop.begin_try("Newt").await[0];
    poll(shop.db(), shop.clock(), &server.key, None).await.unwrap();
    let refused = Report { id: tried, outcome: ReportedOutcome::Refused, output: String::new() };
    executed(shop.db(), shop.clock(), &server.key, &[refused]).await.unwrap();
    shop.sweep_for(2).await;
    assert_eq!(ids(shop.db(), NoticeEvent::RefusedCommand).await.len(), 2);
}

#[tokio::test]
async fn a_silent_server_is_told_of_once_until_it_polls_and_one_that_never_polled_not() {
    let shop = Shop::open(vec![bought("say {player}")]).await;
    tell(shop.db()).await;
    let silent = async || ids(shop.db(), NoticeEvent::SilentServer).await.len();
    let mut server = shop.game_server(1).await;
    shop.buy("a").await;
    shop.wait(10_000);
    shop.sweep().await;
    assert_eq!(silent().await, 0, "it never polled");
    server.round(&shop, Trouble::default()).await;
    shop.wait(10_000);
    shop.sweep().await;
    assert_eq!(silent().await, 0, "nothing waits");
    shop.buy("b").await;
    shop.sweep_for(3).await;
    assert_eq!(silent().await, 1);
    server.round(&shop, Trouble::default()).await;
    shop.buy("c").await;
    shop.wait(1_000);
    shop.sweep().await;
    assert_eq!(silent().await, 1, "it is not silent for long enough");
    shop.wait(1_000);
    shop.sweep_for(2).await;
    assert_eq!(silent().await, 2);
}

async fn last_day(shop: &Shop) -> ServerTimes {
    let now = shop.clock().seconds();
    times(shop.db(), ServerId::new(1), now - 86_400, now + 1).await.unwrap()
}

#[tokio::test]
async fn a_command_is_counted_once_and_what_waits_for_a_player_or_a_delay_apart() {
    let delayed = CommandTemplate { delay: 30, ..bought("c {player}") };
    let shop = Shop::open(vec![bought("a {player}"), online(bought("b {player}")), delayed]).await;
    let mut server = shop.game_server(1).await;
    let order = shop.buy("a").await;
    shop.wait(3);
    server.round(&shop, Trouble::NONE).await;
    shop.wait(4);
    server.join(&shop, BUYER.1).await;
    server.round(&shop, Trouble::NONE).await;
    shop.wait(23);
    for _ in 0..3 {
        server.round(&shop, Trouble::NONE).await;
    }
    assert_eq!(shop.states(&order).await, ["executed", "executed", "executed"]);
    // What the owner sends again was paid long ago.
    retry(shop.db(), shop.clock(), shop.commands(&order).await[0].id).await.unwrap();
    server.round(&shop, Trouble::NONE).await;
    let ServerTimes { own, waited } = last_day(&shop).await;
    assert_eq!(own.iter().collect::<Vec<_>>(), [(3_000, 1)]);
    assert_eq!(waited.iter().collect::<Vec<_>>(), [(7_000, 1), (30_000, 1)]);
    shop.wait(2 * 86_400);
    assert_eq!(last_day(&shop).await, ServerTimes::default());
}

#[tokio::test]
async fn every_command_of_a_call_with_many_is_counted() {
    let shop = Shop::open(vec![CommandTemplate { per_unit: true, ..bought("key {player}") }]).await;
    let mut server = shop.game_server(1).await;
    shop.buy_many("a", 100).await;
    shop.wait(2);
    for _ in 0..3 {
        server.round(&shop, Trouble::NONE).await;
    }
    assert_eq!(last_day(&shop).await.own.iter().collect::<Vec<_>>(), [(2_000, 100)]);
}
