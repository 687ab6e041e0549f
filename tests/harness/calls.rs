//! A recorder of the SDK's calls: requests and responses, round trips, and what they did with carts.

use aws_sdk_dynamodb::config::http::HttpRequest;
use aws_sdk_dynamodb::config::interceptors::{BeforeTransmitInterceptorContextRef, FinalizerInterceptorContextRef};
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_dynamodb::error::BoxError;
use aws_smithy_types::config_bag::{Storable, StoreReplace};
use serde_json::{Value, json};
use shared::table::keys::Key;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard};

/// Operations that do not write.
const READS: [&str; 6] = ["GetItem", "BatchGetItem", "Query", "Scan", "DescribeTable", "DescribeTimeToLive"];

pub fn operation(request: &HttpRequest) -> &str {
    let target = request.headers().get("x-amz-target").unwrap_or_default();
    target.rsplit('.').next().unwrap_or_default()
}

pub fn writes(operation: &str) -> bool {
    !READS.contains(&operation)
}

/// The request of an attempt. The SDK gives it away when it sends it.
#[derive(Debug, Clone)]
struct Sent {
    operation: String,
    body: Vec<u8>,
}

impl Storable for Sent {
    type Storer = StoreReplace<Self>;
}

#[derive(Debug)]
enum Entry {
    Begin(Sent),
    /// The end of an attempt, with the body of a successful response.
    End(Sent, Option<Vec<u8>>),
}

/// The use of carts by requests: the versions that they read and wrote, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CartTrace {
    /// The version of each read; 0 if there was no cart.
    pub read: Vec<u64>,
    /// The version of each write that was done.
    pub written: Vec<u64>,
}

/// Every call to the database since the last [`Calls::clear`].
#[derive(Debug, Clone, Default)]
pub struct Calls(Arc<Mutex<Vec<Entry>>>);

impl Calls {
    fn entries(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.0.lock().expect("no test panics here")
    }

    pub fn clear(&self) {
        self.entries().clear();
    }

    fn sent<T>(&self, of: impl Fn(&Sent) -> T) -> Vec<T> {
        let entries = self.entries();
        let begun = entries.iter().filter_map(|entry| match entry {
            Entry::Begin(sent) => Some(of(sent)),
            Entry::End(..) => None,
        });
        begun.collect()
    }

    /// The operations, in the order in which they were sent. A retry is listed again.
    pub fn operations(&self) -> Vec<String> {
        self.sent(|sent| sent.operation.clone())
    }

    /// The bodies of the requests.
    pub fn bodies(&self) -> Vec<String> {
        self.sent(|sent| String::from_utf8_lossy(&sent.body).into_owned())
    }

    /// The rights that each call needs.
    pub fn needs(&self) -> Vec<Need> {
        self.sent(Need::of)
    }

    /// How often a row was read by its key.
    pub fn reads_of(&self, key: &Key) -> usize {
        let key = json!({ "pk": { "S": key.pk }, "sk": { "S": key.sk } });
        let keys = self.sent(|sent| match sent.operation.as_str() {
            "GetItem" => vec![json(&sent.body)["Key"].clone()],
            "BatchGetItem" => batch_keys(&json(&sent.body)).cloned().collect(),
            _ => Vec::new(),
        });
        keys.iter().flatten().filter(|read| **read == key).count()
    }

    /// The number of operations that write.
    pub fn writes(&self) -> usize {
        self.operations().iter().filter(|operation| writes(operation)).count()
    }

    /// The number of sequential round trips: concurrent calls count once. A new round trip begins with the first call
    /// that is sent after a response of the one before.
    pub fn round_trips(&self) -> usize {
        let (mut rounds, mut one_came_back) = (0, true);
        for entry in self.entries().iter() {
            match entry {
                Entry::Begin(_) if one_came_back => (rounds, one_came_back) = (rounds + 1, false),
                Entry::Begin(_) => {}
                Entry::End(..) => one_came_back = true,
            }
        }
        rounds
    }

    pub fn carts(&self) -> CartTrace {
        let mut trace = CartTrace::default();
        for entry in self.entries().iter() {
            if let Entry::End(sent, Some(response)) = entry {
                trace.add(sent, response);
            }
        }
        trace
    }
}

/// The rights that a call needs in IAM. Each write of a transaction needs its own action, and each action all keys of the
/// transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    /// Such as `dynamodb:GetItem`.
    pub actions: BTreeSet<String>,
    /// The partition keys of the rows.
    pub keys: BTreeSet<String>,
    /// The attributes that its writes name at the top level of rows.
    pub attributes: BTreeSet<String>,
}

