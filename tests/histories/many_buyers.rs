//! Many buyers at once of one item, with one coupon and one gift card: never is more sold than there is. Each resource is
//! checked by itself.

use super::bench::{Bench, INSTANCES};
use super::books;
use super::checker::{Event, Verdict, check};
use super::made::Made;
use super::model::Status;
use super::one_buyer::{runner, wanted};
use super::resource::{Resource, Use};
use super::shop::{BALANCE, CARD, ITEMS, LIMITED, TENTH, VERSIONS};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use stripe_stand_in::Action;
use tests::{Call, Reply};
use tokio::sync::Barrier;

const BUYERS: usize = 6;
/// How many lookups an address has in a minute.
const LOOKUPS: i64 = 18;
/// How often the coupon may be used in all: units run out before many buyers could use it.
const USES: usize = 1;
/// How long a buyer waits for the others.
const START: Duration = Duration::from_secs(5);

/// How a deal ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Pay,
    Refund,
    Expire,
    /// The buyer goes on with the next deal.
    Leave,
}

/// A purchase by a buyer.
#[derive(Debug, Clone, Copy)]
struct Deal {
    units: u64,
    code: Option<u8>,
    ending: Ending,
    /// Lookups of an order from the address that all buyers share.
    lookups: usize,
}

fn some_deals() -> impl Strategy<Value = Vec<Vec<Deal>>> {
    let ending = prop_oneof![
        3 => Just(Ending::Pay),
        2 => Just(Ending::Refund),
        2 => Just(Ending::Expire),
        1 => Just(Ending::Leave),
    ];
    let code = prop_oneof![1 => Just(None), 2 => Just(Some(TENTH)), 1 => Just(Some(CARD))];
    let deal = (1_u64..4, code, ending, 0_usize..4).prop_map(|(units, code, ending, lookups)| Deal {
        units,
        code,
        ending,
        lookups,
    });
    prop::collection::vec(prop::collection::vec(deal, 1..4), BUYERS)
}

/// A moment of a buyer's order.
#[derive(Debug, Clone, PartialEq, Eq)]
enum What {
    /// A checkout began, or it is not known whether it did.
    Begun(Option<String>),
    /// Something began that may end the order.
    Ending,
    /// The service has confirmed that it knows how an order ended.
    Ended(String),
    /// A lookup that was not refused.
    Lookup,
}

#[derive(Debug, Clone)]
struct Record {
    buyer: usize,
    what: What,
    call: u64,
    ret: u64,
}

struct Run {
    bench: Arc<Bench>,
    names: Vec<String>,
    codes: [String; 3],
    address: String,
    /// The barrier at which buyers wait for each other before their first checkouts.
    start: Barrier,
    moment: AtomicU64,
    records: Mutex<Vec<Record>>,
}

/// The counts of all histories.
#[derive(Debug, Clone, Copy, Default)]
struct Outcome {
    operations: usize,
    orders: usize,
    sold_out: usize,
}

impl Run {
    fn now(&self) -> u64 {
        self.moment.fetch_add(1, Ordering::SeqCst) + 1
    }

    fn note(&self, buyer: usize, call: u64, what: What) {
        let ret = self.now();
        self.records.lock().unwrap().push(Record { buyer, what, call, ret });
    }

    async fn send(&self, buyer: usize, token: &str, call: Call) -> Reply {
        let call = if token.is_empty() { call } else { call.token(token) };
        let reply = self.bench.instances[buyer % INSTANCES].send(call).await;
        assert_ne!(reply.status.as_u16(), 500, "{}", reply.text);
        reply
    }

    async fn post(&self, buyer: usize, token: &str, path: &str, body: Value) -> Reply {
        self.send(buyer, token, Call::post(path).json(&body).from_ip(&self.bench.address())).await
    }

    async fn trade(&self, buyer: usize, token: String, deals: Vec<Deal>) {
        for (place, deal) in deals.into_iter().enumerate() {
            for _ in 0..deal.lookups {
                let call = self.now();
                let lookup = Call::post("/payments/checkStatus").json(&json!({ "order_id": "none" }));
                let reply = self.send(buyer, "", lookup.from_ip(&self.address)).await;
                if reply.status == 200 {
                    self.note(buyer, call, What::Lookup);
                }
            }
            let path = format!("/cart/add/{}", ITEMS[usize::from(LIMITED)]);
            self.post(buyer, &token, &path, json!({ "count": deal.units })).await;
            if let Some(code) = deal.code {
                let body = json!({ "coupon": self.codes[usize::from(code)] });
                self.post(buyer, &token, "/cart/acceptCoupon", body).await;
            }
            if place == 0 {
                // A buyer who failed keeps no others waiting.
                _ = tokio::time::timeout(START, self.start.wait()).await;
            }
            if let Some((order, session)) = self.begin(buyer, &token).await {
                self.end(buyer, &order, &session, deal.ending).await;
            }
        }
    }

