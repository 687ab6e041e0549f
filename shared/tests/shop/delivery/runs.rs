//! Named runs: a game server was reset, or lost what it had since a backup, and what it gave runs again, once; or an outage is
//! given back, and timed items last longer, once per run.

use super::game_server::{GameServer, Trouble};
use super::shop::{BUYER, DAY, ITEM, OTHER, Shop, bought, for_thirty_days, on, online, permanent, sells};
use shared::model::{
    CommandEvent, CommandState, CommandTemplate, DeliveryRun, InternalId, ItemDelivery, ItemId, OwnerRun, RunName,
    ServerId, UserName,
};
use shared::shop::accounts::bans::ban;
use shared::shop::delivery::{LeftOut, OrderRun, done, extend_end, orders_of, preview, run, run_again, timed_ends};
use shared::table::transaction::{Write, send};
use shared::table::{StoreError, keys};
use tests::{Fault, by_turns};

fn hat() -> Vec<CommandTemplate> {
    vec![bought("unlock {player}"), on(CommandEvent::Refunded, "lock {player}")]
}

fn name(text: &str) -> RunName {
    RunName::parse(text).unwrap()
}

/// All that server 1 has run until now.
fn everything(shop: &Shop) -> DeliveryRun {
    DeliveryRun { server: ServerId::new(1), since: 0, until: shop.clock().seconds(), item: None, today: false }
}

/// Lets a run do what it can, as the tool does, and says how many commands run again, and why others do not.
async fn run(shop: &Shop, named: &str, wanted: &DeliveryRun) -> Result<(usize, Vec<LeftOut>), StoreError> {
    let name = name(named);
    let begun = run::begin(&shop.store.db, &name, &OwnerRun::Delivery(wanted.clone())).await?;
    let OwnerRun::Delivery(run) = begun else { panic!("{begun:?}") };
    let (mut again, mut left_out) = (0, Vec::new());
    for order in orders_of(&shop.store.db, &name, &run, shop.clock().seconds()).await?.orders {
        let planned = preview(&shop.store.db, shop.clock(), (&name, &run), &order).await?;
        let OrderRun { again: sent, left_out: left } =
            run_again(shop.db(), shop.clock(), (&name, &run), &order).await?;
        assert_eq!((planned.again.len(), &planned.left_out), (sent.len(), &left), "it does what was shown");
        again += sent.len();
        left_out.extend(left.into_iter().map(|(_, reason)| reason));
    }
    Ok((again, left_out))
}

/// A server was reset: everything that it ran until now runs again.
async fn reset(shop: &Shop, named: &str) -> (usize, Vec<LeftOut>) {
    run(shop, named, &everything(shop)).await.unwrap()
}

/// What has run since the last time.
async fn round(shop: &Shop, server: &mut GameServer) -> Vec<String> {
    server.round(shop, Trouble::NONE).await;
    server.take_ran()
}

/// A shop, its game server, and an order that has run a second ago.
async fn sold(commands: Vec<CommandTemplate>, expires_after: Option<u32>) -> (Shop, GameServer, InternalId) {
    let (shop, mut server) = sells(ItemDelivery { commands, expires_after }).await;
    let order = shop.buy("a").await;
    round(&shop, &mut server).await;
    shop.wait(1);
    (shop, server, order)
}

#[tokio::test]
async fn what_a_server_ran_runs_again_once_for_each_name() {
    let (shop, mut server, _) = sold(hat(), None).await;
    let waiting = shop.buy("b").await;
    assert_eq!(reset(&shop, "first").await, (1, vec![]));
    assert_eq!(reset(&shop, "first").await, (0, vec![]));
    assert_eq!(
        round(&shop, &mut server).await,
        ["unlock Thornwick", "unlock Thornwick"],
        "what had not run yet runs once"
    );
    assert_eq!(shop.states(&waiting).await, ["delivered"]);
    assert_eq!(reset(&shop, "first").await, (0, vec![]), "also after it has run");
    shop.wait(1);
    assert_eq!(reset(&shop, "first").await, (0, vec![]), "and what ran since the run began is not lost");
    assert_eq!(reset(&shop, "second").await, (2, vec![]));
    assert_eq!(round(&shop, &mut server).await.len(), 2);
    assert_eq!(reset(&shop, "first").await, (0, vec![]));
}

