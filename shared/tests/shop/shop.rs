//! The world of these tests: a small store with one of every limit, its buyers and their carts, the stand-in for Stripe, and a
//! game server, on a table with faults.

pub use crate::fixture::*;
use crate::sums::{Facts, assert_codes, assert_sums, orders};
use aws_sdk_dynamodb::types::AttributeValue;
use shared::clock::Clock as _;
use shared::model::{
    AppliedCoupon, AppliedGiftCard, Cart, Code, InternalId, ItemId, Ledger, Line, Login, LoginId, Money, OrderStatus,
    Payments, PlayerName, User, UserId,
};
use shared::providers::Stripe;
use shared::shop::accounts::names;
use shared::shop::carts::{self, CartContext, CartSources};
use shared::shop::delivery::ServerKey;
use shared::shop::orders::{
    self, Changed, NewOrder, RecordError, Recorded, SetStatusError, StoredOrder, record, set_status,
};
use shared::shop::payments::{CHECKOUTS, Checkout, CreateError, Request, create};
use shared::shop::stock::{Counters, ledgers};
use shared::table::caches::VersionedCache;
use shared::table::{Db, StoreError, codec, keys, published, read_live, single};
use std::ops::Deref;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use stripe_stand_in::StandIn;
use tests::{Fault, Prepared, TestClock, TestTable};

pub type Refused = CreateError<StoreError>;

pub struct Shop {
    table: TestTable,
    pub clock: TestClock,
    pub stand_in: Arc<StandIn>,
    /// The provider, by the keys that are connected.
    pub stripe: Stripe,
    /// The virtual currency that users were given.
    balances: Mutex<Vec<(u64, i64)>>,
    /// The game server, if there is one.
    pub server: Option<ServerKey>,
    /// The commands that have run there, in their order.
    pub ran: Vec<String>,
}

impl Deref for Shop {
    type Target = TestTable;

    fn deref(&self) -> &TestTable {
        &self.table
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

    pub fn sources<'a>(&'a self, shop: &'a Shop) -> CartSources<'a> {
        CartSources { db: &self.db, items: &self.items, counters: &self.counters, clock: &shop.clock }
    }
}

/// A buyer's request to begin a checkout, from this address.
pub const fn request(address: Option<&str>) -> Request<'_> {
    Request { gateway: "Stripe", login: Login::Proven, chat: None, has_consented: true, address, address_hash: address }
}

/// The request of a login by name.
pub fn by_name<'a>(login: &str, address: Option<&'a str>) -> Request<'a> {
    Request { login: Login::Name(LoginId::parse(login).unwrap()), ..request(address) }
}

impl Shop {
    pub async fn open() -> Self {
        static CONTENTS: Prepared = Prepared::new();
        Self::copy_of(&CONTENTS, |_| async {}).await
    }

    /// A shop with another configuration of payments.
    pub async fn open_with(change: impl FnOnce(&mut Payments)) -> Self {
        let shop = Self::open().await;
        shop.set_payments(change).await;
        shop
    }

    /// A shop with what `fill` adds to the first one.
    pub async fn copy_of<F: Future<Output = ()>>(contents: &Prepared, fill: impl FnOnce(Self) -> F) -> Self {
        let fill = |table: TestTable| async move {
            table.write_all(rows()).await;
            // The fixture's users were not given ids by the counter.
            single::reserve(&table.db, single::USERS, USERS).await.unwrap();
            fill(Self::on(table).await).await;
        };
        Self::on(TestTable::copy_of(contents, fill).await).await
    }

    async fn on(table: TestTable) -> Self {
        let clock = TestClock::new();
        let (stand_in, stripe) = crate::at_provider::start(&clock).await;
        Self { table, clock, stand_in, stripe, balances: Mutex::default(), server: None, ran: Vec::new() }
    }

