//! Running a history of one buyer.

use super::bench::{Bench, INSTANCES};
use super::books;
use super::checker::{Event, Verdict, check};
use super::game::Game;
use super::model::{Buyer, Done, NoOrder, Step};
use super::ops::{CartOp, Op, Planned, Shown};
use super::record::{Recorder, What, events, timeline};
use super::shop::{OPTIONS, TENTH_USES};
use serde_json::{Value, json};
use shared::model::{InternalId, Money};
use shared::shop::payments::{Desk, OperatorError};
use std::collections::{HashSet, VecDeque};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use stripe_stand_in::{Action, Fault, FaultKind};
use tests::{Call, Instance, Reply};

struct Run {
    bench: Arc<Bench>,
    token: String,
    other_token: String,
    codes: [String; 3],
    recorder: Recorder,
    /// The orders that the buyer was told of, with their sessions, the oldest first.
    orders: Mutex<Vec<(String, String)>>,
    /// How many events the provider had before.
    old_events: usize,
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
    let token = bench.login(&name).await;
    let subscribed = bench.subscribe(&token).await;
    let run = Arc::new(Run {
        bench: Arc::clone(bench),
        subscribed: subscribed.1.clone(),
        game: tokio::sync::Mutex::new(Game::open(bench).await),
        token,
        other_token: bench.login(&format!("Other{number}")).await,
        codes,
        recorder: Recorder::default(),
        orders: Mutex::new(vec![subscribed]),
        old_events: bench.store.payments.events().len(),
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
        return Err(format!("a client failed: {failed}\n{}", timeline(&run.recorder.records())));
    }
    run.finish(&name).await
}

impl Run {
    async fn finish(&self, name: &str) -> Result<Outcome, String> {
        books::settle(&self.bench).await;
        let mut game = self.game.lock().await;
        game.finish(&self.bench).await;
        let (made, end) = books::read(&self.bench, name, &self.codes).await;
        game.check(&self.bench, &books::orders_of(&self.bench, books::user(&self.bench, name).await).await).await?;
        let records = self.recorder.records();
        let (mut events, places) = events(&records, &made);
        let unknown = events.iter().filter(|event| event.ret.is_none()).count();
        let mut outcome = Outcome { operations: records.len(), unknown, orders: made.len(), undecided: 0 };
        let (call, ret) = (self.recorder.now(), Some(self.recorder.now()));
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

    /// Sends a request of the buyer; `None` if the client is killed before the response.
    async fn send(&self, by: &Instance, token: &str, call: Call, killed_after: Option<u64>) -> Option<Reply> {
        let call = call.from_ip(&self.bench.address());
        let call = if token.is_empty() { call } else { call.token(token) };
        let sent = by.send(call);
        let reply = match killed_after {
            None => sent.await,
            Some(millis) => tokio::time::timeout(Duration::from_millis(millis), sent).await.ok()?,
        };
        assert_ne!(reply.status.as_u16(), 500, "{}", reply.text);
        Some(reply)
    }

    /// The order that is `back` before the latest, with its session.
    fn order(&self, back: usize) -> Option<(String, String)> {
        let orders = self.orders.lock().unwrap();
        orders.len().checked_sub(back + 1).map(|place| orders[place].clone())
    }

    async fn step(&self, worker: usize, Planned { op, killed_after }: Planned) {
        let by = &self.bench.instances[worker];
        let call = self.recorder.now();
        let what = match op {
            Op::Cart(op) => {
                let reply = self.send(by, &self.token, op.call(&self.codes), killed_after).await;
                Some(What::Cart(op, reply.and_then(|reply| op.said(&reply))))
            }
            Op::Show => self.show(by).await,
            Op::Create => Some(What::Create(self.create(by, killed_after).await)),
            Op::Refund(back, cents) if self.order(back).is_some_and(|(order, _)| is_refunded_by_operator(&order)) => {
                self.refund(back, cents).await
            }
            Op::Pay(_) | Op::Expire(_) | Op::Refund(..) | Op::Renew => return self.act(worker, op),
            Op::Poll => {
                let polled = self.game.lock().await.poll(&self.bench).await.map_err(|error| error.to_string());
                Some(What::Other(format!("the game server polls: {polled:?}")))
            }
            Op::Notify(back) => self.notify(worker, back, killed_after).await,
            Op::Status(back, after) => self.status(by, &self.token, back, after).await,
            Op::Spy(back) => self.status(by, &self.other_token, back, false).await,
            Op::Sweep => {
                let _game = self.game.lock().await;
                self.bench.store.clock.advance(Duration::from_secs(61));
                Some(What::Other(format!("the sweep: {}", self.bench.sweep().await.text)))
            }
            Op::Publish(version) => {
                let _alone = (self.publishing.lock().await, self.game.lock().await);
                let call = self.recorder.now();
                self.bench.publish(version).await;
                return self.recorder.note(worker, call, What::Publish(version));
            }
            Op::Cut(after) => {
                let cut = if after { Fault::after(FaultKind::Cut) } else { Fault::before(FaultKind::Cut) };
                self.bench.store.payments.inject(cut);
                Some(What::Other(format!("the provider cuts a response, after the effect: {after}")))
            }
        };
        if let Some(what) = what {
            self.recorder.note(worker, call, what);
        }
    }

    /// Adds something whose price a publish changes, looks at the cart and begins a checkout. Most of the other steps are over
    /// when a version is written, so that without this hardly any would use it.
    async fn look_at_prices(&self, worker: usize) {
        let added = CartOp::Add { item: OPTIONS, count: 1, choice: 0 };
        for op in [Op::Cart(added), Op::Show, Op::Create] {
            self.step(worker, Planned { op, killed_after: None }).await;
        }
    }

    async fn show(&self, by: &Instance) -> Option<What> {
        let reply = self.send(by, &self.token, Call::post("/cart/get"), None).await?;
        (reply.status == 200).then(|| What::Show(Shown::read(&reply.json(), &self.codes)))
    }

    async fn create(&self, by: &Instance, killed_after: Option<u64>) -> Option<Result<String, NoOrder>> {
        let agreed = json!({ "paymentMethod": "Stripe", "termsAndConditions": true, "privacyPolicy": true });
        let reply = self.send(by, &self.token, Call::post("/payments/create").json(&agreed), killed_after).await?;
        if reply.status != 200 {
            return None;
        }
        let data = reply.json();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        if data["success"] != true {
            return Some(Err(refusal(&text(&data["message"]))));
        }
        let order = text(&data["order_id"]);
        let url = text(&data["data"]["url"]);
        let session = url.rsplit('/').next().unwrap_or_default().to_owned();
        let mut orders = self.orders.lock().unwrap();
        if session.starts_with("cs_") && !orders.iter().any(|(known, _)| *known == order) {
            orders.push((order.clone(), session));
        }
        Some(Ok(order))
    }

    /// An action at the provider, of which every moment is known.
    fn act(&self, worker: usize, op: Op) {
        let payments = &self.bench.store.payments;
        if op == Op::Renew {
            return self.recorder.note_at_once(worker, || {
                payments.act(&self.subscribed, &Action::Renew).ok()?;
                let invoice = payments.invoices().pop()?;
                let order = InternalId::of_invoice(&invoice).to_string();
                self.orders.lock().unwrap().push((order.clone(), invoice));
                Some(What::Renew(order))
            });
        }
        let (Op::Pay(back) | Op::Expire(back) | Op::Refund(back, _)) = op else { return };
        let Some((order, session)) = self.order(back) else { return };
        let (action, what) = match op {
            Op::Pay(_) => (Action::Pay, What::Pay(order)),
            Op::Refund(_, cents) => (Action::Refund(cents), What::Refund(order, cents)),
            _ => (Action::Expire, What::Expire(order)),
        };
        self.recorder.note_at_once(worker, || payments.act(&session, &action).ok().map(|()| what));
    }

    /// The operator refunds a payment up to a total, or all of it.
    async fn refund(&self, back: usize, total: Option<i64>) -> Option<What> {
        let (order, _) = self.order(back)?;
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

    async fn notify(&self, worker: usize, back: usize, killed_after: Option<u64>) -> Option<What> {
        let events = self.bench.store.payments.events();
        let place = events.len().checked_sub(back + 1).filter(|place| *place >= self.old_events)?;
        let signed = self.bench.store.payments.signed(&events[place])?;
        let body: Value = serde_json::from_str(&signed.body).unwrap();
        let call = Call::post("/payments/webhook/stripe").header("stripe-signature", &signed.header);
        let call = call.bytes(signed.body);
        let [one, other] = [worker, worker + 1].map(|place| &self.bench.instances[place % INSTANCES]);
        let twice = (self.send(one, "", call.clone(), killed_after), self.send(other, "", call, None));
        let (reply, _) = tokio::join!(twice.0, twice.1);
        let reply = reply?;
        let session = &body["data"]["object"]["id"];
        let orders = self.orders.lock().unwrap();
        let order = orders.iter().find(|(_, known)| session == known.as_str()).map(|(order, _)| order.clone());
        // A webhook event of a payment finds its order only when that is paid.
        match order {
            Some(order) if reply.status == 200 => Some(What::Noticed(order)),
            _ => Some(What::Other(format!("webhook event {} {}: {}", body["type"], session, reply.status))),
        }
    }

    async fn status(&self, by: &Instance, token: &str, back: usize, after: bool) -> Option<What> {
        let (order, session) = self.order(back)?;
        let mut body = json!({ "order_id": order });
        if after {
            body["checkout_id"] = json!(session);
        }
        let reply = self.send(by, token, Call::post("/payments/checkStatus").json(&body), None).await?;
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

fn refusal(message: &str) -> NoOrder {
    let has = |parts: &[&str]| parts.iter().any(|part| message.contains(part));
    match message {
        "Your cart is empty." => NoOrder::Empty,
        _ if has(&["is sold out", "can still be bought", "cannot be bought now"]) => NoOrder::Stock,
        _ if has(&["At least"]) => NoOrder::Least,
        _ if has(&["no longer applies"]) => NoOrder::CodeRemoved,
        _ if has(&["Please try again"]) => NoOrder::Contention,
        _ => NoOrder::Other(message.to_owned()),
    }
}