impl Need {
    fn of(sent: &Sent) -> Self {
        let body = json(&sent.body);
        let own = [(sent.operation.clone(), body.clone())];
        let writes = body["TransactItems"].as_array().into_iter().flatten().filter_map(Value::as_object).flatten();
        let writes: Vec<(String, Value)> =
            writes.map(|(member, write)| (format!("{member}Item"), write.clone())).collect();
        let calls = if sent.operation == "TransactWriteItems" { &writes[..] } else { &own[..] };
        let partition = |row: &Value| row["pk"]["S"].as_str().map(str::to_owned);
        let rows = calls.iter().flat_map(|(_, call)| [partition(&call["Key"]), partition(&call["Item"])]);
        let keys = rows.chain(batch_keys(&body).map(partition)).chain([queried(&body)]).flatten().collect();
        let actions = calls.iter().map(|(action, _)| format!("dynamodb:{action}")).collect();
        let attributes = calls.iter().flat_map(|(_, call)| attributes_of(call)).collect();
        Self { actions, keys, attributes }
    }
}

/// The attributes that a write names: those of its item or key, and the first names of the paths in its expressions.
fn attributes_of(call: &Value) -> Vec<String> {
    let rows = ["Key", "Item"].iter().filter_map(|member| call[member].as_object());
    let mut found: Vec<String> = rows.flat_map(|row| row.keys().cloned()).collect();
    for expression in ["UpdateExpression", "ConditionExpression"].iter().filter_map(|member| call[member].as_str()) {
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || "_#:.(".contains(letter);
        for word in expression.split(|letter| !is_part(letter)) {
            // What is before a bracket is a function.
            let path = word.rsplit('(').next().unwrap_or_default();
            let first = path.split('.').next().unwrap_or_default();
            let is_name = first.starts_with('#') || first.starts_with(|letter: char| letter.is_ascii_lowercase());
            let named = call["ExpressionAttributeNames"][first].as_str().unwrap_or(first);
            found.extend(is_name.then(|| named.to_owned()));
        }
    }
    found
}

/// The partition key that a query asks for.
fn queried(body: &Value) -> Option<String> {
    let (_, value) = body["KeyConditionExpression"].as_str()?.split_once("= ")?;
    let name = value.split_whitespace().next()?;
    body["ExpressionAttributeValues"][name]["S"].as_str().map(str::to_owned)
}

impl CartTrace {
    fn add(&mut self, sent: &Sent, response: &[u8]) {
        let is_cart = |key: &Value| key["pk"]["S"].as_str().is_some_and(|pk| pk.starts_with("CART#"));
        let number = |value: &Value| value["N"].as_str().and_then(|text| text.parse::<u64>().ok());
        let body = json(&sent.body);
        match sent.operation.as_str() {
            "UpdateItem" if is_cart(&body["Key"]) => {
                self.written.extend(number(&body["ExpressionAttributeValues"][":version"]));
            }
            "BatchGetItem" if batch_keys(&body).any(is_cart) => {
                let response = json(response);
                let rows = response["Responses"].as_object().into_iter().flatten();
                let mut rows = rows.flat_map(|(_, rows)| rows.as_array().into_iter().flatten());
                self.read.push(rows.find(|row| is_cart(row)).and_then(|row| number(&row["version"])).unwrap_or(0));
            }
            _ => {}
        }
    }
}

fn batch_keys(body: &Value) -> impl Iterator<Item = &Value> {
    let tables = body["RequestItems"].as_object().into_iter().flatten();
    tables.flat_map(|(_, table)| table["Keys"].as_array().into_iter().flatten())
}

fn json(body: &[u8]) -> Value {
    serde_json::from_slice(body).unwrap_or_default()
}

impl Intercept for Calls {
    fn name(&self) -> &'static str {
        "Calls"
    }

    fn read_before_transmit(
        &self,
        context: &BeforeTransmitInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let request = context.request();
        let body = request.body().bytes().unwrap_or_default().to_vec();
        let sent = Sent { operation: operation(request).to_owned(), body };
        config.interceptor_state().store_put(sent.clone());
        self.entries().push(Entry::Begin(sent));
        Ok(())
    }

    fn read_after_attempt(
        &self,
        context: &FinalizerInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        if let Some(sent) = config.load::<Sent>() {
            let response = context.response().filter(|response| response.status().is_success());
            let body = response.map(|response| response.body().bytes().unwrap_or_default().to_vec());
            self.entries().push(Entry::End(sent.clone(), body));
        }
        Ok(())
    }
}
