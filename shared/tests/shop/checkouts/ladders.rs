//! Cumulative categories: with more steps than one condition compares, and with steps that end. What has ended is not a step
//! and pays for none.

use crate::shop::{DAY, Instance, PRICE, Refused, STEPS, Shop, TWO_EACH, gift, line, paid, published_item, step};
use crate::sums::assert_audit;
use futures_util::future::join_all;
use serde_json::json;
use shared::model::{InternalId, OrderStatus, UserId};
use shared::rules::checkout::CheckoutRefusal;
use shared::shop::orders::{RecordError, record, set_status};
use shared::shop::stock::ledgers;
use shared::table::{Db, StoreError, keys, read_live};
use tests::{Prepared, TestClock};

/// The steps of the category, the cheapest first. Compared all at once they would exceed the 4 KB of a condition.
const FIRST: u64 = 1_000;
const STEP_COUNT: u64 = 300;
const TOP: u64 = FIRST + STEP_COUNT - 1;
/// The dearest of the steps that no condition compares when the first one is bought.
const NOT_COMPARED: u64 = TOP - ledgers::ITEMS_AT_ONCE as u64;

async fn open() -> Shop {
    static CONTENTS: Prepared = Prepared::new();
    let price = |id: u64| PRICE + i64::try_from(id - FIRST).unwrap();
    let publish = |shop: Shop| async move {
        let tiers: Vec<_> = (FIRST..=TOP).map(|id| json!({ "item": id, "price": price(id) })).collect();
        for id in [FIRST, FIRST + 1, NOT_COMPARED, TOP] {
            shop.write_item(published_item(&step(id, 9, price(id), &json!(tiers)))).await;
        }
        for user in [1, 3] {
            shop.name(user, &format!("user-{user}")).await;
        }
    };
    Shop::copy_of(&CONTENTS, publish).await
}

async fn own(db: &Db, user: u64, step: u64) {
    record(db, &TestClock::new(), paid(&format!("own-{user}-{step}"), Some(user), &[(step, 1, 100)])).await.unwrap();
}

fn is_refused(created: &Result<shared::shop::payments::Checkout, Refused>) -> bool {
    matches!(created, Err(Refused::Refused(CheckoutRefusal::Unavailable { .. } | CheckoutRefusal::Recipient { .. })))
}

