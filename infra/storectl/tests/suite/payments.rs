//! `payments …`, the steps of orders at the payment provider, and what else knows of open checkouts. The provider is the
//! stand-in.

use crate::bench::Bench;
use serde_json::{Value, json};
use shared::clock::Clock;
use shared::config::PaymentKeys;
use shared::model::{InternalId, ItemId, Login, TaxMode, User, UserId};
use shared::providers::Stripe;
use shared::shop::carts::{CartContext, CartSources};
use shared::shop::orders;
use shared::shop::orders::unfinished::Unfinished;
use shared::shop::payments::{Desk, Request, Swept, create};
use shared::shop::stock::Counters;
use shared::table::caches::VersionedCache;
use shared::table::codec::decode_live;
use shared::table::published::read_active_version;
use shared::table::transaction::{Write, send};
use shared::table::{Db, connector, keys};
use std::convert::Infallible;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;
use std::time::Duration;
use storectl::answer::Printed;
use storectl::console::Console;
use storectl::error::Failure;
use stripe::{ApiBase, Client, SecretKey};
use stripe_stand_in::{ACCOUNT, Account, Action, KEY, Options, Received, StandIn, start};
use tests::configure;

/// The address of an API.
pub const API: &str = "https://api.shop.example";
pub const WEBHOOK: &str = "https://api.shop.example/payments/webhook/stripe";
/// A published item of 2.49 with a global limit.
pub const ITEM: &str = "211";

/// A store, and a provider that it can be connected with.
pub struct Paying {
    pub bench: Bench,
    pub stand_in: StandIn,
}

impl Paying {
    pub async fn open() -> Self {
        Self::of(Bench::published().await).await
    }

    pub async fn of(bench: Bench) -> Self {
        bench.write("key.txt", &format!("{KEY}\n"));
        Self { stand_in: stand_in(&bench).await, bench }
    }

    /// A connected store with a user who has two units in the cart.
    pub async fn connected() -> Self {
        let paying = Self::open().await;
        paying.ok(&paying.connect()).await;
        paying.fill().await;
        paying
    }

    /// Adds a user with two units in the cart.
    pub async fn fill(&self) {
        self.bench.ok(&["user", "add", "Newt"]).await;
        self.bench.cart_add(&["Newt", ITEM, "--count", "2"]).await;
    }

    pub fn path(&self, name: &str) -> String {
        self.bench.path(name).display().to_string()
    }

