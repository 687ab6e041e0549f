//! Polls: what they cost, who is served, and which logins in the game they tell of.

use super::agent::agent_id;
use super::game_server::Trouble;
use super::shop::{Shop, bought, online};
use aws_sdk_dynamodb::types::AttributeValue;
use futures_util::future::join_all;
use shared::model::{AuthId, Command, CommandId, CommandTemplate, PendingLogin, PlayerName, ServerId};
use shared::shop::accounts::game_login::{due, take};
use shared::shop::delivery::servers::Lease;
use shared::shop::delivery::{
    CallError, MOST_ROWS, PollError, ServerKey, add_key, commands, delivered, paynow, poll, revoke_key,
};
use shared::table::bulk::write_each;
use shared::table::codec::encode_live;
use shared::table::keys;
use shared::table::single::apply;
use shared::table::transaction::{Write, send, sent};
use shared::telemetry::unreadable_rows;
use std::collections::{BTreeMap, BTreeSet};
use tests::count;

fn ids(rows: &[Command]) -> Vec<CommandId> {
    rows.iter().map(|row| row.id).collect()
}

fn twenty() -> Vec<CommandTemplate> {
    (0..20).map(|number| bought(&format!("give {{player}} {number}"))).collect()
}

async fn round_trips(shop: &Shop, key: &ServerKey) -> (usize, usize) {
    shop.store.calls.clear();
    let rows = poll(shop.db(), shop.clock(), key, None).await.unwrap();
    (rows.len(), shop.store.calls.round_trips())
}

#[tokio::test]
async fn a_poll_with_commands_takes_two_round_trips_and_an_empty_one_takes_one() {
    let shop = Shop::open(twenty()).await;
    let server = shop.game_server(1).await;
    poll(shop.db(), shop.clock(), &server.key, None).await.unwrap();
    assert_eq!(round_trips(&shop, &server.key).await, (0, 1));
    shop.buy("a").await;
    assert_eq!(round_trips(&shop, &server.key).await, (20, 2));
    assert_eq!(round_trips(&shop, &server.key).await, (0, 2), "another poll is refused, and that is noted once");
    assert_eq!(round_trips(&shop, &server.key).await, (0, 1));
    shop.wait(60);
    assert_eq!(round_trips(&shop, &server.key).await, (20, 3), "they are served again");
}

/// Fills the queue of a server with copies of a command, due in so many seconds.
async fn fill(shop: &Shop, count: u32, due: i64) {
    let order = shop.buy("template").await;
    let template = shop.commands(&order).await.remove(0);
    let first = commands::reserve(&shop.store.db, count).await.unwrap().get();
    let rows = (first..first + count).map(|number| {
        let mut command = Command { id: CommandId::new(number).unwrap(), ..template.clone() };
        command.delivery.due += due;
        commands::item(&keys::queued(command.server, command.delivery.due, command.id), &command)
    });
    write_each(&shop.store.db, rows, &|_| ()).await.unwrap();
}

#[tokio::test]
async fn an_empty_poll_takes_one_round_trip_however_many_commands_there_are() {
    let shop = Shop::open(vec![bought("give {player}")]).await;
    let server = shop.game_server(1).await;
    // A page of a query has a megabyte: these are some pages.
    fill(&shop, count("QUEUED", 10_000), 3_600).await;
    assert_eq!(poll(shop.db(), shop.clock(), &server.key, None).await.unwrap().len(), 1);
    assert_eq!(round_trips(&shop, &server.key).await, (0, 2), "it is noted that a poll was refused");
    assert_eq!(round_trips(&shop, &server.key).await, (0, 1), "one is leased, and all others wait");
    shop.wait(3_590);
    assert_eq!(poll(shop.db(), shop.clock(), &server.key, None).await.unwrap().len(), 1);
    shop.wait(20);
    assert_eq!(round_trips(&shop, &server.key).await, (0, 2));
    assert_eq!(round_trips(&shop, &server.key).await, (0, 1), "all others are ready, and the lease is another poll's");
    let server = shop.game_server(2).await;
    poll(shop.db(), shop.clock(), &server.key, None).await.unwrap();
    assert_eq!(round_trips(&shop, &server.key).await, (0, 1), "they are ready for another server");
}

