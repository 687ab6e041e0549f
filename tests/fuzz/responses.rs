//! Responses of DynamoDB: the direct path never reads another value than the SDK does. And those of Stripe: read without a
//! panic, and paid is only what agrees with the order.

use crate::{Outcome, PARSER, mutate, tries};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::Credentials;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::operation::query::builders::QueryInputBuilder;
use aws_sdk_dynamodb::types::{AttributeValue, KeysAndAttributes};
use aws_smithy_runtime_api::client::http::{HttpConnector, HttpConnectorFuture, SharedHttpConnector, http_client_fn};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_types::body::SdkBody;
use dynamodb::{Access, Item, Row, Table};
use proptest::prelude::*;
use proptest::sample::select;
use serde::de::DeserializeOwned;
use serde_json::{Value, from_slice, json};
use shared::model::OrderStatus::{Cancelled, Failed, Paid, Pending, Refunded};
use shared::model::{Cart, InternalId, Money, Order, OrderEffects, PaymentFacts, Tax, User, UserId};
use shared::rules::payment::{Decision, PaymentState, Progress, decide};
use shared::table::{codec, keys};
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use stripe::{
    Account, Balance, Charge, Dispute, Event, Expandable, List, PaymentIntent, PaymentStatus, Refund, Session,
    SessionStatus, WebhookEndpoint,
};
use tests::{NOW, TestStore};

/// A connection on which the first response is a prepared one, and every other an empty object.
#[derive(Debug, Clone, Default)]
struct Canned(Arc<Mutex<Option<(u16, String)>>>);

impl HttpConnector for Canned {
    fn call(&self, _: HttpRequest) -> HttpConnectorFuture {
        let prepared = self.0.lock().unwrap().take();
        let (status, body) = prepared.unwrap_or_else(|| (200, "{}".to_owned()));
        HttpConnectorFuture::ready(Ok(HttpResponse::new(status.try_into().unwrap(), SdkBody::from(body))))
    }
}

/// The operation whose response is read.
#[derive(Debug, Clone, Copy)]
enum Operation {
    Batch,
    Query,
    Get,
}

fn key() -> Item {
    let text = |text: &str| AttributeValue::S(text.to_owned());
    Item::from([("pk".to_owned(), text("CART#1")), ("sk".to_owned(), text("-"))])
}

/// The rows that the direct path reads; `None` if it cannot read the response.
async fn by_us(table: &Table, operation: Operation) -> Option<Vec<Row>> {
    match operation {
        Operation::Batch => table.batch_get(vec![key()]).await.ok(),
        Operation::Query => table.query(QueryInputBuilder::default()).await.ok(),
        Operation::Get => table.get(key(), true).await.ok().map(|item| item.into_iter().map(Row::from).collect()),
    }
}

/// The rows that the SDK's client reads; `None` if it cannot read the response.
async fn by_sdk(client: &Client, operation: Operation) -> Option<Vec<Row>> {
    let items: Vec<Item> = match operation {
        Operation::Batch => {
            let keys = KeysAndAttributes::builder().keys(key()).build().ok()?;
            let found = Box::pin(client.batch_get_item().request_items("t", keys).send()).await.ok()?;
            found.responses.unwrap_or_default().into_values().flatten().collect()
        }
        Operation::Query => Box::pin(client.query().table_name("t").send()).await.ok()?.items.unwrap_or_default(),
        Operation::Get => {
            let call = client.get_item().table_name("t").set_key(Some(key())).send();
            Box::pin(call).await.ok()?.item.into_iter().collect()
        }
    };
    Some(items.into_iter().map(Row::from).collect())
}

/// The rows that are a `T`.
fn read<T: DeserializeOwned + Debug>(rows: &[Row]) -> BTreeSet<String> {
    rows.iter().filter_map(|row| row.clone().read::<T>().ok()).map(|value| format!("{value:?}")).collect()
}