    /// An independent copy of this shop: its table, its clock and the provider's objects.
    pub async fn copy(&self) -> Self {
        let clock = self.clock.copy();
        let stand_in = Arc::new(self.stand_in.copy(Arc::new(clock.clone())).await.unwrap());
        Self {
            table: self.table.copy().await,
            clock,
            stripe: crate::at_provider::first_account(&stand_in),
            stand_in,
            balances: Mutex::new(self.balances()),
            server: self.server.clone(),
            ran: self.ran.clone(),
        }
    }

    pub async fn set_payments(&self, change: impl FnOnce(&mut Payments)) {
        tests::configure(&self.db, |config| change(&mut config.payments)).await;
    }

    /// Publishes another version with these goals and no items.
    pub async fn publish(&self, name: &str, goals: &[u64]) {
        self.write_all(version(name, goals).into()).await;
    }

    pub fn now(&self) -> i64 {
        self.clock.seconds()
    }

    /// Lets days pass.
    pub fn days(&self, days: i64) {
        self.clock.advance(Duration::from_secs(u64::try_from(days * DAY).unwrap()));
    }

    /// The same table through a client whose transactions fail as `rule` says of their places, from 1.
    pub fn failing_transactions(&self, mut rule: impl FnMut(usize) -> Option<Fault> + Send + 'static) -> Db {
        let mut transactions = 0;
        self.with_faults(move |_, operation| {
            let is_transaction = operation == "TransactWriteItems";
            transactions += usize::from(is_transaction);
            if is_transaction { rule(transactions) } else { None }
        })
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

    pub async fn record(&self, order: NewOrder) -> Result<Recorded, RecordError> {
        record(&self.db, &self.clock, order).await
    }

    pub async fn set_status(&self, order: &str, to: OrderStatus) -> Result<Changed, SetStatusError> {
        set_status(&self.db, &self.clock, &id(order), to).await
    }

    pub async fn order(&self, id: &InternalId) -> StoredOrder {
        orders::get(&self.db, id).await.unwrap().unwrap()
    }

    /// Every order.
    pub async fn orders(&self) -> Vec<StoredOrder> {
        orders(&self.db).await
    }

    pub async fn status(&self, id: &InternalId) -> OrderStatus {
        self.order(id).await.order.status
    }

    /// Changes an order's row, as no function does.
    pub async fn rewrite(&self, id: &InternalId, change: impl FnOnce(&mut StoredOrder)) {
        let mut stored = self.order(id).await;
        change(&mut stored);
        self.delete(&stored.key()).await;
        shared::table::transaction::send(&self.db, vec![stored.put_new().unwrap()]).await.unwrap();
    }

    pub async fn sold(&self, item: u64) -> i64 {
        self.number(&keys::count(ItemId::new(item)), "sold").await
    }

    pub async fn held(&self, user: u64, item: u64) -> i64 {
        self.number(&keys::ledger(UserId::new(user)), &format!("u{item}")).await
    }

    pub async fn ledger(&self, user: u64) -> Ledger {
        let user = UserId::new(user);
        ledgers::take(&mut self.db.batch_get(vec![keys::ledger(user)]).await.unwrap(), user).unwrap()
    }

    /// The sum that a user's ledger calls paid for an item.
    pub async fn paid_for(&self, user: u64, item: u64) -> i64 {
        self.number(&keys::ledger(UserId::new(user)), &format!("p{item}")).await
    }

    pub async fn uses(&self, text: &str) -> i64 {
        self.number(&keys::code(&code(text)), "uses").await
    }

    pub async fn balance(&self) -> i64 {
        self.number(&keys::code(&code("card")), "balance").await
    }

    /// Sets the number of sold units, as an operator does by hand.
    pub async fn set_sold(&self, item: u64, sold: i64) {
        self.set_number(&keys::count(ItemId::new(item)), "sold", sold).await;
    }

    pub async fn virtual_balance(&self, user: u64) -> i64 {
        self.number(&keys::user(UserId::new(user)), "virtual_currency").await
    }

    pub async fn set_virtual_balance(&self, id: u64, amount: i64) {
        let account = User { virtual_currency: Money::from_minor(amount), ..user(id) };
        self.put(&keys::user(account.id), &account).await;
        self.balances.lock().unwrap().push((id, amount));
    }

    /// The virtual currency that users were given.
    pub fn balances(&self) -> Vec<(u64, i64)> {
        self.balances.lock().unwrap().clone()
    }

    /// Adds one unit to a ledger, as a function of the version before the ledgers' version was stored does.
    pub async fn own_uncounted(db: &Db, user: u64, item: u64) {
        let update = db.client().update_item().table_name(db.table());
        let update = update.set_key(Some(codec::key_attributes(&keys::ledger(UserId::new(user)))));
        let update = update.update_expression("ADD #u :one").expression_attribute_names("#u", format!("u{item}"));
        update.expression_attribute_values(":one", AttributeValue::N("1".to_owned())).send().await.unwrap();
    }

    /// Fails unless the sums of the fixture's users and goals, and its codes, are what the orders add up to.
    pub async fn assert_sums(&self) {
        assert_sums(&self.db, &Facts::of_fixture()).await;
        assert_codes(&self.db, &orders(&self.db).await).await;
    }

    /// Gives a user a name that gifts can be sent to.
    pub async fn name(&self, user: u64, name: &str) {
        let name = PlayerName::parse(name).unwrap();
        self.write_item(names::row(name.key(), UserId::new(user), None).unwrap()).await;
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

    /// Begins a checkout of what is in the cart.
    pub async fn create(&self, user: u64) -> Result<Checkout, Refused> {
        self.create_by(&self.instance(), user).await
    }

    pub async fn create_by(&self, by: &Instance, user: u64) -> Result<Checkout, Refused> {
        self.create_as(by, user, request(None)).await
    }

    pub async fn create_as(&self, by: &Instance, user: u64, request: Request<'_>) -> Result<Checkout, Refused> {
        let first = load(&by.db, user, request.address).await.map_err(Refused::Load)?;
        create(&by.sources(self), &self.stripe, request, first, || load(&by.db, user, request.address)).await
    }

    /// The refusal of a checkout, as a sentence.
    pub async fn refusal(&self, user: u64) -> String {
        self.create(user).await.unwrap_err().to_string()
    }

    /// Fills a user's cart and begins its checkout.
    pub async fn checkout(&self, user: u64, lines: &[(u64, u32)], on_cart: Option<&str>) -> InternalId {
        self.fill(user, lines, on_cart).await;
        self.create(user).await.unwrap().order
    }

    /// [`Self::checkout`], and the buyer pays.
    pub async fn buy(&self, user: u64, lines: &[(u64, u32)], on_cart: Option<&str>) -> InternalId {
        let order = self.checkout(user, lines, on_cart).await;
        self.pay(&order).await;
        order
    }

    /// A paid order of five units of [`PLAIN`], which cost [`TOTAL`](crate::at_provider::TOTAL).
    pub async fn paid(&self) -> InternalId {
        self.buy(1, &[(PLAIN, 5)], None).await
    }
}

/// Reads a buyer as the function does, with the checkouts that the address has begun.
pub async fn load(db: &Db, user: u64, address: Option<&str>) -> Result<CartContext, StoreError> {
    let user = UserId::new(user);
    let key = keys::user(user);
    let of_address = |address| [keys::rate(CHECKOUTS.kind, address), keys::address(address)];
    let of_address = address.map(of_address).into_iter().flatten();
    let wanted = CartContext::keys(user).into_iter().chain([key.clone()]).chain(of_address).collect();
    let (rows, active) = tokio::join!(db.batch_get(wanted), published::read_active_version(db));
    let mut rows = rows?;
    let buyer = rows.take(&key).unwrap().live(&key)?;
    CartContext::take(buyer, Arc::new(active?.unwrap_or_default()), rows)
}
