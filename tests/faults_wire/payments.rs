//! A purchase from the cart to the refund, in which a call to the database or to the payment provider fails on the wire:
//! a request that got a 503 is sent again, and in the end everything is as if nothing had failed.

use super::{QUICK, figures};
use crate::payments::support::{add, agreed, login};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use stripe_stand_in::Action;
use tests::{Call, Dump, Proxy, Reply, TestStore, WireFault, with_all_faults};
use tokio::sync::OnceCell;
use tokio::task::JoinSet;

const STEPS: [Step; 5] = [Step::Create, Step::Paid, Step::Status, Step::Refunded, Step::Sweep];
/// The time of a request that may call the payment provider.
const DEADLINE: Duration = Duration::from_secs(18);
/// A request of the purchase. A webhook event is a request of the provider's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Create,
    Paid,
    Status,
    Refunded,
    Sweep,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Database,
    Provider,
}

#[derive(Debug, Clone, Copy)]
struct Plan {
    step: Step,
    side: Side,
    place: usize,
    fault: WireFault,
    lasts: bool,
}

struct Market {
    store: TestStore,
    database: Proxy,
    provider: Proxy,
    plan: Option<Plan>,
    /// How many calls each step made, to the database and to the provider.
    calls: BTreeMap<Step, (usize, usize)>,
    unavailable: usize,
}

impl Market {
    async fn open(is_deployed: bool, plan: Option<Plan>) -> Self {
        let (mut store, database) =
            if is_deployed { TestStore::open_as_deployed().await } else { TestStore::open_behind_proxy().await };
        let provider = Proxy::start(&store.payments.base_url()).await;
        store.set_payment_provider(&provider.endpoint());
        Dump::read(&store).await.set_sequences(&store, 700_000).await;
        Self { store, database, provider, plan, calls: BTreeMap::new(), unavailable: 0 }
    }

    /// Sends a request while the plan is in force, if it is for this step, and again until it is done.
    async fn send(&mut self, step: Step, call: Option<Call>) -> Reply {
        self.database.start_over();
        self.provider.start_over();
        let plan = self.plan.filter(|plan| plan.step == step && !self.calls.contains_key(&step));
        if let Some(Plan { side, place, fault, lasts, .. }) = plan {
            let proxy = if side == Side::Database { &self.database } else { &self.provider };
            proxy.inject(move |seen| (seen.place == place || (lasts && seen.place > place)).then_some(fault));
        }
        let started = Instant::now();
        let reply = self.pass(call.clone()).await;
        let elapsed = started.elapsed();
        let what = format!("{:?}: {} {} after {elapsed:?}", self.plan, reply.status, reply.text);
        assert!(elapsed < DEADLINE + Duration::from_millis(500), "{what}");
        self.database.clear();
        self.provider.clear();
        let calls = (self.database.seen().len(), self.provider.seen().len());
        // Some webhook events concern no order, and nothing is called for them.
        if calls != (0, 0) {
            self.calls.entry(step).or_insert(calls);
        }
        if is_done(&reply) {
            return reply;
        }
        assert!(plan.is_some(), "{what}");
        self.unavailable += 1;
        if reply.status == 503 {
            assert!(reply.header("retry-after").parse::<u32>().unwrap() > 0, "{what}");
        } else {
            assert!(reply.text.contains("try again") || step == Step::Sweep, "{what}");
        }
        let again = self.pass(call).await;
        assert!(is_done(&again), "{} {}: {what}", again.status, again.text);
        again
    }

    async fn pass(&self, call: Option<Call>) -> Reply {
        let Some(call) = call else {
            let event = serde_json::from_str(&crate::schedule::input("payments/sweep")).unwrap();
            return self.store.invoke_unchecked("payments", &event).await;
        };
        self.store.send(call).await
    }

    /// Does what the buyer or the owner does at the provider, and passes the webhook events on.
    async fn act(&mut self, step: Step, session: &str, action: &Action) {
        let before = self.store.payments.events();
        let acted = self.store.payments.act(session, action);
        assert_eq!(acted, Ok(()), "{:?}", self.plan);
        for event in self.store.payments.events().iter().filter(|event| !before.contains(event)) {
            let signed = self.store.payments.signed(event).unwrap();
            let call = Call::post("/payments/webhook/stripe").header("stripe-signature", &signed.header);
            self.send(step, Some(call.bytes(signed.body))).await;
        }
    }

    /// Buys, and gets the money back. Returns what is in the table after the payment and at the end.
    async fn trade(&mut self) -> [Dump; 2] {
        let token = login(&self.store, "Buyer").await;
        add(&self.store, &token, 302, 2).await;
        let call = |path: &str, body: &Value| Call::post(path).token(&token).json(body);
        let created = self.send(Step::Create, Some(call("/payments/create", &agreed()))).await.data();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (order, url) = (text(&created["order_id"]), text(&created["data"]["url"]));
        let session = url.rsplit('/').next().unwrap().to_owned();
        self.act(Step::Paid, &session, &Action::Pay).await;
        let body = json!({ "order_id": order, "checkout_id": session });
        let status = self.send(Step::Status, Some(call("/payments/checkStatus", &body))).await.data();
        assert_eq!(
            (&status["status"], &status["order_data"]["status"]),
            (&json!("success"), &json!("PAID")),
            "{status}"
        );
        // Units that an interrupted attempt counted come back.
        self.store.clock.advance(Duration::from_mins(20));
        assert!(is_done(&self.pass(None).await));
        let paid = Dump::read(&self.store).await;
        self.act(Step::Refunded, &session, &Action::Refund(None)).await;
        self.store.clock.advance(Duration::from_hours(2));
        self.send(Step::Sweep, None).await;
        self.store.clock.advance(Duration::from_hours(2));
        assert!(is_done(&self.pass(None).await));
        [paid, Dump::read(&self.store).await]
    }
}

