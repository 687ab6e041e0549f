//! A small store with one of every limit, on a table with faults.

use crate::sums::{Facts, assert_codes, assert_sums, orders};
use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::{Value, json};
use shared::model::{
    ActiveVersion, Code, Goal, InternalId, ItemId, Money, OrderLine, OrderStatus, PublishedItem, Settings, StoreConfig,
    User, UserId,
};
use shared::shop::orders::{Changed, NewOrder, RecordError, Recorded, SetStatusError, record, set_status};
use shared::table::codec::{self, Item};
use shared::table::{Db, keys};
use std::ops::Deref;
use tests::{Fault, NOW, Prepared, TestClock, TestTable};

pub use crate::sums::{BALANCE, code};

pub const DAY: i64 = 86_400;
const VERSION: &str = "v1";

/// Without a limit.
pub const PLAIN: u64 = 1;
pub const FIVE: u64 = 2;
/// Two for one user.
pub const TWO_EACH: u64 = 3;
/// Three in all, one for one user.
pub const BOTH: u64 = 4;
/// Not published.
pub const GONE: u64 = 9;
/// Users of the fixture: 1 to this.
pub const USERS: u64 = 24;

impl Facts {
    /// Those of the fixture.
    pub fn of_fixture() -> Self {
        Self { users: (1..=USERS).map(user).collect(), goals: goals(&[1, 2]) }
    }
}

/// A table of its own with the fixture in it.
pub struct Shop {
    pub table: TestTable,
    pub clock: TestClock,
}

impl Deref for Shop {
    type Target = TestTable;

    fn deref(&self) -> &TestTable {
        &self.table
    }
}

impl Shop {
    /// A fresh table with the fixture.
    pub async fn open() -> Self {
        static CONTENTS: Prepared = Prepared::new();
        Self::copy_of(&CONTENTS, |table| async move { table.write_all(fixture()).await }).await
    }

