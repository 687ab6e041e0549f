//! A shop with buyers, carts and a payment provider.

use super::provider::TestProvider;
use crate::orders_support::{BOTH, FIVE, PLAIN, Sabotage, Shop, TWO_EACH, USERS, code};
use serde_json::{Value, json};
use shared::model::{
    ActiveVersion, AppliedCoupon, AppliedGiftCard, Cart, Code, InternalId, ItemId, Line, LineId, Login, Money,
    OrderStatus, PaymentType, Payments, PlayerName, StoreConfig, UserId,
};
use shared::store::counters::Counters;
use shared::store::items::ItemCache;
use shared::store::orders::{self, StoredOrder};
use shared::store::transaction::{Sent, Write, send};
use shared::store::{Db, StoreError, carts, codec, keys, published, read_live, sequences};
use shared::usecases::carts::{CartContext, CartSources};
use shared::usecases::checkouts::{
    CHECKOUTS, Checkout, CreateError, Provider, Request, Settled, Swept, create, settle, sweep,
};
use std::sync::Arc;
use std::time::Duration;
use tests::TestClock;

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
/// What every item costs.
pub const PRICE: i64 = 100;

/// Why there is no checkout.
pub type Refused = CreateError<StoreError>;

/// A shop that sells.
pub struct Market {
    pub shop: Shop,
    pub provider: TestProvider,
}

/// One instance of the function: its connection and its caches.
pub struct Instance {
    pub db: Db,
    items: ItemCache,
    counters: Counters,
}

impl Instance {
    pub fn new(db: Db) -> Self {
        Self { db, items: ItemCache::default(), counters: Counters::new(Duration::from_secs(5)) }
    }
}

impl Market {
    pub async fn open() -> Self {
        Self::open_with(Payments::default()).await
    }

    pub async fn open_with(payments: Payments) -> Self {
        let market = Self { shop: Shop::open().await, provider: TestProvider::default() };
        for item in items() {
            market.publish(item).await;
        }
        // The fixture's users were not given ids by the counter.
        sequences::reserve(&market.shop.db, sequences::USERS, USERS).await.unwrap();
        market.set_payments(payments).await;
        market
    }

    /// Publishes an item with what is known of its category.
    pub async fn publish(&self, item: Value) {
        let id = ItemId::new(item["item"]["id"].as_u64().unwrap());
        let published: shared::model::PublishedItem = serde_json::from_value(item).unwrap();
        self.write(codec::encode_published(&keys::item("v1", id), &published).unwrap()).await;
    }

    /// Publishes how buyers pay.
    pub async fn set_payments(&self, payments: Payments) {
        let payments = Payments { methods: vec!["Stripe".to_owned()], currency: "EUR".to_owned(), ..payments };
        let config = StoreConfig {
            payments,
            is_virtual_currency: true,
            storefront_url: "https://shop.example".to_owned(),
            ..StoreConfig::default()
        };
        let active = ActiveVersion { version: "v1".to_owned(), config, ..ActiveVersion::default() };
        self.shop.put(&keys::active_version(), &active).await;
    }

    /// Writes an item as it is.
    pub async fn write(&self, item: codec::Item) {
        let db = &self.shop.db;
        db.client().put_item().table_name(db.table()).set_item(Some(item)).send().await.unwrap();
    }

    /// An instance whose calls do not fail.
    pub fn instance(&self) -> Instance {
        Instance::new(self.shop.db.clone())
    }

    /// An instance with a connection of its own whose calls fail as `rule` says.
    pub fn failing(&self, rule: impl FnMut(usize, &str) -> Option<Sabotage> + Send + 'static) -> Instance {
        Instance::new(self.shop.sabotaged(rule))
    }

    /// Instances with connections of their own.
    pub fn instances(&self, count: usize) -> Vec<Instance> {
        (0..count).map(|_| self.failing(|_, _| None)).collect()
    }

