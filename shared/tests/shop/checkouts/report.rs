//! Reports: over any history the sums are what the provider's own list and the owner's own hand add up to, to the minor unit, however
//! they are split; and what the provider has and the store has not is told apart.

use crate::notices::{tell_of, told};
use crate::shop::{BALANCE, FIVE, PLAIN, Shop, VIRTUAL, money, paid};
use proptest::prelude::*;
use serde_json::Value;
use shared::model::{
    About, CommandTemplate, InternalId, ItemId, LineId, Money, Notice, NoticeEvent, OrderStatus, Server, ServerId,
    StoreZone, TaxMode,
};
use shared::rules::dispute::is_taken_back;
use shared::rules::report::{By, DifferenceKind, Names, Report, Sums, seconds_of_day};
use shared::shop::delivery::add_key;
use shared::shop::orders::NewOrder;
use shared::shop::payments::Desk;
use shared::shop::report::{Listed, listed, read};
use shared::table::keys;
use std::ops::Range;
use std::time::Duration;
use stripe_stand_in::Action;
use tests::{NOW, count};

/// What a payment costs that another program of the account has taken.
const FOREIGN: i64 = 777;

/// A shop that is paid out in its own currency.
async fn open() -> Shop {
    Shop::open_with(|payments| "USD".clone_into(&mut payments.currency)).await
}

impl Shop {
    async fn report(&self, by: By, time: Range<i64>) -> Report {
        let zone = StoreZone::default();
        let mut report = Report::new(by, time, zone.days(), "USD".to_owned(), Names::default());
        assert!(read(&self.db, &mut report, None).await.unwrap());
        report
    }

    /// Sweeps until the provider's list is known to now.
    async fn list(&self) {
        for _ in 0..3 {
            self.sweep().await;
            self.clock.advance(Duration::from_mins(16));
        }
        self.sweep().await;
        assert_eq!(listed(&self.db).await.unwrap(), Listed::Until(self.now()));
    }

    /// Buys what a gift card may pay as a whole.
    async fn purchase(&self, user: u64, lines: &[(u64, u32)], on_cart: Option<&str>) -> InternalId {
        let order = self.checkout(user, lines, on_cart).await;
        if self.order(&order).await.order.price > Money::ZERO {
            self.pay(&order).await;
        }
        order
    }

    async fn by_hand(&self, name: &str, total: i64) -> InternalId {
        let order = NewOrder { currency: "USD".to_owned(), created_at: None, ..paid(name, Some(3), &[(5, 4, total)]) };
        self.record(order).await.unwrap().stored.order.internal_id
    }
}

/// What the owner's own hand did, in a time: received and refunded.
#[derive(Default)]
struct Hand(Vec<(i64, i64, i64)>);

/// A history: each step at another hour of other days.
async fn live(shop: &Shop, steps: &[u8]) -> Hand {
    let (mut hand, mut bought, mut recorded) = (Hand::default(), Vec::new(), Vec::new());
    for (place, step) in steps.iter().enumerate() {
        let last = bought.len().checked_sub(1).map(|last| &bought[place % (last + 1)]);
        match (step, last) {
            (0..=3, _) => {
                // A card that is used up pays nothing.
                let card = (shop.balance().await > 0).then_some("card");
                let on_cart = [None, Some("free"), card, None][usize::from(*step)];
                let (user, units) = (1 + u64::try_from(place % 2).unwrap(), 1 + u32::try_from(place % 9).unwrap());
                bought.push(shop.purchase(user, &[(PLAIN, units), (6, 2)], on_cart).await);
            }
            (4, _) => {
                shop.set_virtual_balance(2, 500).await;
                bought.push(shop.buy(2, &[(VIRTUAL, 2), (PLAIN, 1)], None).await);
            }
            (5, _) => {
                recorded.push(shop.by_hand(&format!("hand-{place}"), 1_000).await);
                hand.0.push((shop.now(), 1_000, 0));
            }
            (6, _) if !recorded.is_empty() => {
                let order = recorded.swap_remove(0);
                // A unit by itself, then the rest.
                let desk: Desk<'_, Option<&shared::providers::Stripe>> = Desk::new(&shop.db, &shop.clock, None);
                desk.refund_lines(&order, &[(LineId::new(1), 1)]).await.unwrap();
                hand.0.push((shop.now(), 0, 250));
                shop.days(9);
                shop.set_status(order.as_str(), OrderStatus::Refunded).await.unwrap();
                hand.0.push((shop.now(), 0, 750));
            }
            (7, Some(order)) => _ = shop.try_act(order, Action::Refund(Some(37))),
            (8, Some(order)) => _ = shop.try_act(order, Action::Refund(None)),
            (9, Some(order)) => _ = shop.try_act(order, Action::FailRefund),
            (10, Some(order)) => _ = shop.try_act(order, Action::Dispute(Some(50))),
            (11, Some(order)) => {
                let won = place % 2 == 0;
                _ = shop.try_act(order, Action::CloseDispute { won });
            }
            (12, _) => {
                let session = shop.foreign(None, FOREIGN, "usd").await;
                shop.act(&session, Action::Pay);
            }
            (13, _) => {
                shop.checkout(3, &[(PLAIN, 1)], None).await;
                shop.days(1);
            }
            _ => shop.days(5),
        }
        shop.clock.advance(Duration::from_hours(7));
        shop.sweep().await;
    }
    shop.sweep_later().await;
    shop.list().await;
    hand
}

