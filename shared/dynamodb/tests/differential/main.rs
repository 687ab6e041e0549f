//! Every operation, and every error that callers distinguish, through this crate and through the SDK's client: values,
//! errors, attempts and request bodies must be the same.
//!
//! Here: the two sides, each with its own database, which is an embedded engine over HTTP, and operations on them: what is read is what
//! was written, and refusals carry their fields.

#![expect(clippy::unwrap_used, reason = "a test that cannot continue has failed")]

mod failures;
mod operation;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::interceptors::BeforeTransmitInterceptorContextRef;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::config::{ConfigBag, Credentials, Intercept, RuntimeComponents, SharedInterceptor};
use aws_sdk_dynamodb::error::BoxError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemInput;
use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, AttributeValue, BillingMode, KeySchemaElement, KeyType, Put, ScalarAttributeType,
    TransactWriteItem,
};
use aws_smithy_runtime::client::retries::RetryPartition;
use dynamodb::{Access, Item, Table, connector};
use dynoxide::Database;
use operation::{Failure, Operation, Outcome, TABLE, key, number, text, transaction, update};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::net::TcpListener;

/// One engine for each backend, with the same items.
struct Engines(Vec<Side>);

impl Engines {
    async fn with(items: &[Item]) -> Self {
        let mut sides = Vec::new();
        for backend in BACKENDS {
            let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
            let endpoint = format!("http://{}", listener.local_addr().unwrap());
            tokio::spawn(dynoxide::server::serve_on(listener, Database::memory().unwrap()));
            let side = Side::new(backend, &endpoint, Duration::from_secs(30));
            create_table(&side.client).await;
            for item in items {
                let put = side.client.put_item().table_name(TABLE).set_item(Some(item.clone()));
                Box::pin(put.send()).await.unwrap();
            }
            sides.push(side);
        }
        Self(sides)
    }

    /// The outcome of an operation, which is the same by each backend.
    async fn run(&self, operation: &Operation) -> Outcome {
        let mut outcomes = Vec::new();
        for side in &self.0 {
            let mut outcome = side.run(operation.clone()).await;
            if let Err(failure) = &mut outcome.result {
                assert!(failure.request_id.take().is_some(), "{:?}: {operation:?}", side.backend);
            }
            outcomes.push(outcome);
        }
        let expected = outcomes.remove(0);
        for (outcome, side) in outcomes.iter().zip(&self.0[1..]) {
            assert_eq!(*outcome, expected, "{:?}: {operation:?}", side.backend);
        }
        expected
    }
}

