//! What new buyers pay on their first day, by account and by address.

use crate::at_provider::{LOST, SESSIONS};
use crate::shop::{DAY, FREE, GIFT, Instance, PLAIN, Refused, Shop, by_name, line, request, user};
use crate::sums::assert_books;
use futures_util::future::join_all;
use serde_json::json;
use shared::model::{InternalId, Money, OrderStatus, PaymentType, PlayerName, UserId};
use shared::rules::checkout::CheckoutRefusal;
use shared::rules::first_day::FirstDay;
use shared::rules::payment::Progress;
use shared::shop::payments::Checkout;
use shared::table::keys;
use std::time::Duration;
use stripe_stand_in::Action;
use tests::Fault;

const HOME: &str = "hash-of-home";
/// Five units of [`PLAIN`].
const MOST: i64 = 500;

async fn shop() -> Shop {
    Shop::open_with(|payments| payments.first_day = Some(Money::from_minor(MOST))).await
}

async fn create(shop: &Shop, by: &Instance, user: u64) -> Result<Checkout, Refused> {
    shop.create_as(by, user, by_name("0000000000000001", Some(HOME))).await
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
    shop.create_as(&by, 3, by_name("0000000000000001", Some("elsewhere"))).await.unwrap();
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
