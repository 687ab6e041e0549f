//! Requests to one cart over several instances, without faults (rules.md, "Writing a cart"). Each write raises the version
//! by one, so the order of the writes is that of their versions; a request that wrote nothing is where it read.

use super::checker::Model as _;
use super::model::{Buyer, Done, State, Step};
use super::ops::{CartOp, Shown, some_cart_op};
use super::shop::{ANY_PRICE, OPTIONS, SERVERS, Version};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use shared::model::UserId;
use shared::shop::carts;
use shared::table::keys;
use std::collections::{BTreeMap, HashSet};
use std::mem::discriminant;
use tests::{Call, CartTrace, Reply, TestStore, spread};

/// A user without a cart, and the codes of the sample store that apply to every cart.
const BUYER: (&str, UserId) = ("Pebble", UserId::new(3));
const CODES: [&str; 3] = ["hearth10", "threeback", "glow-7qxm-2k4d"];
/// Prices of the sample store. It has no limit for any of the items.
const SAMPLE: Version = Version { price: 500, limit: i64::MAX };
/// At least so many of the eleven kinds of requests have written: which ones meet their opposite is up to chance.
const KINDS: usize = 10;

async fn version(store: &TestStore) -> u64 {
    let mut rows = store.db.batch_get(vec![keys::cart(BUYER.1)]).await.unwrap();
    carts::take(&mut rows, BUYER.1).unwrap().version
}

/// Requests, the same ones in every run; `None` is cart/get. The first three lines have choices and are not removed.
fn mixed(count: usize) -> Vec<Option<CartOp>> {
    let some = prop::collection::vec(prop::option::weighted(0.9, some_cart_op()), count);
    let ops = some.new_tree(&mut TestRunner::deterministic()).unwrap().current();
    let change = |op| match op {
        CartOp::Remove(line) => CartOp::Remove(line + 3),
        // Removals have an effect only after their opposite, so there are more of them.
        CartOp::Reload { line: 5.., count } if count % 2 == 0 => CartOp::RemoveGiftcard,
        CartOp::Reload { line: 5.., .. } => CartOp::RemoveReferral,
        CartOp::SetVariable { line, colour } if line < 5 => CartOp::SetVariable { line: 2, colour },
        CartOp::SelectServer { line, server } if line < 5 => CartOp::SelectServer { line: 1, server },
        CartOp::ChangePrice { line, euros } if line < 5 => CartOp::ChangePrice { line: 3, euros },
        other => other,
    };
    ops.into_iter().map(|op| op.map(change)).collect()
}

/// The effect of a request, by its response.
fn done(op: Option<CartOp>, reply: &Reply) -> Done {
    match op {
        Some(op) => Done::Cart(op, Some(op.said(reply).unwrap_or_else(|| panic!("{op:?}: {}", reply.text)))),
        None => Done::Show(Shown::read(&reply.json(), &CODES.map(str::to_owned))),
    }
}

/// Whether a request gave up because other requests kept changing the cart: it read four times and wrote nothing.
fn gave_up(reply: &Reply, trace: &CartTrace) -> bool {
    let gave_up = reply.text.contains("was changed by another request");
    if reply.status == 503 {
        // So many others wrote that a write of its own could no longer be recognised.
        assert!(trace.written.is_empty(), "{trace:?}");
        return true;
    }
    if gave_up {
        assert!(trace.read.len() == 4 && trace.written.is_empty(), "{trace:?}");
        assert!(trace.read.is_sorted_by(|one, next| one < next), "each saw a change: {trace:?}");
        assert!([200, 409].contains(&reply.status.as_u16()), "{}", reply.status);
    }
    gave_up
}

/// The states after a step; there must be one.
fn after(states: &[State], done: Done, what: &str) -> Vec<State> {
    let (buyer, text) = (Buyer { made: Vec::new() }, format!("{what}: {done:?} in {states:?}"));
    let step = Step { done, versions: vec![SAMPLE] };
    let after: Vec<State> = states.iter().flat_map(|state| buyer.step(state, &step)).collect();
    assert!(!after.is_empty(), "{text}");
    after
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn two_hundred_mixed_requests_to_one_cart_are_explained_by_some_serial_order() {
    let store = TestStore::open().await;
    let (token, codes) = (store.token(BUYER.0), CODES.map(str::to_owned));
    let mut states = vec![Buyer { made: Vec::new() }.start()];
    for (item, choice) in [(SERVERS, 1), (OPTIONS, 0), (ANY_PRICE, 5)] {
        let op = CartOp::Add { item, count: 1, choice };
        let reply = store.send(op.call(&codes).token(&token)).await;
        states = after(&states, done(Some(op), &reply), "before");
    }
    let start = version(&store).await;
    let ops = mixed(200);
    let call = |op: &Option<CartOp>| op.map_or_else(|| Call::post("/cart/get"), |op| op.call(&codes)).token(&token);
    let replies = spread(&store.instances(8), ops.iter().map(call).collect()).await;

    let (mut writes, mut others) = (BTreeMap::new(), BTreeMap::<u64, Vec<Done>>::new());
    let (mut kinds, mut has_met) = (HashSet::new(), false);
    for (op, (reply, trace)) in ops.into_iter().zip(replies) {
        has_met |= trace.read.len() > 1;
        if gave_up(&reply, &trace) {
            continue;
        }
        let read = *trace.read.last().unwrap_or_else(|| panic!("{op:?} did not read the cart"));
        match trace.written[..] {
            [] => others.entry(read).or_default().push(done(op, &reply)),
            [written] => {
                assert_eq!(written, read + 1, "{op:?}");
                kinds.extend(op.map(|op| discriminant(&op)));
                assert!(writes.insert(written, done(op, &reply)).is_none(), "two requests wrote version {written}");
            }
            _ => panic!("{op:?} wrote twice: {trace:?}"),
        }
    }
    let end = version(&store).await;
    assert_eq!(writes.len() as u64, end - start);
    for version in start..=end {
        if version > start {
            let write = writes.remove(&version).unwrap_or_else(|| panic!("no request wrote version {version}"));
            states = after(&states, write, &format!("version {version}"));
        }
        for done in others.remove(&version).unwrap_or_default() {
            let unchanged = after(&states, done, &format!("at version {version}"));
            assert!(unchanged.iter().any(|state| states.contains(state)), "at version {version}: not written");
        }
    }
    assert!(others.is_empty(), "a version was read that was never written");
    let shown = store.send(Call::post("/cart/get").token(&token)).await;
    after(&states, done(None, &shown), "the end");
    assert!(kinds.len() >= KINDS, "only {} kinds of requests have written", kinds.len());
    assert!(has_met, "no request met another");
}