    /// Begins a checkout: the order and its session.
    async fn begin(&self, buyer: usize, token: &str) -> Option<(String, String)> {
        let call = self.now();
        let agreed = json!({ "paymentMethod": "Stripe", "termsAndConditions": true, "privacyPolicy": true });
        let reply = self.post(buyer, token, "/payments/create", agreed).await;
        let data = if reply.status == 200 { reply.json() } else { Value::Null };
        let order = data["order_id"].as_str().map(ToOwned::to_owned);
        self.note(buyer, call, What::Begun(order.clone()));
        let session = data["data"]["url"].as_str()?.rsplit('/').next()?.to_owned();
        session.starts_with("cs_").then_some((order?, session))
    }

    async fn end(&self, buyer: usize, order: &str, session: &str, ending: Ending) {
        let actions: &[Action] = match ending {
            Ending::Pay => &[Action::Pay],
            Ending::Refund => &[Action::Pay, Action::Refund(None)],
            Ending::Expire => &[Action::Expire],
            Ending::Leave => &[],
        };
        for action in actions {
            let call = self.now();
            if self.bench.store.payments.act(session, action).is_err() {
                return;
            }
            if *action != Action::Pay {
                self.note(buyer, call, What::Ending);
            }
            let is_told = self.notify(buyer, session).await;
            if is_told && *action == Action::Expire {
                self.note(buyer, call, What::Ended(order.to_owned()));
            }
        }
    }

    /// Sends every webhook event about a session or its payment, the latest first, and again.
    async fn notify(&self, buyer: usize, session: &str) -> bool {
        let mut events = self.bench.store.payments.events();
        events.reverse();
        events.truncate(12);
        let mut is_told = false;
        for event in events.iter().chain(events.iter().take(2)) {
            let Some(signed) = self.bench.store.payments.signed(event) else { continue };
            let body: Value = serde_json::from_str(&signed.body).unwrap();
            let call = Call::post("/payments/webhook/stripe").header("stripe-signature", &signed.header);
            let reply = self.send(buyer, "", call.bytes(signed.body).from_ip(&self.bench.address())).await;
            is_told |= reply.status == 200 && body["data"]["object"]["id"] == session;
        }
        is_told
    }

    /// The history of each resource, with what there is of it at first.
    fn resources(&self, deals: &[(usize, Made, Status)]) -> Vec<(&'static str, i64, Vec<Event<Use>>)> {
        let records = self.records.lock().unwrap().clone();
        let last = self.now();
        let part = |of: &dyn Fn(&Made) -> i64| -> Vec<Event<Use>> {
            let mut events = Vec::new();
            for (deal, (buyer, made, status)) in deals.iter().enumerate().filter(|(_, (_, made, _))| of(made) > 0) {
                let amount = of(made);
                let (call, ret) = begun(&records, *buyer, &made.id, last);
                events.push(Event { op: Use::Take { deal, amount }, call, ret: Some(ret) });
                if matches!(status, Status::Cancelled | Status::Refunded) {
                    let (call, ret) = ended(&records, *buyer, &made.id, (call, last));
                    events.push(Event { op: Use::GiveBack { deal, amount }, call, ret: Some(ret) });
                }
            }
            events
        };
        let lookups = records.iter().filter(|record| record.what == What::Lookup).enumerate();
        let lookups = lookups.map(|(deal, Record { call, ret, .. })| Event {
            op: Use::Take { deal, amount: 1 },
            call: *call,
            ret: Some(*ret),
        });
        let uses = |made: &Made| i64::from(made.coupon == Some(TENTH));
        vec![
            ("units", VERSIONS[0].limit, part(&|made| made.units(LIMITED))),
            ("uses of the coupon", i64::try_from(USES).unwrap(), part(&uses)),
            ("the gift card", BALANCE, part(&|made| made.from_card)),
            ("lookups", LOOKUPS, lookups.collect()),
        ]
    }
}

/// When an order began: in the request that was told of it first, or in one before it of which nothing is known.
fn begun(records: &[Record], buyer: usize, order: &str, last: u64) -> (u64, u64) {
    let mut call = None;
    for record in records.iter().filter(|record| record.buyer == buyer) {
        match &record.what {
            What::Begun(Some(id)) if id == order => return (call.unwrap_or(record.call), record.ret),
            What::Begun(Some(_)) => call = None,
            What::Begun(None) => call = call.or(Some(record.call)),
            _ => {}
        }
    }
    let first = records.iter().filter(|record| record.buyer == buyer && record.what == What::Begun(None));
    (call.or_else(|| first.map(|record| record.call).min()).unwrap_or(0), last)
}

/// When an order ended: after something that may end it, and before the service confirmed that it has.
fn ended(records: &[Record], buyer: usize, order: &str, (begun, last): (u64, u64)) -> (u64, u64) {
    let own = || records.iter().filter(|record| record.buyer == buyer && record.call > begun);
    let may_end = own().filter(|record| matches!(record.what, What::Ending | What::Begun(_)));
    let told = own().filter(|record| record.what == What::Ended(order.to_owned()));
    let call = may_end.map(|record| record.call).min().unwrap_or(begun + 1);
    (call, told.map(|record| record.ret).min().unwrap_or(last))
}