    /// The command that connects the store.
    pub fn connect(&self) -> Vec<&'static str> {
        vec!["payments", "connect", "stripe", "--stripe-key", self.path("key.txt").leak(), "--url", API]
    }

    /// Runs the tool with the keys of payments, without a terminal.
    pub async fn run(&self, arguments: &[&str]) -> Result<Printed, Failure> {
        self.run_before(&Console::without_terminal(), arguments).await
    }

    pub async fn run_before(&self, console: &Console, arguments: &[&str]) -> Result<Printed, Failure> {
        let (keys, base) = (self.path("payment-keys.json"), self.stand_in.base_url());
        let line = [arguments, &["--payment-keys", &keys, "--stripe-api-base", &base]].concat();
        self.bench.run_before(console, &line).await
    }

    pub async fn ok(&self, arguments: &[&str]) -> Value {
        self.answer(arguments).await.json().clone()
    }

    /// The same, with its text and its exit code.
    pub async fn answer(&self, arguments: &[&str]) -> Printed {
        let answer = self.run(arguments).await.unwrap_or_else(|failure| panic!("{arguments:?}: {failure}"));
        let seen = format!("{}{}", answer.text(), answer.json());
        assert!(!seen.contains(KEY) && !seen.contains("whsec_"), "{seen}");
        answer
    }

    pub async fn fails(&self, arguments: &[&str]) -> Failure {
        let failure = self.run(arguments).await.unwrap_err();
        assert!(!failure.print(true).contains(KEY), "{failure}");
        failure
    }

    pub fn keys(&self) -> PaymentKeys {
        PaymentKeys::parse(&std::fs::read_to_string(self.bench.path("payment-keys.json")).unwrap()).unwrap()
    }

    pub fn secrets(&self) -> Vec<String> {
        let secrets = self.keys().stripe.unwrap().webhook;
        secrets.iter().map(|secret| secret.expose().to_owned()).collect()
    }

    fn provider(&self) -> Stripe {
        Stripe::new(self.keys().stripe.unwrap(), ApiBase::parse(&self.stand_in.base_url()).unwrap())
    }

    /// Begins a checkout of the user's cart.
    pub async fn checkout(&self) -> InternalId {
        begin_checkout(&self.bench.db, self.bench.clock.as_ref(), &self.provider()).await
    }

    /// Lets so much time pass, and runs the scheduled sweep.
    pub async fn sweep(&self, time: Duration) -> Swept {
        self.bench.clock.advance(time);
        let provider = self.provider();
        Desk::new(&self.bench.db, self.bench.clock.as_ref(), Some(&provider)).sweep().await.unwrap()
    }

    /// Begins a checkout, and pays it on the provider's page.
    pub async fn paid(&self) -> InternalId {
        let order = self.checkout().await;
        self.stand_in.act(self.stand_in.sessions().last().unwrap(), &Action::Pay).unwrap();
        assert_eq!(self.ok(&["order", "settle", order.as_str()]).await["status"], "PAID");
        order
    }

    /// Findings of the doctor.
    pub async fn findings(&self) -> Vec<Value> {
        self.run(&["doctor"]).await.unwrap().json()["findings"].as_array().unwrap().clone()
    }

    /// The finding of one check.
    pub async fn doctor(&self, check: &str) -> Value {
        self.findings().await.into_iter().find(|finding| finding["check"] == check).unwrap_or_else(|| panic!("{check}"))
    }

    /// Makes the table forget a checkout, as a restore to the time before it does.
    pub async fn lose(&self, order: &InternalId) {
        let stored = orders::get(&self.bench.db, order).await.unwrap().unwrap();
        let (user, item) = (UserId::new(1), ItemId::new(211));
        let keys = [stored.key(), keys::count(item), keys::cart(user), keys::ledger(user)];
        for key in keys.into_iter().chain(stored.unfinished()) {
            self.bench.delete(&key).await;
        }
    }

    pub fn client(&self) -> Client {
        let base = ApiBase::parse(&self.stand_in.base_url()).unwrap();
        Client::new(outgoing::Client::new(connector::roots()), base, SecretKey::parse(KEY).unwrap())
    }

    /// The keys of the refunds that the provider was asked for, without the tries of what the key may do.
    pub fn refunds(&self) -> Vec<String> {
        let received = self.stand_in.received();
        let tried = ("payment_intent".to_owned(), "pi_none".to_owned());
        let is_refund = |sent: &Received| sent.route == "POST /v1/refunds" && !sent.parameters.contains(&tried);
        let refunds = received.into_iter().filter(is_refund);
        refunds.map(|received| received.key.unwrap()).collect()
    }
}

/// Begins a checkout of the first user's cart, as the function does.
pub async fn begin_checkout(db: &Db, clock: &dyn Clock, provider: &Stripe) -> InternalId {
    let (items, counters) = (VersionedCache::default(), Counters::new(Duration::ZERO));
    let sources = CartSources { db, items: &items, counters: &counters, clock };
    let request = Request {
        gateway: "Stripe",
        login: Login::Proven,
        chat: None,
        has_consented: true,
        address: None,
        address_hash: None,
    };
    let load = || async {
        let key = keys::user(UserId::new(1));
        let user: User = decode_live(&key, db.get(&key, true).await.unwrap().unwrap()).unwrap();
        let active = Arc::new(read_active_version(db).await.unwrap().unwrap());
        let rows = db.batch_get(CartContext::keys(user.id).to_vec()).await.unwrap();
        Ok::<_, Infallible>(CartContext::take(user, active, rows).unwrap())
    };
    create(&sources, provider, request, load().await.unwrap(), load).await.unwrap().order
}

/// A provider with an account, another one, and the first in live mode.
pub async fn stand_in(bench: &Bench) -> StandIn {
    let others = vec![Account::new("rk_test_other", "acct_other"), Account::new("rk_live_standin", ACCOUNT)];
    start(Options { clock: Arc::clone(&bench.clock) as _, others, ..Options::default() }).await.unwrap()
}

