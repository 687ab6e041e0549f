//! A new season: a game server is wiped, and paid orders are given what is published now, with what takes that back.

use super::game_server::{GameServer, Trouble};
use super::holders::audited;
use super::shop::{BUYER, DAY, ITEM, OTHER, Shop, bought, expired, for_thirty_days, hat, permanent, refunded, sells};
use crate::shop::Shop as World;
use shared::clock::Clock;
use shared::model::{
    Command, CommandState, CommandTemplate, DeliveryRun, InternalId, ItemDelivery, PlayerName, RunName, ServerId,
    UserName,
};
use shared::shop::accounts::bans::ban;
use shared::shop::delivery::{
    HoldersAudit, LeftOut, SeasonOrder, extend_end, give_season, preview_season, redeliver, season_orders, timed_ends,
};
use shared::shop::orders::{NewPlayer, move_order};
use shared::table::{Db, StoreError};
use std::collections::BTreeSet;
use stripe_stand_in::Action;
use tests::{Fault, by_turns, configure};

/// The hat of the next season.
fn crown() -> ItemDelivery {
    permanent(vec![bought("crown {player}"), refunded("uncrown {player}")])
}

/// What has run since the last time.
async fn round(shop: &Shop, server: &mut GameServer) -> Vec<String> {
    server.round(shop, Trouble::NONE).await;
    server.take_ran()
}

/// A new season of server 1 for all orders from a second on, as the tool does it; how many commands, and why others are left out.
async fn begin(
    (db, clock): (&Db, &dyn Clock),
    run: &str,
    since: i64,
) -> Result<(usize, BTreeSet<LeftOut>), StoreError> {
    let name = RunName::parse(run).unwrap();
    let run = DeliveryRun { server: ServerId::new(1), since, until: clock.seconds() + 1, item: None, today: true };
    let (mut commands, mut left_out) = (0, BTreeSet::new());
    for order in season_orders(db, &name, &run).await? {
        let planned = preview_season(db, clock, (&name, &run), &order).await?;
        let done: SeasonOrder = give_season(db, clock, (&name, &run), &order).await?;
        assert!(planned == done || done == SeasonOrder::default(), "it does what was shown, or another call does");
        commands += done.commands;
        left_out.extend(done.left_out);
    }
    Ok((commands, left_out))
}

async fn season(shop: &Shop, run: &str) -> (usize, Vec<LeftOut>) {
    let (commands, left_out) = begin((shop.db(), shop.clock()), run, 0).await.unwrap();
    (commands, left_out.into_iter().collect())
}

async fn refund(shop: &Shop, server: &mut GameServer, order: &InternalId) -> Vec<String> {
    shop.refund_and_sweep(order, 7).await;
    round(shop, server).await
}

#[tokio::test]
async fn a_new_season_gives_what_is_published_now_once_and_a_refund_takes_that_back() {
    let (shop, mut server) = sells(hat()).await;
    let (first, second) = (shop.buy("a").await, shop.buy("b").await);
    round(&shop, &mut server).await;
    shop.publish(&[1], crown()).await;
    // What every sale runs is not run again.
    configure(&shop.store.db, |config| config.delivery.commands = vec![bought("say {player} has bought {item}")]).await;
    assert_eq!(season(&shop, "summer").await, (2, vec![]));
    assert_eq!(season(&shop, "summer").await, (0, vec![]));
    assert_eq!(round(&shop, &mut server).await, ["crown Thornwick", "crown Thornwick"]);
    shop.sweep_for(1).await;
    assert_eq!(shop.stored(&first).await.effects.due, None, "nothing is left to do");
    assert_eq!(refund(&shop, &mut server, &first).await, [""; 0], "the other one still gives it");
    assert_eq!(refund(&shop, &mut server, &second).await, ["uncrown Thornwick"]);
    assert_eq!(shop.texts(1).await, [], "nothing is left of it");
}

#[tokio::test]
async fn another_season_gives_again() {
    let (shop, mut server) = sells(hat()).await;
    shop.buy("a").await;
    round(&shop, &mut server).await;
    for run in ["summer", "winter"] {
        assert_eq!(season(&shop, run).await, (1, vec![]), "{run}");
        assert_eq!(round(&shop, &mut server).await, ["unlock Thornwick"], "{run}");
    }
    assert_eq!(shop.texts(1).await[0].1.holders.len(), 1, "the order holds its text once");
}

/// A run for orders from a second on, whose call at a place fails, and what follows it; whether there was one.
async fn cut_off(shop: &Shop, run: &str, since: i64, (place, fault, is_rest): (usize, Fault, bool)) -> bool {
    let faults = &shop.store.faults;
    if is_rest {
        faults.fail_from(place, fault);
    } else {
        faults.fail_at(place, fault);
    }
    drop(begin((shop.db(), shop.clock()), run, since).await);
    let is_cut = faults.calls() > place;
    faults.clear();
    is_cut
}

