//! What is in the table of every shop: users, codes, goals, and an item with each limit.

use serde_json::{Value, json};
use shared::model::{
    ActiveVersion, Code, CodeText, Goal, InternalId, ItemId, Line, LineId, Money, OrderLine, OrderStatus, PaymentType,
    Payments, PlayerName, PublishedItem, Settings, StoreConfig, User, UserId,
};
use shared::shop::orders::NewOrder;
use shared::table::codec::{self, Item};
use shared::table::keys;
use tests::NOW;

pub const DAY: i64 = 86_400;
const VERSION: &str = "v1";
/// Users of the fixture: 1 to this.
pub const USERS: u64 = 24;
/// Price of every item, and the first balance of the gift card.
pub const PRICE: i64 = 100;
pub const BALANCE: i64 = 1_000;

/// Without a limit.
pub const PLAIN: u64 = 1;
pub const FIVE: u64 = 2;
/// Two for one user.
pub const TWO_EACH: u64 = 3;
/// Three in all, one for one user.
pub const BOTH: u64 = 4;
/// Not published.
pub const GONE: u64 = 9;
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

pub fn rows() -> Vec<Item> {
    let users = (1..=USERS).map(|id| codec::encode_live(&keys::user(UserId::new(id)), &user(id)).unwrap());
    let codes = codes().into_iter().map(|code| codec::encode_live(&keys::code(code.text()), &code).unwrap());
    let items = items().into_iter().map(|item| published_item(&item));
    version(VERSION, &[1, 2]).into_iter().chain(items).chain(users).chain(codes).collect()
}

/// The rows of a published version with these goals, without its items.
pub fn version(version: &str, goals: &[u64]) -> [Item; 2] {
    let settings = Settings { goals: self::goals(goals), ..Settings::default() };
    let (methods, currency) = (vec!["Stripe".to_owned()], "EUR".to_owned());
    let payments = Payments { methods, currency, ..Payments::default() };
    let storefront_url = "https://shop.example".to_owned();
    let config = StoreConfig { payments, is_virtual_currency: true, storefront_url, ..StoreConfig::default() };
    let active = ActiveVersion { version: version.to_owned(), config, ..ActiveVersion::default() };
    [
        codec::encode_published(&keys::settings(version), &settings).unwrap(),
        codec::encode_live(&keys::active_version(), &active).unwrap(),
    ]
}

/// The row of an item with what is known of its category.
pub fn published_item(item: &Value) -> Item {
    let published: PublishedItem = serde_json::from_value(item.clone()).unwrap();
    codec::encode_published(&keys::item(VERSION, published.item.id), &published).unwrap()
}

pub fn user(id: u64) -> User {
    let user = json!({ "id": id, "username": format!("user-{id}"), "avatar": format!("/avatar/{id}.png"), "system": "game",
                       "identificator": id.to_string(), "uuid": "", "created_at": 0, "updated_at": 0, "virtual_currency": 0 });
    serde_json::from_value(user).unwrap()
}

pub fn goals(ids: &[u64]) -> Vec<Goal> {
    let goal = |id: &u64| Goal {
        id: *id,
        name: format!("goal {id}"),
        goal_amount: Money::from_minor(100_000),
        ..Goal::default()
    };
    ids.iter().map(goal).collect()
}

/// An item of a category, with `more` in place of what others have.
pub fn item(id: u64, category: u64, more: &Value) -> Value {
    let mut item = json!({ "id": id, "name": format!("item {id}"), "price": PRICE, "active": true });
    item.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({ "item": item, "category": category })
}

/// A step of a cumulative category, which can be given, at a price.
pub fn step(id: u64, category: u64, price: i64, tiers: &Value) -> Value {
    let mut step = item(id, category, &json!({ "price": price, "gifting": true }));
    step["ladder"] = tiers.clone();
    step
}

fn items() -> Vec<Value> {
    let tiers = json!(STEPS.map(|id| json!({ "item": id, "price": id * 10 })));
    let steps = STEPS.map(|id| step(id, 3, i64::try_from(id * 10).unwrap(), &tiers));
    let others = [
        item(PLAIN, 1, &json!({})),
        item(FIVE, 1, &json!({ "global_limit": 5 })),
        item(TWO_EACH, 1, &json!({ "user_limit": 2 })),
        item(BOTH, 1, &json!({ "global_limit": 3, "user_limit": 1 })),
        item(5, 1, &json!({})),
        item(6, 1, &json!({})),
        item(VIRTUAL, 2, &json!({ "virtual_only": true, "virtual_price": 50 })),
        item(GIFT, 2, &json!({ "gifting": true, "user_limit": 1 })),
        item(TWENTY, 2, &json!({ "gifting": true, "global_limit": 20 })),
        item(FREE, 2, &json!({ "price": 0 })),
        item(CHAT, 2, &json!({ "needs_chat": true })),
    ];
    others.into_iter().chain(steps).collect()
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
        json!({ "kind": "gift", "id": 5, "code": "card", "active": true, "balance": BALANCE, "start_balance": BALANCE }),
    ];
    codes.into_iter().map(|code| serde_json::from_value(code).unwrap()).collect()
}

pub fn id(text: &str) -> InternalId {
    InternalId::new(text)
}

pub fn code(text: &str) -> CodeText {
    CodeText::parse(text).unwrap()
}

pub const fn money(minor: i64) -> Money {
    Money::from_minor(minor)
}

/// A line of a cart.
pub fn line(id: u64, item: u64, count: u32) -> Line {
    Line::new(LineId::new(id), ItemId::new(item), count)
}

/// A line of a cart with a gift.
pub fn gift(id: u64, item: u64, to: &str) -> Line {
    let to = PlayerName::parse(to).unwrap();
    Line { payment_type: PaymentType::Gift, gift_to: Some(to), ..line(id, item, 1) }
}

/// A paid order of `lines` (item, units, minor units), made now.
pub fn paid(text: &str, owner: Option<u64>, lines: &[(u64, u32, i64)]) -> NewOrder {
    let line = |&(item, count, total)| OrderLine::new(ItemId::new(item), count, money(total));
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
