//! Every operation, and every error that callers distinguish, through this crate and through the SDK's client: values,
//! errors, attempts and request bodies must be the same.
//!
//! Here: the two sides, each with its own database, which is an embedded engine over HTTP.

#![expect(clippy::unwrap_used, reason = "a test that cannot continue has failed")]

mod failures;
mod operation;
mod values;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::interceptors::BeforeTransmitInterceptorContextRef;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::config::{ConfigBag, Credentials, Intercept, RuntimeComponents, SharedInterceptor};
use aws_sdk_dynamodb::error::BoxError;
use aws_sdk_dynamodb::types::{AttributeDefinition, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType};
use aws_smithy_runtime::client::retries::RetryPartition;
use dynamodb::{Access, Item, Table, connector};
use dynoxide::Database;
use operation::{Operation, Outcome, TABLE};
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