#[tokio::test]
async fn the_first_of_many_steps_can_be_bought_and_given() {
    let shop = open().await;
    let bought = shop.checkout(1, &[(FIRST, 1)], None).await;
    shop.fill_with(2, vec![gift(1, FIRST, "user-3"), gift(2, FIRST, "Nobody-Yet")], None).await;
    let given = shop.create(2).await.unwrap().order;
    for order in [&bought, &given] {
        shop.pay(order).await;
        assert_eq!(shop.status(order).await, OrderStatus::Paid);
    }
    assert_eq!((shop.held(1, FIRST).await, shop.held(3, FIRST).await), (1, 1));
    // Now they own it.
    shop.fill_with(4, vec![gift(1, FIRST, "user-3")], None).await;
    assert!(is_refused(&shop.create(4).await));
    shop.fill(3, &[(FIRST, 1)], None).await;
    assert!(is_refused(&shop.create(3).await));
    shop.fill(3, &[(TOP, 1)], None).await;
    shop.create(3).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_step_is_bought_right_before_a_checkout_is_written_is_seen() {
    for step in [FIRST, FIRST + 1, NOT_COMPARED, TOP] {
        // Before the units are counted, and before the order is written.
        for nth in [1, 2] {
            let shop = open().await;
            shop.fill(1, &[(FIRST, 1)], None).await;
            shop.fill_with(2, vec![gift(1, FIRST, "user-3")], None).await;
            for (buyer, owner) in [(1, 1), (2, 3)] {
                let db = shop.interrupted(nth, move |db| async move { own(&db, owner, step).await });
                let created = shop.create_by(&Instance::new(db), buyer).await;
                assert!(is_refused(&created), "{step} of {owner} before {nth}: {created:?}");
            }
            shop.sweep_later().await;
            assert_eq!(shop.sold(FIRST).await, i64::from(step == FIRST) * 2);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refund_right_before_a_checkout_is_written_changes_its_price() {
    let shop = open().await;
    own(&shop.db, 1, FIRST).await;
    shop.fill(1, &[(TOP, 1)], None).await;
    let db = shop.interrupted(2, |db| async move {
        set_status(&db, &TestClock::new(), &"own-1-1000".into(), OrderStatus::Refunded).await.unwrap();
    });
    let order = shop.create_by(&Instance::new(db), 1).await.unwrap().order;
    assert_eq!(shop.order(&order).await.order.price.minor(), PRICE + i64::try_from(STEP_COUNT).unwrap() - 1);
}

/// During a deploy functions of the version before go on. Their own checkouts sell at most the 85 dearest steps.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_function_of_the_version_before_writes_without_counting_it_is_seen() {
    for step in [NOT_COMPARED + 1, TOP] {
        let shop = open().await;
        shop.fill(1, &[(FIRST, 1)], None).await;
        shop.fill_with(2, vec![gift(1, FIRST, "user-3")], None).await;
        for (buyer, owner) in [(1, 1), (2, 3)] {
            let db = shop.interrupted(2, move |db| async move { Shop::own_uncounted(&db, owner, step).await });
            let created = shop.create_by(&Instance::new(db), buyer).await;
            assert!(is_refused(&created), "{step}: {created:?}");
            assert_eq!(shop.ledger(owner).await.version, 0);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn racing_checkouts_and_orders_count_every_write_of_a_ledger_and_exceed_nothing() {
    let shop = open().await;
    shop.fill(1, &[(FIRST, 1)], None).await;
    let givers: Vec<u64> = (4..12).collect();
    for giver in &givers {
        shop.fill_with(*giver, vec![line(1, FIRST, 1), gift(2, FIRST, "user-1")], None).await;
    }
    let instances = shop.instances(8);
    let buyers = || std::iter::repeat_n(1, 8).chain(givers.iter().copied());
    let creates = join_all(buyers().zip(instances.iter().cycle()).map(|(buyer, by)| shop.create_by(by, buyer)));
    let records = join_all((0..16).zip(instances.iter().cycle()).map(|(number, by)| async move {
        // Two of the item for each user, and one order of the top step.
        let item = if number == 7 { TOP } else { TWO_EACH };
        record(&by.db, &TestClock::new(), paid(&format!("r{number}"), Some(1), &[(item, 1, 100)])).await
    }));
    let (begun, recorded) = tokio::join!(creates, records);
    for result in begun {
        assert!(result.is_ok() || is_refused(&result), "{result:?}");
    }
    let written = recorded.iter().filter(|result| result.is_ok()).count();
    for error in recorded.into_iter().filter_map(Result::err) {
        assert!(matches!(error, RecordError::Refused(_) | RecordError::Store(StoreError::Contended)), "{error:?}");
    }
    assert!(shop.held(1, TWO_EACH).await <= 2);
    assert_eq!(shop.ledger(1).await.version, u64::try_from(written).unwrap());
    if shop.held(1, TOP).await == 0 {
        own(&shop.db, 1, TOP).await;
    }
    // From now on no checkout can begin: not for the buyer, and not as a gift.
    let all = buyers().chain(12..20);
    for giver in 12..20 {
        shop.fill_with(giver, vec![gift(1, FIRST, "user-1")], None).await;
    }
    for buyer in all {
        let cart: Option<shared::model::Cart> = read_live(&shop.db, &keys::cart(UserId::new(buyer))).await.unwrap();
        if cart.is_some_and(|cart| cart.checkout.is_none()) {
            let late = shop.create(buyer).await;
            assert!(is_refused(&late), "{buyer}: {late:?}");
        }
    }
}

const LOW: u64 = STEPS[0];
const HIGH: u64 = STEPS[1];
const PRICES: [i64; 2] = [300, 1_000];

/// Both steps last thirty days.
async fn open_with_ends() -> Shop {
    static CONTENTS: Prepared = Prepared::new();
    let publish = |shop: Shop| async move {
        let tiers: Vec<_> = STEPS.iter().zip(PRICES).map(|(id, price)| json!({ "item": id, "price": price })).collect();
        for (id, price) in STEPS.iter().zip(PRICES) {
            let mut step = step(*id, 3, price, &json!(tiers));
            step["delivery"] = json!({ "expires_after": 30 * DAY });
            shop.write_item(published_item(&step)).await;
        }
        shop.name(2, "user-2").await;
    };
    Shop::copy_of(&CONTENTS, publish).await
}

/// Buys a step; the order, and what it cost.
async fn buy(shop: &Shop, step: u64) -> (InternalId, i64) {
    let order = shop.buy(1, &[(step, 1)], None).await;
    shop.sweep().await;
    let price = shop.order(&order).await.order.price.minor();
    (order, price)
}

#[tokio::test]
async fn a_step_that_has_ended_is_bought_again_at_its_price() {
    let shop = open_with_ends().await;
    assert_eq!(buy(&shop, LOW).await.1, 300);
    shop.days(1);
    shop.fill(1, &[(LOW, 1)], None).await;
    shop.create(1).await.unwrap_err();
    assert_eq!(buy(&shop, HIGH).await.1, 700, "the difference, as long as the lower step lasts");
    shop.days(29);
    // The lower step has ended, the higher one lasts a day longer.
    shop.fill(1, &[(LOW, 1)], None).await;
    shop.create(1).await.unwrap_err();
    shop.days(1);
    assert_eq!((buy(&shop, LOW).await.1, buy(&shop, HIGH).await.1), (300, 700));
    shop.days(31);
    assert_eq!(buy(&shop, HIGH).await.1, 1_000);
    assert_audit(&shop.db).await;
}

#[tokio::test]
async fn what_is_returned_of_a_step_that_has_ended_changes_no_price() {
    let shop = open_with_ends().await;
    let (first, _) = buy(&shop, LOW).await;
    shop.days(31);
    buy(&shop, LOW).await;
    for refunded in [100, 200] {
        shop.refund_there(&first, refunded).await;
        shop.sweep().await;
        assert_audit(&shop.db).await;
    }
    assert_eq!(shop.status(&first).await, OrderStatus::Refunded);
    assert_eq!(buy(&shop, HIGH).await.1, 700);
    assert_audit(&shop.db).await;
}

#[tokio::test]
async fn a_step_can_be_given_again_once_it_has_ended_and_not_before() {
    let shop = open_with_ends().await;
    shop.fill_with(1, vec![gift(1, LOW, "user-2")], None).await;
    let order = shop.create(1).await.unwrap().order;
    shop.pay(&order).await;
    for days in [0, 29] {
        shop.days(days);
        shop.fill_with(3, vec![gift(1, LOW, "user-2")], None).await;
        let refused = shop.refusal(3).await;
        assert!(refused.contains("recipient"), "{refused}");
    }
    shop.days(1);
    let order = shop.create(3).await.unwrap().order;
    shop.pay(&order).await;
    // What was owned before ends were stored lasts.
    Shop::own_uncounted(&shop.db, 4, LOW).await;
    shop.name(4, "user-4").await;
    shop.fill_with(5, vec![gift(1, LOW, "user-4")], None).await;
    shop.refusal(5).await;
}
