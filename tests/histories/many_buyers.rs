//! Many buyers at once of one item, with one coupon and one gift card: never is more sold than there is. Each resource is
//! checked by itself.

use super::bench::{Bench, INSTANCES};
use super::books;
use super::cart::Made;
use super::checker::{Event, Verdict, check};
use super::client::Client;
use super::model::Status;
use super::one_buyer::{runner, wanted};
use super::ops::{CartOp, Op};
use super::record::{Record, Recorder, What, timeline};
use super::resource::{Resource, Use};
use super::shop::{BALANCE, CARD, LIMITED, TENTH, VERSIONS};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use serde_json::json;
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tests::Call;
use tokio::sync::Barrier;

const BUYERS: usize = 6;
/// How many lookups an address has in a minute.
const LOOKUPS: i64 = 18;
/// How often the coupon may be used in all: units run out before many buyers could use it.
const USES: usize = 1;
/// How long a buyer waits for the others.
const START: Duration = Duration::from_secs(5);
/// How many webhook events are heard after every step of a payment.
const HEARD: usize = 8;

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
    units: u16,
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
    let deal = (1_u16..4, code, ending, 0_usize..4).prop_map(|(units, code, ending, lookups)| Deal {
        units,
        code,
        ending,
        lookups,
    });
    prop::collection::vec(prop::collection::vec(deal, 1..4), BUYERS)
}

struct Run {
    bench: Arc<Bench>,
    names: Vec<String>,
    /// A client of each buyer, with a recorder that all share.
    clients: Vec<Client>,
    recorder: Arc<Recorder>,
    address: String,
    /// The barrier at which buyers wait for each other before their first checkouts.
    start: Barrier,
}

/// The counts of all histories.
#[derive(Debug, Clone, Copy, Default)]
struct Outcome {
    operations: usize,
    orders: usize,
    sold_out: usize,
}

impl Run {
    async fn trade(&self, buyer: usize, deals: Vec<Deal>) {
        let (client, by) = (&self.clients[buyer], &self.bench.instances[buyer % INSTANCES]);
        for (place, deal) in deals.into_iter().enumerate() {
            for _ in 0..deal.lookups {
                let call = self.recorder.now();
                let lookup = Call::post("/payments/checkStatus").json(&json!({ "order_id": "none" }));
                let reply = by.send(lookup.from_ip(&self.address)).await;
                assert_ne!(reply.status.as_u16(), 500, "{}", reply.text);
                if reply.status == 200 {
                    self.recorder.note(buyer, call, What::Lookup);
                }
            }
            let added = CartOp::Add { item: LIMITED, count: deal.units, choice: 0 };
            for op in std::iter::once(added).chain(deal.code.map(CartOp::Accept)) {
                client.send(by, &client.token, op.call(&client.codes), None).await;
            }
            if place == 0 {
                // A buyer who failed keeps no others waiting.
                _ = tokio::time::timeout(START, self.start.wait()).await;
            }
            let call = self.recorder.now();
            let created = client.create(by, None).await;
            self.recorder.note(buyer, call, What::Create(created.clone()));
            let latest = client.order(0).map(|(order, _)| order);
            if matches!(created, Some(Ok(order)) if Some(&order) == latest.as_ref()) {
                self.end(buyer, deal.ending).await;
            }
        }
    }

    /// Ends the buyer's latest order. The service hears of the latest webhook events after every step, the latest first.
    async fn end(&self, buyer: usize, ending: Ending) {
        let ops: &[Op] = match ending {
            Ending::Pay => &[Op::Pay(0)],
            Ending::Refund => &[Op::Pay(0), Op::Refund(0, None)],
            Ending::Expire => &[Op::Expire(0)],
            Ending::Leave => &[],
        };
        for op in ops {
            self.clients[buyer].act(buyer, *op);
            for back in 0..HEARD {
                let call = self.recorder.now();
                if let Some(what) = self.clients[buyer].notify(buyer, back, None).await {
                    self.recorder.note(buyer, call, what);
                }
            }
        }
    }

