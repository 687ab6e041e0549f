//! A model of contention: a transaction takes some time, and is cancelled if another one is on one of its items.

use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use serde_json::{Value, json};
use shared::table::{Access, Db, connector};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How long a transaction is on its items.
const TRANSACTION: Duration = Duration::from_millis(15);

/// The items that transactions are on, and how often one was cancelled. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Contention {
    busy: Arc<Mutex<BTreeSet<String>>>,
    cancelled: Arc<AtomicUsize>,
    sent: Arc<AtomicUsize>,
}

impl Contention {
    /// A table through a client that meets contention.
    pub fn db(&self, access: Access, table: &str) -> Db {
        let client = Contended { inner: connector::plain_client(), model: self.clone() };
        let (retries, http_client) = (RetryConfig::disabled(), SharedHttpClient::new(client));
        Db::new(Access { retries, http_client, ..access }, table)
    }

    /// How many writes were cancelled, and how many were sent.
    pub fn counts(&self) -> (usize, usize) {
        (self.cancelled.load(Ordering::SeqCst), self.sent.load(Ordering::SeqCst))
    }

    /// Takes a transaction's items; the places of those that are taken already, if there are any.
    fn begin(&self, keys: &[String]) -> Option<Vec<bool>> {
        let mut busy = self.busy.lock().unwrap();
        let taken: Vec<bool> = keys.iter().map(|key| busy.contains(key)).collect();
        if taken.contains(&true) {
            return Some(taken);
        }
        busy.extend(keys.iter().cloned());
        None
    }

    fn end(&self, keys: &[String]) {
        let mut busy = self.busy.lock().unwrap();
        for key in keys {
            busy.remove(key);
        }
    }
}

#[derive(Debug, Clone)]
struct Contended {
    inner: SharedHttpClient,
    model: Contention,
}

impl HttpClient for Contended {
    fn http_connector(&self, settings: &HttpConnectorSettings, parts: &RuntimeComponents) -> SharedHttpConnector {
        let inner = self.inner.http_connector(settings, parts);
        SharedHttpConnector::new(Connector { inner, model: self.model.clone() })
    }
}

#[derive(Debug, Clone)]
struct Connector {
    inner: SharedHttpConnector,
    model: Contention,
}

impl HttpConnector for Connector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let Self { inner, model } = self.clone();
        let operation = tests::operation(&request).to_owned();
        if operation != "TransactWriteItems" && operation != "UpdateItem" {
            return inner.call(request);
        }
        let body: Value = serde_json::from_slice(request.body().bytes().unwrap_or_default()).unwrap();
        let keys = keys(&body);
        let is_transaction = operation == "TransactWriteItems";
        HttpConnectorFuture::new(async move {
            model.sent.fetch_add(1, Ordering::SeqCst);
            if let Some(taken) = if is_transaction { model.begin(&keys) } else { model.is_busy(&keys) } {
                model.cancelled.fetch_add(1, Ordering::SeqCst);
                return Ok(cancelled(is_transaction, &taken));
            }
            if !is_transaction {
                return inner.call(request).await;
            }
            let response = inner.call(request).await;
            tokio::time::sleep(TRANSACTION).await;
            model.end(&keys);
            response
        })
    }
}

impl Contention {
    fn is_busy(&self, keys: &[String]) -> Option<Vec<bool>> {
        let busy = self.busy.lock().unwrap();
        let taken: Vec<bool> = keys.iter().map(|key| busy.contains(key)).collect();
        taken.contains(&true).then_some(taken)
    }
}

/// The keys of the items of a write.
fn keys(body: &Value) -> Vec<String> {
    let text = |key: &Value| format!("{} {}", key["pk"]["S"], key["sk"]["S"]);
    let Some(writes) = body["TransactItems"].as_array() else { return vec![text(&body["Key"])] };
    let writes = writes.iter().filter_map(Value::as_object).flat_map(|write| write.values());
    writes.map(|write| text(write.get("Key").unwrap_or(&write["Item"]))).collect()
}

fn cancelled(is_transaction: bool, taken: &[bool]) -> HttpResponse {
    let code = |taken: &bool| json!({ "Code": if *taken { "TransactionConflict" } else { "None" } });
    let kind = if is_transaction { "TransactionCanceledException" } else { "TransactionConflictException" };
    let reasons: Vec<Value> = taken.iter().map(code).collect();
    let kind = format!("com.amazonaws.dynamodb.v20120810#{kind}");
    let body = json!({ "__type": kind, "message": "in progress", "CancellationReasons": reasons });
    HttpResponse::new(400_u16.try_into().unwrap(), SdkBody::from(body.to_string()))
}