async fn create_table(client: &Client) {
    let mut request = client.create_table().table_name(TABLE).billing_mode(BillingMode::PayPerRequest);
    for (name, kind) in [("pk", KeyType::Hash), ("sk", KeyType::Range)] {
        let attribute = AttributeDefinition::builder().attribute_name(name).attribute_type(ScalarAttributeType::S);
        let element = KeySchemaElement::builder().attribute_name(name).key_type(kind);
        request = request.attribute_definitions(attribute.build().unwrap()).key_schema(element.build().unwrap());
    }
    Box::pin(request.send()).await.unwrap();
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Backend {
    Client,
    /// This crate, which is compared with it.
    Direct,
}

const BACKENDS: [Backend; 2] = [Backend::Client, Backend::Direct];

#[derive(Debug)]
struct Side {
    backend: Backend,
    client: Client,
    table: Table,
    attempts: Attempts,
}

impl Side {
    fn new(backend: Backend, endpoint: &str, timeout: Duration) -> Self {
        let attempts = Attempts::default();
        let credentials = Credentials::new("id", "secret", None, None, "test");
        let client = connector::plain_client();
        let mut access = Access::new("eu-central-1", Some(endpoint.to_owned()), Some(credentials), client);
        access.retries = access.retries.with_initial_backoff(Duration::from_millis(1));
        access.timeouts = TimeoutConfig::builder().operation_attempt_timeout(timeout).build();
        access.interceptors = vec![SharedInterceptor::new(attempts.clone())];
        // Clients share the tokens for their retries with all other clients of a process, unless told otherwise.
        let partition = RetryPartition::new(format!("{backend:?} {endpoint}"));
        let client = Client::from_conf(access.sdk_config().retry_partition(partition).build());
        let table = Table::new(access, TABLE, ());
        Self { backend, client, table, attempts }
    }

    async fn run(&self, operation: Operation) -> Outcome {
        self.attempts.0.store(0, Ordering::SeqCst);
        let result = match self.backend {
            Backend::Client => Box::pin(operation.by_client(&self.client)).await,
            Backend::Direct => Box::pin(operation.by_crate(&self.table)).await,
        };
        Outcome { result, attempts: self.attempts.0.load(Ordering::SeqCst) }
    }
}

#[derive(Debug, Clone, Default)]
struct Attempts(Arc<AtomicUsize>);

impl Intercept for Attempts {
    fn name(&self) -> &'static str {
        "Attempts"
    }

    fn read_before_attempt(
        &self,
        _: &BeforeTransmitInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}

fn rich() -> Item {
    let mut item = key("a", "1");
    let inner = Item::from([("deep".to_owned(), AttributeValue::L(vec![number(-1), AttributeValue::Null(true)]))]);
    item.extend([
        ("n".to_owned(), number(7)),
        ("version".to_owned(), number(1)),
        ("text".to_owned(), text("a \"b\"\n\u{e9}\u{1f600}")),
        ("fraction".to_owned(), AttributeValue::N("0.125".to_owned())),
        ("large".to_owned(), AttributeValue::N("123456789012345678901234567890".to_owned())),
        ("open".to_owned(), AttributeValue::Bool(true)),
        ("none".to_owned(), AttributeValue::Null(true)),
        ("map".to_owned(), AttributeValue::M(inner)),
        ("plain".to_owned(), text("Plain")),
        ("amount".to_owned(), AttributeValue::M(Item::from([("Amount".to_owned(), number(-350))]))),
        ("bytes".to_owned(), AttributeValue::B(Blob::new([1, 2]))),
        ("names".to_owned(), AttributeValue::Ss(vec!["x".to_owned()])),
    ]);
    item
}

/// Items of one partition that are more than one page together.
fn large(count: usize) -> Vec<Item> {
    let item = |number: usize| {
        let mut item = key("large", &format!("{number:04}"));
        item.insert("text".to_owned(), text(&"x".repeat(200_000)));
        item
    };
    (0..count).map(item).collect()
}

fn failed(result: Result<Value, Failure>) -> Failure {
    result.unwrap_err()
}

#[tokio::test]
async fn an_item_is_read_with_all_its_attributes() {
    let engines = Engines::with(&[rich()]).await;
    let found = engines.run(&Operation::Get(key("a", "1"))).await;
    assert_eq!((found.result.unwrap().as_object().unwrap().len(), found.attempts), (14, 1));
    assert_eq!(engines.run(&Operation::Get(key("a", "2"))).await.result, Ok(Value::Null));
    let row = engines.run(&Operation::Query("a")).await.result.unwrap().take();
    assert_eq!(row[0]["map"], json!({ "deep": [-1, null] }));
    assert_eq!((&row[0]["plain"], &row[0]["amount"]), (&json!("Plain"), &json!({ "Amount": -350 })));
}

#[tokio::test]
async fn a_batch_of_any_size_finds_what_is_there() {
    let items: Vec<Item> = (0..250).step_by(2).map(|number| key("many", &number.to_string())).collect();
    let engines = Engines::with(&items).await;
    for (requested, found, attempts) in [(0, 0, 0), (1, 1, 1), (100, 50, 1), (101, 51, 2), (250, 125, 3)] {
        let keys = (0..requested).map(|number| key("many", &number.to_string())).collect();
        let outcome = engines.run(&Operation::BatchGet(keys)).await;
        assert_eq!(outcome.result.unwrap().as_array().unwrap().len(), found, "{requested}");
        assert_eq!(outcome.attempts, attempts, "{requested}");
    }
}

#[tokio::test]
async fn a_query_reads_every_page() {
    let engines = Engines::with(&large(12)).await;
    let outcome = engines.run(&Operation::Query("large")).await;
    let rows = outcome.result.unwrap();
    let order: Vec<&str> = rows.as_array().unwrap().iter().map(|row| row["sk"].as_str().unwrap()).collect();
    assert!(order.len() == 12 && order.is_sorted(), "{order:?}");
    assert!(outcome.attempts > 1, "the test needs more than one page");
    assert_eq!(engines.run(&Operation::Query("missing")).await.result, Ok(json!([])));
}

#[tokio::test]
async fn an_update_returns_the_new_item_or_the_one_that_failed_its_condition() {
    let engines = Engines::with(&[rich()]).await;
    let written = engines.run(&update(key("a", "1"), 1, 8)).await.result.unwrap();
    assert_eq!(written["n"], "N(\"8\")");
    let refused = failed(engines.run(&update(key("a", "1"), 1, 9)).await.result);
    assert_eq!(refused.variant.as_deref(), Some("ConditionalCheckFailedException"));
    assert_eq!(refused.fields["n"], "N(\"8\")");
    let missing = failed(engines.run(&update(key("a", "2"), 1, 9)).await.result);
    assert_eq!((missing.variant, missing.fields), (refused.variant, Value::Null));
}

#[tokio::test]
async fn a_transaction_writes_everything_or_says_for_each_item_why_not() {
    let engines = Engines::with(&[rich()]).await;
    let [new, changed] = [key("b", "1"), key("a", "1")];
    let operation = transaction(new.clone(), changed.clone(), 5);
    assert_eq!(engines.run(&operation).await.result, Ok(Value::Null));
    let after = engines.run(&Operation::BatchGet(vec![new, changed.clone()])).await.result.unwrap();
    assert_eq!((after.as_array().unwrap().len(), &after[0]["n"]), (2, &json!(12)));

    let refused = failed(engines.run(&operation).await.result);
    assert_eq!(refused.variant.as_deref(), Some("TransactionCanceledException"));
    let codes: Vec<&Value> = refused.fields.as_array().unwrap().iter().map(|reason| &reason[0]).collect();
    assert_eq!(codes, ["ConditionalCheckFailed", "None"]);
    assert_eq!(refused.fields[0][2]["pk"], "S(\"b\")", "the item that exists already");
    let unchanged = engines.run(&Operation::Query("a")).await.result.unwrap();
    assert_eq!(unchanged[0]["n"], 12);
}

#[tokio::test]
async fn a_request_that_is_not_valid_is_refused_without_a_retry() {
    let engines = Engines::with(&[]).await;
    let update = UpdateItemInput::builder().set_key(Some(key("a", "1"))).update_expression("NOT AN EXPRESSION");
    let put = Put::builder().table_name("missing").set_item(Some(key("a", "1"))).build().unwrap();
    for (operation, code) in [
        (Operation::Get(Item::from([("other".to_owned(), text("a"))])), "ValidationException"),
        (Operation::BatchGet(vec![key("a", "1"), key("a", "1")]), "ValidationException"),
        (Operation::Update(Box::new(update)), "ValidationException"),
        (Operation::TransactWrite(Vec::new()), "ValidationException"),
        (Operation::TransactWrite(vec![TransactWriteItem::builder().put(put).build()]), "ResourceNotFoundException"),
    ] {
        let outcome = engines.run(&operation).await;
        assert_eq!(outcome.attempts, 1, "{operation:?}");
        assert_eq!(failed(outcome.result).code.as_deref(), Some(code), "{operation:?}");
    }
}