#[tokio::test]
async fn a_season_that_is_cut_off_at_any_call_is_repeated_and_gives_nothing_twice() {
    let timed = |word: &str| {
        let ends = [format!("end-{word} {{player}}"), format!("claims-{word} {{count}}")];
        let back = refunded(&format!("back-{word} {{player}}"));
        ends.iter().map(|run| expired(run)).chain([back, bought(&format!("{word} {{player}}"))]).collect::<Vec<_>>()
    };
    // More than one transaction queues.
    let many = (10..30).map(|number| bought(&format!("new {number}")));
    let new: Vec<CommandTemplate> = timed("new").into_iter().chain(many).collect();
    let (mut place, mut is_cut) = (0, true);
    while is_cut {
        // A shop of its own: a run reads the whole table.
        let (shop, mut server) = sells(for_thirty_days(timed("old"))).await;
        for fault in by_turns(&[Fault::Away, Fault::ResponseLost], place, 1) {
            let run = format!("run-{place}-{fault:?}").to_lowercase();
            let since = shop.clock().seconds();
            shop.publish(&[1], for_thirty_days(timed("old"))).await;
            let order = shop.buy(&run).await;
            assert_eq!(round(&shop, &mut server).await, ["old Thornwick"]);
            shop.publish(&[1], for_thirty_days(new.clone())).await;
            is_cut = cut_off(&shop, &run, since, (place, fault, false)).await;
            let mut texts = Vec::new();
            for _ in 0..2 {
                begin((shop.db(), shop.clock()), &run, since).await.unwrap();
                shop.sweep_for(1).await;
                texts.extend(round(&shop, &mut server).await);
            }
            assert_eq!((texts.len(), texts.iter().collect::<BTreeSet<_>>().len()), (21, 21), "{run}: {texts:?}");
            let is_end = |command: &Command| command.delivery.state == CommandState::Waiting;
            let waiting = shop.commands(&order).await.into_iter().filter(is_end);
            let mut ends: Vec<(String, i64)> =
                waiting.map(|command| (command.text, command.delivery.due - since)).collect();
            ends.sort_unstable();
            let end = |text: &str| (text.to_owned(), 30 * 86_400);
            assert_eq!(ends, [end("claims-new 1"), end("end-new Thornwick")], "{run}");
            assert_eq!(refund(&shop, &mut server, &order).await, ["back-new Thornwick"], "{run}");
            shop.wait(DAY);
        }
        place += 1;
    }
    assert!(place > 15, "{place} calls");
}

#[tokio::test]
async fn a_refund_in_the_middle_takes_back_what_was_given_and_leaves_nothing_behind() {
    let hat = |word: &str| {
        permanent(vec![
            bought(&format!("{word} {{server}}")),
            refunded(&format!("un{word} {{order}}")),
            refunded(&format!("no{word} {{player}}")),
        ])
    };
    let (mut place, mut is_cut, mut has_run) = (0, true, false);
    while is_cut {
        for is_served in by_turns(&[false, true], place, 1) {
            let shop = Shop::open(Vec::new()).await;
            shop.publish(&[1, 2], hat("hat")).await;
            let (mut first, mut second) = (shop.game_server(1).await, shop.game_server(2).await);
            let order = shop.buy("a").await;
            round(&shop, &mut first).await;
            round(&shop, &mut second).await;
            shop.publish(&[1, 2], hat("crown")).await;
            is_cut = cut_off(&shop, "summer", 0, (place, Fault::Away, true)).await;
            let has_new = is_served && round(&shop, &mut first).await == ["crown S1"];
            has_run |= has_new;
            let back = refund(&shop, &mut first, &order).await;
            let of_second = round(&shop, &mut second).await;
            let begun = shop.stored(&order).await.effects.delivery.unwrap().runs.len();
            let word = if begun > 0 { "crown" } else { "hat" };
            let expected = [format!("un{word} {order}"), format!("no{word} Thornwick")];
            assert_eq!(back, expected[..if has_new || begun == 0 { 2 } else { 0 }], "{place}");
            assert_eq!(of_second, [format!("unhat {order}"), "nohat Thornwick".to_owned()], "{place}");
            assert_eq!((shop.texts(1).await, shop.texts(2).await), (vec![], vec![]), "{place}");
            assert_eq!(season(&shop, "summer").await.0, 0, "{place}");
            shop.sweep_for(2).await;
            assert_eq!(round(&shop, &mut first).await, [""; 0], "{place}");
        }
        place += 1;
    }
    assert!(place > 10 && has_run, "{place} calls");
}