/// The net of the provider's list in a time, and the part of it that is not the store's, by simple loops.
fn provider(shop: &Shop, time: &Range<i64>) -> (i64, i64, i64) {
    let (mut net, mut fees, mut foreign) = (0, 0, 0);
    for change in shop.stand_in.balance_changes() {
        let number = |name: &str| change.get(name).and_then(Value::as_i64).unwrap();
        if time.contains(&number("created")) {
            net += number("net");
            fees += number("fee");
            foreign += if number("amount") == FOREIGN { number("net") } else { 0 };
        }
    }
    (net, fees, foreign)
}

async fn agrees(shop: &Shop, hand: &Hand, time: Range<i64>) {
    let (net, fees, foreign) = provider(shop, &time);
    let own = hand.0.iter().filter(|(at, ..)| time.contains(at));
    let own = own.fold(0, |sum, (_, received, refunded)| sum + received - refunded);
    for (_, by) in By::ALL {
        let report = shop.report(by, time.clone()).await;
        let balance = report.balance.get("USD").copied().unwrap_or_default();
        assert_eq!((balance.net, balance.fees), (money(net), money(fees)), "{time:?}");
        assert_eq!(balance.without_order, money(foreign));
        assert_eq!(report.total.net(), money(net - foreign + own), "{by:?} {time:?}");
        let split = report.groups.values().fold(Sums::default(), |mut all, group| {
            all += Sums { orders: 0, ..*group };
            all
        });
        assert_eq!(split, Sums { orders: 0, ..report.total }, "{by:?}");
        assert_eq!(report.differences, []);
    }
}

async fn any_history(steps: Vec<u8>) {
    let shop = open().await;
    let hand = live(&shop, &steps).await;
    let end = shop.now() + 1;
    agrees(&shop, &hand, NOW..end).await;
    // The parts of the time add up to it, wherever it is cut.
    let cut = NOW + (end - NOW) / 3;
    agrees(&shop, &hand, NOW..cut).await;
    agrees(&shop, &hand, cut..end).await;
    let orders = shop.orders().await;
    let report = shop.report(By::Day, NOW..end).await;
    let is_paid = |status| matches!(status, OrderStatus::Paid | OrderStatus::Refunded);
    let (mut paid, mut spent, mut disputed, mut begun) = (0, Money::ZERO, Money::ZERO, [0; 3]);
    for stored in &orders {
        let (order, effects) = (&stored.order, &stored.effects);
        if stored.is_checkout() {
            begun[0] += 1;
            begun[1] += u64::from(is_paid(order.status));
            begun[2] += u64::from(matches!(order.status, OrderStatus::Cancelled | OrderStatus::Failed));
        }
        paid += u64::from(is_paid(order.status));
        // What a dispute takes back gives no virtual currency back, unless a refund did before it.
        if order.status == OrderStatus::Paid {
            spent = spent + effects.virtual_currency;
        } else if is_taken_back(effects) {
            disputed = disputed + effects.virtual_currency;
        }
    }
    assert_eq!((report.total.orders, report.checkouts), (paid, begun));
    assert!((spent..=spent + disputed).contains(&report.total.virtual_currency));
    assert_eq!(report.total.gift_cards + money(shop.balance().await), money(BALANCE), "a card is used once");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: count("PROPTEST_CASES", 4), ..ProptestConfig::default() })]
    #[test]
    fn a_report_is_what_provider_and_hand_add_up_to(steps in prop::collection::vec(0_u8..15, 1..16)) {
        crate::block_on(any_history(steps));
    }
}

#[tokio::test]
async fn a_refund_that_failed_is_no_difference() {
    any_history(vec![0, 7, 10, 9]).await;
    any_history(vec![0, 8, 9]).await;
}

