//! Abuse: cards that were banned with a name and pay under another, addresses whose payments were refused, and open checkouts
//! of an address with limited items, by many buyers at once and under faults.

use crate::shop::{FIVE, Instance, PLAIN, Refused, Shop, TWENTY, code, request, user};
use crate::sums::assert_books;
use futures_util::future::join_all;
use serde_json::json;
use shared::model::{InternalId, OrderStatus, UserId, UserName};
use shared::rules::checkout::CheckoutRefusal;
use shared::shop::accounts::bans::unban;
use shared::shop::payments::{CHECKOUTS, Checkout, WebhookEvent};
use shared::shop::stock::open_limited::MOST_OPEN;
use shared::table::bulk::each;
use shared::table::codec::key_of;
use shared::table::{StoreError, keys, read_live};
use std::time::Duration;
use stripe_stand_in::Action;
use tests::{Fault, Prepared};

/// The numbers of two cards.
const ONE: Action = Action::PayCard(4_242_424_242_424_242);
const OTHER: Action = Action::PayCard(5_555_555_555_554_444);

fn name(user: u64) -> UserName {
    UserName::parse(&format!("user-{user}")).unwrap()
}

async fn pay(shop: &Shop, user: u64, item: u64, by: Action) -> InternalId {
    let order = shop.checkout(user, &[(item, 5)], None).await;
    shop.act(&order, by);
    shop.settle(&order).await;
    order
}

async fn cards(shop: &Shop) -> Vec<String> {
    let mut found = Vec::new();
    each(&shop.db, "CARD#", |item| {
        found.push(key_of(&item)?.pk);
        Ok::<(), StoreError>(())
    })
    .await
    .unwrap();
    found
}

async fn ban(shop: &Shop, user: u64) -> usize {
    shop.name(user, &format!("user-{user}")).await;
    shop.desk().ban_cards(&name(user), UserId::new(user)).await.unwrap()
}

#[tokio::test]
async fn a_banned_card_is_refunded_under_every_name_until_no_ban_has_it() {
    let shop = Shop::open().await;
    pay(&shop, 1, PLAIN, ONE).await;
    pay(&shop, 2, PLAIN, ONE).await;
    pay(&shop, 3, PLAIN, OTHER).await;
    // Repeated it is the same, and of two names with one card each bans it.
    assert_eq!([ban(&shop, 1).await, ban(&shop, 1).await, ban(&shop, 2).await], [1, 1, 1]);
    let order = pay(&shop, 4, FIVE, ONE).await;
    let (stored, said) = (shop.order(&order).await, shop.says(&order).await);
    assert_eq!((stored.order.status, stored.effects.card_banned), (OrderStatus::Cancelled, true));
    assert_eq!((said.refunded, shop.sold(FIVE).await), (stored.order.price, 0), "it is returned and holds nothing");
    let kept = pay(&shop, 4, PLAIN, OTHER).await;
    assert_eq!(shop.status(&kept).await, OrderStatus::Paid);
    unban(&shop.db, &name(1)).await.unwrap().unwrap();
    let again = pay(&shop, 5, PLAIN, ONE).await;
    assert_eq!(shop.status(&again).await, OrderStatus::Cancelled, "the other name is banned");
    unban(&shop.db, &name(2)).await.unwrap().unwrap();
    let last = pay(&shop, 5, PLAIN, ONE).await;
    assert_eq!(shop.status(&last).await, OrderStatus::Paid);
    assert!(cards(&shop).await.is_empty());
    assert_books(&shop).await;
}

#[tokio::test]
async fn a_card_that_is_banned_after_it_paid_keeps_what_it_bought() {
    let shop = Shop::open().await;
    let paid = pay(&shop, 1, PLAIN, ONE).await;
    ban(&shop, 1).await;
    shop.settle(&paid).await;
    assert_eq!(shop.status(&paid).await, OrderStatus::Paid);
    assert_books(&shop).await;
}

#[tokio::test]
async fn a_payment_by_a_banned_card_is_returned_once_whatever_fails() {
    for fault in [Fault::Internal, Fault::ResponseLost] {
        for place in 0..14 {
            let shop = Shop::open().await;
            pay(&shop, 1, PLAIN, ONE).await;
            ban(&shop, 1).await;
            let order = shop.checkout(2, &[(FIVE, 5)], None).await;
            shop.act(&order, ONE);
            let stored = shop.order(&order).await;
            let failing = shop.failing(move |number, _| (number == place).then_some(fault));
            _ = shop.desk_of(&failing.db).settle(&stored).await;
            shop.sweep_later().await;
            let stored = shop.order(&order).await;
            let state = (stored.order.status, stored.effects.card_banned, shop.received("POST /v1/refunds"));
            assert_eq!(state, (OrderStatus::Cancelled, true, 1), "{fault:?} {place}");
            assert_books(&shop).await;
        }
    }
}

