//! A client of the database whose calls fail as a test says, call by call.

use crate::calls::operation;
use aws_sdk_dynamodb::config::interceptors::{
    BeforeDeserializationInterceptorContextMut, BeforeTransmitInterceptorContextMut,
};
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_dynamodb::error::BoxError;
use aws_smithy_types::config_bag::{Storable, StoreReplace};
use serde_json::json;
use std::sync::{Arc, Mutex};

/// How a call fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sabotage {
    /// It never arrives.
    Before,
    /// It is done, and its response is lost.
    After,
    /// Another transaction holds one of its items; nothing is written.
    Conflict,
    /// It is done, its response is lost, and the SDK's next attempt meets it while it is done.
    ConflictWithItself,
    /// It is refused with this error code and message.
    Refused(&'static str, &'static str),
}

impl Storable for Sabotage {
    type Storer = StoreReplace<Self>;
}

type Rule = Box<dyn FnMut(usize, &str) -> Option<Sabotage> + Send>;

/// Chooses the fault of each call by its place among all calls, and its operation.
#[derive(Clone)]
pub struct Saboteur(Arc<Mutex<(usize, Rule)>>);

impl Saboteur {
    pub fn new(rule: impl FnMut(usize, &str) -> Option<Sabotage> + Send + 'static) -> Self {
        Self(Arc::new(Mutex::new((0, Box::new(rule)))))
    }
}

impl std::fmt::Debug for Saboteur {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Saboteur")
    }
}

impl Intercept for Saboteur {
    fn name(&self) -> &'static str {
        "Saboteur"
    }

    fn modify_before_transmit(
        &self,
        context: &mut BeforeTransmitInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let request = context.request_mut();
        let mut state = self.0.lock().expect("no rule panics");
        let (place, rule) = &mut *state;
        let fault = rule(*place, operation(request));
        *place += 1;
        if matches!(fault, Some(Sabotage::Before | Sabotage::Conflict | Sabotage::Refused(..))) {
            // The engine refuses what it does not know, and does nothing.
            request.headers_mut().insert("x-amz-target", "DynamoDB_20120810.Nothing");
        }
        match fault {
            Some(fault) => config.interceptor_state().store_put(fault),
            None => config.interceptor_state().unset::<Sabotage>(),
        };
        Ok(())
    }

    fn modify_before_deserialization(
        &self,
        context: &mut BeforeDeserializationInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let (status, code, message) = match config.load::<Sabotage>() {
            None => return Ok(()),
            Some(Sabotage::Before | Sabotage::After) => (500_u16, "InternalServerError", "injected"),
            Some(Sabotage::Conflict | Sabotage::ConflictWithItself) => {
                (400, "TransactionCanceledException", "injected")
            }
            Some(Sabotage::Refused(code, message)) => (400, *code, *message),
        };
        let reasons = json!([{ "Code": "None" }, { "Code": "TransactionConflict", "Message": "in progress" }]);
        let kind = format!("com.amazonaws.dynamodb.v20120810#{code}");
        let body = json!({ "__type": kind, "message": message, "CancellationReasons": reasons });
        let response = context.response_mut();
        *response.status_mut() = status.try_into()?;
        *response.body_mut() = body.to_string().into();
        Ok(())
    }
}
