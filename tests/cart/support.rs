//! Steps of the cart's tests, named after what a buyer or an owner does.

use crate::support::put;
use publish::Compiled;
use serde_json::{Value, json};
use shared::model::{
    AppliedCoupon, AppliedGiftCard, Cart, Code, CodeText, Coupon, Discount, GiftCard, ItemId, Line, LineId, Login,
    Money, Percent, PlayerName, Referral, UserId,
};
use shared::table::codec::{decode_live, encode_live, key_attributes};
use shared::table::keys;
use std::time::Duration;
use tests::{Call, NOW, Reply, TestStore};

/// A user with a full cart: a rank for ten euros, a coupon, a referral code.
pub const RICH: &str = "Thornwick";
/// A user whose cart has lines that cannot be bought, a gift card and no referral code.
pub const WORN: &str = "Quillfeather";
/// A user without a cart.
pub const NEW: &str = "Pebble";

pub fn user(name: &str) -> UserId {
    let user = TestStore::sample().live.users.iter().find(|user| user.username == name);
    user.expect("a sample user").id
}

/// POSTs without a body.
pub async fn ask(store: &TestStore, path: &str, name: &str) -> Reply {
    store.send(Call::post(path).token(&store.token(name))).await
}

/// POSTs one field.
pub async fn tell(store: &TestStore, path: &str, name: &str, field: &str, value: &str) -> Reply {
    let call = Call::post(path).token(&store.token(name));
    store.send(call.json(&json!({ field: value }))).await
}

pub async fn post(store: &TestStore, path: &str, name: &str, body: &Value) -> Reply {
    store.send(Call::post(path).token(&store.token(name)).json(body)).await
}

/// POSTs a text unchanged.
pub async fn post_text(store: &TestStore, path: &str, name: &str, body: &str) -> Reply {
    let call = Call::post(path).token(&store.token(name)).header("content-type", "application/json");
    store.send(call.bytes(body)).await
}

/// The message of a refusal with this status and the body of the calls that change lines.
pub fn refusal(reply: &Reply, status: u16) -> String {
    assert_eq!(reply.status, status, "{}", reply.text);
    assert_eq!(reply.header("cache-control"), "no-store");
    let body = reply.json();
    assert_eq!((body.as_object().map(serde_json::Map::len), &body["success"]), (Some(2), &json!(false)), "{body}");
    body["message"].as_str().expect("a message").to_owned()
}

/// Expects that nothing was written, and that each value of a field is refused with 400 and a message that names the field.
pub async fn refuses_values(store: &TestStore, path: &str, name: &str, fields: &[(&str, &[&str])]) {
    let before = stored(store, name).await;
    store.calls.clear();
    for (field, values) in fields {
        for value in *values {
            let body = format!("{{\"{field}\":{value}}}");
            let message = refusal(&post_text(store, path, name, &body).await, 400);
            assert!(message.starts_with(&format!("The {field}")), "{body}: {message}");
        }
    }
    assert_eq!(store.calls.writes(), 0);
    assert_eq!(stored(store, name).await, before);
}

/// A line of the cart in the table.
pub async fn line(store: &TestStore, name: &str, id: u64) -> Line {
    let lines = stored(store, name).await.expect("a cart").lines;
    lines.into_iter().find(|line| line.id == LineId::new(id)).expect("a line of that id")
}

pub async fn ban(store: &TestStore, name: &str) {
    let name = PlayerName::parse(name).expect("a player's name");
    put(store, key_attributes(&keys::ban(name.key()))).await;
}

/// The response of cart/get.
pub async fn view(store: &TestStore, name: &str) -> Value {
    let reply = ask(store, "/cart/get", name).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    reply.json()
}

/// The line of an item in a response of cart/get.
pub fn line_of(view: &Value, item: u64) -> &Value {
    let mut lines = view["items"].as_array().expect("lines").iter();
    lines.find(|line| line["id"] == item).expect("a line of that item")
}

