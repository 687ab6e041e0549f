//! A shop with buyers, carts and a payment provider.

use crate::provider::TestProvider;
use crate::shop::{Shop, USERS, code, published_item};
use serde_json::{Value, json};
use shared::model::{
    ActiveVersion, AppliedCoupon, AppliedGiftCard, Cart, Code, InternalId, ItemId, Line, LineId, Login, Money,
    OrderStatus, PaymentType, Payments, PlayerName, StoreConfig, User, UserId,
};
use shared::shop::accounts::names;
use shared::shop::carts;
use shared::shop::carts::{CartContext, CartSources};
use shared::shop::orders::{self, StoredOrder};
use shared::shop::payments::{CHECKOUTS, Checkout, CreateError, Desk, Provider, Request, Settled, Swept, create};
use shared::shop::stock::Counters;
use shared::table::caches::VersionedCache;
use shared::table::transaction::{Write, send};
use shared::table::{Db, StoreError, keys, published, read_live, single};
use std::ops::Deref;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tests::{Fault, Prepared, TestClock, TestTable};

/// For virtual currency only, 50 each.
pub const VIRTUAL: u64 = 20;
/// Can be given, one for one user.
pub const GIFT: u64 = 21;
/// Can be given, twenty in all.
pub const TWENTY: u64 = 22;
/// Costs nothing.
pub const FREE: u64 = 23;
/// A step of a cumulative category, and the one above it.
pub const STEPS: [u64; 2] = [24, 25];
/// Needs a linked chat account.
pub const CHAT: u64 = 26;
/// Price of every item.
pub const PRICE: i64 = 100;

pub type Refused = CreateError<StoreError>;

pub struct Market {
    shop: Shop,
    pub provider: TestProvider,
    /// The virtual currency that users were given.
    balances: Mutex<Vec<(u64, i64)>>,
}

impl Deref for Market {
    type Target = Shop;

    fn deref(&self) -> &Shop {
        &self.shop
    }
}

/// One instance of the function: its connection and its caches.
pub struct Instance {
    pub db: Db,
    items: VersionedCache,
    counters: Counters,
}

impl Instance {
    pub fn new(db: Db) -> Self {
        Self { db, items: VersionedCache::default(), counters: Counters::new(Duration::from_secs(5)) }
    }
}

/// A buyer's request to begin a checkout, from this address.
pub const fn request(address: Option<&str>) -> Request<'_> {
    Request { gateway: "Stripe", login: Login::Proven, chat: None, has_consented: true, address }
}

impl Market {
    pub async fn open() -> Self {
        static CONTENTS: Prepared = Prepared::new();
        Self::copy_of(&CONTENTS, |_| async {}).await
    }

    /// A market with another configuration of payments.
    pub async fn open_with(payments: Payments) -> Self {
        let market = Self::open().await;
        market.set_payments(payments).await;
        market
    }

    /// A market with what `fill` adds to the first one.
    pub async fn copy_of<F: Future<Output = ()>>(contents: &Prepared, fill: impl FnOnce(Self) -> F) -> Self {
        let fill = |table: TestTable| async move {
            table.write_all(crate::shop::fixture()).await;
            table.write_all(items().iter().map(|item| published_item("v1", item)).collect()).await;
            table.put(&keys::active_version(), &active(&Payments::default())).await;
            // The fixture's users were not given ids by the counter.
            single::reserve(&table.db, single::USERS, USERS).await.unwrap();
            fill(Self::of(Shop { table, clock: TestClock::new() })).await;
        };
        Self::of(Shop::copy_of(contents, fill).await)
    }

    fn of(shop: Shop) -> Self {
        Self { shop, provider: TestProvider::default(), balances: Mutex::default() }
    }

    pub async fn set_payments(&self, payments: Payments) {
        self.put(&keys::active_version(), &active(&payments)).await;
    }

    /// An instance whose calls do not fail.
    pub fn instance(&self) -> Instance {
        Instance::new(self.db.clone())
    }

    /// An instance with a connection of its own whose calls fail as `rule` says.
    pub fn failing(&self, rule: impl FnMut(usize, &str) -> Option<Fault> + Send + 'static) -> Instance {
        Instance::new(self.with_faults(rule))
    }