#[tokio::test]
async fn rows_without_a_command_do_not_keep_the_queue_from_being_read() {
    let shop = Shop::open(vec![bought("give {player}")]).await;
    let mut server = shop.game_server(1).await;
    fill(&shop, 120, -60).await;
    for served in [0, 0, 1] {
        assert_eq!(server.round(&shop, Trouble::default()).await, served);
    }
    assert_eq!(server.texts(), ["give Thornwick"]);
    assert_eq!(round_trips(&shop, &server.key).await, (0, 1), "they are gone");
}

#[tokio::test]
async fn a_response_has_ninety_rows_and_the_next_poll_the_rest() {
    let shop = Shop::open(twenty()).await;
    let server = shop.game_server(1).await;
    for order in ["a", "b", "c", "d", "e"] {
        shop.buy(order).await;
    }
    let first = poll(shop.db(), shop.clock(), &server.key, None).await.unwrap();
    assert_eq!(first.len(), MOST_ROWS);
    delivered(shop.db(), shop.clock(), &server.key, &ids(&first)).await.unwrap();
    let second = poll(shop.db(), shop.clock(), &server.key, None).await.unwrap();
    assert_eq!(second.len(), 10, "what is delivered ends the lease");
    let all: BTreeSet<CommandId> = ids(&first).into_iter().chain(ids(&second)).collect();
    assert_eq!(all.len(), 100);
}