#[tokio::test]
async fn a_run_that_is_cut_off_at_any_call_is_repeated_and_gives_nothing_twice() {
    // More than one transaction queues.
    let commands: Vec<CommandTemplate> = (0..20).map(|number| bought(&format!("give {number}"))).collect();
    let mut expected: Vec<String> = (0..20).map(|number| format!("give {number}")).collect();
    expected.sort_unstable();
    let (mut place, mut is_cut) = (0, true);
    while is_cut {
        // A shop of its own: a run reads the whole table.
        let (shop, mut server, _) = sold(commands.clone(), None).await;
        for fault in by_turns(&[Fault::Away, Fault::ResponseLost], place, 1) {
            let named = format!("run-{place}-{fault:?}").to_lowercase();
            let since = shop.clock().seconds();
            shop.buy(&named).await;
            assert_eq!(round(&shop, &mut server).await.len(), 20);
            shop.wait(1);
            let wanted = DeliveryRun { since, ..everything(&shop) };
            shop.store.faults.fail_at(place, fault);
            let outcome = run(&shop, &named, &wanted).await;
            is_cut = shop.store.faults.calls() > place;
            shop.store.faults.clear();
            // What was lost may be found by the call itself.
            assert!(outcome.is_ok() || is_cut, "{outcome:?}");
            let mut texts = round(&shop, &mut server).await;
            shop.wait(1);
            assert_eq!(run(&shop, &named, &wanted).await.unwrap().1, []);
            texts.extend(round(&shop, &mut server).await);
            texts.sort_unstable();
            assert_eq!(texts, expected, "{named}");
            shop.wait(1);
        }
        place += 1;
    }
    assert!(place > 8, "{place} calls");
}

#[tokio::test]
async fn two_calls_at_the_same_time_give_nothing_twice() {
    let (shop, mut server, order) = sold(hat(), None).await;
    let (name, wanted) = (name("both"), everything(&shop));
    let call = || run_again(&shop.store.db, shop.clock(), (&name, &wanted), &order);
    let (one, other) = tokio::join!(call(), call());
    assert_eq!(one.unwrap().again.len() + other.unwrap().again.len(), 1);
    assert_eq!(round(&shop, &mut server).await, ["unlock Thornwick"]);
}

#[tokio::test]
async fn the_first_that_begins_a_run_says_what_it_is_about() {
    let (shop, ..) = sold(hat(), None).await;
    let first = OwnerRun::Delivery(everything(&shop));
    let later = OwnerRun::Delivery(DeliveryRun { since: 1, ..everything(&shop) });
    for wanted in [&first, &later] {
        assert_eq!(run::begin(&shop.store.db, &name("a"), wanted).await.unwrap(), first);
    }
}

#[tokio::test]
async fn a_refund_after_a_run_takes_back_what_the_run_gave_and_nothing_that_was_only_lost() {
    let commands = vec![bought("pay {player} {count}"), on(CommandEvent::Refunded, "take {player} {count}")];
    for has_run in [true, false] {
        let (shop, mut server, order) = sold(commands.clone(), None).await;
        assert_eq!(reset(&shop, "reset").await.0, 1);
        if has_run {
            assert_eq!(round(&shop, &mut server).await, ["pay Thornwick 1"]);
        }
        shop.refund_and_sweep(&order, 7).await;
        let expected: &[&str] = if has_run { &["take Thornwick 1"] } else { &[] };
        assert_eq!(round(&shop, &mut server).await, expected);
        assert_eq!(reset(&shop, "later").await.0, 0, "nothing of it runs again");
        assert_eq!(round(&shop, &mut server).await, [""; 0]);
    }
}

#[tokio::test]
async fn what_was_refunded_disputed_or_done_by_hand_and_what_is_for_banned_players_is_left_out() {
    let (shop, mut server, order) = sold(hat(), None).await;
    let [refunded, disputed] = [shop.buy("b").await, shop.buy("c").await];
    let lost = shop.buy("d").await;
    round(&shop, &mut server).await;
    shop.wait(1);
    shop.refund(&refunded).await;
    shop.dispute(&disputed).await.unwrap();
    let command = shop.commands(&lost).await.remove(0);
    done(&shop.store.db, shop.clock(), command.id).await.unwrap();
    assert_eq!(
        reset(&shop, "a").await,
        (1, vec![LeftOut::TakenBack, LeftOut::TakenBack, LeftOut::DoneByHand]),
        "{}",
        shop.states(&order).await.join(" ")
    );
    round(&shop, &mut server).await;
    shop.wait(1);
    let player = UserName::parse(BUYER.1).unwrap();
    ban(&shop.store.db, &player, None, &[], shop.clock().seconds()).await.unwrap();
    let (again, left_out) = reset(&shop, "b").await;
    assert_eq!((again, left_out.contains(&LeftOut::Banned)), (0, true), "{left_out:?}");
}

#[tokio::test]
async fn units_that_were_refunded_do_not_run_again() {
    let per_unit = |run: &str| CommandTemplate { per_unit: true, ..bought(run) };
    let taken = on(CommandEvent::Refunded, "take {count}");
    let shop = Shop::open(vec![bought("pay {player} {count}"), per_unit("crate {player}"), taken]).await;
    let mut server = shop.game_server(1).await;
    let order = shop.buy_many("a", 3).await;
    assert_eq!(round(&shop, &mut server).await.len(), 4);
    shop.refund_units(&order, 1).await.unwrap();
    shop.sweep_for(2).await;
    assert_eq!(round(&shop, &mut server).await, ["take 1"]);
    for (named, texts) in [("a", 3), ("a", 0), ("b", 3)] {
        shop.wait(1);
        assert_eq!(reset(&shop, named).await, (texts, vec![LeftOut::UnitsRefunded]), "{named}");
        let left = ["crate Thornwick", "crate Thornwick", "pay Thornwick 2"];
        let mut found = round(&shop, &mut server).await;
        found.sort_unstable();
        assert_eq!(found, left[..texts], "{named}");
    }
}

