//! Operations against a server with prepared responses and broken connections.

use crate::operation::{Failure, Operation, Outcome, TABLE, one_of_each};
use crate::{BACKENDS, Side};
use aws_sdk_dynamodb::types::AttributeValue;
use futures_util::future::join_all;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

/// A success of any operation: without items, and without a further page.
const EMPTY: Reply = Reply::Body(200, "{}");

macro_rules! refusal {
    ($status:literal, $code:literal) => {
        Reply::Body($status, concat!(r#"{"__type":"com.amazonaws.dynamodb.v20120810#"#, $code, r#"","message":"why"}"#))
    };
}

/// The outcome of an operation against a script, which is the same by each backend, as are its requests.
async fn run(operation: Operation, script: &'static [Reply]) -> Outcome {
    let outcomes = BACKENDS.map(|backend| {
        let operation = operation.clone();
        async move {
            let server = Server::start(script).await;
            let outcome = Side::new(backend, &server.endpoint, timeout(script)).run(operation).await;
            let (requests, tokens) = server.requests();
            let tokens = (tokens.len(), tokens.into_iter().collect::<HashSet<_>>().len());
            (outcome, requests, tokens)
        }
    });
    let mut outcomes = join_all(outcomes).await;
    let expected = outcomes.remove(0);
    for (outcome, backend) in outcomes.iter().zip(&BACKENDS[1..]) {
        assert_eq!(*outcome, expected, "{backend:?}: {script:?}");
    }
    expected.0
}

/// Long, unless the script needs attempts to time out.
fn timeout(script: &[Reply]) -> Duration {
    Duration::from_secs(if matches!(script, [Reply::Hang, ..]) { 1 } else { 30 })
}

/// The outcome of every operation against a script.
async fn every_operation(script: &'static [Reply], check: impl Fn(&str, Outcome)) {
    let outcomes = one_of_each().map(|operation| async move {
        let name = format!("{operation:?} {script:?}");
        (name, run(operation, script).await)
    });
    for (name, outcome) in join_all(outcomes).await {
        check(&name, outcome);
    }
}

fn failed(outcome: Outcome) -> Failure {
    outcome.result.unwrap_err()
}

#[tokio::test]
async fn a_refusal_is_not_retried() {
    let scripts: [&'static [Reply]; 6] = [
        &[refusal!(400, "ValidationException")],
        &[refusal!(400, "ResourceNotFoundException")],
        &[refusal!(400, "AccessDeniedException")],
        &[refusal!(400, "ExpiredTokenException")],
        &[refusal!(400, "UnrecognizedClientException")],
        &[Reply::Body(400, r#"{"__type":"AnythingElse"}"#)],
    ];
    for script in scripts {
        every_operation(script, |name, outcome| {
            assert_eq!(outcome.attempts, 1, "{name}");
            let failure = failed(outcome);
            assert_eq!((failure.kind.as_str(), failure.status), ("service", Some(400)), "{name}");
            assert_eq!(failure.request_id.as_deref(), Some("REQUEST"), "{name}");
            assert!(failure.code.is_some(), "{name}");
        })
        .await;
    }
}

#[tokio::test]
async fn what_may_pass_is_tried_three_times() {
    let scripts: [(&'static [Reply], &str); 6] = [
        (&[refusal!(400, "ProvisionedThroughputExceededException")], "ProvisionedThroughputExceededException"),
        (&[refusal!(400, "ThrottlingException")], "ThrottlingException"),
        (&[refusal!(400, "RequestLimitExceeded")], "RequestLimitExceeded"),
        (&[refusal!(500, "InternalServerError")], "InternalServerError"),
        (&[refusal!(503, "ServiceUnavailable")], "ServiceUnavailable"),
        (&[refusal!(400, "TransactionInProgressException")], "TransactionInProgressException"),
    ];
    for (script, code) in scripts {
        every_operation(script, |name, outcome| {
            let attempts = outcome.attempts;
            assert_eq!(failed(outcome).code.as_deref(), Some(code), "{name}");
            // The last one is an error of transactions only; that they are retried is the SDK's decision.
            assert!(attempts == 3 || code == "TransactionInProgressException", "{name}: {attempts}");
        })
        .await;
    }
}

#[tokio::test]
async fn a_failed_attempt_is_followed_by_one_that_succeeds() {
    let scripts: [&'static [Reply]; 5] = [
        &[refusal!(500, "InternalServerError"), EMPTY],
        &[Reply::Body(502, "<html>not JSON</html>"), EMPTY],
        &[refusal!(400, "ThrottlingException"), EMPTY],
        &[Reply::Close, EMPTY],
        &[Reply::Hang, EMPTY],
    ];
    for script in scripts {
        every_operation(script, |name, outcome| {
            assert!(outcome.result.is_ok(), "{name}: {outcome:?}");
            assert_eq!(outcome.attempts, 2, "{name}");
        })
        .await;
    }
}

#[tokio::test]
async fn a_body_that_cannot_be_read_is_an_error_of_the_same_kind() {
    for script in [&[Reply::Body(200, "not JSON")] as &[_], &[Reply::Body(200, r#"{"Items":[],"Responses":"#)]] {
        every_operation(script, |name, outcome| {
            // The SDK does not look into the body of a transaction further than it needs to.
            if let Err(failure) = outcome.result {
                assert_eq!(
                    (failure.kind.as_str(), failure.variant.as_deref()),
                    ("service", Some("Unhandled")),
                    "{name}"
                );
            }
            assert_eq!(outcome.attempts, 1, "{name}");
        })
        .await;
    }
    every_operation(&[Reply::Truncated], |name, outcome| assert!(outcome.result.is_err(), "{name}")).await;
}

#[tokio::test]
async fn an_attribute_of_a_type_that_is_not_known_is_unreadable() {
    for item in [r#"{"Item":{"new":{"TYPE":1}}}"#, r#"{"Item":{"new":{"L":[{"M":{"a":{"TYPE":1}}}]}}}"#] {
        let script: &'static [Reply] = vec![Reply::Body(200, item)].leak();
        let server = Server::start(script).await;
        let side = Side::new(BACKENDS[0], &server.endpoint, Duration::from_secs(30));
        let call = side.client.get_item().table_name(TABLE).key("pk", AttributeValue::S("a".to_owned()));
        let found = Box::pin(call.send()).await.unwrap();
        let read = dynamodb::from_item::<BTreeMap<String, Vec<BTreeMap<String, String>>>>(found.item.unwrap());
        assert!(read.unwrap_err().to_string().starts_with("attribute `new`: "));
    }
}

#[tokio::test]
async fn a_database_that_does_not_respond_is_an_error_after_three_attempts() {
    every_operation(&[Reply::Hang], |name, outcome| {
        assert_eq!(outcome.attempts, 3, "{name}");
        assert_eq!(failed(outcome).kind, "timeout", "{name}");
    })
    .await;
    every_operation(&[Reply::Close], |name, outcome| {
        assert_eq!(outcome.attempts, 3, "{name}");
        assert!(failed(outcome).kind.starts_with("dispatch"), "{name}");
    })
    .await;
}

#[tokio::test]
async fn a_refused_connection_is_an_error_of_the_connection() {
    let (endpoint, _socket) = Server::refusing();
    for operation in one_of_each() {
        let mut outcomes = Vec::new();
        for backend in BACKENDS {
            outcomes.push(Side::new(backend, &endpoint, timeout(&[])).run(operation.clone()).await);
        }
        assert!(outcomes.iter().all(|outcome| *outcome == outcomes[0]), "{outcomes:?}");
        assert_eq!(outcomes[0].attempts, 3);
        assert!(failed(outcomes.remove(0)).kind.contains("io true"));
    }
}

#[tokio::test]
async fn a_failed_condition_has_the_old_item() {
    let [.., update, transaction] = one_of_each();
    let script = &[Reply::Body(
        400,
        r#"{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","message":"The conditional request failed","Item":{"n":{"N":"7"},"names":{"SS":["x"]}}}"#,
    )];
    let failure = failed(run(update, script).await);
    assert_eq!(failure.fields, json!({ "n": "N(\"7\")", "names": "Ss([\"x\"])" }));

    let script = &[Reply::Body(
        400,
        r#"{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException","Message":"cancelled","CancellationReasons":[{"Code":"None"},{"Code":"ConditionalCheckFailed","Message":"m","Item":{"n":{"N":"7"}}}]}"#,
    )];
    let failure = failed(run(transaction.clone(), script).await);
    let second = json!(["ConditionalCheckFailed", "m", { "n": "N(\"7\")" }]);
    assert_eq!(failure.fields, json!([["None", null, null], second]));

    for code in
        [&[refusal!(400, "TransactionConflictException")], &[refusal!(400, "IdempotentParameterMismatchException")]]
    {
        run(transaction.clone(), code).await.result.unwrap_err();
    }
}

/// One of two keys is unprocessed.
const FIRST: Reply = Reply::Body(
    200,
    r#"{"Responses":{"table":[{"pk":{"S":"a"},"sk":{"S":"1"}}]},"UnprocessedKeys":{"table":{"ConsistentRead":true,"Keys":[{"pk":{"S":"b"},"sk":{"S":"2"}}]}}}"#,
);
const SECOND: Reply =
    Reply::Body(200, r#"{"Responses":{"table":[{"pk":{"S":"b"},"sk":{"S":"2"}}]},"UnprocessedKeys":{}}"#);

#[tokio::test]
async fn unprocessed_keys_are_requested_again() {
    let [_, batch, ..] = one_of_each();
    let outcome = run(batch.clone(), &[FIRST, SECOND]).await;
    let rows = outcome.result.unwrap();
    assert_eq!((&rows[0]["pk"], &rows[1]["pk"], rows.as_array().unwrap().len()), (&json!("a"), &json!("b"), 2));
    assert_eq!(outcome.attempts, 2);
    let outcome = run(batch, &[FIRST]).await;
    assert_eq!((outcome.attempts, failed(outcome)), (4, Failure::unprocessed()));
}

#[tokio::test]
async fn a_call_has_one_idempotency_token_for_all_its_attempts() {
    let [.., transaction] = one_of_each();
    let script = &[refusal!(500, "InternalServerError"), EMPTY, EMPTY];
    for backend in BACKENDS {
        let server = Server::start(script).await;
        let side = Side::new(backend, &server.endpoint, timeout(script));
        side.run(transaction.clone()).await.result.unwrap();
        side.run(transaction.clone()).await.result.unwrap();
        let (_, tokens) = server.requests();
        let [first, retry, second] = tokens.try_into().unwrap();
        assert_eq!(first, retry, "{backend:?}");
        assert_ne!(first, second, "{backend:?}");
        assert!((16..=36).contains(&first.len()), "{backend:?}: {first}");
    }
}

#[derive(Debug, Clone, Copy)]
pub enum Reply {
    /// Responds with a status and a body.
    Body(u16, &'static str),
    /// Closes the connection in the middle of the response.
    Truncated,
    /// Closes the connection without a response.
    Close,
    /// Never responds.
    Hang,
}

/// A server. It ends with the runtime it runs on.
pub struct Server {
    pub endpoint: String,
    /// The operation and the body of every request.
    requests: Arc<Mutex<Vec<(String, Value)>>>,
}

impl Server {
    /// A server that replies to one request after the other; the last reply is repeated.
    pub async fn start(script: &'static [Reply]) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::<Mutex<Vec<_>>>::default();
        let seen = Arc::clone(&requests);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, script, Arc::clone(&seen)));
            }
        });
        Self { endpoint, requests }
    }

    /// The address of a port that refuses connections as long as the socket is there: it is bound, so that no other server gets
    /// it, and does not listen.
    pub fn refusing() -> (String, TcpSocket) {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        (format!("http://{}", socket.local_addr().unwrap()), socket)
    }

    /// The requests without their idempotency tokens, and the tokens.
    pub fn requests(&self) -> (Vec<(String, Value)>, Vec<String>) {
        let mut requests = self.requests.lock().unwrap().clone();
        let token = |(_, body): &mut (String, Value)| body.as_object_mut().unwrap().remove("ClientRequestToken");
        let tokens = requests.iter_mut().filter_map(token).map(|token| token.as_str().unwrap().to_owned()).collect();
        (requests, tokens)
    }
}

async fn serve(mut stream: TcpStream, script: &'static [Reply], requests: Arc<Mutex<Vec<(String, Value)>>>) {
    while let Some(request) = read_request(&mut stream).await {
        let reply = {
            let mut requests = requests.lock().unwrap();
            requests.push(request);
            script[(requests.len() - 1).min(script.len() - 1)]
        };
        let response = match reply {
            Reply::Body(status, body) => response(status, body, body.len()),
            Reply::Truncated => response(200, "{", 2),
            Reply::Close => return,
            Reply::Hang => std::future::pending().await,
        };
        stream.write_all(response.as_bytes()).await.unwrap();
        if matches!(reply, Reply::Truncated) {
            return;
        }
    }
}

fn response(status: u16, body: &str, length: usize) -> String {
    let head = format!("HTTP/1.1 {status} -\r\ncontent-type: application/x-amz-json-1.0\r\n");
    format!("{head}x-amzn-requestid: REQUEST\r\ncontent-length: {length}\r\n\r\n{body}")
}

/// The operation and the body of the next request; `None` if the client is gone.
async fn read_request(stream: &mut TcpStream) -> Option<(String, Value)> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
    let header = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)).unwrap().to_owned();
    let mut body = vec![0; header("content-length: ").parse().unwrap()];
    stream.read_exact(&mut body).await.ok()?;
    Some((header("x-amz-target: "), serde_json::from_slice(&body).unwrap()))
}
