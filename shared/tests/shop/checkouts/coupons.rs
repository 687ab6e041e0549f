//! Coupons that a user may use again after a time, and those for a first purchase; and what new buyers pay on their first day,
//! by account and by address.

use crate::at_provider::{LOST, SESSIONS};
use crate::books::assert_books;
use crate::shop::{
    DAY, FREE, GIFT, Instance, PLAIN, Refused, Shop, TWENTY, code, gift, item, line, paid, published_item, request,
    user,
};
use futures_util::future::join_all;
use serde_json::{Value, json};
use shared::model::{
    InternalId, Line, LineVariable, Login, LoginId, Money, OrderStatus, PaymentType, PlayerName, UserId,
};
use shared::rules::checkout::CheckoutRefusal;
use shared::rules::limits::FirstDay;
use shared::rules::payment::Progress;
use shared::shop::codes::take_uses;
use shared::shop::orders::{NewOrder, record};
use shared::shop::payments::{Checkout, Request};
use shared::table::keys;
use std::time::Duration;
use stripe_stand_in::Action;
use tests::Fault;

/// 10 % off everything, under these conditions.
async fn with_coupon(more: Value) -> Shop {
    let shop = Shop::open().await;
    let mut coupon =
        json!({ "kind": "coupon", "id": 9, "code": "shop", "active": true, "discount": { "percentage": 1_000 } });
    coupon.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    shop.put(&keys::code(&code("shop")), &coupon).await;
    shop
}

fn by_name() -> Request<'static> {
    Request { login: Login::Name(LoginId::parse("0000000000000001").unwrap()), ..request(None) }
}

/// The price of a checkout of one unit with the coupon on the cart; `None` if it is removed.
async fn price(shop: &Shop, user: u64) -> Option<i64> {
    shop.fill(user, &[(PLAIN, 1)], Some("shop")).await;
    match shop.create(user).await {
        Ok(checkout) => Some(shop.order(&checkout.order).await.order.price.minor()),
        Err(Refused::Refused(CheckoutRefusal::CodeRemoved { .. })) => None,
        Err(other) => panic!("{other:?}"),
    }
}

/// When a user used the coupon last, in seconds before now.
async fn last(shop: &Shop, user: u64) -> Option<i64> {
    let (code, user) = (code("shop"), UserId::new(user));
    let mut rows = shop.db.batch_get(vec![keys::code_use(&code, user)]).await.unwrap();
    take_uses(&mut rows, &code, user).unwrap().last.map(|last| shop.now() - last)
}

