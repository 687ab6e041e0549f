//! The clients of the histories. A buyer's: what it sends to the instances, and what the provider does with its
//! checkouts. And the game server: it runs what it is served, each command once, and at the end what ran is compared
//! with the orders.

use super::bench::{Bench, INSTANCES};
use super::model::NoOrder;
use super::ops::Op;
use super::record::{Recorder, What};
use super::shop::{ITEMS, MONTHLY, SERVERS};
use serde_json::{Value, json};
use shared::model::{Command, CommandEvent, CommandId, OrderStatus, ServerId};
use shared::shop::delivery::{PollError, ServerKey, add_key, delivered, poll};
use shared::shop::orders::StoredOrder;
use shared::table::{bulk, keys};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use stripe_stand_in::Action;
use tests::{Call, Instance, Reply};

pub struct Client {
    pub bench: Arc<Bench>,
    pub token: String,
    pub codes: [String; 3],
    pub recorder: Arc<Recorder>,
    /// The orders that the buyer was shown, with their sessions, the oldest first.
    pub orders: Mutex<Vec<(String, String)>>,
    /// How many events the provider had before.
    pub old_events: usize,
}

/// How buyers pay whose money is there at once.
const WAYS: [Action; 6] = [
    Action::Pay,
    Action::PayBy("paypal"),
    Action::PayBy("ideal"),
    Action::PayAbroad,
    Action::PayFrom("FR"),
    Action::PayFrom("US"),
];

impl Client {
    /// Logs a new player in.
    pub async fn login(bench: &Arc<Bench>, name: &str, codes: [String; 3], recorder: Arc<Recorder>) -> Self {
        let (token, old_events) = (bench.login(name).await, bench.store.payments.events().len());
        Self { bench: Arc::clone(bench), token, codes, recorder, orders: Mutex::default(), old_events }
    }

