//! HTTP messages as bytes, and what can happen to them between two machines.

use aws_smithy_types::DateTime;
use aws_smithy_types::date_time::Format;
use serde_json::{Value, json};
use shared::clock::{Clock as _, SystemClock};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt};

/// How far a signature's time may be from the server's, in seconds.
const SKEW: i64 = 300;

/// A fault of an exchange of a request and its response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WireFault {
    /// The connection is closed before the request arrives.
    Reset,
    /// The request is dropped on the way, and the connection stays open.
    Swallowed,
    /// The request is done, and the connection is closed before the response.
    Lost,
    /// The request is done, the response is dropped, and the connection stays open.
    LostSilently,
    /// The connection is closed in the middle of the response's head.
    CutHead,
    /// The connection is closed after the response's head.
    HeadOnly,
    /// The connection is closed in the middle of the response's body.
    CutBody,
    /// Nothing more arrives after the middle of the response's body, and the connection stays open.
    Stalled,
    /// The response's body is a page of something in between.
    NotJson,
    /// The response is not HTTP.
    NotHttp,
    /// The response says that it is shorter than it is.
    TooShort,
    /// The response arrives this much later.
    Late(Duration),
    /// The request is refused with this status and error code, and not done.
    Refused(u16, &'static str),
    /// The request is done, and the response is an error with this status.
    Failed(u16),
}

impl WireFault {
    /// Whether the connection stays open without a response.
    pub const fn is_silent(self) -> bool {
        matches!(self, Self::Swallowed | Self::LostSilently | Self::Stalled)
    }

    /// Whether the server can respond so to an operation.
    pub fn can_meet(self, operation: &str) -> bool {
        match self {
            Self::Refused(_, "TransactionConflict") => crate::calls::writes(operation),
            Self::Refused(_, "TransactionInProgressException") => operation == "TransactWriteItems",
            _ => true,
        }
    }
}

/// A response with its fault, as bytes.
pub struct Spoilt {
    pub bytes: Vec<u8>,
    /// Whether the connection is closed after it.
    pub ends: bool,
    /// Whether the connection stays open, and nothing arrives on it any more.
    pub is_silent: bool,
}

/// A request or a response.
#[derive(Debug, Clone)]
pub struct Message {
    head: String,
    body: Vec<u8>,
}