fn values(rows: &[Row]) -> [BTreeSet<String>; 4] {
    let keys = rows.iter().filter_map(|row| row.text("pk")).map(str::to_owned).collect();
    [keys, read::<Cart>(rows), read::<User>(rows), read::<Order>(rows)]
}

/// Rows of the sample store, as a response contains them.
fn samples() -> Vec<Value> {
    let sample = &TestStore::sample().live;
    let empty = Cart::empty(UserId::new(7));
    let users = sample.users.iter().take(2).map(|user| codec::encode_live(&keys::user(user.id), user));
    let carts = sample.carts.iter().take(2).chain([&empty]);
    let carts = carts.map(|cart| codec::encode_live(&keys::cart(cart.user), cart));
    let orders = sample.orders.iter().take(2);
    let orders = orders.map(|order| codec::encode_live(&keys::order(&order.internal_id), order));
    let rows = users.chain(carts).chain(orders).map(Result::unwrap);
    rows.map(|row| serde_json::from_str(&archive::line(&row)).unwrap()).collect()
}

fn responses() -> impl Strategy<Value = (Operation, u16, String)> {
    let row = || select(samples());
    let throttled = json!({ "__type": "com.amazon#ProvisionedThroughputExceededException", "message": "slow down" });
    // Keys to request again cost a pause each.
    let keys = json!({ "t": { "Keys": [{ "pk": { "S": "A" } }] } });
    let again = prop_oneof![499 => Just(json!({})), 1 => Just(keys)];
    let body = prop_oneof![
        1 => row().prop_map(|row| (Operation::Get, json!({ "Item": row }))),
        1 => select(vec![Operation::Batch, Operation::Query]).prop_map(move |operation| (operation, throttled.clone())),
        3 => (row(), row()).prop_map(|rows| (Operation::Query, json!({ "Items": [rows.0, rows.1], "Count": 2 }))),
        3 => (row(), row(), again).prop_map(|(one, other, again)| {
            (Operation::Batch, json!({ "Responses": { "t": [one, other] }, "UnprocessedKeys": again }))
        }),
    ];
    let statuses = select(vec![200, 200, 200, 200, 400, 500, 503]);
    (body, statuses).prop_flat_map(|((operation, body), status)| {
        let status = if body.get("__type").is_some() { 400 } else { status };
        (Just(operation), Just(status), mutate::json_text(Just(body)))
    })
}

#[test]
fn responses_of_the_table() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let canned = Canned::default();
    let connector = SharedHttpConnector::new(canned.clone());
    let client = http_client_fn(move |_, _| connector.clone());
    let credentials = Credentials::new("id", "secret", None, None, "fuzz");
    let mut access = Access::new("eu-central-1", Some("http://db.test".to_owned()), Some(credentials), client);
    access.retries = RetryConfig::disabled();
    let client = Client::from_conf(access.sdk_config().build());
    let direct = Table::new(access, "t", ());
    tries("table", 2, responses(), |(operation, status, body)| {
        let prepare = || *canned.0.lock().unwrap() = Some((status, body.clone()));
        prepare();
        let by_us = runtime.block_on(by_us(&direct, operation)).map(|rows| values(&rows));
        prepare();
        let by_sdk = runtime.block_on(by_sdk(&client, operation)).map(|rows| values(&rows));
        // One may refuse what the other reads: a number that is none where no struct needs it, an attribute that is there
        // twice. Neither reads another value.
        for (ours, theirs) in by_us.iter().flatten().zip(by_sdk.iter().flatten()) {
            prop_assert!(
                ours.is_subset(theirs) || theirs.is_subset(ours),
                "read as {ours:?}, by the SDK as {theirs:?}"
            );
        }
        Ok(by_us.is_some())
    });
}

