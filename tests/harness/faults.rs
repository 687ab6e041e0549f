//! A database with faults: an interceptor that keeps calls from the engine, or loses their responses.

use crate::calls::{operation, writes};
use crate::with_all_faults;
use aws_sdk_dynamodb::config::http::HttpRequest;
use aws_sdk_dynamodb::config::interceptors::{
    BeforeDeserializationInterceptorContextMut, BeforeTransmitInterceptorContextMut,
};
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_dynamodb::error::BoxError;
use aws_smithy_types::config_bag::{Storable, StoreReplace};
use serde_json::{Value, json};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};
use tokio::net::TcpSocket;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    Throttled,
    /// The database is unreachable.
    Away,
    /// The database does not respond before the client's timeout.
    Hanging,
    /// The database's own 500. The call is not done.
    Internal,
    /// A batch is returned unprocessed.
    Unprocessed,
    /// The table does not exist.
    NoTable,
    /// Another transaction holds the item of a single write.
    TransactionConflict,
    /// The condition of a write fails.
    ConditionFailed,
    /// Another transaction holds an item of this one; nothing is written.
    Cancelled,
    /// The partition of an item of a transaction has too little capacity; nothing is written.
    CancelledByThrottling,
    /// The transaction is done, its response is lost, and the SDK's next attempt meets it while it is done.
    CancelledByItself,
    /// The call is done, and its response is lost.
    ResponseLost,
    /// The call is refused with this error code and message.
    Refused(&'static str, &'static str),
}

impl Fault {
    /// Whether a call of an operation can fail so.
    fn is_of(self, operation: &str) -> bool {
        // Only a transaction can conflict with another one.
        self != Self::TransactionConflict || operation == "TransactWriteItems"
    }

    /// Status and body in place of the database's response to a request; `None` if it sends none.
    fn response(self, request: &HttpRequest) -> Option<(u16, Value)> {
        let (status, code, message) = match self {
            Self::Away | Self::Hanging => return None,
            Self::Unprocessed => {
                let sent: Value = serde_json::from_slice(request.body().bytes()?).ok()?;
                return Some((200, json!({ "Responses": {}, "UnprocessedKeys": sent["RequestItems"] })));
            }
            Self::Internal | Self::ResponseLost => (500, "InternalServerError", "injected"),
            Self::Throttled => (400, "ProvisionedThroughputExceededException", "injected"),
            Self::NoTable => (400, "ResourceNotFoundException", "injected"),
            Self::TransactionConflict => (400, "TransactionConflictException", "injected"),
            Self::ConditionFailed => (400, "ConditionalCheckFailedException", "injected"),
            Self::Cancelled | Self::CancelledByThrottling | Self::CancelledByItself => {
                (400, "TransactionCanceledException", "injected")
            }
            Self::Refused(code, message) => (400, code, message),
        };
        let reason = if self == Self::CancelledByThrottling { "ThrottlingError" } else { "TransactionConflict" };
        let reasons = json!([{ "Code": "None" }, { "Code": reason, "Message": "injected" }]);
        let kind = format!("com.amazonaws.dynamodb.v20120810#{code}");
        Some((status, json!({ "__type": kind, "message": message, "CancellationReasons": reasons })))
    }
}

/// The response that replaces that of the current attempt of a call.
#[derive(Debug)]
struct Replaced(Option<(u16, Value)>);

impl Storable for Replaced {
    type Storer = StoreReplace<Self>;
}

type Rule = Box<dyn FnMut(usize, &str) -> Option<Fault> + Send>;

/// Chooses the fault of each call.
#[derive(Clone)]
pub struct Faults {
    /// The rule, and the place of the next call.
    rule: Arc<Mutex<(usize, Rule)>>,
    /// Accepts connections, and never responds.
    silent: Arc<TcpListener>,
    /// Bound and never listening: calls to it are refused, and no other process can get its port.
    closed: Arc<TcpSocket>,
}

impl std::fmt::Debug for Faults {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Faults").finish_non_exhaustive()
    }
}

impl Default for Faults {
    fn default() -> Self {
        Self::new(|_, _| None)
    }
}