#[tokio::test]
async fn a_ban_with_cards_that_is_killed_is_whole_or_not_there() {
    for place in 0..9 {
        let shop = Shop::open().await;
        pay(&shop, 1, PLAIN, ONE).await;
        shop.name(1, "user-1").await;
        let failing = shop.failing(move |number, _| (number >= place).then_some(Fault::Internal));
        let banned = shop.desk_of(&failing.db).ban_cards(&name(1), UserId::new(1)).await.is_ok();
        let row: Option<shared::shop::accounts::names::Ban> = read_live(&shop.db, &keys::ban(&name(1))).await.unwrap();
        assert_eq!(row.is_some_and(|ban| ban.cards.len() == 1), !cards(&shop).await.is_empty(), "{place}");
        assert!(!banned || !cards(&shop).await.is_empty());
        assert_eq!(ban(&shop, 1).await, 1);
        let order = pay(&shop, 2, PLAIN, ONE).await;
        assert_eq!(shop.status(&order).await, OrderStatus::Cancelled, "{place}");
    }
}

const HOME: &str = "hash-of-home";

async fn fill_and_create(shop: &Shop, user: u64, address: &str) -> Result<Checkout, Refused> {
    shop.fill(user, &[(PLAIN, 1)], None).await;
    shop.create_as(&shop.instance(), user, request(Some(address))).await
}

/// The seconds that an address has to wait, if it has to.
fn waits(created: &Result<Checkout, Refused>) -> Option<u64> {
    match created {
        Err(Refused::Refused(CheckoutRefusal::RefusedPayments { retry_seconds })) => Some(*retry_seconds),
        _ => None,
    }
}

/// The bank refuses a payment; what the provider says of it.
async fn decline(shop: &Shop, order: &InternalId) -> WebhookEvent {
    let before = shop.events().await;
    shop.act(order, Action::Decline);
    let is_new = |event: &WebhookEvent| matches!(event, WebhookEvent::Refused(_)) && !before.contains(event);
    shop.events().await.into_iter().find(is_new).unwrap()
}

#[tokio::test]
async fn after_three_refused_payments_an_address_waits_and_no_other_does() {
    let shop = Shop::open().await;
    let order = fill_and_create(&shop, 1, HOME).await.unwrap().order;
    let other = fill_and_create(&shop, 2, HOME).await.unwrap().order;
    let [first, second] = [decline(&shop, &order).await, decline(&shop, &order).await];
    // However often and in whichever order they are heard, each counts once.
    for event in [&second, &first, &second, &first, &first] {
        shop.hear(event).await;
    }
    fill_and_create(&shop, 3, HOME).await.unwrap();
    shop.clock.advance(Duration::from_mins(10));
    let third = decline(&shop, &other).await;
    shop.hear(&third).await;
    assert_eq!(waits(&fill_and_create(&shop, 4, HOME).await), Some(50 * 60));
    fill_and_create(&shop, 4, "elsewhere").await.unwrap();
    // Who has a checkout open goes on with it, and may pay at last.
    assert_eq!(shop.create_as(&shop.instance(), 1, request(Some(HOME))).await.unwrap().order, order);
    shop.pay(&order).await;
    assert_eq!(shop.order(&order).await.address(), None);
    shop.clock.advance(Duration::from_mins(50));
    shop.hear(&first).await;
    let last = fill_and_create(&shop, 5, HOME).await.unwrap().order;
    // With the third, which is not an hour old, it makes two.
    let fourth = decline(&shop, &last).await;
    shop.hear(&fourth).await;
    fill_and_create(&shop, 6, HOME).await.unwrap();
    assert_books(&shop).await;
}

#[tokio::test]
async fn a_payment_that_is_refused_while_a_checkout_begins_stops_it() {
    let shop = Shop::open().await;
    let order = fill_and_create(&shop, 1, HOME).await.unwrap().order;
    let events = [decline(&shop, &order).await, decline(&shop, &order).await, decline(&shop, &order).await];
    shop.hear(&events[0]).await;
    shop.hear(&events[1]).await;
    shop.fill(2, &[(PLAIN, 1)], None).await;
    let by = shop.instance();
    let first = crate::shop::load(&by.db, 2, Some(HOME)).await.unwrap();
    // It is heard after the buyer was read, and before the order is written.
    shop.hear(&events[2]).await;
    let request = request(Some(HOME));
    let reload = || crate::shop::load(&by.db, 2, Some(HOME));
    let created = shared::shop::payments::create(&by.sources(&shop), &shop.stripe, request, first, reload).await;
    assert_eq!(waits(&created), Some(3_600));
}

const ADDRESS: &str = "203.0.113.5";
/// After this time an address may begin as many checkouts again.
const ATTEMPTS: Duration = Duration::from_secs(CHECKOUTS.seconds + 1);

async fn create(shop: &Shop, by: &Instance, user: u64) -> Result<Checkout, Refused> {
    shop.create_as(by, user, request(Some(ADDRESS))).await
}