#[tokio::test]
async fn two_calls_at_the_same_time_give_it_once_and_a_dispute_takes_it_back() {
    let (shop, mut server) = sells(hat()).await;
    let order = shop.buy("a").await;
    round(&shop, &mut server).await;
    shop.publish(&[1], crown()).await;
    let of = || (shop.db(), shop.clock());
    let (one, other) = tokio::join!(begin(of(), "summer", 0), begin(of(), "summer", 0));
    assert_eq!(one.unwrap().0 + other.unwrap().0, 1);
    shop.sweep_for(1).await;
    assert_eq!(round(&shop, &mut server).await, ["crown Thornwick"]);
    shop.dispute(&order).await.unwrap();
    shop.sweep_for(7).await;
    assert_eq!(round(&shop, &mut server).await, ["uncrown Thornwick"]);
    redeliver(shop.db(), shop.clock(), &order).await.unwrap_err();
    shop.note_dispute(&order, "won").await.unwrap();
    redeliver(shop.db(), shop.clock(), &order).await.unwrap();
    assert_eq!(round(&shop, &mut server).await, ["crown Thornwick"], "an order that is given again has what it had");
}

#[tokio::test]
async fn what_was_bought_later_runs_later_and_a_line_that_gave_nothing_gives_what_it_does_now() {
    let (shop, mut server) = sells(permanent(vec![bought("old {order}")])).await;
    let mut expected = Vec::new();
    for number in 0..6 {
        let order = shop.buy_lines(&format!("{number}"), &[(ITEM, 1, ""), (OTHER, 1, "")]).await;
        expected.extend([format!("rank {order}"), format!("extra {order}")]);
    }
    shop.publish_item(OTHER, &[1], permanent(vec![bought("extra {order}"), refunded("less {order}")])).await;
    shop.publish(&[1], permanent(vec![bought("rank {order}")])).await;
    assert_eq!(season(&shop, "summer").await, (12, vec![]));
    assert_eq!(round(&shop, &mut server).await, expected);
}

#[tokio::test]
async fn what_was_just_sent_is_waited_for_and_what_has_not_run_never_does() {
    let (shop, mut server) = sells(hat()).await;
    let sent = shop.buy("a").await;
    server.round(&shop, Trouble { lost: true, ..Trouble::NONE }).await;
    let ready = shop.buy("b").await;
    assert_eq!((shop.states(&sent).await, shop.states(&ready).await), (vec!["served"], vec!["ready"]));
    shop.publish(&[1], crown()).await;
    assert_eq!(season(&shop, "summer").await, (2, vec![]));
    assert_eq!(shop.states(&ready).await, ["recalled", "ready"]);
    let again = season(&shop, "winter").await;
    assert_eq!(again, (1, vec![LeftOut::OnItsWay]), "one season after the other");
    shop.sweep_for(7).await;
    assert_eq!(round(&shop, &mut server).await, ["crown Thornwick", "crown Thornwick"]);
    assert_eq!(audited(&shop).await, HoldersAudit::default());
}

#[tokio::test]
async fn a_timed_item_goes_on_as_long_as_it_was_paid() {
    let old = vec![bought("old {player}"), expired("end-old {player}")];
    let (shop, mut server) = sells(for_thirty_days(old)).await;
    shop.buy("a").await;
    shop.buy("b").await;
    round(&shop, &mut server).await;
    shop.wait(10 * DAY);
    shop.publish(&[1], permanent(vec![bought("new {player}"), expired("end-new {player}")])).await;
    assert_eq!(season(&shop, "summer").await, (2, vec![]));
    assert_eq!(round(&shop, &mut server).await, ["new Thornwick", "new Thornwick"]);
    shop.wait(50 * DAY - 1);
    assert_eq!(round(&shop, &mut server).await, [""; 0]);
    shop.wait(1);
    assert_eq!(round(&shop, &mut server).await, ["end-new Thornwick"], "the end of both, and nothing of what was");
    assert_eq!(season(&shop, "winter").await, (0, vec![LeftOut::Ended]));
}

#[tokio::test]
async fn what_the_owner_has_extended_ends_so_much_later() {
    let pack = vec![bought("pack {count}"), expired("unpack {count}"), bought("add {player}"), expired("end {player}")];
    let (shop, mut server) = sells(for_thirty_days(pack)).await;
    shop.buy_many("a", 2).await;
    round(&shop, &mut server).await;
    let outage = RunName::parse("outage").unwrap();
    for end in timed_ends(&shop.store.db, &outage, shop.clock().seconds()).await.unwrap() {
        extend_end(&shop.store.db, shop.clock(), &end, (&outage, 3 * 86_400)).await.unwrap();
    }
    assert_eq!(season(&shop, "summer").await, (2, vec![]));
    round(&shop, &mut server).await;
    for (days, text) in [(33, "unpack 2"), (30, "end Thornwick")] {
        shop.wait(days * DAY - 1);
        assert_eq!(round(&shop, &mut server).await, [""; 0]);
        shop.wait(1);
        assert_eq!(round(&shop, &mut server).await, [text]);
    }
}