    /// A fresh table with what `fill` writes into the first one.
    pub async fn copy_of<F: Future<Output = ()>>(contents: &Prepared, fill: impl FnOnce(TestTable) -> F) -> Self {
        Self { table: TestTable::copy_of(contents, fill).await, clock: TestClock::new() }
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

    /// Publishes items and goals under a version.
    pub async fn publish(&self, version: &str, items: &[u64], goals: &[u64]) {
        self.write_all(published(version, items, goals)).await;
    }

    pub async fn record(&self, order: NewOrder) -> Result<Recorded, RecordError> {
        record(&self.db, &self.clock, order).await
    }

    pub async fn set_status(&self, order: &str, to: OrderStatus) -> Result<Changed, SetStatusError> {
        set_status(&self.db, &self.clock, &id(order), to).await
    }

    pub async fn sold(&self, item: u64) -> i64 {
        self.number(&keys::count(ItemId::new(item)), "sold").await
    }

    pub async fn held(&self, user: u64, item: u64) -> i64 {
        self.number(&keys::ledger(UserId::new(user)), &format!("u{item}")).await
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

    /// Fails unless the sums of the fixture's users and goals, and its codes, are what the orders add up to.
    pub async fn assert_sums(&self) {
        assert_sums(&self.db, &Facts::of_fixture()).await;
        assert_codes(&self.db, &orders(&self.db).await).await;
    }
}

pub fn fixture() -> Vec<Item> {
    let users = (1..=USERS).map(|id| codec::encode_live(&keys::user(UserId::new(id)), &user(id)).unwrap());
    let codes = codes().into_iter().map(|code| codec::encode_live(&keys::code(code.text()), &code).unwrap());
    let published = published(VERSION, &[PLAIN, FIVE, TWO_EACH, BOTH, 5, 6], &[1, 2]);
    published.into_iter().chain(users).chain(codes).collect()
}

fn published(version: &str, items: &[u64], goals: &[u64]) -> Vec<Item> {
    let settings = Settings { goals: self::goals(goals), ..Settings::default() };
    let active =
        ActiveVersion { version: version.to_owned(), config: StoreConfig::default(), ..ActiveVersion::default() };
    let mut rows: Vec<Item> = items.iter().map(|id| published_item(version, &item(*id))).collect();
    rows.push(codec::encode_published(&keys::settings(version), &settings).unwrap());
    rows.push(codec::encode_live(&keys::active_version(), &active).unwrap());
    rows
}

/// The row of an item with what is known of its category.
pub fn published_item(version: &str, item: &Value) -> Item {
    let published: PublishedItem = serde_json::from_value(item.clone()).unwrap();
    codec::encode_published(&keys::item(version, published.item.id), &published).unwrap()
}

/// Adds one unit to a ledger, as a function of the version before the ledgers' version was stored does.
pub async fn own_uncounted(db: &Db, user: u64, item: u64) {
    let update = db.client().update_item().table_name(db.table());
    let update = update.set_key(Some(codec::key_attributes(&keys::ledger(UserId::new(user)))));
    let update = update.update_expression("ADD #u :one").expression_attribute_names("#u", format!("u{item}"));
    update.expression_attribute_values(":one", AttributeValue::N("1".to_owned())).send().await.unwrap();
}

pub fn user(id: u64) -> User {
    let user = json!({ "id": id, "username": format!("user-{id}"), "avatar": format!("/avatar/{id}.png"), "system": "game",
                       "identificator": id.to_string(), "uuid": "", "created_at": 0, "updated_at": 0, "virtual_currency": 0 });
    serde_json::from_value(user).unwrap()
}

pub fn goals(ids: &[u64]) -> Vec<Goal> {
    let goal = |id: &u64| Goal { id: *id, name: format!("goal {id}"), goal_amount: Money::from_minor(100_000) };
    ids.iter().map(goal).collect()
}

fn item(id: u64) -> Value {
    let (global, each) = match id {
        FIVE => (Some(5), None),
        TWO_EACH => (None, Some(2)),
        BOTH => (Some(3), Some(1)),
        _ => (None, None),
    };
    let item = json!({
        "id": id, "name": format!("item {id}"), "price": 100, "active": true,
        "global_limit": global, "user_limit": each,
    });
    json!({ "item": item, "category": 1 })
}

fn codes() -> Vec<Code> {
    let coupon = |id: u64, code: &str, in_all: Option<u32>, each: Option<u32>| {
        json!({
            "kind": "coupon", "id": id, "code": code, "active": true, "discount": { "percentage": 1_000 },
            "max_uses": in_all, "max_uses_per_user": each, "uses": 0,
        })
    };
    let codes = [
        coupon(1, "once", Some(1), None),
        coupon(2, "each", None, Some(1)),
        coupon(3, "free", None, None),
        coupon(4, "few", Some(3), Some(2)),
        json!({ "kind": "gift", "id": 5, "code": "card", "active": true, "balance": BALANCE }),
    ];
    codes.into_iter().map(|code| serde_json::from_value(code).unwrap()).collect()
}

pub fn id(text: &str) -> InternalId {
    InternalId::new(text)
}

/// A paid order of `lines` (item, units, minor units), made now.
pub fn paid(text: &str, owner: Option<u64>, lines: &[(u64, u32, i64)]) -> NewOrder {
    let line = |&(item, count, total)| OrderLine::new(ItemId::new(item), count, Money::from_minor(total));
    let lines: Vec<OrderLine> = lines.iter().map(line).collect();
    NewOrder {
        internal_id: Some(id(text)),
        status: OrderStatus::Paid,
        price: lines.iter().map(|line| line.total).sum(),
        currency: "EUR".to_owned(),
        digits: 2,
        gateway: "bank".to_owned(),
        owner: owner.map(UserId::new),
        lines,
        coupon: None,
        gift_card: None,
        created_at: Some(NOW),
        payment: None,
        delivers: true,
    }
}
