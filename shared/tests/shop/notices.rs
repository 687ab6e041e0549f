//! Notices (rules.md): what an owner is notified of, compared with what the orders are in the end.

use crate::fixture::*;
use crate::shop::{Shop, request};
use crate::sums::orders;
use serde_json::json;
use shared::model::{
    About, GiftCardPayment, InternalId, Money, Notice, NoticeEvent, NoticeOrder, NoticeTarget, OrderStatus,
    Subscription, SubscriptionStatus, TargetKind, UserId, UserName,
};
use shared::rules::dispute::is_over;
use shared::rules::erase::ErasedPlayer;
use shared::rules::notice::{EVENTS, id as notice_id};
use shared::shop::orders::{NewOrder, StoredOrder};
use shared::shop::payments::WebhookEvent;
use shared::shop::upkeep::erase::erase_notices;
use shared::table::codec::encode_live;
use shared::table::{Db, bulk, keys};
use std::collections::BTreeSet;
use stripe_stand_in::Action;
use tests::{NOW, configure};

/// Lets the store tell of everything.
pub async fn tell(db: &Db) {
    tell_of(db, &EVENTS.map(|(_, event)| event)).await;
}

/// Lets the store tell of some events.
pub async fn tell_of(db: &Db, events: &[NoticeEvent]) {
    let target = NoticeTarget::new("all", TargetKind::Webhook, events);
    configure(db, |config| config.notify = vec![target]).await;
}

/// Every notice, by its row.
pub async fn told(db: &Db) -> Vec<Notice> {
    let rows = db.query(&keys::notices()).await.unwrap();
    rows.into_iter().filter_map(|row| row.live_found().ok()).collect()
}

pub async fn ids(db: &Db, event: NoticeEvent) -> Vec<String> {
    told(db).await.into_iter().filter(|notice| notice.event == event).map(|notice| notice.id).collect()
}

/// Fails unless each event of the orders and subscriptions as they are in the end has one notice, and there are no others.
pub async fn assert_notices(db: &Db, note: &str) {
    let all = told(db).await;
    let different: BTreeSet<&str> = all.iter().map(|notice| notice.id.as_str()).collect();
    assert_eq!(different.len(), all.len(), "{note}: one row for an event");
    let mut of_orders = 0;
    for stored in orders(db).await {
        let of = |events: &[NoticeEvent]| of_order(&all, events, &stored.order.internal_id);
        let paid = of(&[NoticeEvent::Paid, NoticeEvent::FreeOrder, NoticeEvent::Renewed]);
        let (refunded, disputed) = (of(&[NoticeEvent::Refunded]), of(&[NoticeEvent::Disputed]));
        assert_paid(&stored, &paid, note);
        assert_refunded(&stored, &refunded, note);
        for (dispute, state) in &stored.effects.disputes {
            let told = disputed.iter().filter(|(notice, _)| notice.id.contains(dispute.as_str()));
            let told: Vec<&str> = told.filter_map(|(_, order)| order.dispute.as_deref()).collect();
            assert!(
                !told.is_empty() && (!is_over(state) || told.contains(&state.as_str())),
                "{note}: {state} {told:?}"
            );
        }
        of_orders += paid.len() + refunded.len() + disputed.len();
    }
    let mut of_others = 0;
    for (_, one) in bulk::all::<Subscription>(db, keys::prefix::SUBSCRIPTION).await.unwrap() {
        let begins = format!("cancelled-{}-", one.id);
        let count = all.iter().filter(|notice| notice.id.starts_with(&begins)).count();
        let ends = one.cancelled || matches!(one.status, SubscriptionStatus::Cancelled | SubscriptionStatus::Ended);
        assert!(count > 0 || !ends || one.replaced_by.is_some(), "{note}: {one:?}");
        of_others += count;
    }
    of_others +=
        all.iter().filter(|notice| !matches!(notice.about, About::Order(_) | About::Subscription { .. })).count();
    assert_eq!(of_orders + of_others, all.len(), "{note}: {all:#?}");
}