/// Whether a request had its effect: a success, and of a sweep one without failures.
fn is_done(reply: &Reply) -> bool {
    if reply.status != 200 {
        return false;
    }
    let data = reply.data();
    data["success"] != false && data["failed"].as_u64().unwrap_or(0) == 0
}

/// The faults of one side. A refusal by the provider is not a fault: the buyer reads it.
fn kinds(side: Side) -> Vec<WireFault> {
    let is_refusal = |fault: &WireFault| matches!(fault, WireFault::Refused(400, _));
    match side {
        Side::Database => QUICK.to_vec(),
        Side::Provider => {
            let faults = QUICK.into_iter().filter(|fault| !is_refusal(fault));
            faults.chain([WireFault::Refused(429, "rate_limit")]).collect()
        }
    }
}

/// Every call of every step with every fault; or every third call with one, by turns. Every third plan lasts until the
/// request has ended.
fn plans(calls: &BTreeMap<Step, (usize, usize)>, with_all: bool) -> Vec<Plan> {
    let mut plans = Vec::new();
    for step in STEPS {
        let (database, provider) = calls[&step];
        for (side, count) in [(Side::Database, database), (Side::Provider, provider)] {
            let kinds = kinds(side);
            for place in (0..count).step_by(if with_all { 1 } else { 3 }) {
                let turn = plans.len();
                let some = kinds.iter().cycle().skip(turn % kinds.len());
                let some = some.take(if with_all { kinds.len() } else { 1 });
                plans.extend(some.enumerate().map(|(number, &fault)| {
                    let lasts = (turn + number).is_multiple_of(3);
                    Plan { step, side, place, fault, lasts }
                }));
            }
        }
    }
    plans
}

async fn run(is_deployed: bool, plans: Vec<Plan>, expected: &[Vec<String>; 2]) -> usize {
    let (mut jobs, mut unavailable) = (JoinSet::new(), 0);
    let mut plans = plans.into_iter();
    loop {
        while jobs.len() < if is_deployed { 24 } else { 4 }
            && let Some(plan) = plans.next()
        {
            let expected = expected.clone();
            jobs.spawn(async move {
                let mut market = Market::open(is_deployed, Some(plan)).await;
                let dumps = market.trade().await;
                assert_eq!(dumps.each_ref().map(Dump::sums), expected, "{plan:?}");
                market.unavailable
            });
        }
        match jobs.join_next().await {
            Some(job) => unavailable += job.unwrap(),
            None => return unavailable,
        }
    }
}

/// The calls of a purchase in which nothing fails, by step, and the sums after it.
type Undisturbed = (BTreeMap<Step, (usize, usize)>, [Vec<String>; 2]);

/// A purchase in which nothing fails, found out once for all tests.
async fn undisturbed() -> &'static Undisturbed {
    static FOUND: OnceCell<Undisturbed> = OnceCell::const_new();
    FOUND.get_or_init(find_out).await
}

async fn find_out() -> Undisturbed {
    let mut market = Market::open(false, None).await;
    let dumps = market.trade().await;
    assert!(STEPS.iter().all(|step| market.calls[step].0 > 0), "{:?}", market.calls);
    for step in [Step::Create, Step::Paid, Step::Refunded] {
        assert!(market.calls[&step].1 > 0, "{:?}", market.calls);
    }
    (market.calls, dumps.each_ref().map(Dump::sums))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_purchase_is_complete_whichever_call_fails() {
    let (calls, expected) = undisturbed().await;
    let plans = plans(calls, with_all_faults());
    let count = plans.len();
    let unavailable = run(false, plans, expected).await;
    figures(&format!("a purchase: {calls:?}, {count} plans, {unavailable} times 503"));
}

/// The session of a checkout that could not be stored is handed out by the next request, and must be open.
#[tokio::test(flavor = "multi_thread")]
async fn a_checkout_that_met_other_transactions_can_be_paid_when_it_is_asked_for_again() {
    let (calls, expected) = undisturbed().await;
    let fault = WireFault::Refused(400, "TransactionConflict");
    let at = |place| Plan { step: Step::Create, side: Side::Database, place, fault, lasts: true };
    let unavailable = run(false, (0..calls[&Step::Create].0).map(at).collect(), expected).await;
    assert!(unavailable > 0);
}

/// With the timeouts and the pacing of production.
#[tokio::test(flavor = "multi_thread")]
async fn a_purchase_is_complete_whichever_call_gets_no_response() {
    let (calls, expected) = undisturbed().await;
    let mut plans = Vec::new();
    for step in STEPS {
        let (database, provider) = calls[&step];
        // The provider's calls have six seconds each.
        plans.extend((0..provider).map(|place| Plan {
            step,
            side: Side::Provider,
            place,
            fault: WireFault::LostSilently,
            lasts: false,
        }));
        for place in 0..database {
            let fault = if place % 2 == 0 { WireFault::LostSilently } else { WireFault::Swallowed };
            plans.push(Plan { step, side: Side::Database, place, fault, lasts: place % 3 == 0 });
        }
    }
    let mut plans: Vec<Plan> = plans.into_iter().step_by(if with_all_faults() { 1 } else { 4 }).collect();
    // Every response is late, but hardly any too late: the time of the request runs out between two calls.
    let fault = WireFault::Late(Duration::from_millis(1_450));
    plans.extend(STEPS.map(|step| Plan { step, side: Side::Database, place: 0, fault, lasts: true }));
    let count = plans.len();
    let unavailable = run(true, plans, expected).await;
    figures(&format!("a purchase in production's pacing: {count} plans, {unavailable} times 503"));
}