#[tokio::test]
async fn connecting_checks_the_key_creates_the_endpoint_and_keeps_both_secrets() {
    let paying = Paying::open().await;
    let connected = paying.ok(&paying.connect()).await;
    assert_eq!(
        (&connected["url"], &connected["overlap"], &connected["live"]),
        (&json!(WEBHOOK), &json!(false), &json!(false))
    );
    assert_eq!(paying.keys().stripe.unwrap().key.expose(), KEY);
    assert_eq!(paying.secrets().len(), 1);
    let mode = std::fs::metadata(paying.bench.path("payment-keys.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let shown = paying.ok(&["payments", "show"]).await;
    let endpoints = &shown["stripe"]["at_stripe"]["endpoints"];
    assert_eq!(endpoints.as_array().unwrap().len(), 1);
    assert_eq!((&endpoints[0]["url"], &endpoints[0]["problem"]), (&json!(WEBHOOK), &Value::Null));
    assert_eq!(shown["methods"], json!(["Stripe"]));
    let ways = &shown["stripe"]["at_stripe"]["ways"];
    assert_eq!((&ways["once"], &ways["not_offered"]), (&json!(["card", "paypal", "ideal", "sepa_debit"]), &json!([])));
    assert_eq!(ways["subscriptions"], json!(["card", "paypal", "sepa_debit"]));
    assert_eq!(paying.doctor("ways to pay").await["state"], "ok");
    configure(&paying.bench.db, |config| config.payments.only = ["card", "twint"].map(str::to_owned).to_vec()).await;
    let found = paying.doctor("ways to pay").await;
    let said = "payments.only has twint, which the account does not offer in this currency";
    assert_eq!((&found["state"], &found["said"]), (&json!("bad"), &json!(said)));
    configure(&paying.bench.db, |config| {
        config.payments.only = Vec::new();
        config.payments.tax = TaxMode::Stripe;
    })
    .await;
    assert_eq!(paying.doctor("taxes").await["state"], "ok");
    configure(&paying.bench.db, |config| config.payments.tax_codes = vec!["txcd_99999998".to_owned()]).await;
    let found = paying.doctor("taxes").await;
    let said = "there is no tax code txcd_99999998 at Stripe: no checkout of what has it opens";
    assert_eq!((&found["state"], &found["said"]), (&json!("bad"), &json!(said)));
    assert_eq!(paying.ok(&["payments", "show"]).await["stripe"]["at_stripe"]["taxes"], json!(said));
    let before = paying.secrets();
    let again = paying.ok(&paying.connect()).await;
    assert_eq!((&again["created"], paying.secrets()), (&Value::Null, before));
}

#[tokio::test]
async fn a_key_can_be_connected_before_a_store_is_published() {
    let paying = Paying::of(Bench::empty().await).await;
    let connected = paying.ok(&paying.connect()).await;
    assert_eq!((&connected["url"], paying.secrets().len()), (&json!(WEBHOOK), 1));
}

#[tokio::test]
async fn the_secrets_of_the_webhooks_overlap_until_the_change_is_finished() {
    let paying = Paying::connected().await;
    let before = paying.secrets();
    let changed = paying.ok(&[paying.connect(), vec!["--new-secret"]].concat()).await;
    assert_eq!(changed["overlap"], true);
    let both = paying.secrets();
    assert_eq!((both.len(), &both[1]), (2, &before[0]));
    assert_ne!(both[0], before[0]);
    let finished = paying.ok(&["payments", "connect", "stripe", "--url", API, "--finish"]).await;
    assert_eq!((finished["deleted"].as_array().unwrap().len(), &finished["forgotten"]), (1, &json!(1)));
    assert_eq!(paying.secrets(), both[..1]);
    let left = paying.ok(&["payments", "show"]).await["stripe"]["at_stripe"]["endpoints"].clone();
    assert_eq!((left.as_array().unwrap().len(), &left[0]["id"]), (1, &changed["created"]));
    let nothing = paying.ok(&["payments", "connect", "stripe", "--url", API, "--finish"]).await;
    assert_eq!((&nothing["deleted"], &nothing["forgotten"]), (&json!([]), &json!(0)));
}

#[tokio::test]
async fn a_cancelled_checkout_cannot_be_paid_and_holds_nothing() {
    let paying = Paying::connected().await;
    let order = paying.checkout().await;
    assert_eq!(paying.doctor("sums of orders").await["state"], "ok", "what is held counts as sold");
    let cancelled = paying.ok(&["order", "cancel", order.as_str()]).await;
    assert_eq!((&cancelled["status"], &cancelled["held"]), (&json!("CANCELLED"), &json!(false)));
    assert!(paying.stand_in.act(&paying.stand_in.sessions()[0], &Action::Pay).is_err());
    assert_eq!(paying.doctor("sums of orders").await["state"], "ok");
    assert_eq!(paying.ok(&["order", "cancel", order.as_str()]).await["status"], "CANCELLED", "nothing is left to do");
    let paid = paying.paid().await;
    let late = paying.fails(&["order", "cancel", paid.as_str()]).await;
    assert!(late.what.contains("PAID"), "{late}");
}

#[tokio::test]
async fn the_doctor_knows_keys_and_overdue_orders() {
    let paying = Paying::connected().await;
    assert_eq!(paying.doctor("payments").await["state"], "ok");
    assert_eq!(paying.doctor("open orders").await["state"], "ok");
    let order = paying.checkout().await;
    let stored = orders::get(&paying.bench.db, &order).await.unwrap().unwrap();
    let row: Write = Unfinished::put(&stored.order, 1_000).unwrap();
    send(&paying.bench.db, vec![row]).await.unwrap();
    assert_eq!(paying.doctor("open orders").await["state"], "bad");
    paying.bench.write("payment-keys.json", r#"{"stripe":{"key":"rk_test_another","webhook":["whsec_a"]}}"#);
    let refused = paying.doctor("payments").await;
    assert_eq!((&refused["state"], &refused["said"]), (&json!("bad"), &json!("Stripe does not accept the key.")));
    std::fs::remove_file(paying.bench.path("payment-keys.json")).unwrap();
    assert_eq!(paying.doctor("payments").await["state"], "bad", "store.yaml names a method");
}

#[tokio::test]
async fn the_last_real_payments_say_whether_buyers_get_receipts() {
    for (sends, state, said) in [
        (false, "note", "Stripe sent none for the last 1 payments, and the store sends none"),
        (true, "ok", "Stripe sent them for 1 of the last 1 payments"),
    ] {
        let paying = Paying::open().await;
        paying.fill().await;
        let keys = json!({ "stripe": { "key": "rk_live_standin", "webhook": ["whsec_a"], "account": ACCOUNT } });
        paying.bench.write("payment-keys.json", &keys.to_string());
        let before = paying.doctor("receipts").await;
        assert_eq!(before["said"], "the store sends none, and Stripe only if they are switched on there");
        if sends {
            paying.stand_in.send_receipts();
        }
        paying.paid().await;
        let found = paying.doctor("receipts").await;
        assert_eq!((&found["state"], &found["said"]), (&json!(state), &json!(said)));
    }
}

#[tokio::test]
async fn a_ban_with_cards_bans_those_of_the_accounts_orders_and_its_end_lifts_them() {
    let paying = Paying::connected().await;
    paying.paid().await;
    let shown = paying.ok(&["user", "show", "1"]).await;
    let name = shown["user"]["username"].as_str().unwrap().to_owned();
    for _again in 0..2 {
        paying.ok(&["ban", &name, "--card", "--reason", "stolen"]).await;
        let ban = paying.ok(&["user", "show", "1"]).await["ban"].clone();
        assert_eq!((&ban["cards"], &ban["reason"]), (&json!(1), &json!("stolen")));
    }
    paying.ok(&["ban", &name]).await;
    assert_eq!(paying.ok(&["user", "show", "1"]).await["ban"]["cards"], json!(1));
    paying.ok(&["unban", &name]).await;
    assert_eq!(paying.ok(&["user", "show", "1"]).await["ban"], Value::Null);
}