/// The notices of some events of an order.
fn of_order<'a>(all: &'a [Notice], events: &[NoticeEvent], id: &InternalId) -> Vec<(&'a Notice, &'a NoticeOrder)> {
    let found = all.iter().filter(|notice| events.contains(&notice.event));
    let found = found.filter_map(|notice| match &notice.about {
        About::Order(order) if order.id == *id => Some((notice, &**order)),
        _ => None,
    });
    found.collect()
}

fn assert_paid(stored: &StoredOrder, told: &[(&Notice, &NoticeOrder)], note: &str) {
    let (order, effects) = (&stored.order, &stored.effects);
    let is_renewal = effects.subscription.as_ref().is_some_and(|own| own.renewal);
    let is_free = order.total() == Money::ZERO && order.price == Money::ZERO && effects.virtual_currency == Money::ZERO;
    let (event, word) = match (is_renewal, is_free) {
        (true, _) => (NoticeEvent::Renewed, "renewed"),
        (false, true) => (NoticeEvent::FreeOrder, "free_order"),
        (false, false) => (NoticeEvent::Paid, "paid"),
    };
    let was_paid = match order.status {
        OrderStatus::Paid => true,
        OrderStatus::Refunded => effects.recorded_as != Some(OrderStatus::Refunded),
        OrderStatus::Pending | OrderStatus::Failed | OrderStatus::Cancelled => false,
    };
    let is_late = effects.recorded_as == Some(OrderStatus::Paid) && order.created_at <= NOW - DAY;
    let expected = (was_paid && !is_late).then(|| (event, notice_id(&[word, order.internal_id.as_str()])));
    let told: Vec<_> = told.iter().map(|(notice, _)| (notice.event, notice.id.clone())).collect();
    assert_eq!(told, Vec::from_iter(expected), "{note}: {stored:?}");
}

fn assert_refunded(stored: &StoredOrder, told: &[(&Notice, &NoticeOrder)], note: &str) {
    let refunds: Vec<_> = told.iter().map(|(_, order)| order.refund.unwrap()).collect();
    let is_all =
        stored.order.status == OrderStatus::Refunded && stored.effects.recorded_as != Some(OrderStatus::Refunded);
    if stored.effects.failed_refunds == Money::ZERO && (is_all || stored.order.status == OrderStatus::Paid) {
        let is_back = is_all || stored.effects.refunded > Money::ZERO || stored.effects.line_refunds > 0;
        assert_eq!(!told.is_empty(), is_back, "{note}: {stored:?}");
        let sum: Money = refunds.iter().map(|refund| refund.amount).sum();
        assert_eq!(refunds.iter().map(|refund| refund.refunded).max().unwrap_or_default(), sum, "{note}: {stored:?}");
        assert!(sum >= stored.came_back(), "{note}: {stored:?}");
    }
}

#[tokio::test]
async fn a_store_that_tells_nobody_writes_nothing_and_one_writes_what_its_targets_want() {
    let shop = Shop::open().await;
    shop.paid().await;
    assert_eq!(told(&shop.db).await, []);
    tell_of(&shop.db, &[NoticeEvent::Refunded]).await;
    let order = shop.paid().await;
    assert_eq!(told(&shop.db).await, []);
    shop.refund_there(&order, 200).await;
    assert_eq!(ids(&shop.db, NoticeEvent::Refunded).await, [format!("refunded-{order}-200")]);
}

