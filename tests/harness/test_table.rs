//! A table of a test's own in an engine of its own, without functions in front of it.

use crate::calls::Calls;
use crate::faults::{Fault, Faults};
use crate::prepared::Prepared;
use crate::store::{create_table, template};
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::{Intercept, SharedInterceptor};
use aws_sdk_dynamodb::types::AttributeValue;
use local::engine::{Engine, ensure_table};
use shared::table::bulk::each;
use shared::table::codec::{Item, encode_live, key_attributes};
use shared::table::keys::Key;
use shared::table::{Access, Db, StoreError};

#[derive(Debug)]
pub struct TestTable {
    pub db: Db,
    engine: Engine,
}

impl TestTable {
    pub async fn empty() -> Self {
        let engine = Engine::start(None).await.expect("an engine in memory");
        Self::create(engine).await
    }

    /// A table with a copy of what `fill` writes into the first one.
    pub async fn copy_of<F: Future<Output = ()>>(contents: &Prepared, fill: impl FnOnce(Self) -> F) -> Self {
        let fill = |engine| async { fill(Self::create(engine).await).await };
        Self::on(contents.engine(fill).await)
    }

    async fn create(engine: Engine) -> Self {
        let table = Self::on(engine);
        create_table(&table.db).await;
        table
    }

    fn on(engine: Engine) -> Self {
        let name = template().table().expect("the template has a table").logical_id;
        Self { db: Db::new(engine.access(), &name), engine }
    }

    /// The same table, from which the engine removes what has expired by the system's clock, as the template defines it.
    pub async fn with_time_to_live(self) -> Self {
        let definition = template().table().expect("the template has a table");
        ensure_table(&self.db, &definition).await.expect("the time to live can be set");
        self
    }

    /// The URL of the engine.
    pub fn endpoint(&self) -> &str {
        self.engine.endpoint()
    }

    /// Another access to the same table.
    pub fn access(&self) -> Access {
        self.engine.access()
    }

    /// The same table through a connection of its own.
    pub fn another(&self) -> Db {
        Db::new(self.access(), self.db.table())
    }

    /// The same table through a client that an interceptor observes, and which never tries again by itself.
    pub fn through(&self, interceptor: impl Intercept + 'static) -> Db {
        self.through_with(interceptor, RetryConfig::disabled())
    }

    pub fn through_with(&self, interceptor: impl Intercept + 'static, retries: RetryConfig) -> Db {
        let interceptors = vec![SharedInterceptor::new(interceptor)];
        Db::new(Access { retries, interceptors, ..self.access() }, self.db.table())
    }

    /// The same table through a client whose calls fail as `rule` says, and which never tries again by itself.
    pub fn with_faults(&self, rule: impl FnMut(usize, &str) -> Option<Fault> + Send + 'static) -> Db {
        self.through(Faults::new(rule))
    }

    /// The same table through a client whose calls do not fail, and the operations that it has sent so far.
    pub fn recording(&self) -> (Db, impl Fn() -> Vec<String> + use<>) {
        let calls = Calls::default();
        (self.through(calls.clone()), move || calls.operations())
    }

    /// The same table through a client right before whose `nth` transaction `happens` happens.
    pub fn interrupted<F: Future<Output = ()>>(&self, nth: usize, happens: impl Fn(Db) -> F + Send + 'static) -> Db {
        let (db, mut transactions) = (self.db.clone(), 0);
        self.with_faults(move |_, operation| {
            transactions += usize::from(operation == "TransactWriteItems");
            if operation == "TransactWriteItems" && transactions == nth {
                tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(happens(db.clone())));
            }
            None
        })
    }

    /// The items of a kind, see [`each`].
    pub async fn items(&self, kind: &str) -> Vec<Item> {
        items(&self.db, kind).await
    }

    /// Writes an item unchanged.
    pub async fn write_item(&self, item: Item) {
        put(&self.db, item).await;
    }

    pub async fn put<T: serde::Serialize>(&self, key: &Key, thing: &T) {
        self.write_item(encode_live(key, thing).expect("what can be stored")).await;
    }

    /// Writes many items at once.
    pub async fn write_all(&self, items: Vec<Item>) {
        shared::table::bulk::write_each(&self.db, items.into_iter().map(Ok), &|_| {})
            .await
            .expect("a database that responds");
    }

    pub async fn delete(&self, key: &Key) {
        delete(&self.db, key).await;
    }

    /// A number of an item; 0 if either is missing.
    pub async fn number(&self, key: &Key, attribute: &str) -> i64 {
        let item = self.db.get(key, true).await.expect("a database that responds").unwrap_or_default();
        let text = item.get(attribute).map(|value| value.as_n().expect("a number"));
        text.map_or(0, |text| text.parse().expect("a whole number"))
    }

    /// Sets a number of an item, as an operator does by hand.
    pub async fn set_number(&self, key: &Key, attribute: &str, number: i64) {
        let update = self.db.client().update_item().table_name(self.db.table());
        let update = update.set_key(Some(key_attributes(key))).update_expression("SET #a = :n");
        let update = update.expression_attribute_names("#a", attribute);
        let update = update.expression_attribute_values(":n", AttributeValue::N(number.to_string()));
        update.send().await.expect("a database that responds");
    }
}

/// The items of a kind, see [`each`].
pub async fn items(db: &Db, kind: &str) -> Vec<Item> {
    let mut items = Vec::new();
    let take = |item| {
        items.push(item);
        Ok::<(), StoreError>(())
    };
    each(db, kind, take).await.expect("a database that responds");
    items
}

pub async fn delete(db: &Db, key: &Key) {
    let delete = db.client().delete_item().table_name(db.table()).set_key(Some(key_attributes(key)));
    delete.send().await.expect("a database that responds");
}

/// Writes an item into a table.
pub async fn put(db: &Db, item: Item) {
    let put = db.client().put_item().table_name(db.table()).set_item(Some(item));
    put.send().await.expect("a write that succeeds");
}