/// Gives each buyer an account and one of twenty units.
async fn enter(shop: &Shop, buyers: impl Iterator<Item = u64>) {
    for buyer in buyers {
        shop.put(&keys::user(UserId::new(buyer)), &user(buyer)).await;
        shop.fill(buyer, &[(TWENTY, 1)], None).await;
    }
}

/// Begins a checkout for each buyer, and waits until the address may begin as many again: here only what is open counts.
async fn begin_and_wait(shop: &Shop, buyers: impl Iterator<Item = u64>) -> Vec<Checkout> {
    let mut begun = Vec::new();
    for buyer in buyers {
        begun.push(create(shop, &shop.instance(), buyer).await.unwrap());
    }
    shop.clock.advance(ATTEMPTS);
    begun
}

fn is_full(created: &Result<Checkout, Refused>) -> bool {
    matches!(created, Err(Refused::Refused(CheckoutRefusal::TooManyOpen { .. })))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn of_twenty_from_one_address_ten_begin_and_the_others_hold_nothing() {
    let shop = Shop::open().await;
    enter(&shop, 1_000..1_020).await;
    let instances = shop.instances(8);
    let all = begin_and_wait(&shop, 1_000..1_005).await;
    let at_once =
        join_all((1_005..1_020).zip(instances.iter().cycle()).map(|(buyer, by)| create(&shop, by, buyer))).await;
    let all: Vec<_> = all.into_iter().map(Ok).chain(at_once).collect();
    let begun: Vec<&Checkout> = all.iter().flatten().collect();
    assert_eq!(
        (begun.len(), all.iter().filter(|created| is_full(created)).count()),
        (MOST_OPEN, 20 - MOST_OPEN),
        "{all:?}"
    );
    assert_eq!(
        (shop.sold(TWENTY).await, shop.stand_in.sessions().len()),
        (i64::try_from(MOST_OPEN).unwrap(), MOST_OPEN)
    );
    assert_books(&shop).await;
    // Those that are paid leave their places to as many others, and not more.
    for checkout in begun.iter().take(4) {
        shop.pay(&checkout.order).await;
    }
    let late: Vec<u64> = (1_000..).zip(&all).filter(|(_, created)| is_full(created)).map(|(buyer, _)| buyer).collect();
    let again = join_all(late.iter().zip(instances.iter().cycle()).map(|(buyer, by)| create(&shop, by, *buyer))).await;
    assert_eq!(again.iter().filter(|created| created.is_ok()).count(), 4, "{again:?}");
    assert_eq!(again.iter().filter(|created| is_full(created)).count(), late.len() - 4, "{again:?}");
}

#[tokio::test]
async fn an_address_holds_only_so_many_uses_of_a_coupon() {
    let shop = Shop::open().await;
    let coupon = json!({
        "kind": "coupon", "id": 9, "code": "many", "active": true, "discount": { "percentage": 1_000 }, "max_uses": 50,
    });
    shop.put(&keys::code(&code("many")), &coupon).await;
    for buyer in 1_000..=1_010 {
        shop.put(&keys::user(UserId::new(buyer)), &user(buyer)).await;
        shop.fill(buyer, &[(PLAIN, 1)], Some("many")).await;
    }
    begin_and_wait(&shop, 1_000..1_010).await;
    assert!(is_full(&create(&shop, &shop.instance(), 1_010).await));
    assert_eq!(shop.uses("many").await, 10);
}

/// A place is not lost for longer than a minute, and none is had twice, whichever call is lost before or after its effect.
#[tokio::test]
async fn an_interrupted_checkout_takes_a_place_for_a_minute_at_most() {
    static NINE_OPEN: Prepared = Prepared::new();
    let open = async || {
        let begin = |shop: Shop| async move {
            enter(&shop, 1_000..1_012).await;
            begin_and_wait(&shop, 1_000..1_009).await;
        };
        let shop = Shop::copy_of(&NINE_OPEN, begin).await;
        shop.clock.advance(ATTEMPTS);
        shop
    };
    for fault in [Fault::Internal, Fault::ResponseLost] {
        for place in 0..14 {
            let shop = open().await;
            let failing = shop.failing(move |number, _| (number == place).then_some(fault));
            let interrupted = create(&shop, &failing, 1_009).await;
            shop.clock.advance(Duration::from_secs(61));
            shop.sweep().await;
            let last = create(&shop, &shop.instance(), 1_010).await;
            let again = create(&shop, &shop.instance(), 1_009).await;
            // A checkout that was begun goes on; one that was not has left its place to the next.
            assert!(again.is_ok() != last.is_ok(), "{fault:?} {place}: {interrupted:?} {last:?} {again:?}");
            assert!(is_full(&create(&shop, &shop.instance(), 1_011).await), "{fault:?} {place}");
        }
    }
}