#[tokio::test]
async fn orders_that_give_nothing_now_are_left_out_with_the_reason() {
    let (shop, mut server) = sells(hat()).await;
    let [refunded, disputed, taken] = [shop.buy("b").await, shop.buy("c").await, shop.buy("d").await];
    round(&shop, &mut server).await;
    shop.publish_item(OTHER, &[1], permanent(vec![bought("other {player}")])).await;
    shop.buy_lines("e", &[(OTHER, 1, "")]).await;
    round(&shop, &mut server).await;
    shop.publish_item(OTHER, &[2], permanent(vec![bought("other {player}")])).await;
    shop.refund(&refunded).await;
    shop.dispute(&disputed).await.unwrap();
    shop.refund_units(&taken, 1).await.unwrap();
    shop.sweep_for(7).await;
    assert_eq!(season(&shop, "summer").await, (0, vec![LeftOut::TakenBack, LeftOut::GivesNothing]));
    shop.buy("f").await;
    let player = UserName::parse(BUYER.1).unwrap();
    ban(&shop.store.db, &player, None, &[], shop.clock().seconds()).await.unwrap();
    let (given, left_out) = season(&shop, "winter").await;
    assert!(given == 0 && left_out.contains(&LeftOut::Banned), "{left_out:?}");
}

#[tokio::test]
async fn units_that_are_left_are_given_again() {
    let delivery = |word: &str| {
        permanent(vec![bought(&format!("{word} {{player}} {{count}}")), refunded(&format!("un{word} {{count}}"))])
    };
    let (shop, mut server) = sells(delivery("pay")).await;
    let order = shop.buy_many("a", 3).await;
    round(&shop, &mut server).await;
    shop.refund_units(&order, 1).await.unwrap();
    shop.sweep_for(7).await;
    round(&shop, &mut server).await;
    shop.publish(&[1], delivery("gem")).await;
    assert_eq!(season(&shop, "summer").await, (1, vec![]));
    assert_eq!(round(&shop, &mut server).await, ["gem Thornwick 2"]);
    assert_eq!(refund(&shop, &mut server, &order).await, ["ungem 2"]);
}

#[tokio::test]
async fn gifts_are_given_to_their_players_and_an_order_is_moved_with_what_the_season_gave() {
    let (shop, mut server) = sells(hat()).await;
    shop.give("gifts", &["Moss", "Fern"]).await;
    let own = shop.buy("own").await;
    round(&shop, &mut server).await;
    shop.publish(&[1], crown()).await;
    assert_eq!(season(&shop, "summer").await, (3, vec![]));
    let mut texts = round(&shop, &mut server).await;
    texts.sort_unstable();
    assert_eq!(texts, ["crown Fern", "crown Moss", "crown Thornwick"]);
    let to = NewPlayer { user: None, name: Some(PlayerName::parse("Reed").unwrap()) };
    move_order(shop.db(), shop.clock(), &own, None, &to, false).await.unwrap();
    shop.sweep_for(2).await;
    assert_eq!(round(&shop, &mut server).await, ["uncrown Thornwick", "crown Reed"]);
    assert_eq!(audited(&shop).await, HoldersAudit::default());
}

#[tokio::test]
async fn of_a_subscription_the_newest_period_is_given_and_ends_with_its_access() {
    let (mut shop, first) = World::subscribed().await;
    shop.renew(&first).await;
    shop.ran.clear();
    shop.publish_ended_by(&["remove", "count {count}"]).await;
    let of_own = begin((&shop.db, &shop.clock), "spring", 0).await.unwrap();
    assert_eq!(of_own, (0, [LeftOut::Ended, LeftOut::NotMade].into()), "its end would not be moved");
    shop.publish_ended_by(&["remove"]).await;
    let given = begin((&shop.db, &shop.clock), "summer", 0).await.unwrap();
    assert_eq!(given, (1, [LeftOut::Ended].into()), "the older period");
    shop.run().await;
    assert_eq!(shop.ran, ["give user-1"]);
    shop.renew(&first).await;
    shop.sweep_and_run().await;
    assert_eq!(shop.ran, ["give user-1"], "it goes on");
    shop.after(&first, Action::CancelAtPeriodEnd).await;
    shop.sweep_after(36).await;
    assert_eq!(shop.ran, ["give user-1", "remove user-1"]);
    assert!(shop.subscription(&first).await.cancelled);
}
