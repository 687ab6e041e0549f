//! The store on which histories run, one after another: eight instances of the functions, each with its own connections
//! and caches, over one table whose calls fail now and then.

use super::shop::{AMOUNT, BALANCE, COMPILED, ITEMS, LIMITED, MONTHLY, THREE_USES};
use serde_json::{Value, json};
use shared::clock::Clock;
use shared::config::PaymentKeys;
use shared::model::{Code, ItemId};
use shared::providers::Stripe;
use shared::table::{codec, keys};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use stripe::ApiBase;
use stripe_stand_in::Action;
use tests::{Call, Fault, Instance, Reply, TestStore, repository};

/// How many instances of each function there are.
pub const INSTANCES: usize = 8;
/// Longer than any cache trusts its data.
const STALE: Duration = Duration::from_secs(6);

pub struct Bench {
    pub store: TestStore,
    pub instances: Vec<Arc<Instance>>,
    /// How often each fault was injected.
    faults: Arc<Mutex<BTreeMap<&'static str, usize>>>,
    addresses: AtomicU32,
    sweep: Value,
    /// The provider, as the operator calls it.
    pub stripe: Stripe,
}

impl Bench {
    pub async fn open() -> Self {
        let store = TestStore::open().await;
        let instances = store.instances(INSTANCES);
        let path = repository().join("infra/local/src/sweep.json");
        let sweep = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let keys = PaymentKeys::parse(&stripe_stand_in::payment_keys()).unwrap().stripe.unwrap();
        let stripe = Stripe::new(keys, ApiBase::parse(&store.payments.base_url()).unwrap());
        let bench = Self { store, instances, faults: Arc::default(), addresses: AtomicU32::new(0), sweep, stripe };
        // The first sweep notes from when on it asks for webhook events.
        bench.sweep().await;
        bench
    }

    /// An address that no request had before, so that no rate limit applies.
    pub fn address(&self) -> String {
        let [_, a, b, c] = self.addresses.fetch_add(1, Ordering::SeqCst).to_be_bytes();
        format!("10.{a}.{b}.{c}")
    }

    /// Logs a new player in: the token.
    pub async fn login(&self, name: &str) -> String {
        let call = Call::post("/auth/username").json(&json!({ "username": name })).from_ip(&self.address());
        self.store.send(call).await.data().as_str().unwrap().to_owned()
    }

    /// Buys the subscription for a player: its order, and the session that it begins with.
    pub async fn subscribe(&self, token: &str) -> (String, String) {
        let agreed = json!({ "paymentMethod": "Stripe", "termsAndConditions": true, "privacyPolicy": true });
        let item = format!("/cart/add/{}", ITEMS[usize::from(MONTHLY)]);
        let post = async |path: &str, body: &Value| {
            let reply = self.store.send(Call::post(path).json(body).token(token).from_ip(&self.address())).await;
            assert_eq!(reply.status, 200, "{}", reply.text);
            reply.json()
        };
        post(&item, &json!({ "payment_type": 1 })).await;
        let begun = post("/payments/create", &agreed).await;
        let session = begun["data"]["url"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
        self.store.payments.act(&session, &Action::Pay).unwrap();
        post("/payments/checkStatus", &json!({ "order_id": begun["order_id"], "checkout_id": session })).await;
        (begun["order_id"].as_str().unwrap().to_owned(), session)
    }

    /// Publishes a version, and lets every cache expire.
    pub async fn publish(&self, version: usize) {
        publish::publish(&self.store.db, &COMPILED[version], self.store.clock.seconds()).await.unwrap();
        self.store.clock.advance(STALE);
    }

    pub async fn sweep(&self) -> Reply {
        self.store.invoke_unchecked("payments", &self.sweep).await
    }

    /// How many calls failed, of which kinds.
    pub fn count_faults(&self) -> String {
        let faults = self.faults.lock().unwrap();
        let kinds: Vec<String> = faults.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        format!("{} faults ({})", faults.values().sum::<usize>(), kinds.join(", "))
    }

    /// From now on calls to the database fail by chance: responses are lost, or the call is throttled, refused, or meets
    /// a transaction. Now and then several fail in a row, so that a request gives up. Responses to writes of carts, counters
    /// and windows are lost more often: only their own marks show that they were done.
    pub fn break_calls(&self, seed: u64) {
        let (mut random, mut in_a_row) = (Random(seed), 0);
        let counts = Arc::clone(&self.faults);
        self.store.faults.inject(move |operation| {
            let roll = random.below(1_000);
            if in_a_row == 0 && roll < 4 {
                in_a_row = 4;
            }
            let fault = match (operation, roll) {
                _ if in_a_row > 0 => {
                    in_a_row -= 1;
                    Some(Fault::ResponseLost)
                }
                (_, ..20) | ("UpdateItem", 60..120) => Some(Fault::ResponseLost),
                (_, ..30) => Some(Fault::Throttled),
                (_, ..36) => Some(Fault::Internal),
                (_, ..42) => Some(Fault::Away),
                ("BatchGetItem", ..60) => Some(Fault::Unprocessed),
                ("UpdateItem", ..60) => Some(Fault::TransactionConflict),
                _ => None,
            };
            if let Some(fault) = fault {
                *counts.lock().unwrap().entry(name(fault)).or_default() += 1;
            }
            fault
        });
    }

    /// Makes coupons and gift card of a history, the first coupon with so many uses, and forgets what was sold before.
    pub async fn stock(&self, codes: &[String; 3], uses: usize) {
        let first = 1_000_000 + u64::from(self.addresses.load(Ordering::SeqCst)) * 4;
        let [tenth, three, card] = codes;
        for code in [
            json!({ "kind": "coupon", "id": first, "code": tenth, "active": true, "discount": { "percentage": 1_000 },
                    "max_uses": uses }),
            json!({ "kind": "coupon", "id": first + 1, "code": three, "active": true, "discount": { "amount": AMOUNT },
                    "max_uses_per_user": THREE_USES }),
            json!({ "kind": "gift", "id": first + 2, "code": card, "active": true, "balance": BALANCE, "start_balance": BALANCE }),
        ] {
            let code: Code = serde_json::from_value(code).unwrap();
            self.put(codec::encode_live(&keys::code(code.text()), &code).unwrap()).await;
        }
        self.reset_sold(ITEMS[usize::from(LIMITED)]).await;
    }

    /// Forgets how many units of an item were sold.
    pub async fn reset_sold(&self, item: u64) {
        let key = keys::count(ItemId::new(item));
        tests::delete(&self.store.db, &key).await;
    }

    /// Writes an item into the table.
    pub async fn put(&self, item: codec::Item) {
        tests::put(&self.store.db, item).await;
    }
}

const fn name(fault: Fault) -> &'static str {
    match fault {
        Fault::Throttled => "throttled",
        Fault::Internal => "internal error",
        Fault::Away => "unreachable",
        Fault::Unprocessed => "unprocessed",
        Fault::TransactionConflict => "conflict",
        Fault::ResponseLost => "response lost",
        _ => "other",
    }
}

/// Random numbers from a seed (`SplitMix64`).
pub struct Random(pub u64);

impl Random {
    pub const fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % most
    }
}
