//! Refunds in part: each increase is taken off ledgers and statistics once, and a refund in full takes off the rest. When one
//! fails days after it was made, what a partial refund took off is counted again, an order that was refunded in full stays so,
//! and the refund may be tried again.

use crate::at_provider::TOTAL;
use crate::shop::{FIVE, PLAIN, PRICE, Shop, TWENTY, USERS, gift, line, money, paid, user};
use crate::sums::{Facts, assert_quiet, assert_sums};
use proptest::prelude::*;
use shared::model::{
    Donations, Donor, Holding, InternalId, ItemId, Money, MonthSum, OrderStatus, RefundOutcome, TaxMode, TaxPrices,
    TopPatrons, UserId,
};
use shared::rules::payment::PaymentState;
use shared::shop::payments::{Desk, RefundKind, Settled, Swept};
use shared::shop::statistics::{self, catch_up};
use shared::table::keys;
use stripe_stand_in::Action;
use tests::count;

/// The last user of the fixture whose purchases are compared; the first is 1.
const BUYERS: u64 = 4;

/// Everything that an order changes but counters and codes.
#[derive(Debug, PartialEq, Eq)]
struct Shown {
    ledgers: Vec<Vec<(ItemId, Holding)>>,
    donations: Donations,
    patrons: Vec<Donor>,
    top: TopPatrons,
    month: Vec<MonthSum>,
}

async fn shown(shop: &Shop) -> Shown {
    let db = &shop.db;
    let mut owned = Vec::new();
    for user in 1..=BUYERS {
        let ledger = shop.ledger(user).await;
        owned.push(ledger.iter().filter(|(_, held)| *held != Holding::default()).collect());
    }
    let donations = statistics::donations(db).await.unwrap();
    let month = statistics::month_sums(db, &donations.month).await.unwrap();
    let mut patrons = statistics::patrons(db).await.unwrap();
    patrons.sort_by_key(|donor| donor.user);
    Shown { ledgers: owned, donations, patrons, top: statistics::top_patrons(db).await.unwrap(), month }
}

/// A paid checkout of user 1, with a gift for a player without an account. It costs more than the gift card has.
async fn buy(shop: &Shop, units: u32, on_cart: Option<&str>) -> InternalId {
    let lines = vec![line(1, FIVE, units), line(2, PLAIN, 12), gift(3, crate::shop::TWENTY, "Newcomer")];
    shop.fill_with(1, lines, on_cart).await;
    let order = shop.create(1).await.unwrap().order;
    shop.pay(&order).await;
    order
}

async fn others_buy(shop: &Shop) {
    for (id, user) in [("first", 1), ("second", 2)] {
        let order = paid(id, Some(user), &[(FIVE, 1, PRICE), (PLAIN, 1, 37)]);
        shop.record(order).await.unwrap();
    }
}

