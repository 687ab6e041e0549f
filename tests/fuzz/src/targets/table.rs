//! Responses of DynamoDB: the direct path never reads another value than the SDK does.

use crate::error::FuzzError;
use crate::mutate;
use crate::random::Random;
use crate::target::{Outcome, Target, rule};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::Credentials;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::operation::query::builders::QueryInputBuilder;
use aws_sdk_dynamodb::types::{AttributeValue, KeysAndAttributes};
use aws_smithy_runtime_api::client::http::{HttpConnector, HttpConnectorFuture, SharedHttpConnector, http_client_fn};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_types::body::SdkBody;
use dynamodb::{Access, Item, Row, Table as Direct};
use harness::TestStore;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use shared::model::{Cart, Order, User, UserId};
use shared::store::{codec, keys};
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use storectl::archive;
use tokio::runtime::{Builder, Runtime};

/// The direct path and the SDK's client, before the same response.
pub struct Table {
    runtime: Runtime,
    direct: Direct,
    client: Client,
    canned: Canned,
    rows: Vec<Value>,
}

/// A connection on which the first response is a prepared one, and every other an empty object.
#[derive(Debug, Clone, Default)]
struct Canned(Arc<Mutex<Option<(u16, String)>>>);

impl Canned {
    fn prepare(&self, response: &(u16, String)) {
        if let Ok(mut next) = self.0.lock() {
            *next = Some(response.clone());
        }
    }
}

impl HttpConnector for Canned {
    fn call(&self, _: HttpRequest) -> HttpConnectorFuture {
        let prepared = self.0.lock().ok().and_then(|mut next| next.take());
        let (status, body) = prepared.unwrap_or_else(|| (200, "{}".to_owned()));
        let status = status.try_into().unwrap_or_else(|_| http::StatusCode::OK.into());
        HttpConnectorFuture::ready(Ok(HttpResponse::new(status, SdkBody::from(body))))
    }
}

/// The operation whose response is read.
#[derive(Debug, Clone, Copy)]
pub enum Operation {
    /// `BatchGetItem`.
    Batch,
    /// `Query`.
    Query,
    /// `GetItem`.
    Get,
}

fn key() -> Item {
    let text = |text: &str| AttributeValue::S(text.to_owned());
    Item::from([("pk".to_owned(), text("CART#1")), ("sk".to_owned(), text("-"))])
}

impl Table {
    /// The rows read from a response by the direct path; `None` if it cannot be read.
    async fn by_direct(&self, operation: Operation) -> Option<Vec<Row>> {
        match operation {
            Operation::Batch => self.direct.batch_get(vec![key()]).await.ok(),
            Operation::Query => self.direct.query(QueryInputBuilder::default()).await.ok(),
            Operation::Get => Some(self.direct.get(key(), true).await.ok()?.into_iter().map(Row::from).collect()),
        }
    }

    /// The rows read from a response by the SDK's client; `None` if it cannot be read.
    async fn by_client(&self, operation: Operation) -> Option<Vec<Row>> {
        let items: Vec<Item> = match operation {
            Operation::Batch => {
                let keys = KeysAndAttributes::builder().keys(key()).build().ok()?;
                let found = Box::pin(self.client.batch_get_item().request_items("t", keys).send()).await.ok()?;
                found.responses.unwrap_or_default().into_values().flatten().collect()
            }
            Operation::Query => {
                Box::pin(self.client.query().table_name("t").send()).await.ok()?.items.unwrap_or_default()
            }
            Operation::Get => {
                let call = self.client.get_item().table_name("t").set_key(Some(key())).send();
                Box::pin(call).await.ok()?.item.into_iter().collect()
            }
        };
        Some(items.into_iter().map(Row::from).collect())
    }

    /// The values in a response, as `rows` reads it.
    fn outcome(&self, rows: impl Future<Output = Option<Vec<Row>>>, response: &(u16, String)) -> Option<[Values; 4]> {
        self.canned.prepare(response);
        let rows = self.runtime.block_on(rows)?;
        let keys = rows.iter().filter_map(|row| row.text("pk")).map(str::to_owned).collect();
        Some([keys, read::<Cart>(&rows), read::<User>(&rows), read::<Order>(&rows)])
    }
}