impl Message {
    /// Reads a message whose head says how long its body is; `None` if the connection ends.
    pub async fn read(from: &mut (impl AsyncRead + Unpin)) -> Option<Self> {
        let mut bytes = Vec::with_capacity(4 * 1024);
        let end = loop {
            if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
                break end + 4;
            }
            from.read_buf(&mut bytes).await.ok().filter(|read| *read > 0)?;
        };
        let mut body = bytes.split_off(end);
        let message = Self { head: String::from_utf8(bytes).ok()?, body: Vec::new() };
        assert!(message.header("transfer-encoding").is_none(), "a body without a length: {}", message.head);
        let length = message.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        while body.len() < length {
            from.read_buf(&mut body).await.ok().filter(|read| *read > 0)?;
        }
        Some(Self { body, ..message })
    }

    pub fn bytes(&self) -> Vec<u8> {
        [self.head.as_bytes(), &self.body].concat()
    }

    fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(':'));
        lines.find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    }

    /// Whether the sender closes the connection after this message.
    pub(crate) fn ends_connection(&self) -> bool {
        self.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"))
    }

    /// DynamoDB's operation, or the method and path of another request.
    pub fn operation(&self) -> String {
        let target = self.header("x-amz-target").and_then(|target| target.rsplit('.').next());
        let first = || self.head.lines().next().unwrap_or_default().trim_end_matches(" HTTP/1.1");
        target.unwrap_or_else(first).to_owned()
    }

    fn of(status: u16, headers: &str, body: Vec<u8>) -> Self {
        let length = body.len();
        Self { head: format!("HTTP/1.1 {status} -\r\n{headers}content-length: {length}\r\n\r\n"), body }
    }

    /// An error of DynamoDB's to a request; other services' clients read its status, and Stripe's its `error`.
    pub fn error(status: u16, code: &str, request: &Self) -> Self {
        let kind = |code: &str| format!("com.amazonaws.dynamodb.v20120810#{code}");
        let body = match (code, request.operation().as_str()) {
            ("TransactionConflict", "TransactWriteItems") => {
                let sent: Value = serde_json::from_slice(&request.body).unwrap_or_default();
                let count = sent["TransactItems"].as_array().map_or(0, Vec::len);
                let reasons = vec![json!({ "Code": "TransactionConflict", "Message": "injected" }); count];
                json!({ "__type": kind("TransactionCanceledException"), "CancellationReasons": reasons })
            }
            ("TransactionConflict", _) => json!({ "__type": kind("TransactionConflictException") }),
            _ => json!({ "__type": kind(code), "message": "injected", "error": { "type": "api_error" } }),
        };
        Self::of(status, "content-type: application/x-amz-json-1.0\r\n", body.to_string().into_bytes())
    }

    /// The bytes of this response that arrive.
    pub(crate) fn spoilt(self, fault: Option<WireFault>) -> Spoilt {
        let arrives = |bytes| Spoilt { bytes, ends: false, is_silent: false };
        let ends = |bytes| Spoilt { ends: true, ..arrives(bytes) };
        let is_silent = |bytes| Spoilt { is_silent: true, ..arrives(bytes) };
        let half = || [self.head.as_bytes(), &self.body[..self.body.len() / 2]].concat();
        match fault {
            Some(WireFault::Lost) => ends(Vec::new()),
            Some(WireFault::LostSilently) => is_silent(Vec::new()),
            Some(WireFault::CutHead) => ends(self.head.as_bytes()[..self.head.len() / 2].to_vec()),
            Some(WireFault::HeadOnly) => ends(self.head.into_bytes()),
            Some(WireFault::CutBody) => ends(half()),
            Some(WireFault::Stalled) => is_silent(half()),
            Some(WireFault::NotHttp) => ends(b"\x16\x03\x01 not HTTP\r\n\r\n".to_vec()),
            Some(WireFault::NotJson) => {
                let page = b"<html><body>Please log in to the network.</body></html>".to_vec();
                arrives(Self::of(200, "content-type: text/html\r\n", page).bytes())
            }
            Some(WireFault::TooShort) => {
                let length = (self.body.len() / 2).to_string();
                let body = self.body.clone();
                arrives([self.with("content-length", &length).head.into_bytes(), body].concat())
            }
            Some(WireFault::Failed(status)) => arrives(Self::of(status, "", b"{}".to_vec()).bytes()),
            None | Some(_) => arrives(self.bytes()),
        }
    }

    /// The message with another value of a header.
    fn with(self, name: &str, value: &str) -> Self {
        let is_other = |line: &&str| line.split_once(':').is_none_or(|(found, _)| !found.eq_ignore_ascii_case(name));
        let kept: String = self.head.trim_end().lines().filter(is_other).flat_map(|line| [line, "\r\n"]).collect();
        Self { head: format!("{kept}{name}: {value}\r\n\r\n"), ..self }
    }
}

/// The checks of a server before it carries out a request.
#[derive(Debug, Clone, Default)]
pub(crate) struct Gate {
    /// The server behind the proxy.
    pub server: Option<SocketAddr>,
    /// How many seconds the server's clock is ahead; `None` for a server that does not look at signatures' times.
    pub ahead: Option<i64>,
    /// The only key id that is accepted.
    pub accepted: Option<String>,
}

impl Gate {
    pub(crate) fn refusal(&self, request: &Message) -> Option<Message> {
        let signature = request.header("authorization").unwrap_or_default();
        if let Some(id) = &self.accepted
            && !signature.contains(&format!("Credential={id}/"))
        {
            return Some(Message::error(400, "ExpiredTokenException", request));
        }
        let ahead = self.ahead?;
        let off = signed_at(request.header("x-amz-date")?)?.abs_diff(now() + ahead);
        (off > SKEW.unsigned_abs()).then(|| Message::error(400, "InvalidSignatureException", request))
    }

    /// A response with the server's time.
    pub(crate) fn dated(&self, response: Message) -> Message {
        let Some(ahead) = self.ahead else { return response };
        let date = DateTime::from_secs(now() + ahead).fmt(Format::HttpDate).expect("a date");
        response.with("date", &date)
    }
}

/// The real time: requests to the database are signed by it and not by a test's clock.
fn now() -> i64 {
    SystemClock.seconds()
}

/// The time of a signature, such as `20260615T120000Z`, in seconds since 1970.
fn signed_at(date: &str) -> Option<i64> {
    let part = |range| date.get(range);
    let (day, time) = ((part(0..4)?, part(4..6)?, part(6..8)?), (part(9..11)?, part(11..13)?, part(13..15)?));
    let text = format!("{}-{}-{}T{}:{}:{}Z", day.0, day.1, day.2, time.0, time.1, time.2);
    DateTime::from_str(&text, Format::DateTime).ok().map(|time| time.secs())
}