/// Refunds shares of what is left, in hundredths, and then all of it.
async fn refund_by_parts(units: u32, on_cart: Option<&'static str>, shares: Vec<i64>, tax: Option<TaxPrices>) {
    let (shop, facts) = (Shop::open().await, Facts::of_fixture());
    shop.set_payments(|payments| {
        payments.tax = if tax.is_some() { TaxMode::Stripe } else { TaxMode::None };
        payments.tax_prices = tax.unwrap_or_default();
    })
    .await;
    others_buy(&shop).await;
    let before = shown(&shop).await;
    let order = buy(&shop, units, on_cart).await;
    let price = shop.order(&order).await.order.price.minor();
    let mut refunded = 0;
    for share in shares {
        let mut more = (price - refunded) * share / 100;
        if more == 1 && tax == Some(TaxPrices::Exclusive) {
            // All of it may be tax: no sum changes then, and the recent donations show the cent until the next refund.
            more = 0;
        }
        refunded += more;
        if more > 0 {
            assert_eq!(shop.refund_there(&order, more).await, Settled::Changed);
        }
        assert_eq!(shop.settle(&order).await, Settled::Unchanged);
        shop.sweep().await;
        assert_sums(&shop.db, &facts).await;
        let stored = shop.order(&order).await;
        assert_eq!((stored.order.status, stored.effects.refunded.minor()), (OrderStatus::Paid, refunded));
        let recent = shown(&shop).await.donations.recent;
        let own = recent.iter().find(|donation| donation.order == order).unwrap();
        assert_eq!(own.amount.minor(), price - refunded);
    }
    assert_eq!(shop.refund_there(&order, price - refunded).await, Settled::Changed);
    assert_eq!(shop.status(&order).await, OrderStatus::Refunded);
    shop.sweep().await;
    assert_sums(&shop.db, &facts).await;
    assert_eq!(shown(&shop).await, before);
    shop.sweep_later().await;
    assert_eq!(shown(&shop).await, before);
    assert_eq!(shop.unfinished().await, 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(count("PROPTEST_CASES", 32)))]

    #[test]
    fn refunds_in_part_and_one_in_full_leave_nothing_of_an_order(
        units in 1_u32..4,
        on_cart in prop::option::of(prop::sample::select(vec!["once", "few", "card"])),
        shares in prop::collection::vec(0_i64..100, 0..6),
        tax in prop::option::of(prop::sample::select(vec![TaxPrices::Inclusive, TaxPrices::Exclusive])),
    ) {
        crate::block_on(refund_by_parts(units, on_cart, shares, tax));
    }
}

