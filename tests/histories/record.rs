//! A history as it happens: what each client did, when, and what it was told.

use super::cart::Made;
use super::checker::Event;
use super::model::{Done, NoOrder, Stage, Status, Step};
use super::ops::{CartOp, Said, Shown};
use super::shop::{VERSIONS, Version};
use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// An operation of a client with its response. Orders have their ids.
#[derive(Debug, Clone)]
#[expect(dead_code, reason = "some of it is only shown in the timeline")]
pub enum What {
    Cart(CartOp, Option<Said>),
    Show(Shown),
    Create(Option<Result<String, NoOrder>>),
    Pay(String),
    Debit(String),
    Settle(String, bool),
    Expire(String),
    /// So many cents, or the rest.
    Refund(String, Option<i64>),
    /// The operator's refund up to a total, and whether it is known that it was done.
    RefundTo(String, Option<i64>, bool),
    Renew(String),
    /// A webhook event about an order was received.
    Noticed(String),
    Status(String, Status),
    Spied(String),
    Publish(usize),
    /// A lookup that was not refused.
    Lookup,
    /// Something that says nothing, such as the sweep or a request that failed.
    Other(String),
}

/// Something that a client did.
#[derive(Debug, Clone)]
pub struct Record {
    pub worker: usize,
    pub what: What,
    pub call: u64,
    pub ret: Option<u64>,
}

/// The history so far. Moments are numbers that count up.
#[derive(Debug, Default)]
pub struct Recorder {
    moment: AtomicU64,
    records: Mutex<Vec<Record>>,
}

impl Recorder {
    pub fn now(&self) -> u64 {
        self.moment.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// Notes what a client did since `call`. What was not told has no end.
    pub fn note(&self, worker: usize, call: u64, what: What) {
        let is_told = !matches!(what, What::Cart(_, None) | What::Create(None) | What::RefundTo(_, _, false));
        let ret = is_told.then(|| self.now());
        self.records.lock().unwrap().push(Record { worker, what, call, ret });
    }

    /// Does something of which every moment is known: nothing else that is noted like this happens meanwhile.
    pub fn note_at_once(&self, worker: usize, act: impl FnOnce() -> Option<What>) {
        let mut records = self.records.lock().unwrap();
        let call = self.now();
        if let Some(what) = act() {
            let ret = Some(self.now());
            records.push(Record { worker, what, call, ret });
        }
    }

    pub fn records(&self) -> Vec<Record> {
        let mut records = self.records.lock().unwrap().clone();
        records.sort_by_key(|record| record.call);
        records
    }
}

/// The operations that the model explains, and the places of their records.
pub fn events(records: &[Record], made: &[Made]) -> (Vec<Event<Step>>, Vec<usize>) {
    let found = |id: &str| made.iter().position(|made| made.id == *id);
    let mut events = Vec::new();
    let mut places = Vec::new();
    for (place, record) in records.iter().enumerate() {
        let done = match &record.what {
            What::Cart(op, said) => Done::Cart(*op, *said),
            What::Show(shown) => Done::Show(shown.clone()),
            What::Create(None) => Done::Create(None),
            What::Create(Some(Ok(id))) => match found(id) {
                Some(order) => Done::Create(Some(Ok(order))),
                None => Done::Create(Some(Err(NoOrder::Other(format!("there is no order {id}"))))),
            },
            What::Create(Some(Err(refusal))) => Done::Create(Some(Err(refusal.clone()))),
            What::Spied(_) => Done::Spied,
            What::Renew(id) if found(id).is_none() => {
                Done::Create(Some(Err(NoOrder::Other(format!("a paid invoice has no order {id}")))))
            }
            What::Pay(id)
            | What::Debit(id)
            | What::Settle(id, _)
            | What::Expire(id)
            | What::Refund(id, _)
            | What::RefundTo(id, ..)
            | What::Renew(id)
            | What::Noticed(id)
            | What::Status(id, _) => {
                // Only what was shown is paid or looked at; of an order that is gone, the creation says so.
                let Some(order) = found(id) else { continue };
                about(order, record, records, made)
            }
            What::Publish(_) | What::Lookup | What::Other(_) => continue,
        };
        let step = Step { done, versions: versions(record, records) };
        events.push(Event { op: step, call: record.call, ret: record.ret });
        places.push(place);
    }
    (events, places)
}

/// The operation on an order.
fn about(order: usize, record: &Record, records: &[Record], made: &[Made]) -> Done {
    let (stage, refunded) = provider_at(record.call, records, &made[order]);
    match &record.what {
        What::Pay(_) => Done::Pay(order),
        What::Debit(_) => Done::Debit(order),
        What::Settle(_, succeeds) => Done::Settle(order, *succeeds),
        What::Expire(_) => Done::Expire(order),
        What::Refund(_, cents) => Done::Refund(order, cents.unwrap_or(made[order].price - refunded)),
        What::RefundTo(_, total, _) => Done::RefundTo(order, total.unwrap_or(made[order].price)),
        What::Renew(_) => Done::Renew(order),
        What::Status(_, status) => Done::Status(order, *status),
        _ => Done::Noticed(order, stage, refunded),
    }
}

/// How far the payment of an order was at the provider, at least, and what was refunded.
fn provider_at(moment: u64, records: &[Record], made: &Made) -> (Stage, i64) {
    let before = records.iter().filter(|record| record.ret.is_some_and(|ret| ret < moment));
    before.fold((Stage::Open, 0), |(stage, refunded), record| match &record.what {
        What::Pay(id) | What::Renew(id) if *id == made.id => (Stage::Paid, refunded),
        What::Debit(id) if *id == made.id => (Stage::Processing, refunded),
        What::Settle(id, true) if *id == made.id => (Stage::Paid, refunded),
        What::Settle(id, false) if *id == made.id => (Stage::Failed, refunded),
        What::RefundTo(id, total, true) if *id == made.id => (stage, refunded.max(total.unwrap_or(made.price))),
        What::Expire(id) if *id == made.id => (Stage::Expired, refunded),
        What::Refund(id, cents) if *id == made.id => (stage, cents.map_or(made.price, |cents| refunded + cents)),
        _ => (stage, refunded),
    })
}

/// The versions of the store that a request may have used: from the call of their publishing until every cache had
/// expired after the next one.
fn versions(record: &Record, records: &[Record]) -> Vec<Version> {
    let mut published = vec![(0, 0, 0)];
    published.extend(records.iter().filter_map(|record| match record.what {
        What::Publish(version) => Some((version, record.call, record.ret.unwrap_or(u64::MAX))),
        _ => None,
    }));
    let ends = published.iter().skip(1).map(|(_, _, end)| *end).chain([u64::MAX]);
    let ends: Vec<u64> = ends.collect();
    let during = published
        .iter()
        .zip(ends)
        .filter(|((_, begin, _), end)| *begin <= record.ret.unwrap_or(u64::MAX) && *end >= record.call);
    during.map(|((version, _, _), _)| VERSIONS[*version]).collect()
}

pub fn timeline(records: &[Record]) -> String {
    records.iter().fold(String::new(), |mut text, record| {
        let end = record.ret.map_or("never".to_owned(), |ret| ret.to_string());
        _ = writeln!(text, "{:>5} to {end:>5}  client {}  {:?}", record.call, record.worker, record.what);
        text
    })
}
