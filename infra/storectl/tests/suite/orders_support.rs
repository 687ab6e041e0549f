//! A small store with one of every limit, a database that can be sabotaged, and what orders must add up to.

use aws_sdk_dynamodb::config::interceptors::{
    BeforeDeserializationInterceptorContextMut, BeforeTransmitInterceptorContextMut,
};
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents, SharedInterceptor};
use aws_sdk_dynamodb::error::BoxError;
use futures_util::future::join_all;
use local::engine::{Engine, ensure_table};
use serde_json::json;
use shared::model::{
    ActiveVersion, Code, CodeText, Goal, InternalId, ItemId, Money, OrderLine, OrderStatus, PublishedItem, Settings,
    StoreConfig, User, UserId,
};
use shared::store::{Access, Db, codec, keys};
use shared::usecases::orders::NewOrder;
use std::sync::{Arc, Mutex};
use tests::{NOW, TestClock, template};

pub const DAY: i64 = 86_400;
const TABLE: &str = "storefront";
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
/// What is on the gift card at first.
pub const BALANCE: i64 = 1_000;

/// A table of its own with the fixture in it.
pub struct Shop {
    pub db: Db,
    pub clock: TestClock,
    engine: Engine,
}

/// How a call fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sabotage {
    /// It never arrives.
    Before,
    /// It arrives, and its answer is lost.
    After,
    /// Another transaction holds one of its items; nothing is written.
    Conflict,
    /// It arrives, its answer is lost, and the SDK's next attempt meets it while it is carried out.
    ConflictWithItself,
}

type Rule = Box<dyn FnMut(usize, &str) -> Option<Sabotage> + Send>;

/// Decides call by call, from its place and its operation, how it fails.
#[derive(Clone)]
struct Saboteur(Arc<Mutex<(usize, Option<Sabotage>, Rule)>>);

impl std::fmt::Debug for Saboteur {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Saboteur")
    }
}

impl Intercept for Saboteur {
    fn name(&self) -> &'static str {
        "Saboteur"
    }

    fn modify_before_transmit(
        &self,
        context: &mut BeforeTransmitInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let request = context.request_mut();
        let mut state = self.0.lock().unwrap();
        let (place, current, rule) = &mut *state;
        *current = rule(*place, tests::operation(request));
        *place += 1;
        match current {
            // The engine refuses what it does not know, and does nothing.
            Some(Sabotage::Before | Sabotage::Conflict) => {
                request.headers_mut().insert("x-amz-target", "DynamoDB_20120810.Nothing");
            }
            Some(Sabotage::After | Sabotage::ConflictWithItself) | None => {}
        }
        Ok(())
    }

    fn modify_before_deserialization(
        &self,
        context: &mut BeforeDeserializationInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let Some(sabotage) = self.0.lock().unwrap().1.take() else { return Ok(()) };
        let (status, kind) = match sabotage {
            Sabotage::Conflict | Sabotage::ConflictWithItself => (400_u16, "TransactionCanceledException"),
            Sabotage::Before | Sabotage::After => (500, "InternalServerError"),
        };
        let reasons = json!([{ "Code": "None" }, { "Code": "TransactionConflict", "Message": "in progress" }]);
        let kind = format!("com.amazonaws.dynamodb.v20120810#{kind}");
        let body = json!({ "__type": kind, "message": "injected", "CancellationReasons": reasons });
        let response = context.response_mut();
        *response.status_mut() = status.try_into()?;
        *response.body_mut() = body.to_string().into();
        Ok(())
    }
}

impl Shop {
    /// A fresh table with the fixture.
    pub async fn open() -> Self {
        let shop = Self::empty().await;
        shop.publish(VERSION, &[PLAIN, FIVE, TWO_EACH, BOTH, 5, 6], &[1, 2]).await;
        let users = (1..=USERS).map(|id| codec::encode_live(&keys::user(UserId::new(id)), &user(id)));
        let codes = codes().into_iter().map(|code| codec::encode_live(&keys::code(code.text()), &code));
        join_all(users.chain(codes).map(|item| shop.write(item.unwrap()))).await;
        shop
    }

