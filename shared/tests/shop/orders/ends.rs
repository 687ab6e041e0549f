//! Items that end: what has ended is owned no more, and what was sold stays sold.

use crate::shop::{DAY, Shop, paid, published_item};
use crate::sums::assert_audit;
use futures_util::future::join_all;
use proptest::prelude::*;
use serde_json::json;
use shared::model::{ItemId, OrderStatus, Owned, UserId};
use shared::shop::orders::{NewOrder, OrderRefusal, RecordError, record};
use shared::table::StoreError;
use tests::count;

/// Lasts thirty days, one for one user.
const RANK: u64 = 40;
/// Lasts thirty days.
const CLAIM: u64 = 41;
const MONTH: i64 = 30 * DAY;

async fn open() -> Shop {
    let shop = Shop::open().await;
    publish(&shop, Some(MONTH)).await;
    shop
}

/// Publishes both items with how long they last.
async fn publish(shop: &Shop, lasts: Option<i64>) {
    for (id, each) in [(RANK, Some(1)), (CLAIM, None)] {
        let item = json!({ "id": id, "name": format!("item {id}"), "price": 100, "active": true, "user_limit": each });
        let published = json!({ "item": item, "category": 1, "delivery": { "expires_after": lasts } });
        shop.write_all(vec![published_item(&published)]).await;
    }
}

/// Units that a user owns now, and the sum paid for them.
async fn owned(shop: &Shop, user: u64, item: u64) -> (u32, i64) {
    let Owned { units, paid } = shop.ledger(user).await.of(ItemId::new(item)).at(shop.now());
    (units, paid.minor())
}

/// In how many days what a user owns of an item ends.
async fn left(shop: &Shop, user: u64, item: u64) -> i64 {
    let run = shop.ledger(user).await.of(ItemId::new(item)).run.unwrap();
    (run.ends_at - shop.now()) / DAY
}

async fn buy(shop: &Shop, order: &str, item: u64, count: u32) -> Result<(), RecordError> {
    shop.record(paid(order, Some(1), &[(item, count, 100 * i64::from(count))])).await.map(|_| ())
}

async fn refund(shop: &Shop, order: &str) {
    shop.set_status(order, OrderStatus::Refunded).await.unwrap();
}

fn is_over_limit(bought: &Result<(), RecordError>) -> bool {
    let limit = OrderRefusal::UserLimit { item: ItemId::new(RANK), limit: 1 };
    matches!(bought, Err(RecordError::Refused(refusal)) if *refusal == limit)
}

#[tokio::test]
async fn what_has_ended_counts_for_no_limit_and_its_units_stay_sold() {
    let shop = open().await;
    buy(&shop, "first", RANK, 1).await.unwrap();
    shop.days(29);
    assert!(is_over_limit(&buy(&shop, "early", RANK, 1).await));
    assert_eq!(owned(&shop, 1, RANK).await, (1, 100));
    shop.days(1);
    assert_eq!(owned(&shop, 1, RANK).await, (0, 0));
    buy(&shop, "second", RANK, 1).await.unwrap();
    assert_eq!((owned(&shop, 1, RANK).await, left(&shop, 1, RANK).await), ((1, 100), 30));
    assert!(is_over_limit(&buy(&shop, "third", RANK, 1).await));
    assert_eq!(shop.sold(RANK).await, 2);
    assert_audit(&shop.db).await;
}

#[tokio::test]
async fn a_refund_of_what_has_ended_takes_nothing_off_what_is_owned() {
    let shop = open().await;
    buy(&shop, "first", RANK, 1).await.unwrap();
    shop.days(31);
    buy(&shop, "second", RANK, 1).await.unwrap();
    refund(&shop, "first").await;
    assert_eq!((owned(&shop, 1, RANK).await, left(&shop, 1, RANK).await), ((1, 100), 30));
    assert!(is_over_limit(&buy(&shop, "third", RANK, 1).await));
    assert_audit(&shop.db).await;
    refund(&shop, "second").await;
    assert_eq!(owned(&shop, 1, RANK).await, (0, 0));
    buy(&shop, "fourth", RANK, 1).await.unwrap();
    assert_eq!(left(&shop, 1, RANK).await, 30);
    assert_audit(&shop.db).await;
}

#[tokio::test]
async fn purchases_add_their_times_and_a_refund_takes_its_own_off() {
    let shop = open().await;
    buy(&shop, "first", CLAIM, 1).await.unwrap();
    shop.days(10);
    buy(&shop, "second", CLAIM, 2).await.unwrap();
    assert_eq!((owned(&shop, 1, CLAIM).await, left(&shop, 1, CLAIM).await), ((3, 300), 80));
    refund(&shop, "first").await;
    assert_eq!((owned(&shop, 1, CLAIM).await, left(&shop, 1, CLAIM).await), ((2, 200), 50));
    assert_audit(&shop.db).await;
    shop.days(50);
    assert_eq!(owned(&shop, 1, CLAIM).await, (0, 0));
}

#[tokio::test]
async fn a_gift_that_has_ended_can_be_given_to_its_recipient_again() {
    let shop = open().await;
    let gift = |order: &str| {
        let order = paid(order, Some(1), &[(RANK, 1, 100)]);
        NewOrder { lines: vec![order.lines[0].clone().gift_for(UserId::new(2))], ..order }
    };
    shop.record(gift("first")).await.unwrap();
    assert!(shop.record(gift("early")).await.is_err());
    assert_eq!((owned(&shop, 1, RANK).await, owned(&shop, 2, RANK).await), ((0, 0), (1, 100)));
    shop.days(30);
    shop.record(gift("second")).await.unwrap();
    assert_eq!((owned(&shop, 2, RANK).await, left(&shop, 2, RANK).await), ((1, 100), 30));
    assert_audit(&shop.db).await;
}

