//! Running a history of one buyer.

use super::bench::{Bench, INSTANCES};
use super::books;
use super::checker::{Event, Verdict, check};
use super::client::{Client, Game};
use super::model::{Buyer, Done, Step};
use super::ops::{CartOp, Op, Planned, Shown};
use super::record::{What, events, timeline};
use super::shop::{OPTIONS, TENTH_USES};
use serde_json::json;
use shared::model::{InternalId, Money};
use shared::shop::payments::{Desk, OperatorError};
use std::collections::{HashSet, VecDeque};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use stripe_stand_in::{Action, Fault, FaultKind};
use tests::{Call, Instance};

struct Run {
    bench: Arc<Bench>,
    client: Client,
    other_token: String,
    publishing: tokio::sync::Mutex<()>,
    /// The session that the buyer's subscription began with.
    subscribed: String,
    /// No time passes while the game server has a response on its way.
    game: tokio::sync::Mutex<Game>,
}

/// The counts of a history.
#[derive(Debug, Clone, Copy, Default)]
pub struct Outcome {
    pub operations: usize,
    /// Operations of which it is not known whether they were done.
    pub unknown: usize,
    pub orders: usize,
    pub undecided: usize,
}

/// Runs a history and checks it. The error is the history as text.
pub async fn run(bench: &Arc<Bench>, number: usize, plan: Vec<Planned>, seed: u64) -> Result<Outcome, String> {
    let name = format!("Buyer{number}");
    let codes = ["ten", "three", "card"].map(|kind| format!("h{number}-{kind}"));
    bench.store.faults.clear();
    bench.publish(0).await;
    bench.stock(&codes, TENTH_USES).await;
    let client = Client::login(bench, &name, codes, Arc::default()).await;
    let (order, session) = bench.subscribe(&client.token).await;
    let (orders, old_events) = (Mutex::new(vec![(order, session.clone())]), bench.store.payments.events().len());
    let run = Arc::new(Run {
        bench: Arc::clone(bench),
        subscribed: session,
        game: tokio::sync::Mutex::new(Game::open(bench).await),
        client: Client { orders, old_events, ..client },
        other_token: bench.login(&format!("Other{number}")).await,
        publishing: tokio::sync::Mutex::default(),
    });
    bench.break_calls(seed);
    let queue = Arc::new(Mutex::new(VecDeque::from(plan)));
    let workers = (0..INSTANCES).map(|worker| {
        let (run, queue) = (Arc::clone(&run), Arc::clone(&queue));
        tokio::spawn(async move {
            loop {
                let next = queue.lock().unwrap().pop_front();
                let Some(planned) = next else { return };
                run.step(worker, planned).await;
                if matches!(planned.op, Op::Publish(_)) {
                    run.look_at_prices(worker).await;
                }
            }
        })
    });
    let mut failed = None;
    for worker in workers.collect::<Vec<_>>() {
        failed = worker.await.err().or(failed);
    }
    bench.store.faults.clear();
    if let Some(failed) = failed {
        return Err(format!("a client failed: {failed}\n{}", timeline(&run.client.recorder.records())));
    }
    run.finish(&name).await
}

impl Run {
    async fn finish(&self, name: &str) -> Result<Outcome, String> {
        // Debits take days, and end.
        let orders = self.client.orders.lock().unwrap().len();
        for place in 0..orders {
            self.client.debit(0, Op::Settle((place + orders).is_multiple_of(2)));
        }
        books::settle(&self.bench).await;
        let mut game = self.game.lock().await;
        game.finish(&self.bench).await;
        let (made, end) = books::read(&self.bench, name, &self.client.codes).await;
        let orders = books::orders_of(&self.bench, books::user(&self.bench, name).await).await;
        game.check(&self.bench, &orders).await?;
        books::compare_with_provider(&self.bench, &orders).await?;
        let records = self.client.recorder.records();
        let (mut events, places) = events(&records, &made);
        let unknown = events.iter().filter(|event| event.ret.is_none()).count();
        let mut outcome = Outcome { operations: records.len(), unknown, orders: made.len(), undecided: 0 };
        let (call, ret) = (self.client.recorder.now(), Some(self.client.recorder.now()));
        events.push(Event { op: Step { done: Done::End(Box::new(end.clone())), versions: Vec::new() }, call, ret });
        let buyer = Buyer { made };
        match check(&buyer, &buyer.start(), &events) {
            Verdict::Explained(_) => Ok(outcome),
            Verdict::Undecided => {
                outcome.undecided = 1;
                Ok(outcome)
            }
            Verdict::Unexplained { longest, stuck } => {
                let line =
                    |place: usize| places.get(place).map_or("the end".to_owned(), |at| format!("{:?}", records[*at]));
                let mut text = format!("explained: {} of {} operations\n", longest.len(), events.len());
                for place in stuck {
                    _ = writeln!(text, "not possible then: {}", line(place));
                }
                text += &timeline(&records);
                _ = writeln!(text, "orders, as they are in the table: {:#?}", buyer.made);
                _ = writeln!(text, "in the table at the end: {end:?}");
                _ = writeln!(text, "best order: {longest:?}");
                _ = writeln!(text, "states before it: {}", states(&buyer, &events, &longest));
                Err(text)
            }
        }
    }