#[tokio::test]
async fn a_user_uses_a_coupon_once_in_a_time_and_what_ends_or_is_refunded_gives_it_back() {
    let shop = with_coupon(json!({ "once_per": 30 * DAY })).await;
    let order = shop.checkout(1, &[(PLAIN, 1)], Some("shop")).await;
    assert_eq!(price(&shop, 1).await, Some(90), "its own open checkout does not count");
    assert_eq!((shop.status(&order).await, last(&shop, 1).await), (OrderStatus::Cancelled, Some(0)));
    let second = shop.cart(1).await.checkout.unwrap().order;
    shop.end(&second, Progress::Expired);
    shop.settle(&second).await;
    assert_eq!((last(&shop, 1).await, shop.uses("shop").await), (None, 0), "what ended keeps nothing");
    let bought = shop.buy(1, &[(PLAIN, 1)], Some("shop")).await;
    assert_eq!((price(&shop, 1).await, price(&shop, 2).await), (None, Some(90)), "each user by themselves");
    shop.refund(&bought, None).await.unwrap();
    let bought = shop.buy(1, &[(PLAIN, 1)], Some("shop")).await;
    shop.clock.advance(Duration::from_secs(30 * 86_400 - 1));
    assert_eq!(price(&shop, 1).await, None, "a second too early");
    shop.clock.advance(Duration::from_secs(1));
    assert_eq!(price(&shop, 1).await, Some(90));
    // The refund of an older use does not give the newer one back.
    let newer = shop.cart(1).await.checkout.unwrap().order;
    shop.pay(&newer).await;
    shop.refund(&bought, None).await.unwrap();
    assert_eq!((last(&shop, 1).await, price(&shop, 1).await), (Some(0), None));
    assert_books(&shop).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_use_or_a_first_purchase_between_reading_and_writing_is_seen_by_the_write() {
    for more in [
        json!({ "once_per": DAY }),
        json!({ "first_purchase": true }),
        json!({ "max_uses_per_user": 1, "once_per": 1 }),
    ] {
        let shop = with_coupon(more.clone()).await;
        shop.fill(1, &[(PLAIN, 1)], Some("shop")).await;
        let db = shop.interrupted(2, |db| async move {
            let order = NewOrder { coupon: Some(code("shop")), ..paid("between", Some(1), &[(PLAIN, 1, 90)]) };
            record(&db, &tests::TestClock::new(), order).await.unwrap();
        });
        let refused = shop.create_by(&Instance::new(db), 1).await;
        let removed = matches!(refused, Err(Refused::Refused(CheckoutRefusal::CodeRemoved { .. })));
        assert!(removed, "{more}: {refused:?}");
        assert_eq!((shop.uses("shop").await, shop.unfinished().await), (1, 0), "{more}");
        assert_books(&shop).await;
    }
}

#[tokio::test]
async fn a_coupon_for_a_first_purchase_is_for_who_never_paid_nor_got_anything() {
    let shop = with_coupon(json!({ "first_purchase": true })).await;
    // Two browsers: the second ends the checkout of the first, and one is paid with the coupon.
    assert_eq!((price(&shop, 1).await, price(&shop, 1).await), (Some(90), Some(90)));
    let order = shop.cart(1).await.checkout.unwrap().order;
    shop.pay(&order).await;
    assert_eq!(shop.orders().await.iter().filter(|stored| stored.order.status == OrderStatus::Paid).count(), 1);
    assert_eq!(price(&shop, 1).await, None);
    shop.refund(&order, None).await.unwrap();
    assert_eq!(price(&shop, 1).await, None, "it was a purchase, also if it is refunded");
    assert_books(&shop).await;
}

#[tokio::test]
async fn an_order_has_the_surcharges_that_were_shown_when_it_was_created() {
    let shop = Shop::open().await;
    let publish = async |surcharge: i64| {
        let variable = json!({ "id": 1, "name": "Colour", "options": ["gold"], "surcharges": { "gold": surcharge } });
        let more = json!({ "variables": [variable], "price_from": [{ "from": 2, "price": 90 }] });
        shop.write_item(published_item(&item(PLAIN, 1, &more))).await;
    };
    publish(20).await;
    let gold = LineVariable { id: 1, value: "gold".to_owned() };
    let lines = || vec![Line { variables: vec![gold.clone()], ..line(1, PLAIN, 3) }];
    shop.fill_with(1, lines(), None).await;
    let order = shop.create(1).await.unwrap().order;
    publish(50).await;
    shop.pay(&order).await;
    let paid = shop.order(&order).await.order;
    assert_eq!((paid.status, paid.price.minor(), shop.paid_for(1, PLAIN).await), (OrderStatus::Paid, 330, 330));
    shop.fill_with(2, lines(), None).await;
    let next = shop.create(2).await.unwrap().order;
    assert_eq!(shop.order(&next).await.order.price.minor(), 420, "who begins later pays what is published then");
    assert_books(&shop).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gift_is_the_first_purchase_of_its_recipient_and_needs_a_proven_login() {
    let shop = with_coupon(json!({ "first_purchase": true })).await;
    shop.name(3, "Bramble").await;
    // Who gives has bought before.
    shop.buy(1, &[(PLAIN, 1)], None).await;
    let of_gift = |item| vec![line(1, PLAIN, 1), gift(2, item, "Bramble")];
    shop.fill_with(1, of_gift(GIFT), Some("shop")).await;
    let refused = shop.create_as(&shop.instance(), 1, by_name()).await;
    assert!(matches!(refused, Err(Refused::Refused(CheckoutRefusal::CodeRemoved { .. }))), "{refused:?}");
    shop.fill_with(1, of_gift(GIFT), Some("shop")).await;
    let order = shop.create(1).await.unwrap().order;
    let totals: Vec<i64> = shop.order(&order).await.order.lines.iter().map(|line| line.total.minor()).collect();
    assert_eq!(totals, [100, 90], "the buyer's own line is not a first purchase");
    shop.pay(&order).await;
    shop.fill_with(2, vec![gift(1, TWENTY, "Bramble")], Some("shop")).await;
    let text = "Your coupon is for a first purchase, and the player who gets \"item 22\" has bought before. Remove the coupon, or the gift.";
    assert_eq!(shop.refusal(2).await, text, "the recipient has got something");
    // For the own name too, and one ledger is checked once.
    shop.name(2, "Wren").await;
    shop.fill_with(2, vec![line(1, PLAIN, 1), gift(2, TWENTY, "Wren")], Some("shop")).await;
    assert_eq!(shop.refusal(2).await, text);
    shop.fill_with(2, vec![gift(2, TWENTY, "Wren")], Some("shop")).await;
    shop.create(2).await.unwrap();
    assert_books(&shop).await;
}

const HOME: &str = "hash-of-home";
/// Five units of [`PLAIN`].
const MOST: i64 = 500;

async fn shop() -> Shop {
    Shop::open_with(|payments| payments.first_day = Some(Money::from_minor(MOST))).await
}

/// A request of a login by name from an address.
fn by_name_from(address: &str) -> Request<'_> {
    let login = Login::Name(LoginId::parse("0000000000000001").unwrap());
    Request { login, ..request(Some(address)) }
}

async fn create(shop: &Shop, by: &Instance, user: u64) -> Result<Checkout, Refused> {
    shop.create_as(by, user, by_name_from(HOME)).await
}

fn refusal<T>(created: Result<T, Refused>) -> Option<FirstDay> {
    match created {
        Err(Refused::Refused(CheckoutRefusal::FirstDay(first))) => Some(first),
        Ok(_) => None,
        Err(other) => panic!("{other:?}"),
    }
}

/// Lets a user have paid long ago.
async fn known(shop: &Shop, users: impl Iterator<Item = u64>) {
    for id in users {
        shop.put(&keys::user(UserId::new(id)), &user(id)).await;
        let patron = json!({ "user": id, "username": "", "amount": 1_000_000 });
        shop.put(&keys::patron(UserId::new(id)), &patron).await;
    }
}

async fn spent_from(shop: &Shop, address: &str) -> i64 {
    shop.number(&keys::address(address), "spent").await
}

#[tokio::test]
async fn a_new_buyer_pays_so_much_in_a_day_and_then_what_they_like() {
    let shop = shop().await;
    let most = Money::from_minor(MOST);
    shop.fill(1, &[(PLAIN, 6)], None).await;
    let first = FirstDay { most, left: most, until: None, of_address: false };
    assert_eq!(refusal(shop.create(1).await), Some(first));
    // What was not paid does not count, and neither does what costs nothing.
    let ended = shop.checkout(1, &[(PLAIN, 5)], None).await;
    shop.end(&ended, Progress::Failed);
    shop.settle(&ended).await;
    shop.checkout(1, &[(FREE, 1)], None).await;
    let paid = shop.buy(1, &[(PLAIN, 3)], None).await;
    let until = Some(shop.now() + DAY);
    shop.clock.advance(Duration::from_hours(1));
    shop.fill(1, &[(PLAIN, 3)], None).await;
    let left = FirstDay { left: Money::from_minor(200), until, ..first };
    assert_eq!(refusal(shop.create(1).await), Some(left));
    // A refund gives nothing of the day back.
    shop.refund(&paid, None).await.unwrap();
    assert_eq!(refusal(shop.create(1).await), Some(left));
    shop.buy(1, &[(PLAIN, 2)], None).await;
    shop.clock.advance(Duration::from_secs(3_600 * 23 - 1));
    shop.fill(1, &[(PLAIN, 50)], None).await;
    assert_eq!(refusal(shop.create(1).await), Some(FirstDay { left: Money::ZERO, ..left }));
    shop.clock.advance(Duration::from_secs(1));
    shop.create(1).await.unwrap();
    assert_books(&shop).await;
}

#[tokio::test]
async fn buyers_of_before_are_known_and_recipients_of_gifts_are_not() {
    let shop = shop().await;
    known(&shop, std::iter::once(1)).await;
    shop.buy(1, &[(PLAIN, 50)], None).await;
    shop.buy(1, &[(PLAIN, 50)], None).await;
    // Who pays for a gift alone has paid, and who got it has not.
    shop.name(3, "Bramble").await;
    let gift = |_: u64| {
        let mut gift = line(1, GIFT, 1);
        (gift.payment_type, gift.gift_to) = (PaymentType::Gift, Some(PlayerName::parse("Bramble").unwrap()));
        vec![gift]
    };
    shop.fill_with(2, gift(2), None).await;
    let order = shop.create(2).await.unwrap().order;
    shop.pay(&order).await;
    let ledgers = [shop.ledger(2).await.spent, shop.ledger(3).await.spent];
    assert_eq!(ledgers.map(|spent| (spent.since.is_some(), spent.sum.minor())), [(true, 100), (false, 0)]);
    shop.days(2);
    shop.checkout(2, &[(PLAIN, 6)], None).await;
    shop.fill(3, &[(PLAIN, 6)], None).await;
    assert!(refusal(shop.create(3).await).is_some());
}

#[tokio::test]
async fn an_address_of_logins_by_name_counts_for_all_names() {
    let shop = shop().await;
    known(&shop, 1..=6).await;
    let by = shop.instance();
    for buyer in 1..=6 {
        shop.fill(buyer, &[(PLAIN, 3)], None).await;
    }
    let first = create(&shop, &by, 1).await.unwrap().order;
    let refused = refusal(create(&shop, &by, 2).await).unwrap();
    assert_eq!((refused.left.minor(), refused.until, refused.of_address), (200, None, true));
    // Another address, and a login that proves more, are not concerned.
    shop.create_as(&by, 3, by_name_from("elsewhere")).await.unwrap();
    shop.create_as(&by, 4, request(Some(HOME))).await.unwrap();
    // What ends without a payment is given back, also if the cart has changed.
    shop.fill(1, &[(PLAIN, 2)], None).await;
    let second = create(&shop, &by, 1).await.unwrap().order;
    assert_eq!((shop.status(&first).await, spent_from(&shop, HOME).await), (OrderStatus::Cancelled, 200));
    let paid = create(&shop, &by, 2).await.unwrap().order;
    shop.pay(&paid).await;
    shop.end(&second, Progress::Expired);
    shop.settle(&second).await;
    assert_eq!(spent_from(&shop, HOME).await, 300);
    for order in [&first, &second, &paid] {
        assert_eq!(shop.order(order).await.address(), None, "an order that has ended forgets it");
    }
    let until = Some(shop.now() + DAY);
    shop.clock.advance(Duration::from_mins(1));
    assert_eq!(refusal(create(&shop, &by, 5).await).map(|first| (first.left.minor(), first.until)), Some((200, until)));
    shop.days(1);
    for buyer in [5, 6] {
        let order = create(&shop, &by, buyer).await.unwrap().order;
        shop.pay(&order).await;
    }
    assert_eq!(spent_from(&shop, HOME).await, 300, "it is counted no more");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn of_many_names_at_once_from_one_address_no_more_is_paid() {
    let shop = shop().await;
    known(&shop, 1_000..1_012).await;
    for buyer in 1_000..1_012 {
        shop.fill(buyer, &[(PLAIN, 2)], None).await;
    }
    let instances = shop.instances(8);
    let created =
        join_all((1_000..1_012).zip(instances.iter().cycle()).map(|(buyer, by)| create(&shop, by, buyer))).await;
    let begun: Vec<InternalId> = created.iter().flatten().map(|checkout| checkout.order.clone()).collect();
    assert_eq!((begun.len(), spent_from(&shop, HOME).await), (2, 400), "{created:?}");
    assert_eq!(created.into_iter().filter_map(refusal).count(), 10);
}

/// Whichever call is lost before or after its effect: an address has spent what its orders have that are open or paid.
#[tokio::test]
async fn what_an_address_has_spent_is_what_its_orders_cost_after_any_fault() {
    for (fault, action) in [
        (Fault::Internal, Action::Pay),
        (Fault::ResponseLost, Action::Pay),
        (Fault::Internal, Action::Expire),
        (Fault::ResponseLost, Action::Expire),
    ] {
        for place in 0..12 {
            let shop = shop().await;
            known(&shop, 1..=2).await;
            shop.fill(1, &[(PLAIN, 4)], None).await;
            if place == 0 {
                shop.fail_request(0, LOST.on(SESSIONS));
            }
            let failing = shop.failing(move |number, _| (number == place).then_some(fault));
            _ = create(&shop, &failing, 1).await;
            if let Ok(checkout) = create(&shop, &shop.instance(), 1).await {
                shop.act(&checkout.order, action);
                let stored = shop.order(&checkout.order).await;
                let failing = shop.failing(move |number, _| (number == place).then_some(fault));
                _ = shop.desk_of(&failing.db).settle(&stored).await;
            }
            shop.sweep_later().await;
            let orders = shop.orders().await;
            let counted = orders.iter().filter(|order| {
                assert_ne!(order.order.status, OrderStatus::Pending);
                order.order.status == OrderStatus::Paid
            });
            let sum: i64 = counted.map(|order| order.order.price.minor()).sum();
            assert_eq!(spent_from(&shop, HOME).await, sum, "{fault:?} {action:?} {place}");
        }
    }
}
