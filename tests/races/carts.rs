//! Requests to one cart over several instances (rules.md, "Writing a cart").

use super::cart_model::{CODES, ITEMS, Model, Op, REFERRALS};
use serde_json::json;
use shared::model::{Cart, UserId};
use shared::store::{carts, keys};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::mem::discriminant as kind;
use tests::{Call, CartTrace, Reply, TestStore, spread};

/// A user who has bought nothing and has no cart.
const BUYER: UserId = UserId::new(3);

async fn stored(store: &TestStore) -> Cart {
    let mut rows = store.db.batch_get(vec![keys::cart(BUYER)]).await.unwrap();
    carts::take(&mut rows, BUYER).unwrap()
}

fn send(store: &TestStore, op: Op) -> Call {
    op.call().token(&store.token("Pebble"))
}

/// A mixture of requests; the same for every run. The first three lines have choices and are not removed.
fn mixed(count: u64) -> Vec<Op> {
    let mut state = 20_u64;
    let mut below = |most: u8| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        u8::try_from((state >> 33) % u64::from(most)).unwrap()
    };
    let op = |_| {
        let (line, choice, few) = (u64::from(below(12)), below(2), below(4));
        let one_of = |list: [&'static str; 2]| list[usize::from(choice)];
        match below(18) {
            0..=3 => Op::Add { item: ITEMS[usize::from(few)], count: 1, choice: choice.into() },
            4 | 5 => Op::Remove(line + 4),
            6 | 7 => Op::Reload { line: line + 1, count: u32::from(few) + 1 },
            8 => Op::SetVariable { line: 2, value: one_of(["Midnight", "Copper"]) },
            9 => Op::SelectServer { line: 1, server: few.into() },
            10 => Op::ChangePrice { line: 3, euros: few.into() },
            11 => Op::SetVariable { line, value: one_of(["Ash", "Purple"]) },
            12 => Op::SelectServer { line, server: few.into() },
            13 => Op::ChangePrice { line, euros: few.into() },
            14 => Op::Accept(CODES[usize::from(few) % CODES.len()]),
            15 => [Op::RemoveCoupon, Op::RemoveReferral][usize::from(choice)],
            16 => Op::SetReferral(one_of(REFERRALS)),
            _ => Op::Get,
        }
    };
    (0..count).map(op).collect()
}

/// A request with its response and what it did with the cart.
struct Done {
    op: Op,
    reply: Reply,
    trace: CartTrace,
}

impl Done {
    /// Whether it gave up because other requests kept changing the cart: it read four times and wrote nothing.
    fn gave_up(&self) -> bool {
        let gave_up = self.reply.text.contains("was changed by another request");
        if gave_up {
            assert!(self.trace.read.len() == 4 && self.trace.written.is_empty(), "{:?}: {:?}", self.op, self.trace);
            assert!(self.trace.read.is_sorted_by(|one, next| one < next), "each saw a change: {:?}", self.trace);
            assert!([200, 409].contains(&self.reply.status.as_u16()), "{:?}: {}", self.op, self.reply.status);
        }
        gave_up
    }
}

/// Checks that the responses are those of some serial order. Each write raises the version by one, so the order of the
/// writes is that of their versions; a request that wrote nothing is where it read.
fn explain(start: &Cart, end: &Cart, done: &[Done]) -> usize {
    let (mut writes, mut others) = (BTreeMap::new(), BTreeMap::<u64, Vec<&Done>>::new());
    for done in done.iter().filter(|done| !done.gave_up()) {
        let Some(read) = done.trace.read.last().copied() else { panic!("{:?} did not read the cart", done.op) };
        match done.trace.written[..] {
            [] => others.entry(read).or_default().push(done),
            [version] => {
                assert_eq!(version, read + 1, "{:?}", done.op);
                assert!(writes.insert(version, done).is_none(), "two requests wrote version {version}");
            }
            _ => panic!("{:?} wrote twice: {:?}", done.op, done.trace),
        }
    }
    let mut model = Model::of(start);
    for version in start.version..=end.version {
        if let Some(done) = writes.get(&version) {
            assert_eq!(done.op.said(&done.reply), model.apply(done.op), "version {version}: {:?}", done.op);
        } else {
            assert_eq!(version, start.version, "no request wrote version {version}");
        }
        for done in others.remove(&version).unwrap_or_default() {
            let mut unchanged = model.clone();
            assert_eq!(done.op.said(&done.reply), unchanged.apply(done.op), "at version {version}: {:?}", done.op);
            assert_eq!(unchanged, model, "at version {version}: {:?} should have been written", done.op);
        }
    }
    assert!(others.is_empty(), "a version was read that was never written");
    assert_eq!(model, Model::of(end));
    writes.len()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn two_hundred_mixed_requests_to_one_cart_are_explained_by_some_serial_order() {
    let store = TestStore::open().await;
    let instances = store.instances(8);
    for item in ITEMS {
        let reply = store.send(send(&store, Op::Add { item, count: 1, choice: 0 })).await;
        assert_eq!(reply.status, 200, "{}", reply.text);
    }
    let start = stored(&store).await;
    let ops = mixed(200);
    let calls = ops.iter().map(|op| send(&store, *op)).collect();
    let replies = spread(&instances, calls).await;
    let done = ops.into_iter().zip(replies).map(|(op, (reply, trace))| Done { op, reply, trace });
    let done: Vec<Done> = done.collect();
    let end = stored(&store).await;
    let written = explain(&start, &end, &done);
    assert_eq!(end.version, start.version + written as u64);
    let kinds: HashSet<_> =
        done.iter().filter(|done| !done.trace.written.is_empty()).map(|done| kind(&done.op)).collect();
    assert_eq!(kinds.len(), Op::WRITING, "every kind of request has written");
    assert!(done.iter().any(|done| done.trace.read.len() > 1), "no request met another");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn a_limit_of_three_is_never_shown_as_four() {
    let store = TestStore::open().await;
    let instances = store.instances(8);
    let token = store.token("Pebble");
    let post = |path: &str, count: u64| Call::post(path).token(&token).json(&json!({ "count": count }));
    let mut shown = BTreeSet::new();
    for _ in 0..5 {
        // The cart has one line at most. A removed one comes back with the next id.
        let first = stored(&store).await.next_line;
        let calls = (0..80).map(|number| {
            let line = first.saturating_sub(1) + number / 20;
            match number % 5 {
                0 => post("/cart/add/203", 1),
                1 => post("/cart/add/203", 2 + number / 5 % 2),
                2 => post(&format!("/cart/reload/{line}"), 1 + number / 5 % 4),
                3 => Call::post(&format!("/cart/remove/{line}")).token(&token),
                _ => Call::post("/cart/get").token(&token),
            }
        });
        let replies = spread(&instances, calls.collect()).await;
        for (reply, _) in &replies {
            if let Some(lines) = reply.json()["items"].as_array() {
                shown.insert(lines.iter().map(|line| line["count"].as_u64().unwrap()).sum::<u64>());
            }
        }
        let written = replies.iter().filter(|(_, trace)| !trace.written.is_empty()).count();
        assert!(written > 4, "{written} writes are too few for a race");
        shown.insert(stored(&store).await.lines.iter().map(|line| u64::from(line.count)).sum());
    }
    assert!(shown.contains(&3) && shown.iter().all(|units| *units <= 3), "{shown:?}");
}
