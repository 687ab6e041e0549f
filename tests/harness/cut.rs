//! A connection to the database that fails.

use crate::calls::{operation, writes};
use aws_sdk_dynamodb::config::interceptors::BeforeTransmitInterceptorContextRef;
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_dynamodb::error::BoxError;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Passes some writes and fails every later one before it is sent. Reads pass.
#[derive(Debug, Clone)]
pub struct Cut {
    let_through: usize,
    seen: Arc<AtomicUsize>,
}

impl Cut {
    /// A connection that fails after this many writes.
    pub fn after(let_through: usize) -> Self {
        Self { let_through, seen: Arc::default() }
    }

    /// The numbers of writes after which a long command is cut off: every third, and all with `FAULTS=all`.
    pub fn places() -> impl Iterator<Item = usize> {
        (0..).step_by(if std::env::var("FAULTS").is_ok_and(|value| value == "all") { 1 } else { 3 })
    }

    /// A connection that never fails and only counts.
    pub fn never() -> Self {
        Self::after(usize::MAX)
    }

    /// The number of writes that were tried.
    pub fn writes(&self) -> usize {
        self.seen.load(Ordering::SeqCst)
    }
}

impl Intercept for Cut {
    fn name(&self) -> &'static str {
        "Cut"
    }

    fn read_before_transmit(
        &self,
        context: &BeforeTransmitInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        if writes(operation(context.request())) && self.seen.fetch_add(1, Ordering::SeqCst) >= self.let_through {
            return Err("the line was cut".into());
        }
        Ok(())
    }
}