pub fn cents(amount: &Value) -> i64 {
    let text = amount.to_string();
    let (whole, part) = text.split_once('.').unwrap_or((&text, ""));
    format!("{whole}{part:0<2}").parse().expect("an amount with two digits")
}

/// A response with `success` and `message`.
pub fn outcome(reply: &Reply) -> (bool, String) {
    assert_eq!(reply.status, 200, "{}", reply.text);
    let body = reply.json();
    (body["success"].as_bool().expect("a flag"), body["message"].as_str().expect("a message").to_owned())
}

pub async fn put_cart(store: &TestStore, cart: &Cart) {
    put(store, encode_live(&keys::cart(cart.user), cart).unwrap()).await;
}

pub async fn put_code(store: &TestStore, code: &Code) {
    put(store, encode_live(&keys::code(code.text()), code).unwrap()).await;
}

pub async fn put_referral(store: &TestStore, referral: &Referral) {
    put(store, encode_live(&keys::referral(&referral.code), referral).unwrap()).await;
}

/// The cart in the table.
pub async fn stored(store: &TestStore, name: &str) -> Option<Cart> {
    let key = keys::cart(user(name));
    let item = store.db.get(&key, true).await.unwrap();
    item.map(|item| decode_live(&key, item).unwrap())
}

/// A cart of lines, each an item with its count.
pub fn cart_of(name: &str, lines: &[(u64, u32)]) -> Cart {
    let line = |(place, (item, count)): (usize, &(u64, u32))| {
        Line::new(LineId::new(place as u64 + 1), ItemId::new(*item), *count)
    };
    let lines: Vec<Line> = lines.iter().enumerate().map(line).collect();
    Cart { version: 1, next_line: lines.len() as u64 + 1, lines, ..Cart::empty(user(name)) }
}

/// The same cart with a code on it, which is of no login by name.
pub fn with_code(cart: Cart, code: &Code) -> Cart {
    match code {
        Code::Coupon(coupon) => Cart { coupon: Some(AppliedCoupon::from(coupon)), ..cart },
        Code::Gift(gift) => Cart { gift_card: Some(AppliedGiftCard::entered_by(Login::Proven, gift)), ..cart },
    }
}

pub fn text(code: &str) -> CodeText {
    CodeText::parse(code).unwrap()
}

/// A coupon that applies to everything and never ends.
pub fn coupon(code: &str, discount: Discount) -> Coupon {
    let coupon = json!({ "id": 900, "code": code, "active": true, "discount": discount });
    serde_json::from_value(coupon).unwrap()
}

pub fn percent(hundredths: u32) -> Discount {
    Discount::Percentage(Percent::from_hundredths(hundredths))
}

pub fn amount(cents: i64) -> Discount {
    Discount::Amount(Money::from_minor(cents))
}

pub fn gift(code: &str, cents: i64) -> GiftCard {
    let card = json!({ "id": 901, "code": code, "active": true, "balance": cents, "start_balance": cents });
    serde_json::from_value(card).unwrap()
}

/// A code of the sample store.
pub fn sample_code(code: &str) -> Code {
    let codes = &TestStore::sample().live.codes;
    codes.iter().find(|known| *known.text() == text(code)).expect("a sample code").clone()
}

pub fn sample_referral(code: &str) -> Referral {
    let referrals = &TestStore::sample().live.referrals;
    referrals.iter().find(|known| known.code == text(code)).expect("a sample referral code").clone()
}

/// Publishes the sample store again with a change, and lets the caches expire.
pub async fn republish(store: &TestStore, change: impl FnOnce(&mut Compiled)) {
    let mut compiled = TestStore::sample().compiled.clone();
    change(&mut compiled);
    compiled.version = format!("{}changed", compiled.version);
    publish::publish(&store.db, &compiled, NOW).await.unwrap();
    store.clock.advance(Duration::from_secs(6));
}
