//! A database with faults: calls are diverted before they reach the engine, so that nothing is half done.

use crate::calls::operation;
use aws_sdk_dynamodb::config::interceptors::{
    BeforeDeserializationInterceptorContextMut, BeforeTransmitInterceptorContextMut,
};
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_dynamodb::error::BoxError;
use aws_smithy_types::config_bag::{Storable, StoreReplace};
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::net::{TcpListener, TcpSocket};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    Throttled,
    /// The database is unreachable.
    Away,
    /// The database does not respond before the client's timeout.
    Hanging,
    /// The database's own 500.
    Internal,
    /// A batch is returned unprocessed.
    Unprocessed,
    /// The table does not exist.
    NoTable,
    /// Another transaction holds the item.
    TransactionConflict,
    /// The condition of a write fails.
    ConditionFailed,
    /// The call is done, and its response is lost.
    ResponseLost,
}

/// The fault of the current attempt of a call.
#[derive(Debug)]
struct Injected(Option<Fault>);

impl Storable for Injected {
    type Storer = StoreReplace<Self>;
}

type Rule = Box<dyn FnMut(&str) -> Option<Fault> + Send>;

/// Chooses the fault of each call.
#[derive(Clone)]
pub struct Faults {
    rule: Arc<Mutex<Option<Rule>>>,
    broken: SocketAddr,
    closed: SocketAddr,
    /// Bound and never listening: calls to `closed` are refused, and no other process can get its port.
    _holder: Arc<TcpSocket>,
}

impl std::fmt::Debug for Faults {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Faults").finish_non_exhaustive()
    }
}

impl Faults {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let broken = listener.local_addr().expect("a bound port");
        let holder = TcpSocket::new_v4().expect("a socket");
        holder.bind(SocketAddr::from(([127, 0, 0, 1], 0))).expect("a free port");
        let closed = holder.local_addr().expect("a bound port");
        tokio::spawn(serve(listener));
        Self { rule: Arc::default(), broken, closed, _holder: Arc::new(holder) }
    }

    /// From now on `rule` returns the fault of an operation by its name, if it has one.
    pub fn inject(&self, rule: impl FnMut(&str) -> Option<Fault> + Send + 'static) {
        *self.rule.lock().expect("no rule panics") = Some(Box::new(rule));
    }

    /// From now on no call fails.
    pub fn clear(&self) {
        *self.rule.lock().expect("no rule panics") = None;
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
        let fault = self.rule.lock().expect("no rule panics").as_mut().and_then(|rule| rule(operation(request)));
        config.interceptor_state().store_put(Injected(fault));
        match fault {
            None | Some(Fault::ResponseLost) => {}
            Some(Fault::Away) => request.set_uri(format!("http://{}/", self.closed))?,
            Some(fault) => request.set_uri(format!("http://{}/{fault:?}", self.broken))?,
        }
        Ok(())
    }

    fn modify_before_deserialization(
        &self,
        context: &mut BeforeDeserializationInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        if matches!(config.load::<Injected>(), Some(Injected(Some(Fault::ResponseLost)))) {
            let response = context.response_mut();
            *response.status_mut() = 500_u16.try_into()?;
            *response.body_mut() = json!({ "__type": "InternalServerError", "message": "lost" }).to_string().into();
        }
        Ok(())
    }
}

async fn serve(listener: TcpListener) {
    while let Ok((stream, _)) = listener.accept().await {
        let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(respond));
        tokio::spawn(async move { _ = connection.await });
    }
}

async fn respond(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    #[expect(clippy::disallowed_methods, reason = "the path is one of ours")]
    let fault = request.uri().path().trim_start_matches('/').to_owned();
    let body = request.into_body().collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let (status, code) = match fault.as_str() {
        "Hanging" => std::future::pending().await,
        "Unprocessed" => return Ok(reply(StatusCode::OK, &unprocessed(&body))),
        "Throttled" => (StatusCode::BAD_REQUEST, "ProvisionedThroughputExceededException"),
        "NoTable" => (StatusCode::BAD_REQUEST, "ResourceNotFoundException"),
        "TransactionConflict" => (StatusCode::BAD_REQUEST, "TransactionConflictException"),
        "ConditionFailed" => (StatusCode::BAD_REQUEST, "ConditionalCheckFailedException"),
        _ => (StatusCode::INTERNAL_SERVER_ERROR, "InternalServerError"),
    };
    let kind = format!("com.amazonaws.dynamodb.v20120810#{code}");
    Ok(reply(status, &json!({ "__type": kind, "message": "injected" })))
}

/// Every key of a batch, as unprocessed.
fn unprocessed(body: &[u8]) -> Value {
    let request: Value = serde_json::from_slice(body).unwrap_or_default();
    json!({ "Responses": {}, "UnprocessedKeys": request["RequestItems"] })
}

fn reply(status: StatusCode, body: &Value) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body.to_string())));
    *response.status_mut() = status;
    let json = http::HeaderValue::from_static("application/x-amz-json-1.0");
    response.headers_mut().insert(http::header::CONTENT_TYPE, json);
    response
}
