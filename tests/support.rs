//! Steps of many tests: publish the sample store with a change, and inspect responses.

#![expect(clippy::expect_used, clippy::panic, reason = "a helper that fails fails its test")]

use http::StatusCode;
use publish::files::{CategoryFile, Choice, Decimal, SaleFile, ScopeFile, StoreFiles};
use serde_json::Value;
use shared::clock::Clock;
use shared::model::{
    Cart, CommandTemplate, ItemId, Line, LineId, Money, Server, ServerId, StoreConfig, StoreDelivery,
    SubscriptionStatus, User, UserId, UserSubscription,
};
use shared::table::{codec, keys};
use std::time::Duration;
pub use tests::item;
use tests::{Call, NOW, Reply, TestStore};

/// Longer than any cache trusts its data.
pub const STALE: Duration = Duration::from_secs(6);

/// Publishes the sample store with a change in its files, and waits until every cache has expired.
pub async fn republish(store: &TestStore, change: impl FnOnce(&mut StoreFiles)) {
    let mut files = tests::sample_files();
    change(&mut files);
    let compiled = publish::compile(&files).expect("the changed store is sound");
    publish::publish(&store.db, &compiled, store.clock.seconds()).await.expect("it can be published");
    store.clock.advance(STALE);
}

/// Changes the configuration of the active version, without the checks of a publish.
pub async fn configure(store: &TestStore, change: impl FnOnce(&mut StoreConfig)) {
    tests::configure(&store.db, change).await;
    store.clock.advance(STALE);
}

/// Runs this many commands for every sale on each of fifty servers.
pub async fn run_on_fifty_servers(store: &TestStore, commands: usize) {
    let servers = (1..=50).map(|id| Server { id: ServerId::new(id), name: format!("S{id}") }).collect();
    let command = CommandTemplate { run: "say {player}".to_owned(), ..CommandTemplate::default() };
    configure(store, |config| {
        config.delivery = StoreDelivery { servers, commands: vec![command; commands], ..StoreDelivery::default() }
    })
    .await;
}

/// Runs a command of the store for each unit of each item.
pub async fn run_for_each_unit(store: &TestStore) {
    let server = Server { id: ServerId::new(1), name: "Hearth".to_owned() };
    let run = "crates key give {player} rare 5".to_owned();
    let command = CommandTemplate { run, per_unit: true, ..CommandTemplate::default() };
    configure(store, |config| {
        config.delivery = StoreDelivery { servers: vec![server], commands: vec![command], ..StoreDelivery::default() }
    })
    .await;
}

/// Writes an item into the table.
pub async fn put(store: &TestStore, item: codec::Item) {
    tests::put(&store.db, item).await;
}

/// A sample store that shows pages and categories without a token.
pub async fn open_to_guests() -> TestStore {
    let store = TestStore::open().await;
    republish(&store, |files| files.store.content.guest_mode = true).await;
    store
}

/// Gives a user a cart with one unit of each of these items.
pub async fn fill_cart(store: &TestStore, user: u64, items: &[u64]) {
    let user = UserId::new(user);
    let line = |(place, item): (u64, &u64)| Line::new(LineId::new(place), ItemId::new(*item), 1);
    let lines: Vec<Line> = (1..).zip(items).map(line).collect();
    let cart = Cart { version: 1, next_line: lines.len() as u64 + 1, lines, ..Cart::empty(user) };
    put(store, codec::encode_live(&keys::cart(user), &cart).expect("a cart can be written")).await;
}

/// Gives a user of the sample store subscriptions, as a version before the newest one wrote them: of which item, in which state
/// and until when.
pub async fn subscribe(store: &TestStore, name: &str, subscriptions: &[(u64, SubscriptionStatus, i64)]) {
    let subscription = |(item, status, until): &(u64, SubscriptionStatus, i64)| UserSubscription {
        id: format!("sub_{item}"),
        item: ItemId::new(*item),
        name: format!("Item {item}"),
        price: Money::from_minor(499),
        status: *status,
        detail: None,
        until: *until,
        access_until: None,
        ends_at: None,
        rank_of: None,
    };
    with_subscriptions(store, name, subscriptions.iter().map(subscription).collect()).await;
}

