//! The scheduled sweep after an outage: many orders are due, and many events were missed; and after a sale: many orders are
//! paid.

use crate::schedule;
use serde_json::{Value, json};
use shared::clock::Clock;
use shared::config::PaymentKeys;
use shared::model::{ItemId, Money, Order, OrderEffects, OrderLine, OrderStatus, PlayerName, User, UserId};
use shared::providers::Stripe;
use shared::shop::orders::unfinished::{self, Unfinished};
use shared::shop::orders::{self, StoredOrder};
use shared::shop::payments::Provider;
use shared::shop::payments::webhook_events::EventCursor;
use shared::shop::statistics;
use shared::table::codec::encode_live;
use shared::table::keys;
use shared::table::transaction::{Write, send};
use std::time::{Duration, Instant};
use stripe::ApiBase;
use stripe_stand_in::{Action, Fault, FaultKind, TEST_MODE};
use tests::TestStore;

/// The time of a call to the provider.
const DELAY: Duration = Duration::from_millis(50);
/// How many calls a second the sweep makes at most.
const CALLS: u64 = 20;

/// How much is left to do.
#[derive(Debug, Clone, Copy)]
struct Backlog {
    /// Events, each of another checkout.
    events: u64,
    /// Orders that are due, whose checkouts are paid.
    orders: u64,
    /// Orders among them whose checkout the provider never shows.
    failing: u64,
}

impl Backlog {
    /// A small one, or that of the variable `BACKLOG`: events, orders and failing ones, such as `5000,2000,50`.
    fn wanted() -> Self {
        let text = std::env::var("BACKLOG").unwrap_or_else(|_| "25,12,2".to_owned());
        let numbers: Vec<u64> = text.split(',').map(|number| number.trim().parse().unwrap()).collect();
        let [events, orders, failing] = numbers[..] else { panic!("BACKLOG={text}") };
        Self { events, orders, failing }
    }
}

/// An order of 5.00 that waits for its checkout.
fn pending(number: u64, now: i64) -> StoredOrder {
    let (id, due) = (format!("backlog{number:06}"), now + 2_100);
    let order = json!({ "id": 900_000 + number, "internal_id": id, "price": 500, "currency": "EUR", "digits": 2,
                        "status": OrderStatus::Pending, "gateway": "Stripe", "created_at": now });
    let lines = vec![OrderLine::new(ItemId::new(302), 1, Money::from_minor(500))];
    let order = Order { lines, ..serde_json::from_value(order).unwrap() };
    let provider = json!({ "expires_at": due, "storefront": "https://store.example", "live": false });
    let provider = serde_json::from_value(provider).unwrap();
    StoredOrder { order, effects: OrderEffects { held: true, provider, due: Some(due), ..OrderEffects::default() } }
}

async fn write(store: &TestStore, writes: Vec<Write>) {
    send(&store.db, writes).await.unwrap();
}

/// Opens a checkout and pays it; no webhook event is sent.
async fn open_paid(store: &TestStore, stripe: &Stripe, stored: &StoredOrder) -> String {
    let session = stripe.open(stored).await.unwrap().id;
    store.payments.act(&session, &Action::Pay).unwrap();
    session
}

async fn fill(store: &TestStore, backlog: Backlog) {
    let keys = PaymentKeys::parse(&stripe_stand_in::payment_keys()).unwrap().stripe.unwrap();
    let stripe = Stripe::new(keys, ApiBase::parse(&store.payments.base_url()).unwrap());
    for number in 0..backlog.orders {
        let mut stored = pending(number, store.clock.seconds());
        let session = open_paid(store, &stripe, &stored).await;
        if number < backlog.failing {
            let path = format!("/v1/checkout/sessions/{session}");
            store.payments.inject(Fault::before(FaultKind::Status(500)).on(&path).for_ever());
        }
        stored.effects.provider.as_mut().unwrap().session = Some(session);
        let row = Unfinished::put(&stored.order, stored.effects.due.unwrap()).unwrap();
        write(store, vec![stored.put_new().unwrap(), row]).await;
    }
    store.clock.advance(Duration::from_hours(1));
    write(store, vec![EventCursor::beginning(store.clock.seconds()).put().unwrap()]).await;
    for number in 0..backlog.events {
        // No order of the table: there is still a look at each.
        open_paid(store, &stripe, &pending(100_000 + number, store.clock.seconds())).await;
    }
    store.clock.advance(Duration::from_hours(1));
}

/// Whether only what always fails is left.
async fn is_handled(store: &TestStore, backlog: Backlog, until: i64) -> bool {
    let mark = EventCursor::read(&store.db).await.unwrap().unwrap();
    let due = unfinished::due(&store.db, store.clock.seconds()).await.unwrap();
    mark.since >= until && due.len() == usize::try_from(backlog.failing).unwrap()
}

pub async fn sweep(store: &TestStore) -> Value {
    let event = serde_json::from_str(&schedule::input("payments/sweep")).unwrap();
    let reply = store.invoke_unchecked("payments", &event).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    reply.data()
}

