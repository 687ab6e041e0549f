//! A recorder of the SDK's calls: the operations, and their round trips.

use aws_sdk_dynamodb::config::http::HttpRequest;
use aws_sdk_dynamodb::config::interceptors::{BeforeTransmitInterceptorContextRef, FinalizerInterceptorContextRef};
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_dynamodb::error::BoxError;
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

/// Operations that do not write.
const READS: [&str; 6] = ["GetItem", "BatchGetItem", "Query", "Scan", "DescribeTable", "DescribeTimeToLive"];

#[must_use]
pub fn operation(request: &HttpRequest) -> &str {
    let target = request.headers().get("x-amz-target").unwrap_or_default();
    target.rsplit('.').next().unwrap_or_default()
}

/// Whether an operation writes.
pub fn writes(operation: &str) -> bool {
    !READS.contains(&operation)
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Entry {
    Begin {
        operation: String,
        /// The IAM actions that allow it.
        actions: Vec<String>,
    },
    End,
}

/// The IAM actions that a request needs: each write of a transaction needs its own.
fn actions(request: &HttpRequest) -> Vec<String> {
    let operation = operation(request);
    if operation != "TransactWriteItems" {
        return vec![operation.to_owned()];
    }
    let body: Value = serde_json::from_slice(request.body().bytes().unwrap_or_default()).unwrap_or_default();
    let items = body["TransactItems"].as_array().cloned().unwrap_or_default();
    let members = items.iter().filter_map(Value::as_object).flat_map(|item| item.keys().cloned());
    members.map(|member| format!("{member}Item")).collect()
}

/// Every call to the database since the last [`Calls::clear`].
#[derive(Debug, Clone, Default)]
pub struct Calls(Arc<Mutex<Vec<Entry>>>);

impl Calls {
    fn push(&self, entry: Entry) {
        self.0.lock().expect("no test panics here").push(entry);
    }

    /// Removes the recorded calls.
    pub fn clear(&self) {
        self.0.lock().expect("no test panics here").clear();
    }

    /// The operations, in the order in which they were sent. A retry is listed again.
    #[must_use]
    pub fn operations(&self) -> Vec<String> {
        let entries = self.0.lock().expect("no test panics here");
        let begun = entries.iter().filter_map(|entry| match entry {
            Entry::Begin { operation, .. } => Some(operation.clone()),
            Entry::End => None,
        });
        begun.collect()
    }

    /// The IAM actions that were needed.
    #[must_use]
    pub fn actions(&self) -> BTreeSet<String> {
        let entries = self.0.lock().expect("no test panics here");
        let needed = entries.iter().filter_map(|entry| match entry {
            Entry::Begin { actions, .. } => Some(actions.clone()),
            Entry::End => None,
        });
        needed.flatten().map(|action| format!("dynamodb:{action}")).collect()
    }

    /// The number of operations that write.
    #[must_use]
    pub fn writes(&self) -> usize {
        self.operations().iter().filter(|operation| writes(operation)).count()
    }

    /// The number of sequential round trips: concurrent calls count once. A new round trip begins with the first call
    /// that is sent after a response of the one before.
    #[must_use]
    pub fn round_trips(&self) -> usize {
        let (mut rounds, mut one_came_back) = (0, true);
        for entry in self.0.lock().expect("no test panics here").iter() {
            match entry {
                Entry::Begin { .. } if one_came_back => (rounds, one_came_back) = (rounds + 1, false),
                Entry::Begin { .. } => {}
                Entry::End => one_came_back = true,
            }
        }
        rounds
    }
}

impl Intercept for Calls {
    fn name(&self) -> &'static str {
        "Calls"
    }

    fn read_before_transmit(
        &self,
        context: &BeforeTransmitInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let request = context.request();
        self.push(Entry::Begin { operation: operation(request).to_owned(), actions: actions(request) });
        Ok(())
    }

    fn read_after_attempt(
        &self,
        _: &FinalizerInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        self.push(Entry::End);
        Ok(())
    }
}