#[tokio::test]
async fn each_event_is_told_with_what_it_is_about_and_nothing_secret() {
    let shop = Shop::open().await;
    tell(&shop.db).await;
    shop.set_virtual_balance(1, 500).await;
    shop.fill_with(1, vec![line(1, PLAIN, 11), gift(2, GIFT, "Newcomer")], Some("card")).await;
    let order = shop.create_as(&shop.instance(), 1, request(Some("198.51.100.7"))).await.unwrap().order;
    shop.pay(&order).await;
    let price = shop.order(&order).await.order.price.minor();
    shop.refund_there(&order, 50).await;
    let hear = async |action: Action| {
        shop.act(&order, action);
        let event: WebhookEvent = shop.events().await.remove(0);
        // Twice, and once more later.
        shop.hear(&event).await;
        shop.hear(&event).await;
    };
    hear(Action::Dispute(Some(50))).await;
    hear(Action::CloseDispute { won: false }).await;
    shop.settle(&order).await;
    let free = shop.checkout(2, &[(FREE, 1)], None).await;
    let coins = shop.checkout(1, &[(VIRTUAL, 2)], None).await;
    shop.sweep_later().await;
    assert_notices(&shop.db, "all").await;
    let all = told(&shop.db).await;
    let of = |event, order| of_order(&all, &[event], order).into_iter().map(|(_, about)| about).collect::<Vec<_>>();
    let paid = of(NoticeEvent::Paid, &order)[0];
    assert_eq!((paid.player.as_str(), paid.status.as_str(), paid.total), ("user-1", "PAID", money(1_200)));
    assert_eq!((paid.gift_card, paid.method.as_deref()), (money(1_200 - price), Some("card")));
    let lines: Vec<_> =
        paid.lines.iter().map(|line| (line.name.as_str(), line.count, line.gift_to.as_deref())).collect();
    assert_eq!(lines, [("item 1", 11, None), ("item 21", 1, Some("Newcomer"))]);
    let refunds: Vec<_> = of(NoticeEvent::Refunded, &order).iter().map(|about| about.refund.unwrap()).collect();
    // They are of one second.
    assert_eq!(refunds.iter().map(|refund| refund.refunded).collect::<BTreeSet<_>>(), [money(50), money(100)].into());
    let disputes: Vec<_> =
        of(NoticeEvent::Disputed, &order).iter().map(|about| about.dispute.clone().unwrap()).collect();
    assert_eq!(BTreeSet::from_iter(disputes), ["needs_response".to_owned(), "lost".to_owned()].into());
    assert_eq!(of(NoticeEvent::FreeOrder, &free)[0].total, money(0));
    assert_eq!(of(NoticeEvent::Paid, &coins)[0].virtual_total, money(100));
    let effects = shop.order(&order).await.effects;
    let session = effects.provider.as_ref().and_then(|provider| provider.session.clone()).unwrap();
    let secret = [
        "198.51.100",
        "\"card\",\"amount",
        "http",
        session.as_str(),
        effects.provider.as_ref().unwrap().intent.as_deref().unwrap(),
    ];
    let code = json!(code("card")).to_string();
    for notice in &all {
        let row = serde_json::to_string(notice).unwrap().replace("\"method\":\"card\"", "");
        assert!(secret.iter().all(|secret| !row.contains(secret)) && !row.contains(&code), "{row}");
    }
}

#[tokio::test]
async fn an_order_that_is_recorded_tells_as_much_and_one_of_long_ago_nothing() {
    let shop = Shop::open().await;
    tell(&shop.db).await;
    shop.record(paid("now", Some(1), &[(PLAIN, 2, 300)])).await.unwrap();
    shop.record(NewOrder { created_at: Some(NOW - DAY), ..paid("old", Some(1), &[(PLAIN, 1, 100)]) }).await.unwrap();
    let card = GiftCardPayment { code: code("card"), amount: money(100) };
    let by_card = NewOrder { gift_card: Some(card), price: money(0), ..paid("card", Some(2), &[(PLAIN, 1, 100)]) };
    shop.record(by_card).await.unwrap();
    for order in ["now", "card"] {
        for _ in 0..2 {
            shop.set_status(order, OrderStatus::Refunded).await.unwrap();
        }
    }
    assert_notices(&shop.db, "recorded").await;
    assert_eq!(told(&shop.db).await.len(), 4);
    // The largest order there can be fits into a transaction with its notice.
    let lines = (1..=50).map(|item| (1_000 + item, 1, 10)).collect::<Vec<_>>();
    let mut largest = paid("largest", Some(1), &lines);
    for (line, user) in largest.lines.iter_mut().zip(2..=19) {
        *line = line.clone().gift_for(UserId::new(user));
    }
    largest.coupon = Some(code("free"));
    largest.gift_card = Some(GiftCardPayment { code: code("card"), amount: money(20) });
    largest.delivers = true;
    shop.record(largest).await.unwrap();
    shop.set_status("largest", OrderStatus::Refunded).await.unwrap();
    assert_notices(&shop.db, "the largest").await;
    // Of one that was charged in another currency every amount is in the store's.
    let other = NewOrder { currency: "USD".to_owned(), price: money(130), ..paid("usd", Some(1), &[(PLAIN, 1, 100)]) };
    shop.record(other).await.unwrap();
    shop.set_status("usd", OrderStatus::Refunded).await.unwrap();
    let all = told(&shop.db).await;
    for event in [NoticeEvent::Paid, NoticeEvent::Refunded] {
        let (_, about) = of_order(&all, &[event], &InternalId::new("usd"))[0];
        assert_eq!((about.currency.as_str(), about.total), ("EUR", money(100)));
        assert!(about.refund.is_none_or(|refund| refund.amount == money(100)), "{about:?}");
    }
}