#[tokio::test]
async fn what_was_bought_when_the_item_did_not_end_lasts() {
    let shop = open().await;
    publish(&shop, None).await;
    buy(&shop, "lasting", CLAIM, 1).await.unwrap();
    publish(&shop, Some(MONTH)).await;
    buy(&shop, "ending", CLAIM, 2).await.unwrap();
    assert_eq!(owned(&shop, 1, CLAIM).await, (3, 300));
    shop.days(60);
    assert_eq!(owned(&shop, 1, CLAIM).await, (1, 100));
    buy(&shop, "again", CLAIM, 1).await.unwrap();
    publish(&shop, None).await;
    buy(&shop, "more", CLAIM, 1).await.unwrap();
    assert_eq!(owned(&shop, 1, CLAIM).await, (3, 300));
    refund(&shop, "lasting").await;
    shop.days(30);
    assert_eq!(owned(&shop, 1, CLAIM).await, (1, 100));
    assert_audit(&shop.db).await;
}

#[tokio::test]
async fn what_was_owned_before_ends_were_stored_lasts() {
    let shop = open().await;
    Shop::own_uncounted(&shop.db, 1, RANK).await;
    shop.days(400);
    assert!(is_over_limit(&buy(&shop, "more", RANK, 1).await));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn racing_purchases_of_what_has_ended_begin_it_again_once() {
    let shop = open().await;
    buy(&shop, "first", RANK, 1).await.unwrap();
    buy(&shop, "claim", CLAIM, 1).await.unwrap();
    shop.days(31);
    let purchases = (0..16).map(|number| {
        let item = if number % 2 == 0 { RANK } else { CLAIM };
        let order = paid(&format!("o{number}"), Some(1), &[(item, 1, 100)]);
        async { record(&shop.with_faults(|_, _| None), &shop.clock, order).await }
    });
    let all = join_all(purchases).await;
    for error in all.iter().filter_map(|result| result.as_ref().err()) {
        assert!(matches!(error, RecordError::Refused(_) | RecordError::Store(StoreError::Contended)), "{error:?}");
    }
    let of = |item: u64| {
        let sells = move |recorded: &&shared::shop::orders::Recorded| recorded.stored.order.lines[0].item.get() == item;
        all.iter().flatten().filter(sells).count()
    };
    assert_eq!((of(RANK), owned(&shop, 1, RANK).await.0), (1, 1));
    assert_eq!(u32::try_from(of(CLAIM)).unwrap(), owned(&shop, 1, CLAIM).await.0);
    assert_eq!(left(&shop, 1, CLAIM).await, 30 * i64::try_from(of(CLAIM)).unwrap());
    assert_audit(&shop.db).await;
}

#[derive(Debug, Clone)]
enum Step {
    Buy(u32),
    Refund(usize),
    Wait(i64),
    Publish(Option<i64>),
}

fn some_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1_u32..3).prop_map(Step::Buy),
        2 => (0_usize..8).prop_map(Step::Refund),
        4 => (0_i64..40).prop_map(Step::Wait),
        1 => prop::sample::select(vec![None, Some(MONTH), Some(DAY)]).prop_map(Step::Publish),
    ]
}

/// A purchase: its units, how long each lasts, and the run that it is part of.
struct Bought {
    units: u32,
    run: Option<usize>,
    lasts: i64,
}

async fn play(steps: Vec<Step>) {
    let shop = open().await;
    let (mut all, mut lasts, mut ends): (Vec<Bought>, _, Vec<i64>) = (Vec::new(), Some(MONTH), Vec::new());
    for step in steps {
        let now = shop.now();
        match step {
            Step::Wait(more) => shop.days(more),
            Step::Publish(next) => {
                publish(&shop, next).await;
                lasts = next;
            }
            Step::Buy(units) => {
                buy(&shop, &format!("o{}", all.len()), CLAIM, units).await.unwrap();
                if let Some(lasts) = lasts {
                    if ends.last().is_none_or(|end| *end <= now) {
                        ends.push(now);
                    }
                    *ends.last_mut().unwrap() += i64::from(units) * lasts;
                }
                let run = lasts.and(ends.len().checked_sub(1));
                all.push(Bought { units, run, lasts: lasts.unwrap_or_default() });
            }
            Step::Refund(place) if place < all.len() && all[place].units > 0 => {
                refund(&shop, &format!("o{place}")).await;
                let bought = &mut all[place];
                if let Some(run) = bought.run {
                    ends[run] -= i64::from(bought.units) * bought.lasts;
                }
                bought.units = 0;
            }
            Step::Refund(_) => {}
        }
        let now = shop.now();
        let last = ends.len().checked_sub(1).filter(|last| ends[*last] > now);
        let counts = |bought: &&Bought| bought.run.is_none() || bought.run == last;
        let expected: u32 = all.iter().filter(counts).map(|bought| bought.units).sum();
        assert_eq!(owned(&shop, 1, CLAIM).await, (expected, 100 * i64::from(expected)));
    }
    assert_audit(&shop.db).await;
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(count("PROPTEST_CASES", 24)))]

    #[test]
    fn any_sequence_of_purchases_and_refunds_is_what_the_orders_add_up_to(
        steps in prop::collection::vec(some_step(), 1..16),
    ) {
        crate::block_on(play(steps));
    }
}