    async fn step(&self, worker: usize, Planned { op, killed_after }: Planned) {
        let (by, client) = (&self.bench.instances[worker], &self.client);
        let call = client.recorder.now();
        let what = match op {
            Op::Cart(op) => {
                let reply = client.send(by, &client.token, op.call(&client.codes), killed_after).await;
                Some(What::Cart(op, reply.and_then(|reply| op.said(&reply))))
            }
            Op::Show => self.show(by).await,
            Op::Create => Some(What::Create(client.create(by, killed_after).await)),
            Op::Refund(back, cents) if client.order(back).is_some_and(|(order, _)| is_refunded_by_operator(&order)) => {
                self.refund(back, cents).await
            }
            Op::Debit | Op::Settle(_) => return client.debit(worker, op),
            Op::Pay(_) | Op::Expire(_) | Op::Refund(..) => return client.act(worker, op),
            Op::Renew => return self.renew(worker),
            Op::Poll => {
                let polled = self.game.lock().await.poll(&self.bench).await.map_err(|error| error.to_string());
                Some(What::Other(format!("the game server polls: {polled:?}")))
            }
            Op::Notify(back) => client.notify(worker, back, killed_after).await,
            Op::Status(back, after) => self.status(by, &client.token, back, after).await,
            Op::Spy(back) => self.status(by, &self.other_token, back, false).await,
            Op::Sweep => {
                let _game = self.game.lock().await;
                self.bench.store.clock.advance(Duration::from_secs(61));
                Some(What::Other(format!("the sweep: {}", self.bench.sweep().await.text)))
            }
            Op::Publish(version) => {
                let _alone = (self.publishing.lock().await, self.game.lock().await);
                let call = client.recorder.now();
                self.bench.publish(version).await;
                return client.recorder.note(worker, call, What::Publish(version));
            }
            Op::Cut(after) => {
                let cut = if after { Fault::after(FaultKind::Cut) } else { Fault::before(FaultKind::Cut) };
                self.bench.store.payments.inject(cut);
                Some(What::Other(format!("the provider cuts a response, after the effect: {after}")))
            }
        };
        if let Some(what) = what {
            client.recorder.note(worker, call, what);
        }
    }

    /// Adds something whose price a publish changes, looks at the cart, begins a checkout and pays it by a debit. Most of the
    /// other steps are over when a version is written, so that without this hardly any would use it.
    async fn look_at_prices(&self, worker: usize) {
        let added = CartOp::Add { item: OPTIONS, count: 1, choice: 0 };
        for op in [Op::Cart(added), Op::Show, Op::Create, Op::Debit] {
            self.step(worker, Planned { op, killed_after: None }).await;
        }
    }

    async fn show(&self, by: &Instance) -> Option<What> {
        let reply = self.client.send(by, &self.client.token, Call::post("/cart/get"), None).await?;
        (reply.status == 200).then(|| What::Show(Shown::read(&reply.json(), &self.client.codes)))
    }

    /// The provider renews the buyer's subscription, of which every moment is known.
    fn renew(&self, worker: usize) {
        let payments = &self.bench.store.payments;
        self.client.recorder.note_at_once(worker, || {
            payments.act(&self.subscribed, &Action::Renew).ok()?;
            let invoice = payments.invoices().pop()?;
            let order = InternalId::of_invoice(&invoice).to_string();
            self.client.orders.lock().unwrap().push((order.clone(), invoice));
            Some(What::Renew(order))
        });
    }

    /// The operator refunds a payment up to a total, or all of it.
    async fn refund(&self, back: usize, total: Option<i64>) -> Option<What> {
        let (order, _) = self.client.order(back)?;
        let (store, id) = (&self.bench.store, InternalId::new(&order));
        let refunded = Desk::new(&store.db, store.clock.as_ref(), &self.bench.stripe)
            .refund(&id, total.map(Money::from_minor))
            .await;
        Some(match refunded {
            Ok(_) => What::RefundTo(order, total, true),
            // A refund that was begun may have been done, or is by the next one to the same total.
            Err(OperatorError::Settle(_) | OperatorError::Refund(_)) => What::RefundTo(order, total, false),
            Err(error) => What::Other(format!("the operator refunds {order} to {total:?}: {error}")),
        })
    }

    async fn status(&self, by: &Instance, token: &str, back: usize, after: bool) -> Option<What> {
        let (order, session) = self.client.order(back)?;
        let mut body = json!({ "order_id": order });
        if after {
            body["checkout_id"] = json!(session);
        }
        let reply = self.client.send(by, token, Call::post("/payments/checkStatus").json(&body), None).await?;
        let data = reply.json();
        // The order of a renewal is not there before the service has heard of it.
        let is_absent = data["status"] == "not_found" && token == self.other_token;
        if reply.status != 200 || data["status"] == "forbidden" || is_absent {
            return Some(What::Other(format!("status of {order}: {} {}", reply.status, data["status"])));
        }
        if token == self.other_token {
            return Some(What::Spied(order));
        }
        let status = books::status(data["order_data"]["status"].as_str().unwrap_or_default());
        Some(What::Status(order, status))
    }
}

/// An order is refunded by its operator or in the provider's dashboard: both at once may refund more than either asks for.
fn is_refunded_by_operator(order: &str) -> bool {
    order.bytes().last().is_some_and(|last| last % 2 == 0)
}

/// The state after the best order of operations; the model may have others.
fn states(buyer: &Buyer, events: &[Event<Step>], order: &[usize]) -> String {
    use super::checker::Model as _;
    let mut states = HashSet::from([buyer.start()]);
    for place in order {
        states = states.iter().flat_map(|state| buyer.step(state, &events[*place].op)).collect();
    }
    format!("{states:?}")
}