    async fn empty() -> Self {
        let engine = Engine::start(None).await.unwrap();
        let db = Db::new(engine.access(), TABLE);
        ensure_table(db.client(), TABLE, &template().table().unwrap()).await.unwrap();
        Self { db, clock: TestClock::new(), engine }
    }

    /// The same table through a client whose calls fail as `rule` says, and which never tries again by itself.
    pub fn sabotaged(&self, rule: impl FnMut(usize, &str) -> Option<Sabotage> + Send + 'static) -> Db {
        let saboteur = Saboteur(Arc::new(Mutex::new((0, None, Box::new(rule)))));
        let (retries, interceptors) = (RetryConfig::disabled(), vec![SharedInterceptor::new(saboteur)]);
        Db::new(Access { retries, interceptors, ..self.engine.access() }, TABLE)
    }

    /// Another access to the same table.
    pub fn access(&self) -> Access {
        self.engine.access()
    }

    /// The same table through a client in whose way something comes: right before its `nth` transaction is sent,
    /// `happens` happens.
    pub fn interrupted<F: Future<Output = ()>>(&self, nth: usize, happens: impl Fn(Db) -> F + Send + 'static) -> Db {
        let (db, mut transactions) = (self.db.clone(), 0);
        self.sabotaged(move |_, operation| {
            transactions += usize::from(operation == "TransactWriteItems");
            if operation == "TransactWriteItems" && transactions == nth {
                tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(happens(db.clone())));
            }
            None
        })
    }

    /// Publishes items and goals under a version.
    pub async fn publish(&self, version: &str, items: &[u64], goals: &[u64]) {
        for id in items {
            let item = codec::encode_published(&keys::item(version, ItemId::new(*id)), &item(*id)).unwrap();
            self.write(item).await;
        }
        let settings = Settings { goals: self::goals(goals), ..Settings::default() };
        self.write(codec::encode_published(&keys::settings(version), &settings).unwrap()).await;
        let active =
            ActiveVersion { version: version.to_owned(), config: StoreConfig::default(), ..ActiveVersion::default() };
        self.put(&keys::active_version(), &active).await;
    }

    pub async fn put<T: serde::Serialize>(&self, key: &keys::Key, thing: &T) {
        self.write(codec::encode_live(key, thing).unwrap()).await;
    }

    pub async fn write(&self, item: codec::Item) {
        let put = self.db.client().put_item().table_name(TABLE).set_item(Some(item));
        put.send().await.unwrap();
    }

    pub async fn delete(&self, key: &keys::Key) {
        delete(&self.db, key).await;
    }

    /// A number of an item; 0 where either is missing.
    pub async fn number(&self, key: &keys::Key, attribute: &str) -> i64 {
        let item = self.db.get(key, true).await.unwrap().unwrap_or_default();
        item.get(attribute).map_or(0, |value| value.as_n().unwrap().parse().unwrap())
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
}

pub async fn delete(db: &Db, key: &keys::Key) {
    let delete = db.client().delete_item().table_name(TABLE).set_key(Some(codec::key_attributes(key)));
    delete.send().await.unwrap();
}

pub fn user(id: u64) -> User {
    User {
        id: UserId::new(id),
        username: format!("user-{id}"),
        avatar: format!("/avatar/{id}.png"),
        system: "game".to_owned(),
        identificator: id.to_string(),
        uuid: String::new(),
        created_at: 0,
        updated_at: 0,
        virtual_currency: Money::ZERO,
        tokens_valid_after: None,
        banned: false,
    }
}

pub fn goals(ids: &[u64]) -> Vec<Goal> {
    let goal = |id: &u64| Goal { id: *id, name: format!("goal {id}"), goal_amount: Money::from_minor(100_000) };
    ids.iter().map(goal).collect()
}

fn item(id: u64) -> PublishedItem {
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
    serde_json::from_value(json!({ "item": item, "category": 1 })).unwrap()
}

pub fn code(text: &str) -> CodeText {
    CodeText::parse(text).unwrap()
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