impl Faults {
    /// Faults by the place of a call among all calls, from 0, and its operation.
    pub fn new(rule: impl FnMut(usize, &str) -> Option<Fault> + Send + 'static) -> Self {
        let closed = TcpSocket::new_v4().expect("a socket");
        closed.bind(SocketAddr::from(([127, 0, 0, 1], 0))).expect("a free port");
        let silent = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        Self { rule: Arc::new(Mutex::new((0, Box::new(rule)))), silent: Arc::new(silent), closed: Arc::new(closed) }
    }

    /// A connection that fails after this many writes. Reads pass.
    pub fn cut_after(passing: usize) -> Self {
        Self::new(cut_after(passing))
    }

    /// The numbers of writes after which a long command is cut off: every third, and all with `FAULTS=all`.
    pub fn cuts() -> impl Iterator<Item = usize> {
        (0..).step_by(if with_all_faults() { 1 } else { 3 })
    }

    /// From now on `rule` returns the fault of an operation by its name, if it has one.
    pub fn inject(&self, mut rule: impl FnMut(&str) -> Option<Fault> + Send + 'static) {
        self.inject_by_place(move |_, operation| rule(operation));
    }

    /// From now on the call at this place fails, counted from 0, if it can fail so.
    pub fn fail_at(&self, place: usize, fault: Fault) {
        self.inject_by_place(move |at, operation| (at == place && fault.is_of(operation)).then_some(fault));
    }

    /// From now on the call at this place fails, counted from 0, and each after it.
    pub fn fail_from(&self, place: usize, fault: Fault) {
        self.inject_by_place(move |at, _| (at >= place).then_some(fault));
    }

    /// From now on every write after this many fails. Reads pass.
    pub fn fail_writes_after(&self, passing: usize) {
        self.inject_by_place(cut_after(passing));
    }

    /// How many calls there were since the faults were last changed.
    pub fn calls(&self) -> usize {
        self.rule.lock().expect("no rule panics").0
    }

    fn inject_by_place(&self, rule: impl FnMut(usize, &str) -> Option<Fault> + Send + 'static) {
        *self.rule.lock().expect("no rule panics") = (0, Box::new(rule));
    }

    /// From now on no call fails.
    pub fn clear(&self) {
        self.inject(|_| None);
    }
}

/// The rule of a connection that fails after this many writes.
fn cut_after(mut passing: usize) -> impl FnMut(usize, &str) -> Option<Fault> + Send + 'static {
    move |_, operation| {
        if !writes(operation) {
            return None;
        }
        let is_cut = passing == 0;
        passing = passing.saturating_sub(1);
        is_cut.then_some(Fault::Away)
    }
}

impl Intercept for Faults {
    fn name(&self) -> &'static str {
        "Faults"
    }

    fn modify_before_transmit(
        &self,
        context: &mut BeforeTransmitInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let request = context.request_mut();
        let mut state = self.rule.lock().expect("no rule panics");
        let (place, rule) = &mut *state;
        let fault = rule(*place, operation(request));
        *place += 1;
        config.interceptor_state().store_put(Replaced(fault.and_then(|fault| fault.response(request))));
        match fault {
            None | Some(Fault::ResponseLost | Fault::CancelledByItself) => {}
            Some(Fault::Away) => request.set_uri(format!("http://{}/", self.closed.local_addr()?))?,
            Some(Fault::Hanging) => request.set_uri(format!("http://{}/", self.silent.local_addr()?))?,
            // The engine refuses what it does not know, and does nothing.
            Some(_) => drop(request.headers_mut().insert("x-amz-target", "DynamoDB_20120810.Nothing")),
        }
        Ok(())
    }

    fn modify_before_deserialization(
        &self,
        context: &mut BeforeDeserializationInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let Some(&Replaced(Some((status, ref body)))) = config.load::<Replaced>() else { return Ok(()) };
        let response = context.response_mut();
        *response.status_mut() = status.try_into()?;
        *response.body_mut() = body.to_string().into();
        // An engine may name the error of what was sent in its place.
        response.headers_mut().remove("x-amzn-errortype");
        Ok(())
    }
}
