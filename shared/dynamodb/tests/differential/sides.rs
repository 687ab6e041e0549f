//! The two sides, each with its own database.

use crate::operation::{Operation, TABLE};
use crate::outcome::Outcome;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::interceptors::BeforeTransmitInterceptorContextRef;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::config::{ConfigBag, Credentials, Intercept, RuntimeComponents, SharedInterceptor};
use aws_sdk_dynamodb::error::BoxError;
use aws_smithy_runtime::client::retries::RetryPartition;
use dynamodb::{Access, Table, connector};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backend {
    Client,
    /// This crate, which is compared with it.
    Direct,
}

pub const BACKENDS: [Backend; 2] = [Backend::Client, Backend::Direct];

#[derive(Debug)]
pub struct Side {
    pub backend: Backend,
    pub client: Client,
    table: Table,
    attempts: Attempts,
}

impl Side {
    pub fn new(backend: Backend, endpoint: &str, timeout: Duration) -> Self {
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

    pub async fn run(&self, operation: Operation) -> Outcome {
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
