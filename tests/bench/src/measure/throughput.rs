//! The local server under load: a number of connections, each of which asks as soon as it is answered.

use super::{Failure, progress};
use crate::error::BenchError;
use crate::figures::{Spread, Throughput};
use crate::programs;
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::TcpStream;

/// Connections side by side.
const CONNECTIONS: u32 = 16;

/// A request of the load.
#[derive(Debug, Clone)]
struct Load {
    endpoint: &'static str,
    method: Method,
    path: &'static str,
    body: Option<Value>,
    token: Option<String>,
}

/// The local server. It is killed when this is dropped.
struct Server {
    child: Child,
    ready: Value,
}

impl Drop for Server {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// Starts the local server and puts each endpoint under load for as long as `each`.
///
/// # Errors
/// [`BenchError`] where it cannot be built or started, or refuses.
pub async fn measure(each: Duration) -> Result<Vec<Throughput>, BenchError> {
    let failed = BenchError::setup("the local server under load");
    let program = programs::build("local")?;
    let server = start(&program).map_err(|error| failed(&error))?;
    let address = server.ready["base_url"].as_str().unwrap_or_default().trim_start_matches("http://").to_owned();
    let loads = loads(&server.ready);
    let bar = progress("throughput", loads.len() as u64);
    let mut rows = Vec::new();
    for load in loads {
        rows.push(run(&address, &load, each).await.map_err(|error| failed(&error))?);
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(rows)
}

fn start(program: &std::path::Path) -> Result<Server, Failure> {
    let mut command = Command::new(program);
    command.args(["--port", "0", "--json"]).env_remove("AWS_ENDPOINT_URL_DYNAMODB");
    let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let mut server = Server { child, ready: Value::Null };
    let mut line = String::new();
    if let Some(out) = server.child.stdout.take() {
        BufReader::new(out).read_line(&mut line)?;
    }
    server.ready = serde_json::from_str(&line)?;
    Ok(server)
}

fn loads(ready: &Value) -> Vec<Load> {
    let token = ready["tokens"]["Thornwick"].as_str().map(str::to_owned);
    let get = |endpoint, path| Load { endpoint, method: Method::GET, path, body: None, token: None };
    let post = |endpoint, path, body| Load { endpoint, method: Method::POST, path, body, token: token.clone() };
    let coupon = json!({ "coupon": "hearth10" });
    vec![
        get("settings/get", "/settings/get"),
        get("categories/get", "/categories/get"),
        get("staff", "/staff"),
        get("patrons/get", "/patrons/get"),
        get("auth/chat", "/auth/chat"),
        post("pages/get", "/pages/get", Some(json!({ "url": ready["try"]["page"] }))),
        post("categories/get/{url}", "/categories/get/ranks", None),
        post("items/getFeaturedDeals", "/items/getFeaturedDeals", None),
        post("user", "/user", None),
        post("cart/get", "/cart/get", None),
        post("cart/getPromoted", "/cart/getPromoted", None),
        post("cart/getSelectServers", "/cart/getSelectServers", None),
        post("cart/acceptCoupon", "/cart/acceptCoupon", Some(coupon)),
        // All but the first few of a minute are refused, which costs the same call to the database.
        post(
            "payments/checkStatus",
            "/payments/checkStatus",
            Some(json!({ "order_id": ready["try"]["orders"][0]["id"] })),
        ),
    ]
}

async fn run(address: &str, load: &Load, each: Duration) -> Result<Throughput, Failure> {
    let load = Arc::new(load.clone());
    let begun = Instant::now();
    let mut callers = Vec::new();
    for _ in 0..CONNECTIONS {
        let (address, load) = (address.to_owned(), Arc::clone(&load));
        callers.push(tokio::spawn(async move { call(&address, &load, begun, each).await }));
    }
    let mut times = Vec::new();
    for caller in callers {
        times.append(&mut caller.await??);
    }
    let elapsed = begun.elapsed();
    let per_second = times.len() as u128 * 1_000_000_000 / elapsed.as_nanos().max(1);
    Ok(Throughput {
        endpoint: load.endpoint.to_owned(),
        connections: CONNECTIONS,
        per_second: u64::try_from(per_second)?,
        wall: Spread::of(times),
    })
}

async fn call(address: &str, load: &Load, begun: Instant, each: Duration) -> Result<Vec<Duration>, Failure> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let (mut sender, connection) = handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    let mut times = Vec::new();
    while begun.elapsed() < each {
        times.push(once(&mut sender, address, load).await?);
    }
    Ok(times)
}

async fn once(sender: &mut SendRequest<Full<Bytes>>, address: &str, load: &Load) -> Result<Duration, Failure> {
    let mut request = Request::builder().method(load.method.clone()).uri(load.path).header("host", address);
    if let Some(token) = &load.token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let body = load.body.as_ref().map(Value::to_string).unwrap_or_default();
    let request = request.header("content-type", "application/json").body(Full::new(Bytes::from(body)))?;
    let begun = Instant::now();
    let response = sender.send_request(request).await?;
    let status = response.status();
    response.into_body().collect().await?;
    let elapsed = begun.elapsed();
    if status.is_success() || status == http::StatusCode::TOO_MANY_REQUESTS {
        return Ok(elapsed);
    }
    Err(format!("{} was answered with {status}", load.endpoint).into())
}
