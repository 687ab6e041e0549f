//! Subscriptions that the owner lets last longer than what is paid.

use crate::shop::{DAY, Shop};
use crate::subscribers::GRACE;
use shared::model::RunName;
use shared::rules::subscription::access_until;
use shared::shop::delivery::timed_ends;
use shared::shop::subscriptions::extend_subscription;
use stripe_stand_in::Action;
use tests::Fault;

const THREE_DAYS: i64 = 3 * DAY;

fn run(name: &str) -> RunName {
    RunName::parse(name).unwrap()
}

#[tokio::test]
async fn an_outage_is_given_back_once_when_the_subscription_ends() {
    let (mut shop, first) = Shop::subscribed().await;
    let before = shop.subscription(&first).await;
    let outage = run("outage");
    let clock = &shop.clock;
    for fault in [Fault::Away, Fault::ResponseLost] {
        for nth in 0..6 {
            let instance = shop.failing(move |at, _| (at == nth).then_some(fault));
            drop(extend_subscription(&instance.db, clock, &before.id, (&outage, THREE_DAYS)).await);
        }
    }
    let again = extend_subscription(&shop.db, clock, &before.id, (&outage, THREE_DAYS)).await.unwrap();
    assert_eq!(again, None, "it was done before");
    let after = shop.subscription(&first).await;
    assert_eq!((access_until(&after), after.paid_until), (access_until(&before) + THREE_DAYS, before.paid_until));
    assert_eq!(shop.entries().await[0].access_until, Some(access_until(&after)));
    assert_eq!(timed_ends(&shop.db, &outage, shop.now()).await.unwrap(), [], "its end is that of its access");
    shop.sweep_and_run().await;
    assert_eq!(shop.subscription(&first).await.scheduled, access_until(&after));
    // A renewal is charged as before, and the days are still given.
    shop.days(31);
    shop.after(&first, Action::Renew).await;
    shop.after(&first, Action::CancelAtPeriodEnd).await;
    shop.sweep_and_run().await;
    let ends = shop.subscription(&first).await;
    assert_eq!(access_until(&ends), ends.paid_until + THREE_DAYS);
    shop.sweep_after((ends.paid_until - shop.now()) / DAY + 2).await;
    assert!(shop.has_access(), "{:?}", shop.ran);
    shop.sweep_after(2).await;
    assert!(!shop.has_access(), "{:?}", shop.ran);
}

#[tokio::test]
async fn what_gives_no_access_is_not_extended() {
    let (mut shop, first) = Shop::subscribed().await;
    let id = shop.subscription(&first).await.id;
    shop.after(&first, Action::CancelNow).await;
    shop.sweep_after(31 + GRACE / DAY).await;
    let clock = &shop.clock;
    assert_eq!(extend_subscription(&shop.db, clock, &id, (&run("late"), THREE_DAYS)).await.unwrap(), None);
    assert_eq!(extend_subscription(&shop.db, clock, "sub_none", (&run("late"), THREE_DAYS)).await.unwrap(), None);
}