#[tokio::test]
async fn what_was_sold_taken_off_and_taxed_is_said_and_refunds_count_on_their_own_day() {
    let shop = open().await;
    shop.set_payments(|payments| payments.tax = TaxMode::Stripe).await;
    let first = shop.buy(1, &[(PLAIN, 10)], Some("free")).await;
    shop.purchase(1, &[(PLAIN, 3)], Some("card")).await;
    shop.days(40);
    shop.act(&first, Action::Refund(Some(100)));
    shop.settle(&first).await;
    shop.list().await;
    let then = shop.report(By::Item, NOW..NOW + 86_400).await.total;
    let sums = Sums {
        orders: 2,
        gross: money(1_300),
        discounts: money(100),
        gift_cards: money(300),
        tax: then.tax,
        received: money(900),
        fees: money(56),
        ..Sums::default()
    };
    assert_eq!((then, then.tax), (sums, money(144)));
    let report = shop.report(By::Country, NOW + 86_400..shop.now() + 1).await;
    assert_eq!(report.total, Sums { refunds: money(100), tax: Money::ZERO - money(16), ..Sums::default() });
    assert_eq!(report.groups.keys().collect::<Vec<_>>(), ["US"]);
    assert_eq!(shop.report(By::Day, NOW..shop.now()).await.buyers(), (1, 0), "the second purchase is the same buyer's");
}

#[tokio::test]
async fn what_the_bank_took_back_is_not_given_back_to_the_card() {
    any_history(vec![14, 2, 2, 2, 2, 2, 2, 10, 10, 11, 11, 11, 11]).await;
    let shop = open().await;
    let order = shop.buy(1, &[(PLAIN, 15)], Some("card")).await;
    shop.act(&order, Action::Dispute(None));
    shop.settle(&order).await;
    shop.act(&order, Action::CloseDispute { won: false });
    shop.settle(&order).await;
    shop.list().await;
    let total = shop.report(By::Day, NOW..shop.now()).await.total;
    let sums = (total.gross, total.gift_cards, total.received, total.disputes);
    assert_eq!(sums, (money(1_500), money(BALANCE), money(500), money(500)));
    assert_eq!((shop.status(&order).await, shop.balance().await), (OrderStatus::Refunded, 0));
}

#[tokio::test]
async fn an_order_that_is_recorded_as_refunded_leaves_nothing() {
    let shop = open().await;
    let order = paid("past", Some(3), &[(5, 4, 1_000)]);
    let order = NewOrder { currency: "USD".to_owned(), status: OrderStatus::Refunded, ..order };
    let at = shop.record(order).await.unwrap().stored.order.created_at;
    let total = shop.report(By::Day, at..at + 1).await.total;
    assert_eq!((total.received, total.refunds, total.net()), (money(1_000), money(1_000), Money::ZERO));
}

#[tokio::test]
async fn a_payment_that_was_returned_is_no_sale_and_no_difference() {
    let shop = open().await;
    let order = shop.checkout(1, &[(FIVE, 2)], None).await;
    shop.pay_late(&order).await;
    let other = paid("other", Some(3), &[(FIVE, 4, 1_000)]);
    shop.record(NewOrder { currency: "USD".to_owned(), created_at: None, ..other }).await.unwrap();
    shop.settle(&order).await;
    shop.list().await;
    let report = shop.report(By::Day, NOW..shop.now()).await;
    assert_eq!((report.total.orders, report.total.gross, report.buyers()), (1, money(1_000), (1, 0)));
    assert_eq!((shop.status(&order).await, report.differences), (OrderStatus::Cancelled, vec![]));
    // The refund fails: the store has money for which it gave nothing.
    shop.act(&order, Action::FailRefund);
    shop.settle(&order).await;
    shop.list().await;
    let report = shop.report(By::Day, NOW..shop.now()).await;
    assert_eq!(report.differences.iter().map(|one| one.kind).collect::<Vec<_>>(), [DifferenceKind::NotPaid]);
}

#[tokio::test]
async fn what_only_one_side_has_is_told_by_order() {
    let shop = open().await;
    let order = shop.buy(1, &[(PLAIN, 5)], None).await;
    shop.list().await;
    shop.rewrite(&order, |stored| stored.order.price = money(499)).await;
    let report = shop.report(By::Day, NOW..shop.now()).await;
    let found: Vec<_> = report.differences.iter().map(|one| (one.kind, one.here, one.provider)).collect();
    assert_eq!(found, [(DifferenceKind::Amount, money(499), money(500))]);
    // A charge that is lost from the list, and an order of which the provider never said what is left.
    shop.rewrite(&order, |stored| stored.order.price = money(500)).await;
    shop.days(1);
    shop.list().await;
    let change = &shop.stand_in.balance_changes()[0];
    let (at, name) = (change["created"].as_i64().unwrap(), change["id"].as_str().unwrap());
    shop.delete(&keys::balance_change(at, name)).await;
    shop.days(10);
    shop.list().await;
    // The events that were asked for again have said it again.
    shop.rewrite(&order, |stored| stored.effects.facts = None).await;
    let report = shop.report(By::Day, NOW..shop.now()).await;
    assert_eq!(report.differences.iter().map(|one| one.kind).collect::<Vec<_>>(), [DifferenceKind::NotListed]);
    // All of it is asked for again.
    Desk::new(&shop.db, &shop.clock, &shop.stripe).keep_whole_balance().await.unwrap();
    assert_eq!(shop.report(By::Day, NOW..shop.now()).await.differences, []);
}