/// Rows that are due for one of two polls only must not be served while the other one has the lease.
#[tokio::test]
async fn of_two_polls_that_found_no_lease_one_takes_it() {
    let shop = Shop::open(Vec::new()).await;
    let (server, now) = (ServerId::new(1), shop.clock().seconds());
    let take = |lease: &Lease, number: u32| lease.next(server, None, &[CommandId::new(number).unwrap()], now);
    let first = Lease::default();
    send(&shop.store.db, vec![take(&first, 1)]).await.unwrap();
    assert!(!sent(&shop.store.db, vec![take(&first, 2)]).await.unwrap());
    let second = Lease { number: 1, ..Lease::default() };
    send(&shop.store.db, vec![take(&second, 3)]).await.unwrap();
    assert!(!sent(&shop.store.db, vec![take(&second, 4)]).await.unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sixteen_pollers_with_one_key_are_served_each_command_once_per_lease() {
    let shop = Shop::open(twenty()).await;
    let server = shop.game_server(1).await;
    for order in ["a", "b", "c"] {
        shop.buy(order).await;
    }
    let mut before = BTreeSet::new();
    for lease in 0..2 {
        let polls = (0..16).map(|_| poll(shop.db(), shop.clock(), &server.key, None));
        let commands: Vec<CommandId> =
            join_all(polls).await.into_iter().flat_map(|rows| ids(&rows.unwrap_or_default())).collect();
        let unique: BTreeSet<CommandId> = commands.iter().copied().collect();
        assert_eq!((commands.len(), unique.len()), (60, 60), "lease {lease}");
        assert!(before.is_empty() || before == unique);
        before = unique;
        shop.wait(60);
    }
}

#[tokio::test]
async fn what_a_starting_server_throws_away_is_given_back() {
    let shop = Shop::open(vec![bought("say {player}")]).await;
    let mut server = shop.game_server(1).await;
    let order = shop.buy("a").await;
    assert_eq!(poll(shop.db(), shop.clock(), &server.key, None).await.unwrap().len(), 1);
    paynow(shop.db(), shop.clock(), &server.key, None).await.unwrap();
    assert_eq!(shop.states(&order).await, ["ready"]);
    assert_eq!(server.round(&shop, Trouble::default()).await, 1);
    assert_eq!(server.texts(), ["say Thornwick"]);
    server.round(&shop, Trouble::default()).await;
    assert_eq!(shop.states(&order).await, ["executed"]);
}

#[tokio::test]
async fn a_lease_that_another_poll_asked_for_is_not_given_back() {
    let shop = Shop::open(vec![bought("say {player}")]).await;
    let server = shop.game_server(1).await;
    let order = shop.buy("a").await;
    assert_eq!(poll(shop.db(), shop.clock(), &server.key, None).await.unwrap().len(), 1);
    assert_eq!(poll(shop.db(), shop.clock(), &server.key, None).await.unwrap().len(), 0);
    paynow(shop.db(), shop.clock(), &server.key, None).await.unwrap();
    assert_eq!(shop.states(&order).await, ["served"], "another process may have run it");
    shop.wait(16);
    paynow(shop.db(), shop.clock(), &server.key, None).await.unwrap();
    assert_eq!(shop.states(&order).await, ["served"], "too late");
}

#[tokio::test]
async fn what_an_agent_was_served_is_given_back_by_itself_alone() {
    let shop = Shop::open(vec![bought("say {player}")]).await;
    let server = shop.game_server(1).await;
    let order = shop.buy("a").await;
    let (agent, other) = (agent_id(1), agent_id(2));
    assert_eq!(poll(shop.db(), shop.clock(), &server.key, Some(&agent)).await.unwrap().len(), 1);
    paynow(shop.db(), shop.clock(), &server.key, None).await.unwrap();
    let refused = paynow(shop.db(), shop.clock(), &server.key, Some(&other)).await;
    assert!(matches!(refused, Err(PollError::AnotherAgent)), "{refused:?}");
    assert_eq!(shop.states(&order).await, ["served"], "a plugin that starts would run it too");
    paynow(shop.db(), shop.clock(), &server.key, Some(&agent)).await.unwrap();
    assert_eq!(shop.states(&order).await, ["ready"]);
}

#[tokio::test]
async fn a_key_opens_its_own_server_until_it_is_revoked() {
    let shop = Shop::open(vec![online(bought("say {player}"))]).await;
    let db = &shop.store.db;
    let (text, key) = add_key(db, shop.clock(), ServerId::new(1)).await.unwrap();
    let (_, other) = add_key(db, shop.clock(), ServerId::new(2)).await.unwrap();
    assert_eq!(ServerKey::parse(&text), Some(key.clone()));
    let order = shop.buy("a").await;
    assert!(poll(shop.db(), shop.clock(), &other, None).await.unwrap().is_empty());
    let rows = poll(shop.db(), shop.clock(), &key, None).await.unwrap();
    delivered(shop.db(), shop.clock(), &other, &ids(&rows)).await.unwrap();
    assert_eq!(shop.states(&order).await, ["served"], "another server cannot say it");
    let forged = ServerKey::parse(&text.replacen("1-", "2-", 1)).unwrap();
    assert!(matches!(poll(shop.db(), shop.clock(), &forged, None).await, Err(PollError::Call(CallError::UnknownKey))));
    assert!(revoke_key(db, key.hash(), None).await.unwrap());
    assert!(matches!(poll(shop.db(), shop.clock(), &key, None).await, Err(PollError::Call(CallError::UnknownKey))));
    assert!(matches!(delivered(shop.db(), shop.clock(), &key, &ids(&rows)).await, Err(CallError::UnknownKey)));
}

fn login(number: u16, until: i64) -> PendingLogin {
    let [high, low] = number.to_be_bytes();
    PendingLogin {
        id: number.into(),
        auth_id: AuthId::new([high, low, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        player: PlayerName::parse("Wren").unwrap(),
        until,
        served: BTreeMap::new(),
        is_known: false,
        network: "one".to_owned(),
        expires_at: until + 3_600,
    }
}

async fn put(shop: &Shop, logins: impl Iterator<Item = PendingLogin>) {
    let rows = logins.map(|login| encode_live(&keys::pending_login(&login.auth_id), &login));
    write_each(&shop.store.db, rows, &|_| ()).await.unwrap();
}

#[tokio::test]
async fn a_login_is_told_although_a_thousand_that_have_ended_are_still_stored() {
    let shop = Shop::open(Vec::new()).await;
    let now = shop.clock().seconds();
    put(&shop, (1..=1_200).map(|number| login(number, now - 1)).chain([login(0, now + 300)])).await;
    for poll in 1.. {
        let told = due(&shop.store.db, ServerId::new(1), now).await.unwrap();
        if told.iter().any(|login| login.id == 0) {
            break;
        }
        assert!(poll <= 10 && told.is_empty(), "poll {poll}");
    }
}

/// A server polls every ten seconds, and each login is due again after thirty.
#[tokio::test]
async fn a_login_is_told_soon_although_hundreds_wait_to_be_told_again() {
    let shop = Shop::open(Vec::new()).await;
    let (server, begun) = (ServerId::new(1), shop.clock().seconds());
    put(&shop, (1..=600).map(|number| login(number, begun + 300))).await;
    let mut told = BTreeSet::new();
    for poll in 0..5 {
        let now = begun + 10 * poll;
        let due = due(&shop.store.db, server, now).await.unwrap();
        told.extend(take(&shop.store.db, server, due, now).await.unwrap().into_iter().map(|login| login.id));
    }
    assert_eq!(told.len(), 450, "each poll tells others");
}

/// The ids of the logins that a poll of server 1 is told.
async fn told(shop: &Shop, now: i64) -> Vec<u32> {
    let (db, server) = (&shop.store.db, ServerId::new(1));
    let due = due(db, server, now).await.unwrap();
    take(db, server, due, now).await.unwrap().into_iter().map(|login| login.id).collect()
}

#[tokio::test]
async fn a_crowd_in_one_network_keeps_neither_known_players_nor_other_networks_waiting() {
    let shop = Shop::open(Vec::new()).await;
    let now = shop.clock().seconds();
    let crowd = (1..=1_000).map(|number| login(number, now + 300));
    let others = (1_001..=1_005).map(|number| PendingLogin { network: number.to_string(), ..login(number, now + 300) });
    let known = PendingLogin { is_known: true, ..login(1_006, now + 300) };
    put(&shop, crowd.chain(others).chain([known])).await;
    let told = told(&shop, now).await;
    assert_eq!(told.len(), 90);
    assert_eq!(told[0], 1_006, "the known one is first");
    assert_eq!(
        told[1..7].iter().copied().collect::<BTreeSet<_>>(),
        BTreeSet::from([1, 1_001, 1_002, 1_003, 1_004, 1_005])
    );
    assert_eq!(told[7..10], [2, 3, 4], "then the network that has more");
}

#[tokio::test]
async fn of_more_logins_than_a_poll_reads_each_is_told() {
    let shop = Shop::open(Vec::new()).await;
    let now = shop.clock().seconds();
    // Ids all over the range, as random ones are; the last one read is that of number 0.
    let spread = |number: u16| {
        let [high, low] = (number * 16).to_be_bytes();
        AuthId::new([high, low, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
    };
    let all = (0..4_000).map(|number| PendingLogin { auth_id: spread(number), ..login(number, now + 300) });
    let all = all.map(|login| PendingLogin { is_known: login.id == 0, ..login });
    put(&shop, all).await;
    // Each poll sees one in eight of those that are not read otherwise.
    let mut polls = 0;
    while !due(&shop.store.db, ServerId::new(1), now).await.unwrap().iter().any(|login| login.id == 0) {
        polls += 1;
        assert!(polls < 250);
    }
}

#[tokio::test]
async fn a_login_that_has_just_ended_keeps_no_other_from_being_told() {
    let shop = Shop::open(Vec::new()).await;
    let (db, server, now) = (&shop.store.db, ServerId::new(1), shop.clock().seconds());
    put(&shop, (1..=5).map(|number| login(number, now + 300))).await;
    let found = due(db, server, now).await.unwrap();
    let ended = login(3, now + 300).auth_id;
    assert!(apply(db, Write::delete(keys::pending_login(&ended))).await.unwrap());
    let taken: Vec<u32> = take(db, server, found.clone(), now).await.unwrap().iter().map(|login| login.id).collect();
    assert_eq!(taken, [1, 2, 4, 5]);
    assert!(take(db, server, found, now).await.unwrap().is_empty(), "another poll has them");
}

#[tokio::test]
async fn a_login_that_cannot_be_read_keeps_no_other_from_being_told_and_is_counted() {
    let shop = Shop::open(Vec::new()).await;
    let now = shop.clock().seconds();
    put(&shop, (1..=3).map(|number| login(number, now + 300))).await;
    let mut later = encode_live(&keys::pending_login(&login(2, 0).auth_id), &login(2, now + 300)).unwrap();
    later.insert("until".to_owned(), AttributeValue::S("soon".to_owned()));
    write_each(&shop.store.db, std::iter::once(Ok(later)), &|_| ()).await.unwrap();
    assert_eq!(unreadable_rows(told(&shop, now)).await, (vec![1, 3], 1));
}
