//! The driver's HTTP client.

use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::{Method, Request};
use hyper_util::client::legacy::Client as Pool;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use serde_json::Value;
use std::time::Duration;

/// How long a response may take.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A request of a visitor.
#[derive(Debug, Clone)]
pub struct Call {
    /// The call, as the report names it.
    pub kind: &'static str,
    /// The method.
    pub method: Method,
    /// The path.
    pub path: String,
    /// The body.
    pub body: Option<Value>,
}

impl Call {
    /// A GET; the kind is the path.
    pub fn get(kind: &'static str) -> Self {
        Self { kind, method: Method::GET, path: format!("/{kind}"), body: None }
    }

    /// A POST; the kind is the path.
    pub fn post(kind: &'static str) -> Self {
        Self { method: Method::POST, ..Self::get(kind) }
    }

    /// The same at another path.
    #[must_use]
    pub fn to(self, path: &str) -> Self {
        Self { path: format!("/{path}"), ..self }
    }

    /// The same with something after the path.
    #[must_use]
    pub fn at(self, last: impl std::fmt::Display) -> Self {
        Self { path: format!("{}/{last}", self.path), ..self }
    }

    /// The same with a body.
    #[must_use]
    pub fn with(self, body: Value) -> Self {
        Self { body: Some(body), ..self }
    }
}

/// The caller.
#[derive(Debug, Clone, Copy)]
pub struct Caller<'a> {
    /// The token, if there is one.
    pub token: Option<&'a str>,
    /// The address.
    pub address: &'a str,
}

/// A client of the API and of the provider's page. Clones share connections.
#[derive(Debug, Clone)]
pub struct Client {
    pool: Pool<HttpConnector, Full<Bytes>>,
    api: String,
    provider: String,
}

impl Client {
    /// A client of an API and a provider.
    pub fn new(api: String, provider: String) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let pool = Pool::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(Duration::from_secs(5))
            .build(connector);
        Self { pool, api, provider }
    }

    /// The status and the body of a response of a function, which is JSON.
    ///
    /// # Errors
    /// The fault of the response, as a sentence.
    pub async fn call(&self, call: &Call, caller: Caller<'_>) -> Result<(u16, Value), String> {
        let mut request = Request::builder().method(&call.method).uri(format!("{}{}", self.api, call.path));
        request = request.header("x-forwarded-for", caller.address);
        if let Some(token) = caller.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let body = call.body.as_ref().map(Value::to_string).unwrap_or_default();
        if !body.is_empty() {
            request = request.header("content-type", "application/json");
        }
        let (status, text) = self.send(request, body).await?;
        let body = serde_json::from_str(&text).map_err(|_| format!("{status}, not JSON: {}", excerpt(&text)))?;
        Ok((status, body))
    }

    /// Pays a checkout on the provider's page.
    ///
    /// # Errors
    /// The fault of the response, as a sentence.
    pub async fn pay(&self, session: &str) -> Result<(), String> {
        let request = Request::post(format!("{}/c/pay/{session}", self.provider));
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        let (status, text) = self.send(request, "action=pay".to_owned()).await?;
        if (300..400).contains(&status) { Ok(()) } else { Err(format!("{status}: {}", excerpt(&text))) }
    }

    async fn send(&self, request: hyper::http::request::Builder, body: String) -> Result<(u16, String), String> {
        let request = request.body(Full::new(Bytes::from(body))).map_err(|error| error.to_string())?;
        let exchange = async {
            let response = self.pool.request(request).await.map_err(|error| format!("no response: {error}"))?;
            let status = response.status().as_u16();
            let body = response.into_body().collect().await.map_err(|error| format!("half a response: {error}"))?;
            Ok((status, String::from_utf8_lossy(&body.to_bytes()).into_owned()))
        };
        let response = tokio::time::timeout(TIMEOUT, exchange).await;
        response.unwrap_or_else(|_| Err(format!("no response within {} s", TIMEOUT.as_secs())))
    }
}

fn excerpt(text: &str) -> String {
    text.chars().take(200).collect()
}