async fn run(bench: &Arc<Bench>, number: usize, plan: Vec<Vec<Deal>>, seed: u64) -> Result<Outcome, String> {
    bench.store.faults.clear();
    bench.publish(0).await;
    let codes = ["ten", "three", "card"].map(|kind| format!("m{number}-{kind}"));
    bench.stock(&codes, USES).await;
    let names: Vec<String> = (0..plan.len()).map(|buyer| format!("Trader{number}x{buyer}")).collect();
    let mut tokens = Vec::new();
    for name in &names {
        tokens.push(bench.login(name).await);
    }
    let (address, moment, records) = (bench.address(), AtomicU64::new(0), Mutex::default());
    let start = Barrier::new(plan.len());
    let run = Arc::new(Run { bench: Arc::clone(bench), names, codes, address, start, moment, records });
    bench.break_calls(seed);
    let traders = plan.into_iter().zip(tokens).enumerate().map(|(buyer, (deals, token))| {
        let run = Arc::clone(&run);
        tokio::spawn(async move { run.trade(buyer, token, deals).await })
    });
    let mut failed = None;
    for trader in traders.collect::<Vec<_>>() {
        failed = trader.await.err().or(failed);
    }
    bench.store.faults.clear();
    match failed {
        Some(failed) => Err(format!("a client failed: {failed}")),
        None => judge(&run).await,
    }
}

async fn judge(run: &Run) -> Result<Outcome, String> {
    books::settle(&run.bench).await;
    let (mut deals, mut balance, mut uses, mut sold) = (Vec::new(), 0, 0, 0);
    for (buyer, name) in run.names.iter().enumerate() {
        let (made, end) = books::read(&run.bench, name, &run.codes).await;
        (balance, uses, sold) = (end.balance, end.tenth_uses, end.sold);
        deals.extend(made.into_iter().zip(end.statuses).map(|(made, status)| (buyer, made, status)));
    }
    let records = run.records.lock().unwrap().clone();
    let mut text = records.iter().fold(String::new(), |mut text, Record { buyer, what, call, ret }| {
        _ = writeln!(text, "{call:>5} to {ret:>5}  buyer {buyer}  {what:?}");
        text
    });
    _ = writeln!(text, "orders, as they are in the table: {deals:#?}");
    for (resource, amount, events) in run.resources(&deals) {
        let verdict = check(&Resource, &Resource::with(amount), &events);
        if let Verdict::Unexplained { longest, stuck } = verdict {
            let parts: Vec<_> = longest.iter().chain(&stuck).map(|place| &events[*place]).collect();
            let explained =
                format!("{resource}, of {amount}: explained: {} of {} operations", longest.len(), events.len());
            return Err(format!("{explained}\n{text}the explained, then those not possible after them: {parts:#?}"));
        }
    }
    let paid = || deals.iter().filter(|(_, _, status)| *status == Status::Paid).map(|(_, made, _)| made);
    let units: i64 = paid().map(|made| made.units(LIMITED)).sum();
    let expected = (
        BALANCE - paid().map(|made| made.from_card).sum::<i64>(),
        paid().filter(|made| made.coupon == Some(TENTH)).count(),
        units,
    );
    if (balance, uses, sold) != expected {
        let found = (balance, uses, sold);
        return Err(format!("balance, uses, units: {found:?} instead of {expected:?}\n{text}"));
    }
    let sold_out = usize::from(units == VERSIONS[0].limit);
    Ok(Outcome { operations: records.len(), orders: deals.len(), sold_out })
}

#[test]
fn many_buyers_never_get_more_than_there_is() {
    let (cases, seed) = wanted(8);
    let began = Instant::now();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(8).enable_all().build().unwrap();
    let bench = Arc::new(runtime.block_on(Bench::open()));
    let (numbers, total) = (AtomicUsize::new(0), Mutex::new(Outcome::default()));
    let result = runner(cases, seed).run(&(some_deals(), any::<u64>()), |(plan, faults)| {
        let number = numbers.fetch_add(1, Ordering::SeqCst);
        let outcome = runtime.block_on(run(&bench, number, plan, faults)).map_err(TestCaseError::fail)?;
        let mut total = total.lock().unwrap();
        total.operations += outcome.operations;
        total.orders += outcome.orders;
        total.sold_out += outcome.sold_out;
        Ok(())
    });
    let (total, count) = (*total.lock().unwrap(), numbers.load(Ordering::SeqCst));
    let Outcome { operations, orders, sold_out } = total;
    let text = format!(
        "{count} histories of many buyers, {operations} operations, {orders} orders, sold out in {sold_out}; {}; {:.1?}",
        bench.count_faults(),
        began.elapsed()
    );
    writeln!(std::io::stderr(), "{text}").unwrap();
    if let Err(error) = result {
        panic!("HISTORIES_SEED={seed}\n{error}");
    }
    assert!(orders > count, "{text}");
}