    pub fn clock(&self) -> &TestClock {
        &self.shop.clock
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
            match read_live(&self.shop.db, &keys::code(&code(text))).await.unwrap().unwrap() {
                Code::Coupon(coupon) => cart.coupon = Some(AppliedCoupon::from(&coupon)),
                Code::Gift(gift) => cart.gift_card = Some(AppliedGiftCard::entered_by(Login::Proven, &gift)),
            }
        }
        assert_eq!(carts::save(&self.shop.db, &cart).await.unwrap(), carts::Saved::Written);
    }

    pub async fn cart(&self, user: u64) -> Cart {
        let user = UserId::new(user);
        let cart: Option<Cart> = read_live(&self.shop.db, &keys::cart(user)).await.unwrap();
        cart.unwrap_or_else(|| Cart::empty(user))
    }

    /// Begins a checkout.
    pub async fn create(&self, user: u64) -> Result<Checkout, Refused> {
        self.create_by(&self.instance(), user).await
    }

    pub async fn create_by(&self, instance: &Instance, user: u64) -> Result<Checkout, Refused> {
        let request =
            Request { gateway: "Stripe", login: Login::Proven, chat: None, has_consented: true, address: None };
        self.create_as(instance, user, request).await
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
        let sources = CartSources { db, items, counters, clock: self.clock() };
        let address = request.address;
        let first = load(db, user, address).await.map_err(Refused::Load)?;
        create(&sources, provider, request, first, || load(db, user, address)).await
    }

    /// The refusal of a checkout, as a sentence.
    pub async fn refusal(&self, user: u64) -> String {
        self.create(user).await.unwrap_err().to_string()
    }

    pub async fn order(&self, id: &InternalId) -> StoredOrder {
        orders::get(&self.shop.db, id).await.unwrap().unwrap()
    }

    pub async fn status(&self, id: &InternalId) -> OrderStatus {
        self.order(id).await.order.status
    }

    /// Asks the provider about an order.
    pub async fn settle(&self, id: &InternalId) -> Settled {
        let stored = self.order(id).await;
        settle(&self.shop.db, self.clock(), &self.provider, &stored).await.unwrap()
    }

    pub async fn sweep(&self) -> Swept {
        sweep(&self.shop.db, self.clock(), Some(&self.provider)).await.unwrap()
    }

    /// Lets an hour pass and sweeps until nothing is due, also what had lost against others and is tried again after five
    /// minutes.
    pub async fn sweep_later(&self) {
        self.clock().advance(Duration::from_hours(1));
        for _ in 0..4 {
            if self.sweep().await == Swept::default() {
                return;
            }
            self.clock().advance(Duration::from_mins(6));
        }
    }

    /// The rows of what is not finished.
    pub async fn unfinished(&self) -> usize {
        let rows = self.shop.db.query(&keys::unfinished()).await.unwrap();
        rows.into_iter().filter(|row| row.key().unwrap() != keys::webhook_events()).count()
    }

    /// Makes an order one of before account and mode were stored.
    pub async fn forget_account(&self, id: &InternalId) {
        let write: Write = Write::update(keys::order(id), "REMOVE provider.account, provider.live");
        assert_eq!(send(&self.shop.db, vec![write]).await.unwrap(), Sent::Written);
    }

    pub async fn virtual_balance(&self, user: u64) -> i64 {
        self.shop.number(&keys::user(UserId::new(user)), "virtual_currency").await
    }

    pub async fn set_virtual_balance(&self, user: u64, amount: i64) {
        let user =
            shared::model::User { virtual_currency: Money::from_minor(amount), ..crate::orders_support::user(user) };
        self.shop.put(&keys::user(user.id), &user).await;
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

/// Every item with which the tests fill carts.
pub const SOLD: [u64; 9] = [PLAIN, FIVE, TWO_EACH, BOTH, VIRTUAL, GIFT, TWENTY, FREE, CHAT];
