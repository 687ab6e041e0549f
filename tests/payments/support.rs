//! Checkouts through the gateway, paid at the stand-in.

use serde_json::{Value, json};
use shared::model::InternalId;
use shared::shop::orders::{self, StoredOrder};
use stripe_stand_in::Action;
use tests::{Call, Reply, TestStore};

/// The body that the storefront sends.
pub fn agreed() -> Value {
    json!({ "paymentMethod": "Stripe", "currency": "EUR", "termsAndConditions": true, "privacyPolicy": true,
            "details": { "email": "player@example.com" }, "chatId": null })
}

/// Logs a new player in.
pub async fn login(store: &TestStore, name: &str) -> String {
    let reply = store.send(Call::post("/auth/username").json(&json!({ "username": name }))).await;
    reply.data().as_str().unwrap().to_owned()
}

/// Calls an endpoint that needs a token.
pub async fn call(store: &TestStore, token: &str, path: &str, body: &Value) -> Reply {
    store.send(Call::post(path).token(token).json(body)).await
}

/// Puts units of an item into the cart.
pub async fn add(store: &TestStore, token: &str, item: u64, count: u32) {
    let reply = call(store, token, &format!("/cart/add/{item}"), &json!({ "count": count })).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
}

/// Logs a new player in, who puts units of an item into the cart.
pub async fn buyer(store: &TestStore, name: &str, item: u64, count: u32) -> String {
    let token = login(store, name).await;
    add(store, &token, item, count).await;
    token
}

/// A checkout that began.
pub struct Begun {
    /// The order's internal id.
    pub order: String,
    pub session: String,
}

/// Begins a checkout of the cart.
pub async fn create(store: &TestStore, token: &str) -> Begun {
    let reply = call(store, token, "/payments/create", &agreed()).await;
    let data = reply.data();
    assert_eq!(data["success"], true, "{data}");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let session = text(&data["data"]["url"]).rsplit('/').next().unwrap().to_owned();
    Begun { order: text(&data["order_id"]), session }
}

/// Tries to pay, with some fields of the request changed; returns the refusal's message.
pub async fn refused(store: &TestStore, token: &str, changes: &Value) -> String {
    let mut body = agreed();
    body.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    let reply = call(store, token, "/payments/create", &body).await;
    let data = reply.data();
    assert_eq!((reply.status.as_u16(), &data["success"]), (200, &json!(false)), "{data}");
    data["message"].as_str().unwrap().to_owned()
}

/// Enters a coupon or gift card; whether it is on the cart now, and the message.
pub async fn enter(store: &TestStore, token: &str, code: &str) -> (bool, String) {
    let data = call(store, token, "/cart/acceptCoupon", &json!({ "coupon": code })).await.data();
    (data["success"] == true, data["message"].as_str().unwrap().to_owned())
}

/// The field `cart` of cart/get.
pub async fn cart(store: &TestStore, token: &str) -> Value {
    call(store, token, "/cart/get", &json!({})).await.data()["cart"].clone()
}

pub async fn stored(store: &TestStore, order: &str) -> StoredOrder {
    orders::get(&store.db, &InternalId::new(order)).await.unwrap().unwrap()
}

/// A new player's token, and a checkout of one unit that this player began.
pub async fn begin(store: &TestStore) -> (String, Begun) {
    let token = buyer(store, "Buyer", 302, 1).await;
    let begun = create(store, &token).await;
    (token, begun)
}

/// Does what the buyer does on the provider's page, and passes every webhook event on, as the provider does.
pub async fn act(store: &TestStore, begun: &Begun, action: &Action) {
    let before = store.payments.events();
    store.payments.act(&begun.session, action).unwrap();
    for event in store.payments.events().iter().filter(|event| !before.contains(event)) {
        let signed = store.payments.signed(event).unwrap();
        let call = Call::post("/payments/webhook/stripe").header("stripe-signature", &signed.header);
        let reply = store.send(call.bytes(signed.body)).await;
        assert_eq!(reply.status, 200, "{}", reply.text);
    }
}

/// The order's state by payments/checkStatus: its label and its status.
pub async fn status(store: &TestStore, token: &str, begun: &Begun) -> (String, String) {
    let body = json!({ "order_id": begun.order, "checkout_id": begun.session });
    let data = call(store, token, "/payments/checkStatus", &body).await.data();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    (text(&data["status"]), text(&data["order_data"]["status"]))
}