    /// Sends a request of the buyer; `None` if the client is killed before the response.
    pub async fn send(&self, by: &Instance, token: &str, call: Call, killed_after: Option<u64>) -> Option<Reply> {
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
    pub fn order(&self, back: usize) -> Option<(String, String)> {
        let orders = self.orders.lock().unwrap();
        orders.len().checked_sub(back + 1).map(|place| orders[place].clone())
    }

    /// Begins a checkout: its order; `None` if the response does not say.
    pub async fn create(&self, by: &Instance, killed_after: Option<u64>) -> Option<Result<String, NoOrder>> {
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

    /// A payment, a refund or the end of a checkout at the provider, of which every moment is known.
    pub fn act(&self, worker: usize, op: Op) {
        let payments = &self.bench.store.payments;
        let (Op::Pay(back) | Op::Expire(back) | Op::Refund(back, _)) = op else { return };
        let Some((order, session)) = self.order(back) else { return };
        let (action, what) = match op {
            Op::Pay(_) => (Action::Pay, What::Pay(order)),
            Op::Refund(_, cents) => (Action::Refund(cents), What::Refund(order, cents)),
            _ => (Action::Expire, What::Expire(order)),
        };
        // With whatever it is paid, the order and its sums are the same.
        let way = WAYS[session.bytes().map(usize::from).sum::<usize>() % WAYS.len()];
        let act = |action| payments.act(&session, &action).ok();
        let done = || if action == Action::Pay { act(way).or_else(|| act(action)) } else { act(action) };
        self.recorder.note_at_once(worker, || done().map(|()| what));
    }

    /// A debit at the provider, or its end, of which every moment is known.
    pub fn debit(&self, worker: usize, op: Op) {
        let orders = self.orders.lock().unwrap().clone();
        let latest = |action: Action, what: &dyn Fn(String) -> What| {
            let act = |session: &str| self.bench.store.payments.act(session, &action).is_ok();
            let mut possible = orders.iter().rev().filter(|(_, session)| act(session));
            possible.next().map(|(order, _)| what(order.clone()))
        };
        self.recorder.note_at_once(worker, || match op {
            Op::Settle(true) => latest(Action::Succeed, &|order| What::Settle(order, true)),
            Op::Settle(false) => latest(Action::Fail, &|order| What::Settle(order, false)),
            _ => latest(Action::PayDelayed, &What::Debit),
        });
    }

    /// Passes on one of the provider's webhook events, counted back from the latest, to two instances at once.
    pub async fn notify(&self, worker: usize, back: usize, killed_after: Option<u64>) -> Option<What> {
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
}

fn refusal(message: &str) -> NoOrder {
    let has = |parts: &[&str]| parts.iter().any(|part| message.contains(part));
    match message {
        "Your cart is empty." => NoOrder::Empty,
        _ if has(&["is sold out", "can still be bought", "cannot be bought now"]) => NoOrder::Stock,
        _ if has(&["At least"]) => NoOrder::Least,
        _ if has(&["is being processed"]) => NoOrder::Processing,
        _ if has(&["no longer applies"]) => NoOrder::CodeRemoved,
        _ if has(&["Please try again"]) => NoOrder::Contention,
        _ => NoOrder::Other(message.to_owned()),
    }
}

/// A server of the sample store on which most commands run.
const SERVER: ServerId = ServerId::new(1);

#[derive(Debug)]
pub struct Game {
    key: ServerKey,
    /// The commands that ran, in their order.
    ran: Vec<CommandId>,
}

impl Game {
    pub async fn open(bench: &Bench) -> Self {
        let (_, key) = add_key(&bench.store.db, bench.store.clock.as_ref(), SERVER).await.unwrap();
        Self { key, ran: Vec::new() }
    }

    /// Polls once, and runs what is new. What the store was not told is served again.
    pub async fn poll(&mut self, bench: &Bench) -> Result<usize, PollError> {
        let (db, clock) = (&bench.store.db, bench.store.clock.as_ref());
        let ids: Vec<CommandId> = poll(db, clock, &self.key, None).await?.into_iter().map(|row| row.id).collect();
        for id in &ids {
            if !self.ran.contains(id) {
                self.ran.push(*id);
            }
        }
        if !ids.is_empty() {
            delivered(db, clock, &self.key, &ids).await?;
        }
        Ok(ids.len())
    }

    /// Runs what is left; the store takes back what it has to.
    pub async fn finish(&mut self, bench: &Bench) {
        for _ in 0..4 {
            while self.poll(bench).await.unwrap() > 0 {}
            bench.store.clock.advance(Duration::from_mins(11));
            bench.sweep().await;
        }
    }

    /// Compares what ran with the orders: what is paid ran once, what was never paid did not run, and what was taken back ran
    /// before its end. Items that last for a time are proven elsewhere.
    pub async fn check(&self, bench: &Bench, orders: &[StoredOrder]) -> Result<(), String> {
        let all = bulk::all::<Command>(&bench.store.db, keys::prefix::COMMAND).await.unwrap();
        let place = |command: &Command| self.ran.iter().position(|id| *id == command.id);
        let lasting = [SERVERS, MONTHLY].map(|item| ITEMS[usize::from(item)]);
        for stored in orders {
            let is_own = |command: &&Command| {
                command.order == stored.order.internal_id
                    && command.server == SERVER
                    && !lasting.contains(&command.item.get())
            };
            let own: Vec<&Command> = all.iter().map(|(_, command)| command).filter(is_own).collect();
            let of = |event: CommandEvent| own.iter().filter(move |command| command.event == event);
            let fault = match stored.order.status {
                OrderStatus::Paid => {
                    of(CommandEvent::Bought).any(|one| place(one).is_none())
                        || of(CommandEvent::Refunded).next().is_some()
                }
                OrderStatus::Refunded => {
                    of(CommandEvent::Refunded).any(|back| {
                        let line = of(CommandEvent::Bought).filter(|one| one.line == back.line);
                        line.filter_map(|one| place(one)).max() >= place(back)
                    }) || of(CommandEvent::Bought).any(|one| {
                        let is_taken_back = of(CommandEvent::Refunded).any(|back| back.line == one.line);
                        place(one).is_some() && !is_taken_back
                    })
                }
                _ => own.iter().any(|one| place(one).is_some()),
            };
            if fault {
                return Err(format!(
                    "of {stored:?} ran {:?}: {own:?}",
                    own.iter().map(|one| place(one)).collect::<Vec<_>>()
                ));
            }
        }
        Ok(())
    }
}