    /// The history of each resource, with what there is of it at first.
    fn resources(&self, deals: &[(usize, Made, Status)]) -> Vec<(&'static str, i64, Vec<Event<Use>>)> {
        let (records, last) = (self.recorder.records(), self.recorder.now());
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
        let lookups = records.iter().filter(|record| matches!(record.what, What::Lookup)).enumerate();
        let take = |(deal, record): (usize, &Record)| Event {
            op: Use::Take { deal, amount: 1 },
            call: record.call,
            ret: record.ret,
        };
        let uses = |made: &Made| i64::from(made.coupon == Some(TENTH));
        vec![
            ("units", VERSIONS[0].limit, part(&|made| made.units(LIMITED))),
            ("uses of the coupon", i64::try_from(USES).unwrap(), part(&uses)),
            ("the gift card", BALANCE, part(&|made| made.from_card)),
            ("lookups", LOOKUPS, lookups.map(take).collect()),
        ]
    }
}

/// When an order began: in the first request that was shown it, or in one before it of which nothing is known.
fn begun(records: &[Record], buyer: usize, order: &str, last: u64) -> (u64, u64) {
    let (mut call, mut first) = (None, None);
    for record in records.iter().filter(|record| record.worker == buyer) {
        match &record.what {
            What::Create(Some(Ok(id))) if id == order => {
                return (call.unwrap_or(record.call), record.ret.unwrap_or(last));
            }
            What::Create(Some(Ok(_))) => call = None,
            What::Create(_) => {
                call = call.or(Some(record.call));
                first = first.or(call);
            }
            _ => {}
        }
    }
    (call.or(first).unwrap_or(0), last)
}

/// When an order ended: after something that may end it, and before the service confirmed that it knows of its end.
fn ended(records: &[Record], buyer: usize, order: &str, (begun, last): (u64, u64)) -> (u64, u64) {
    let own = || records.iter().filter(|record| record.worker == buyer && record.call > begun);
    let may_end = own().filter(|record| matches!(record.what, What::Expire(_) | What::Refund(..) | What::Create(_)));
    let expired = own().find(|record| matches!(&record.what, What::Expire(id) if id == order));
    let told = own().filter(|record| {
        matches!(&record.what, What::Noticed(id) if id == order) && expired.is_some_and(|end| record.call > end.call)
    });
    let call = may_end.map(|record| record.call).min().unwrap_or(begun + 1);
    // What the last request began without a response ends after it.
    (call, told.filter_map(|record| record.ret).min().unwrap_or(last).max(call + 1))
}

async fn run(bench: &Arc<Bench>, number: usize, plan: Vec<Vec<Deal>>, seed: u64) -> Result<Outcome, String> {
    bench.store.faults.clear();
    bench.publish(0).await;
    let codes = ["ten", "three", "card"].map(|kind| format!("m{number}-{kind}"));
    bench.stock(&codes, USES).await;
    let names: Vec<String> = (0..plan.len()).map(|buyer| format!("Trader{number}x{buyer}")).collect();
    let (recorder, mut clients) = (Arc::<Recorder>::default(), Vec::new());
    for name in &names {
        clients.push(Client::login(bench, name, codes.clone(), Arc::clone(&recorder)).await);
    }
    let (address, start) = (bench.address(), Barrier::new(plan.len()));
    let run = Arc::new(Run { bench: Arc::clone(bench), names, clients, recorder, address, start });
    bench.break_calls(seed);
    let traders = plan.into_iter().enumerate().map(|(buyer, deals)| {
        let run = Arc::clone(&run);
        tokio::spawn(async move { run.trade(buyer, deals).await })
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
        let (made, end) = books::read(&run.bench, name, &run.clients[buyer].codes).await;
        (balance, uses, sold) = (end.balance, end.tenth_uses, end.sold);
        let orders = books::orders_of(&run.bench, books::user(&run.bench, name).await).await;
        books::compare_with_provider(&run.bench, &orders).await?;
        deals.extend(made.into_iter().zip(end.statuses).map(|(made, status)| (buyer, made, status)));
    }
    let records = run.recorder.records();
    let mut text = timeline(&records);
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

#[test]
fn an_order_that_the_last_request_began_without_a_response_may_have_ended() {
    let records = [Record { worker: 0, what: What::Create(None), call: 1, ret: None }];
    let (begun, last) = begun(&records, 0, "order", 2);
    let (ended, over) = ended(&records, 0, "order", (begun, last));
    let (deal, amount) = (0, 1);
    let events = [
        Event { op: Use::Take { deal, amount }, call: begun, ret: Some(last) },
        Event { op: Use::GiveBack { deal, amount }, call: ended, ret: Some(over) },
    ];
    let verdict = check(&Resource, &Resource::with(1), &events);
    assert!(!matches!(verdict, Verdict::Unexplained { .. }), "from {ended} to {over}");
}