#[test]
fn responses_of_the_provider() {
    let order = TestStore::sample().live.orders[0].clone();
    let order = Order { price: Money::from_minor(1_999), currency: "USD".to_owned(), ..order };
    let session = json!({
        "id": "cs_test_1", "status": "complete", "payment_status": "paid", "amount_total": 1999, "currency": "usd",
        "client_reference_id": order.internal_id.as_str(), "metadata": {}, "livemode": false, "url": null,
        "expires_at": NOW, "data": [], "has_more": false, "reason": "x",
        "payment_intent": {
            "id": "pi_1", "status": "succeeded", "amount": 1999, "amount_received": 1999, "currency": "usd",
            "livemode": false, "metadata": { "order": order.internal_id.as_str() },
            "latest_charge": {
                "id": "ch_1", "amount": 1999, "amount_refunded": 0, "refunded": false, "disputed": false,
                "currency": "usd", "livemode": false, "payment_intent": "pi_1",
            },
        },
    });
    let statuses = select(vec![Pending, Pending, Paid, Failed, Cancelled, Refunded]);
    let inputs = (mutate::json_text(Just(session)), statuses, any::<bool>());
    tries("provider", PARSER, inputs, |(text, status, held)| {
        let bytes = text.as_bytes();
        _ = (from_slice::<List<Event>>(bytes), from_slice::<PaymentIntent>(bytes), from_slice::<Charge>(bytes));
        _ = (from_slice::<Dispute>(bytes), from_slice::<Refund>(bytes), from_slice::<Account>(bytes));
        _ = (from_slice::<Balance>(bytes), from_slice::<WebhookEndpoint>(bytes));
        let Ok(session) = from_slice::<Session>(bytes) else { return Ok(false) };
        let effects = OrderEffects { held, ..OrderEffects::default() };
        decided(&Order { status, ..order.clone() }, &effects, &session)
    });
}

fn decided(order: &Order, effects: &OrderEffects, session: &Session) -> Outcome {
    let decision = decide(order, effects, &state(session));
    if matches!(decision, Decision::Pay | Decision::PayOrRefund) {
        let is_paid = session.status == Some(SessionStatus::Complete)
            && matches!(session.payment_status, PaymentStatus::Paid | PaymentStatus::NoPaymentRequired);
        let agrees = session.amount_total == Some(order.price.minor())
            && session.currency.as_deref().is_some_and(|currency| currency.eq_ignore_ascii_case("usd"))
            && session.metadata.order.as_deref() == Some(order.internal_id.as_str())
            && !session.livemode;
        prop_assert!(is_paid && agrees, "{decision:?} by {session:?}");
        prop_assert!(!matches!(order.status, Paid | Refunded), "{decision:?} of {:?}", order.status);
    }
    if let Decision::RefundInPart(refunds) = &decision {
        let amount = refunds.refunded;
        prop_assert!(amount > Money::ZERO && amount < order.price, "{decision:?} of {:?}", order.price);
    }
    Ok(decision != Decision::Nothing)
}

/// A session as a payment's state, with a key of the test mode.
fn state(session: &Session) -> PaymentState {
    let intent = session.payment_intent.as_ref();
    let charge = intent.and_then(Expandable::object).and_then(|intent| intent.latest_charge.as_ref()?.object());
    let progress = match (session.status.as_ref(), &session.payment_status) {
        (Some(SessionStatus::Complete), PaymentStatus::Paid | PaymentStatus::NoPaymentRequired) => Progress::Paid,
        (Some(SessionStatus::Complete), _) => Progress::Processing,
        (Some(SessionStatus::Expired), _) => Progress::Expired,
        _ => Progress::Open,
    };
    PaymentState {
        session: session.id.to_string(),
        order: session.metadata.order.as_deref().map(InternalId::new),
        amount: Money::from_minor(session.amount_total.unwrap_or_default()),
        currency: session.currency.clone().unwrap_or_default(),
        same_mode: !session.livemode,
        progress,
        intent: intent.map(|intent| intent.id().to_string()),
        refunded: Money::from_minor(charge.map_or(0, |charge| charge.amount_refunded)),
        failed_refunds: Money::ZERO,
        attempts: Vec::new(),
        disputes: Vec::new(),
        period: None,
        tax: Tax::default(),
        facts: PaymentFacts::default(),
        card: None,
    }
}