    /// An instance whose process is killed at its `nth` transaction: before it is written, or right after.
    pub fn killed_at_transaction(&self, nth: usize, is_written: bool) -> Instance {
        let mut transactions = 0;
        self.failing(move |_, operation| {
            let is_transaction = operation == "TransactWriteItems";
            transactions += usize::from(is_transaction);
            match transactions {
                at if at < nth => None,
                at if at == nth && is_transaction && is_written => Some(Fault::ResponseLost),
                _ => Some(Fault::Internal),
            }
        })
    }

    /// Instances with connections of their own.
    pub fn instances(&self, count: usize) -> Vec<Instance> {
        (0..count).map(|_| self.failing(|_, _| None)).collect()
    }

    /// Gives a user a name that gifts can be sent to.
    pub async fn name(&self, user: u64, name: &str) {
        let name = PlayerName::parse(name).unwrap();
        self.write_item(names::row(name.key(), UserId::new(user), None).unwrap()).await;
    }

    /// Fills a user's cart and begins its checkout.
    pub async fn checkout(&self, user: u64, lines: &[(u64, u32)], on_cart: Option<&str>) -> InternalId {
        self.fill(user, lines, on_cart).await;
        self.create(user).await.unwrap().order
    }

    /// The buyer pays, and the provider is asked about it.
    pub async fn pay(&self, order: &InternalId) -> Settled {
        assert!(self.provider.pay(order), "{order} cannot be paid");
        self.settle(order).await
    }

    /// Fills a user's cart, as the version after the one in the table.
    pub async fn fill(&self, user: u64, lines: &[(u64, u32)], on_cart: Option<&str>) {
        let lines = (1..).zip(lines).map(|(id, (item, count))| line(id, *item, *count)).collect();
        self.fill_with(user, lines, on_cart).await;
    }

    pub async fn fill_with(&self, user: u64, lines: Vec<Line>, on_cart: Option<&str>) {
        let before = self.cart(user).await;
        let next_line = lines.iter().map(|line| line.id.get() + 1).chain([before.next_line]).max().unwrap();
        let mut cart = Cart { lines, coupon: None, gift_card: None, next_line, ..before };
        if let Some(text) = on_cart {
            match read_live(&self.db, &keys::code(&code(text))).await.unwrap().unwrap() {
                Code::Coupon(coupon) => cart.coupon = Some(AppliedCoupon::from(&coupon)),
                Code::Gift(gift) => cart.gift_card = Some(AppliedGiftCard::entered_by(Login::Proven, &gift)),
            }
        }
        carts::save(&self.db, &cart).await.unwrap();
    }

    pub async fn cart(&self, user: u64) -> Cart {
        let user = UserId::new(user);
        let cart: Option<Cart> = read_live(&self.db, &keys::cart(user)).await.unwrap();
        cart.unwrap_or_else(|| Cart::empty(user))
    }

    /// Begins a checkout.
    pub async fn create(&self, user: u64) -> Result<Checkout, Refused> {
        self.create_by(&self.instance(), user).await
    }

    pub async fn create_by(&self, instance: &Instance, user: u64) -> Result<Checkout, Refused> {
        self.create_as(instance, user, request(None)).await
    }

    pub async fn create_as(&self, by: &Instance, user: u64, request: Request<'_>) -> Result<Checkout, Refused> {
        self.create_at(&self.provider, by, user, request).await
    }

    /// Begins a checkout at another provider than the shop's own.
    pub async fn create_at(
        &self,
        provider: &impl Provider,
        by: &Instance,
        user: u64,
        request: Request<'_>,
    ) -> Result<Checkout, Refused> {
        let Instance { db, items, counters } = by;
        let sources = CartSources { db, items, counters, clock: &self.clock };
        let address = request.address;
        let first = load(db, user, address).await.map_err(Refused::Load)?;
        create(&sources, provider, request, first, || load(db, user, address)).await
    }

    /// The refusal of a checkout, as a sentence.
    pub async fn refusal(&self, user: u64) -> String {
        self.create(user).await.unwrap_err().to_string()
    }

    pub async fn order(&self, id: &InternalId) -> StoredOrder {
        orders::get(&self.db, id).await.unwrap().unwrap()
    }

    pub async fn status(&self, id: &InternalId) -> OrderStatus {
        self.order(id).await.order.status
    }

    /// Asks the provider about an order.
    pub async fn settle(&self, id: &InternalId) -> Settled {
        let stored = self.order(id).await;
        self.desk().settle(&stored).await.unwrap()
    }