/// The values of one kind in a response.
type Values = BTreeSet<String>;

/// The rows that are a `T`.
fn read<T: DeserializeOwned + Debug>(rows: &[Row]) -> Values {
    rows.iter().filter_map(|row| row.clone().read::<T>().ok()).map(|value| format!("{value:?}")).collect()
}

impl Target for Table {
    const NAME: &'static str = "table";
    /// The operation, and the status and the body of the response.
    type Input = (Operation, (u16, String));

    fn start() -> Result<Self, FuzzError> {
        let runtime = Builder::new_current_thread().enable_all().build().map_err(FuzzError::setup)?;
        let canned = Canned::default();
        let connector = SharedHttpConnector::new(canned.clone());
        let client = http_client_fn(move |_, _| connector.clone());
        let credentials = Credentials::new("id", "secret", None, None, "fuzz");
        let mut access = Access::new("eu-central-1", Some("http://db.test".to_owned()), Some(credentials), client);
        access.retries = RetryConfig::disabled();
        let client = Client::from_conf(access.sdk_config().build());
        let sample = &TestStore::sample().live;
        let mut rows = Vec::new();
        let mut add = |item: codec::Item| serde_json::from_str(&archive::line(&item)).map(|row| rows.push(row));
        for user in sample.users.iter().take(2) {
            let row = codec::encode_live(&keys::user(user.id), user).map_err(FuzzError::setup)?;
            add(row).map_err(FuzzError::setup)?;
        }
        for cart in sample.carts.iter().take(2) {
            let row = codec::encode_live(&keys::cart(cart.user), cart).map_err(FuzzError::setup)?;
            add(row).map_err(FuzzError::setup)?;
        }
        for order in sample.orders.iter().take(2) {
            let row = codec::encode_live(&keys::order(&order.internal_id), order).map_err(FuzzError::setup)?;
            add(row).map_err(FuzzError::setup)?;
        }
        let empty = Cart::empty(UserId::new(7));
        add(codec::encode_live(&keys::cart(empty.user), &empty).map_err(FuzzError::setup)?)
            .map_err(FuzzError::setup)?;
        let direct = Direct::new(access, "t", ());
        Ok(Self { runtime, direct, client, canned, rows })
    }

    fn input(&self, random: &mut Random) -> Self::Input {
        let row = random.pick(&self.rows).clone();
        let other = random.pick(&self.rows).clone();
        // Keys to request again cost a pause each.
        let again = if random.one_in(500) { json!({ "t": { "Keys": [{ "pk": { "S": "A" } }] } }) } else { json!({}) };
        let error = json!({ "__type": "com.amazon#ProvisionedThroughputExceededException", "message": "slow down" });
        let (operation, body) = match random.below(8) {
            0 => (Operation::Get, json!({ "Item": row })),
            1 => (*random.pick(&[Operation::Batch, Operation::Query]), error),
            2..=4 => (Operation::Query, json!({ "Items": [row, other], "Count": 2 })),
            _ => (Operation::Batch, json!({ "Responses": { "t": [row, other] }, "UnprocessedKeys": again })),
        };
        let status =
            if body.get("__type").is_some() { 400 } else { *random.pick(&[200, 200, 200, 200, 400, 500, 503]) };
        (operation, (status, mutate::json_text(random, &body)))
    }

    fn check(&mut self, (operation, response): &Self::Input) -> Result<Outcome, String> {
        let direct = self.outcome(self.by_direct(*operation), response);
        let client = self.outcome(self.by_client(*operation), response);
        if let (Some(direct), Some(client)) = (&direct, &client) {
            for (direct, client) in direct.iter().zip(client) {
                // One may refuse what the other reads: a number that is none where no struct needs it, an attribute that is
                // there twice. Neither reads another value.
                let agree = direct.is_subset(client) || client.is_subset(direct);
                rule(agree, || format!("read as {direct:?}, by the SDK as {client:?}"))?;
            }
        }
        Ok(if direct.is_some() { Outcome::Accepted } else { Outcome::Refused })
    }
}