/// Gives a user of the sample store these subscriptions.
pub async fn with_subscriptions(store: &TestStore, name: &str, subscriptions: Vec<UserSubscription>) {
    let user = TestStore::sample().live.users.iter().find(|user| user.username == name).expect("a sample user");
    let user = User { subscriptions, ..user.clone() };
    put(store, codec::encode_live(&keys::user(user.id), &user).expect("a user can be written")).await;
}

/// The top category with this id in the store's files.
pub fn category(files: &mut StoreFiles, id: u64) -> &mut CategoryFile {
    let mut categories = files.categories.iter_mut().map(|source| &mut source.content);
    categories.find(|category| category.id.value == id).unwrap_or_else(|| panic!("no category {id}"))
}

/// A sale of the store's files that takes a percentage off everything but two keys that cost 0.99, from and until some seconds after [`NOW`].
pub fn sale(id: u64, percentage: u32, (from, until): (i64, i64)) -> SaleFile {
    let time = |seconds: i64| Some(format!("2026-06-15T{}Z", clock_time(seconds)).into());
    SaleFile {
        id: id.into(),
        name: format!("Sale {id}"),
        percentage: Some(Decimal(percentage.to_string().into())),
        amount: None,
        covers: Choice::Word("everything".to_owned()),
        except: ScopeFile { categories: Vec::new(), items: vec![205.into(), 701.into()] },
        from: time(from),
        until: time(until),
        who: Choice::default(),
        with_codes: true,
    }
}

/// The time of day at some seconds after [`NOW`], which is noon.
fn clock_time(seconds: i64) -> String {
    let seconds = 12 * 3_600 + seconds;
    format!("{:02}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60)
}

/// Moves the clock to a number of seconds after [`NOW`].
pub fn at(store: &TestStore, seconds: i64) {
    let ahead = u64::try_from(NOW + seconds - store.clock.seconds()).expect("a later time");
    store.clock.advance(Duration::from_secs(ahead));
}

/// The names of an object's fields, in order.
pub fn fields(object: &Value) -> Vec<&str> {
    object.as_object().unwrap_or_else(|| panic!("{object} is not an object")).keys().map(String::as_str).collect()
}

/// The element of an array with this `id`.
pub fn by_id(array: &Value, id: u64) -> &Value {
    let mut elements = array.as_array().unwrap_or_else(|| panic!("{array} is not an array")).iter();
    elements.find(|element| element["id"] == id).unwrap_or_else(|| panic!("{id} is not in {array}"))
}

/// The values of one field of every element of an array.
pub fn all<'a>(array: &'a Value, field: &str) -> Vec<&'a Value> {
    let elements = array.as_array().unwrap_or_else(|| panic!("{array} is not an array"));
    elements.iter().map(|element| &element[field]).collect()
}

/// The body of the response to a request, which succeeds.
pub async fn body(store: &TestStore, call: Call) -> Value {
    let reply = store.send(call).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    reply.json()
}

/// The same of a response that cannot be cached.
pub async fn private_body(store: &TestStore, call: Call) -> Value {
    let reply = store.send(call).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    assert_eq!(reply.header("cache-control"), "no-store");
    reply.json()
}

/// Whether a response is `{message}` with this status and cannot be cached.
#[track_caller]
pub fn assert_message(reply: &Reply, status: u16) -> String {
    assert_eq!(reply.status, StatusCode::from_u16(status).expect("a status"), "{}", reply.text);
    let body = reply.json();
    assert_eq!(fields(&body), ["message"], "{body}");
    assert_eq!(reply.header("cache-control"), "no-store");
    body["message"].as_str().expect("a text").to_owned()
}

/// Whether a response is the 401 of every endpoint except checkStatus (rules.md, "Statuses and error bodies").
#[track_caller]
pub fn assert_unauthorized(reply: &Reply) {
    assert_eq!(reply.status, 401, "{}", reply.text);
    let body = reply.json();
    assert_eq!(fields(&body), ["status", "message"], "{body}");
    assert_eq!(body["status"], false);
    assert!(body["message"].as_str().is_some_and(|text| !text.is_empty()));
    assert_eq!(reply.header("www-authenticate"), "Bearer");
    assert_eq!(reply.header("cache-control"), "no-store");
}