    pub fn desk(&self) -> Desk<'_, &TestProvider> {
        Desk::new(&self.db, &self.clock, &self.provider)
    }

    pub async fn sweep(&self) -> Swept {
        Desk::new(&self.db, &self.clock, Some(&self.provider)).sweep().await.unwrap()
    }

    /// Lets an hour pass and sweeps until nothing is due, also what had lost against others and is tried again after five
    /// minutes.
    pub async fn sweep_later(&self) {
        self.clock.advance(Duration::from_hours(1));
        for _ in 0..4 {
            if self.sweep().await == Swept::default() {
                return;
            }
            self.clock.advance(Duration::from_mins(6));
        }
    }

    /// The rows of what is not finished.
    pub async fn unfinished(&self) -> usize {
        let rows = self.db.query(&keys::unfinished()).await.unwrap();
        rows.into_iter().filter(|row| row.key().unwrap() != keys::webhook_events()).count()
    }

    /// Makes an order one of before account and mode were stored.
    pub async fn forget_account(&self, id: &InternalId) {
        let write: Write = Write::update(keys::order(id), "REMOVE provider.account, provider.live");
        send(&self.db, vec![write]).await.unwrap();
    }

    pub async fn virtual_balance(&self, user: u64) -> i64 {
        self.number(&keys::user(UserId::new(user)), "virtual_currency").await
    }

    pub async fn set_virtual_balance(&self, user: u64, amount: i64) {
        let account = User { virtual_currency: Money::from_minor(amount), ..crate::shop::user(user) };
        self.put(&keys::user(account.id), &account).await;
        self.balances.lock().unwrap().push((user, amount));
    }

    /// The virtual currency that users were given.
    pub fn balances(&self) -> Vec<(u64, i64)> {
        self.balances.lock().unwrap().clone()
    }
}

/// Reads a buyer as the function does, with the checkouts that the address has begun.
pub async fn load(db: &Db, user: u64, address: Option<&str>) -> Result<CartContext, StoreError> {
    let user = UserId::new(user);
    let key = keys::user(user);
    let begun = address.map(|address| keys::rate(CHECKOUTS.kind, address));
    let wanted = CartContext::keys(user).into_iter().chain([key.clone()]).chain(begun).collect();
    let (rows, active) = tokio::join!(db.batch_get(wanted), published::read_active_version(db));
    let mut rows = rows?;
    let buyer = rows.take(&key).unwrap().live(&key)?;
    CartContext::take(buyer, Arc::new(active?.unwrap_or_default()), rows)
}

pub fn line(id: u64, item: u64, count: u32) -> Line {
    Line::new(LineId::new(id), ItemId::new(item), count)
}

pub fn gift(id: u64, item: u64, to: &str) -> Line {
    let to = PlayerName::parse(to).unwrap();
    Line { payment_type: PaymentType::Gift, gift_to: Some(to), ..line(id, item, 1) }
}

fn active(payments: &Payments) -> ActiveVersion {
    let payments = Payments { methods: vec!["Stripe".to_owned()], currency: "EUR".to_owned(), ..payments.clone() };
    let storefront_url = "https://shop.example".to_owned();
    let config = StoreConfig { payments, is_virtual_currency: true, storefront_url, ..StoreConfig::default() };
    ActiveVersion { version: "v1".to_owned(), config, ..ActiveVersion::default() }
}

fn items() -> Vec<Value> {
    let item = |id: u64, more: Value| {
        let mut item = json!({ "id": id, "name": format!("item {id}"), "price": PRICE, "active": true });
        item.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({ "item": item, "category": 2 })
    };
    let tiers = json!(STEPS.map(|id| json!({ "item": id, "price": id * 10 })));
    let step = |id: u64| {
        let mut step = item(id, json!({ "price": id * 10, "gifting": true }));
        step.as_object_mut().unwrap().extend([("ladder".to_owned(), tiers.clone()), ("category".to_owned(), json!(3))]);
        step
    };
    vec![
        item(VIRTUAL, json!({ "virtual_only": true, "virtual_price": 50 })),
        item(GIFT, json!({ "gifting": true, "user_limit": 1 })),
        item(TWENTY, json!({ "gifting": true, "global_limit": 20 })),
        item(FREE, json!({ "price": 0 })),
        step(STEPS[0]),
        step(STEPS[1]),
        item(CHAT, json!({ "needs_chat": true })),
    ]
}