/// `BACKLOG=5000,2000,50 cargo test -p tests a_backlog_is_handled -- --nocapture` is the benchmark.
#[expect(clippy::print_stderr, reason = "the figures are for who runs the test with --nocapture")]
#[tokio::test(flavor = "multi_thread")]
async fn a_backlog_is_handled_in_few_sweeps_within_the_limits_of_the_provider() {
    let (store, backlog) = (TestStore::open().await, Backlog::wanted());
    fill(&store, backlog).await;
    let (until, calls) = (store.clock.seconds(), store.payments.received().len());
    let connections = store.payments.connections();
    store.payments.slow_down(Some(TEST_MODE), DELAY);
    let (began, mut sweeps) = (Instant::now(), 0);
    while !is_handled(&store, backlog, until).await {
        sweeps += 1;
        assert!(sweeps <= 40, "{backlog:?}");
        let (started, swept) = (Instant::now(), sweep(&store).await);
        eprintln!("sweep {sweeps}: {swept} in {:?}", started.elapsed());
        assert!(started.elapsed() < Duration::from_millis(18_500));
        store.clock.advance(Duration::from_mins(5));
    }
    let (took, calls) = (began.elapsed(), store.payments.received().len() - calls);
    let connections = store.payments.connections() - connections;
    eprintln!("{backlog:?}: {sweeps} sweeps, {took:?}, {calls} calls, {connections} connections");
    assert_eq!(store.payments.rate_limited(), 0);
    assert!(u64::try_from(calls).unwrap() <= (took.as_secs() + 1) * CALLS, "{calls} calls in {took:?}");
    assert!(connections <= sweeps * 10, "{connections} connections in {sweeps} sweeps");
    for number in 0..backlog.orders {
        let id = pending(number, 0).order.internal_id;
        let stored = orders::get(&store.db, &id).await.unwrap().unwrap();
        let status = if number < backlog.failing { OrderStatus::Pending } else { OrderStatus::Paid };
        assert_eq!(stored.order.status, status, "{id}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sweep_pauses_when_the_provider_says_that_there_are_too_many_calls() {
    let store = TestStore::open().await;
    fill(&store, Backlog { events: 0, orders: 3, failing: 0 }).await;
    store.payments.inject(Fault::before(FaultKind::Status(429)).on("/v1/checkout/sessions/"));
    let started = Instant::now();
    let swept = sweep(&store).await;
    assert_eq!((&swept["done"], &swept["failed"]), (&3.into(), &0.into()), "{swept}");
    assert!(started.elapsed() >= Duration::from_secs(1), "{:?}", started.elapsed());
}

/// An order of 5.00 that one of fifty buyers has paid a moment ago.
fn bought(number: u64, now: i64) -> StoredOrder {
    let pending = pending(number, now);
    let order = Order { status: OrderStatus::Paid, owner: Some(buyer(number)), ..pending.order };
    let (held, counted, due) = (false, Some(false), Some(now));
    StoredOrder { order, effects: OrderEffects { held, counted, due, cart_cleared: Some(true), ..pending.effects } }
}

fn buyer(number: u64) -> UserId {
    UserId::new(700_000 + number % 50)
}

/// `PAID=2000 cargo test -p tests statistics_of_a_sale -- --nocapture` is the benchmark.
#[expect(clippy::print_stderr, reason = "the figures are for who runs the test with --nocapture")]
#[tokio::test(flavor = "multi_thread")]
async fn statistics_of_a_sale_follow_within_three_sweeps() {
    let orders: u64 = std::env::var("PAID").map_or(64, |text| text.parse().unwrap());
    let store = TestStore::open().await;
    let (now, before) = (store.clock.seconds(), statistics::donations(&store.db).await.unwrap());
    for number in 0..50 {
        let name = PlayerName::parse(&format!("Buyer_{number}")).unwrap();
        let user = User::of_player(buyer(number), &name, String::new(), format!("{number:032}"), now);
        let key = keys::user(user.id);
        write(&store, vec![Write::put(key.clone(), encode_live(&key, &user).unwrap())]).await;
    }
    for number in 0..orders {
        let stored = bought(number, now);
        let row = Unfinished::put(&stored.order, now).unwrap();
        write(&store, vec![stored.put_new().unwrap(), row]).await;
    }
    let mut sweeps = 0;
    while !unfinished::due(&store.db, now).await.unwrap().is_empty() {
        sweeps += 1;
        assert!(sweeps <= 3, "{orders} orders");
        let (started, swept) = (Instant::now(), sweep(&store).await);
        eprintln!("sweep {sweeps}: {swept} in {:?}", started.elapsed());
        assert!(started.elapsed() < Duration::from_millis(18_500));
        store.clock.advance(Duration::from_mins(1));
    }
    let after = statistics::donations(&store.db).await.unwrap();
    let sum = i64::try_from(orders).unwrap() * 500;
    for (goal, given) in &after.goals {
        assert_eq!(given.minor() - before.goals[goal].minor(), sum, "goal {goal}");
    }
    assert!(after.recent.iter().all(|donation| donation.order.as_str().starts_with("backlog")), "{:?}", after.recent);
    let patrons = statistics::patrons(&store.db).await.unwrap();
    let given = patrons.iter().filter(|donor| donor.user >= buyer(0)).map(|donor| donor.amount.minor());
    assert_eq!(given.sum::<i64>(), sum);
}