#[tokio::test]
async fn a_list_that_is_long_or_interrupted_is_complete_in_the_end() {
    let shop = open().await;
    for user in 1..=5 {
        shop.buy(user, &[(PLAIN, 1)], None).await;
    }
    shop.sweep().await;
    shop.stand_in.shorten_pages(2);
    shop.clock.advance(Duration::from_mins(16));
    for nth in 1..4 {
        let killed = shop.killed_at_transaction(nth, nth % 2 == 0);
        _ = shop.sweep_by(&killed.db).await;
    }
    shop.list().await;
    let report = shop.report(By::Month, NOW..shop.now()).await;
    assert_eq!((report.total.orders, report.total.received), (5, money(500)));
    assert_eq!(report.balance["USD"].without_order_count, 0);
}

#[tokio::test]
async fn an_item_is_one_group_whatever_it_was_called_when_it_was_sold() {
    let shop = open().await;
    shop.buy(1, &[(PLAIN, 5)], None).await;
    // Without a name.
    let by_hand =
        NewOrder { currency: "USD".to_owned(), created_at: None, ..paid("hand", Some(3), &[(PLAIN, 1, 100)]) };
    shop.record(by_hand).await.unwrap();
    let names = Names { items: [(ItemId::new(PLAIN), "Now".to_owned())].into(), ..Names::default() };
    let mut report = Report::new(By::Item, NOW..shop.now() + 1, StoreZone::default().days(), "USD".to_owned(), names);
    assert!(read(&shop.db, &mut report, None).await.unwrap());
    let groups: Vec<_> = report.groups.iter().map(|(group, sums)| (group.as_str(), sums.gross)).collect();
    assert_eq!(groups, [("Now (1)", money(600))]);
}

#[tokio::test]
async fn the_day_before_is_told_once() {
    let mut shop = open().await;
    let zone = StoreZone { name: "Europe/Berlin".to_owned(), offsets: vec![(0, 7_200)] };
    tell_of(&shop.db, &[NoticeEvent::Daily]).await;
    tests::configure(&shop.db, |config| {
        config.zone = zone.clone();
        config.delivery.servers = vec![Server { id: ServerId::new(1), name: "Ash".to_owned() }];
        let command =
            |(run, delay): (&str, _)| CommandTemplate { run: run.to_owned(), delay, ..CommandTemplate::default() };
        config.delivery.commands = [("say thanks", 0), ("give {player}", 60)].map(command).into();
    })
    .await;
    shop.server = Some(add_key(&shop.db, &shop.clock, ServerId::new(1)).await.unwrap().1);
    shop.list().await;
    shop.buy(1, &[(PLAIN, 5)], None).await;
    for seconds in [3, 60] {
        shop.sweep().await;
        shop.clock.advance(Duration::from_secs(seconds));
        shop.run().await;
    }
    let days = zone.days();
    let day = days.number(shop.now());
    let end = seconds_of_day(&days, day).end;
    assert_eq!(told(&shop.db).await, []);
    shop.clock.advance(Duration::from_secs(u64::try_from(end - shop.now()).unwrap()));
    for nth in 1..6 {
        let killed = shop.killed_at_transaction(nth, nth % 2 == 0);
        _ = shop.sweep_by(&killed.db).await;
        shop.clock.advance(Duration::from_mins(16));
        shop.sweep().await;
        shop.sweep().await;
    }
    let told = told(&shop.db).await;
    let [Notice { id: name, about: About::Day(about), .. }] = &told[..] else { panic!("{told:?}") };
    assert_eq!(name, &format!("daily-{}", about.day));
    let said: Vec<_> = about.lines.iter().map(|line| (line.text.as_str(), line.look.is_none())).collect();
    let commands = ("2 commands ran, slowest 3 s; 0 wait.", true);
    assert_eq!(said, [("Yesterday 1 order, 5.00 .", true), ("The provider says the same.", true), commands]);
}