#[tokio::test]
async fn the_statistics_follow_a_payment_and_a_refund_at_the_next_sweep() {
    let shop = Shop::open().await;
    let order = buy(&shop, 2, None).await;
    let patron = keys::patron(UserId::new(1));
    assert_eq!(shop.db.get(&patron, true).await.unwrap(), None);
    assert_eq!(shop.sweep().await, Swept { due: 1, done: 1, ..Swept::default() });
    assert_eq!(shop.number(&patron, "amount").await, 1_500);
    shop.refund_there(&order, 90).await;
    let stored = shop.order(&order).await;
    assert_eq!((stored.effects.refunded.minor(), stored.statistics_due()), (90, true));
    assert_eq!(shop.number(&patron, "amount").await, 1_500);
    assert_eq!(shop.sweep().await, Swept { due: 1, done: 1, ..Swept::default() });
    assert_eq!(shop.number(&patron, "amount").await, 1_410);
    shop.assert_sums().await;
    assert_eq!(shop.unfinished().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refund_in_the_second_in_which_its_order_is_counted_is_not_lost() {
    let shop = Shop::open().await;
    let order = buy(&shop, 2, None).await;
    shop.act(&order, Action::Refund(Some(90)));
    let (state, provider, clock, id) =
        (shop.says(&order).await, shop.stripe.clone(), shop.clock.clone(), order.clone());
    // The transaction that counts the order is the first.
    let counting = shop.interrupted(1, move |db| {
        let (provider, clock, id, state) = (provider.clone(), clock.clone(), id.clone(), state.clone());
        async move {
            Desk::new(&db, &clock, &provider).apply(&id, &state).await.unwrap();
        }
    });
    catch_up(&counting, &order).await.unwrap();
    assert_eq!(shop.order(&order).await.effects.refunded.minor(), 90);
    shop.sweep().await;
    assert_eq!(shop.number(&keys::patron(UserId::new(1)), "amount").await, 1_410);
    assert_quiet(&shop).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refund_in_full_that_meets_one_in_part_takes_off_only_the_rest() {
    let shop = Shop::open().await;
    others_buy(&shop).await;
    let before = shown(&shop).await;
    let order = buy(&shop, 1, None).await;
    let price = shop.order(&order).await.order.price;
    let paid = shop.says(&order).await;
    let says = async |refunded: i64| {
        let state = PaymentState { refunded: Money::from_minor(refunded), ..paid.clone() };
        shop.desk().apply(&order, &state).await.unwrap()
    };
    for refunded in 60..67 {
        says(refunded).await;
    }
    // Both read the same order; the one that is later decides again.
    tokio::join!(says(67), says(price.minor()));
    assert_eq!(shop.status(&order).await, OrderStatus::Refunded);
    shop.sweep_later().await;
    assert_eq!(shown(&shop).await, before);
}

#[tokio::test]
async fn a_refund_in_part_brings_nothing_of_an_erased_owner_back() {
    let shop = Shop::open().await;
    let order = buy(&shop, 1, None).await;
    shop.sweep().await;
    let user = UserId::new(1);
    let rows = [keys::user(user), keys::ledger(user), keys::patron(user)];
    for key in &rows {
        shop.delete(key).await;
    }
    assert_eq!(shop.refund_there(&order, 90).await, Settled::Changed);
    shop.sweep().await;
    for key in &rows {
        assert_eq!(shop.db.get(key, true).await.unwrap(), None);
    }
    assert!(!shop.order(&order).await.statistics_due());
}

async fn paid_by_patron(shop: &Shop) -> i64 {
    shop.number(&keys::patron(UserId::new(1)), "amount").await
}

/// The order's sums: refunded, failed, and not returned.
async fn sums(shop: &Shop, order: &InternalId) -> (i64, i64, i64) {
    let effects = shop.order(order).await.effects;
    (effects.refunded.minor(), effects.failed_refunds.minor(), effects.unreturned.minor())
}

#[tokio::test]
async fn a_partial_refund_that_fails_is_counted_again_and_may_be_repeated() {
    let shop = Shop::open().await;
    let order = shop.paid().await;
    shop.refund(&order, Some(200)).await.unwrap();
    assert_eq!((sums(&shop, &order).await, paid_by_patron(&shop).await), ((200, 0, 0), TOTAL - 200));
    shop.act(&order, Action::FailRefund);
    // The webhook event names the payment; that it is repeated or late changes nothing.
    for _ in 0..2 {
        assert!(shop.webhook_event(&order).await);
        shop.sweep().await;
        assert_eq!((sums(&shop, &order).await, paid_by_patron(&shop).await), ((0, 200, 200), TOTAL));
    }
    shop.assert_sums().await;
    let stored = shop.order(&order).await;
    assert_eq!(stored.order.status, OrderStatus::Paid);
    assert_eq!(stored.effects.refund.unwrap().outcome, Some(RefundOutcome::Failed));
    let again = shop.refund(&order, Some(200)).await.unwrap();
    assert_eq!((again.kind, again.stored.effects.refund.unwrap().number), (RefundKind::Made, 2));
    assert_eq!((sums(&shop, &order).await, paid_by_patron(&shop).await), ((200, 200, 0), TOTAL - 200));
    shop.assert_sums().await;
}

#[tokio::test]
async fn a_refunded_order_whose_refund_fails_stays_refunded_and_is_marked() {
    let shop = Shop::open().await;
    let order = shop.paid().await;
    shop.refund(&order, None).await.unwrap();
    shop.act(&order, Action::FailRefund);
    for _ in 0..2 {
        shop.webhook_event(&order).await;
        assert_eq!(shop.order(&order).await.order.status, OrderStatus::Refunded);
        assert_eq!(sums(&shop, &order).await, (0, TOTAL, TOTAL));
    }
    let again = shop.refund(&order, None).await.unwrap();
    assert_eq!((again.kind, again.amount), (RefundKind::Made, money(TOTAL)));
    assert_eq!(sums(&shop, &order).await, (0, TOTAL, 0));
    assert_eq!(shop.refund(&order, None).await.unwrap().kind, RefundKind::Already);
    shop.act(&order, Action::FailRefund);
    shop.webhook_event(&order).await;
    assert_eq!(sums(&shop, &order).await, (0, 2 * TOTAL, TOTAL), "the second one fails as well");
    shop.assert_sums().await;
}

#[tokio::test]
async fn an_automatic_refund_that_fails_pays_nothing_and_is_marked() {
    let shop = Shop::open().await;
    let order = shop.late().await;
    shop.settle(&order).await;
    assert_eq!(shop.order(&order).await.order.status, OrderStatus::Cancelled);
    shop.act(&order, Action::FailRefund);
    // What it bought is there again: it is not paid by itself.
    shop.set_status("other", OrderStatus::Refunded).await.unwrap();
    for _ in 0..2 {
        assert!(shop.webhook_event(&order).await);
        assert_eq!(shop.order(&order).await.order.status, OrderStatus::Cancelled);
    }
    let price = shop.order(&order).await.order.price.minor();
    assert_eq!(sums(&shop, &order).await, (0, price, price));
    assert_eq!(shop.refund(&order, None).await.unwrap().kind, RefundKind::Made);
    assert_eq!(sums(&shop, &order).await, (0, price, 0));
    assert_eq!(shop.says(&order).await.refunded, money(price));
}

/// A step of what happens to a payment: a refund of so many hundredths of what is left, or the failure of one.
#[derive(Debug, Clone, Copy)]
enum Step {
    Refund(i64),
    Fail,
}

/// Those whose purchases are compared: the buyer, and the player whose account the gift makes.
fn facts() -> Facts {
    Facts { users: [1, USERS + 1].map(user).into(), ..Facts::of_fixture() }
}

/// A paid order, of which nothing is refunded.
struct Paid {
    shop: Shop,
    order: InternalId,
    price: i64,
}

impl Paid {
    async fn open() -> Self {
        let shop = Shop::open().await;
        shop.fill_with(1, vec![line(1, FIVE, 2), line(2, PLAIN, 12), gift(3, TWENTY, "Newcomer")], None).await;
        let order = shop.create(1).await.unwrap().order;
        shop.pay(&order).await;
        shop.sweep().await;
        let price = shop.order(&order).await.order.price.minor();
        Self { shop, order, price }
    }

    async fn assert_refunded(&self, refunded: i64) {
        self.shop.sweep().await;
        let stored = self.shop.order(&self.order).await;
        assert_eq!((stored.order.status, stored.effects.refunded.minor()), (OrderStatus::Paid, refunded));
        assert!(!stored.statistics_due());
    }

    /// Takes the steps, and settles by every state that the provider was in, in any order. At the end all refunds fail, so
    /// that nothing is refunded, as before.
    async fn walk(&self, steps: Vec<Step>, late: Vec<usize>) {
        let Self { shop, order, price } = self;
        let (mut made, mut refunded, mut states): (Vec<i64>, i64, Vec<PaymentState>) = (Vec::new(), 0, Vec::new());
        for step in steps {
            match step {
                Step::Refund(share) => {
                    let more = (price - refunded) * share / 100;
                    if more == 0 {
                        continue;
                    }
                    refunded += more;
                    made.push(more);
                    shop.act(order, Action::Refund(Some(more)));
                }
                Step::Fail => {
                    let Some(amount) = made.pop() else { continue };
                    refunded -= amount;
                    shop.act(order, Action::FailRefund);
                }
            }
            states.push(shop.says(order).await);
            // An older state may arrive after a newer one.
            for place in &late {
                let state = &states[place % states.len()];
                shop.desk().apply(order, state).await.unwrap();
            }
            shop.settle(order).await;
            self.assert_refunded(refunded).await;
        }
        // Whatever was the last step: shorter histories end at the others.
        assert_sums(&shop.db, &facts()).await;
        for _ in made {
            shop.act(order, Action::FailRefund);
        }
        shop.settle(order).await;
        self.assert_refunded(0).await;
    }
}

#[test]
fn whatever_fails_in_any_order_the_sums_are_what_is_refunded_now() {
    let step = prop_oneof![2 => (0_i64..60).prop_map(Step::Refund), 1 => Just(Step::Fail)];
    let steps = prop::collection::vec(step, 1..6);
    let config = ProptestConfig::with_cases(count("PROPTEST_CASES", 32));
    proptest!(config, |(steps in steps, late in prop::collection::vec(0_usize..8, 0..3))| {
        crate::block_on(async { Paid::open().await.walk(steps, late).await });
    });
}