#[tokio::test]
async fn a_player_with_another_name_now_gets_it_under_that() {
    let (shop, mut server, _) = sold(hat(), None).await;
    let rename: Write = Write::update(keys::user(BUYER.0), "SET username = :name").text(":name", "Nightshade");
    send(&shop.store.db, vec![rename]).await.unwrap();
    assert_eq!(reset(&shop, "a").await, (1, vec![]));
    assert_eq!(round(&shop, &mut server).await, ["unlock Nightshade"]);
    shop.wait(1);
    assert_eq!(reset(&shop, "b").await, (1, vec![]), "a further run knows it too");
}

#[tokio::test]
async fn a_run_is_of_a_time_and_an_item() {
    let (shop, mut server, _) = sold(hat(), None).await;
    shop.publish_item(OTHER, &[1], permanent(vec![bought("other {player}")])).await;
    shop.wait(DAY);
    let backup = shop.clock().seconds();
    shop.buy_lines("b", &[(OTHER, 1, ""), (ITEM, 1, "")]).await;
    round(&shop, &mut server).await;
    shop.wait(1);
    let of = |item: Option<ItemId>| DeliveryRun { since: backup, item, ..everything(&shop) };
    assert_eq!(run(&shop, "other", &of(Some(OTHER))).await.unwrap(), (1, vec![]));
    assert_eq!(run(&shop, "all", &of(None)).await.unwrap(), (1, vec![]), "the other waits for the server");
    assert_eq!(round(&shop, &mut server).await, ["other Thornwick", "unlock Thornwick"]);
}

#[tokio::test]
async fn what_has_ended_is_not_given_again_and_what_lasts_ends_as_before() {
    let timed = |more: &str| {
        vec![
            bought("add {player}"),
            bought(&format!("claims {{player}} {{count}}{more}")),
            on(CommandEvent::Expired, "end {player}"),
        ]
    };
    let (shop, mut server, _) = sold(timed(""), Some(30 * 86_400)).await;
    shop.wait(10 * DAY);
    assert_eq!(reset(&shop, "a").await, (2, vec![]));
    assert_eq!(round(&shop, &mut server).await, ["add Thornwick", "claims Thornwick 1"]);
    shop.wait(20 * DAY);
    assert_eq!(round(&shop, &mut server).await, ["end Thornwick"]);
    assert_eq!(reset(&shop, "b").await, (0, vec![LeftOut::Ended; 2]));
}

#[tokio::test]
async fn what_the_server_keeps_for_a_player_runs_once_although_it_was_sent_again() {
    let (shop, mut server, order) = sold(vec![online(bought("give {player}"))], None).await;
    assert_eq!(shop.states(&order).await, ["kept"]);
    assert_eq!(reset(&shop, "early").await, (0, vec![LeftOut::OnItsWay]), "the server may be about to run it");
    shop.wait(60);
    assert_eq!(reset(&shop, "reset").await, (1, vec![]));
    assert_eq!(round(&shop, &mut server).await, [""; 0]);
    shop.wait(120);
    server.join(&shop, BUYER.1).await;
    assert_eq!(server.take_ran(), ["give Thornwick"]);
    round(&shop, &mut server).await;
    let states: Vec<CommandState> = shop.commands(&order).await.iter().map(|command| command.delivery.state).collect();
    assert_eq!(states, [CommandState::Retried, CommandState::Executed]);
}

#[tokio::test]
async fn units_that_a_run_gave_again_are_taken_at_their_end() {
    let commands = vec![bought("claims {count}"), on(CommandEvent::Expired, "claims -{count}")];
    let (shop, mut server, _) = sold(commands, Some(30 * 86_400)).await;
    assert_eq!(reset(&shop, "reset").await, (1, Vec::new()));
    assert_eq!(round(&shop, &mut server).await, ["claims 1"]);
    shop.wait(31 * DAY);
    assert_eq!(round(&shop, &mut server).await, ["claims -1"]);
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
async fn sold_for_thirty_days(commands: Vec<CommandTemplate>) -> (Shop, GameServer) {
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
    let (shop, mut server) = sold_for_thirty_days(rank()).await;
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
    let (shop, mut server) = sold_for_thirty_days(commands).await;
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
    let (shop, mut server) = sold_for_thirty_days(rank()).await;
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
    let (shop, mut server) = sold_for_thirty_days(commands).await;
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