#[tokio::test]
async fn what_is_sold_out_is_told_once_until_a_unit_is_given_back_and_sold() {
    let shop = Shop::open().await;
    tell(&shop.db).await;
    let sold_out = async || ids(&shop.db, NoticeEvent::SoldOut).await.len();
    shop.buy(1, &[(FIVE, 4)], None).await;
    shop.sweep().await;
    assert_eq!(sold_out().await, 0);
    let last = shop.buy(2, &[(FIVE, 1)], None).await;
    // Before the statistics follow, the process is killed at each of its calls.
    for place in 0..12 {
        let killed = shop.failing(move |at, _| (at >= place).then_some(tests::Fault::Internal));
        _ = shop.sweep_by(&killed.db).await;
    }
    shop.sweep_later().await;
    assert_eq!(sold_out().await, 1);
    shop.buy(3, &[(PLAIN, 1)], None).await;
    shop.sweep().await;
    shop.refund(&last, None).await.unwrap();
    shop.sweep().await;
    assert_eq!(sold_out().await, 1);
    // What was sold before is recorded.
    shop.record(NewOrder { created_at: Some(NOW - DAY), ..paid("old", Some(4), &[(FIVE, 1, 100)]) }).await.unwrap();
    shop.sweep().await;
    assert_eq!(sold_out().await, 1);
    shop.set_status("old", OrderStatus::Refunded).await.unwrap();
    shop.record(paid("again", Some(4), &[(FIVE, 1, 100)])).await.unwrap();
    shop.sweep().await;
    assert_eq!(sold_out().await, 2);
    assert_notices(&shop.db, "sold out").await;
}

#[tokio::test]
async fn the_end_of_a_subscription_is_told_once_and_each_period() {
    let mut shop = Shop::open_subscriptions().await;
    tell(&shop.db).await;
    let first = shop.subscribe().await;
    shop.days(31);
    shop.after(&first, Action::Renew).await;
    for action in [Action::CancelAtPeriodEnd, Action::Resume, Action::CancelAtPeriodEnd, Action::EndPeriod] {
        shop.after(&first, action).await;
        shop.sweep_and_run().await;
    }
    assert_eq!(ids(&shop.db, NoticeEvent::Renewed).await.len(), 1);
    assert_eq!(ids(&shop.db, NoticeEvent::Cancelled).await.len(), 2, "it was taken back in between");
    assert_notices(&shop.db, "subscription").await;
}

#[tokio::test]
async fn who_is_erased_is_named_in_no_notice() {
    let shop = Shop::open().await;
    tell(&shop.db).await;
    shop.paid().await;
    shop.fill_with(2, vec![gift(1, GIFT, "Newcomer")], None).await;
    let order = shop.create(2).await.unwrap().order;
    shop.pay(&order).await;
    // One that cannot be read is left as it is.
    let broken = keys::notice_due(NOW, "broken-broken-broken-broken");
    shop.write_item(encode_live(&broken, &json!({ "id": 7 })).unwrap()).await;
    let names = ["user-1", "newcomer"].map(|name| UserName::parse(name).unwrap());
    let player = ErasedPlayer { user: UserId::new(1), names: names.into() };
    assert_eq!(erase_notices(&shop.db, &player).await.unwrap(), 2);
    let all = serde_json::to_string(&told(&shop.db).await).unwrap().to_lowercase();
    assert!(!all.contains("user-1") && !all.contains("newcomer") && all.contains("user-2"), "{all}");
    assert_eq!(erase_notices(&shop.db, &player).await.unwrap(), 0);
}
