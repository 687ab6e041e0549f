//! What brings notices to their targets: an HTTPS address of the owner's own, or a channel of Discord (rules.md, "Notices"). It
//! knows nothing of rows.

mod discord;
mod webhook;

use crate::clock::Clock;
use crate::config::{NoticeAddress, NoticeKeys};
use crate::model::{Notice, NoticeTarget, TargetKind};
use crate::rules::sending::Outcome;
use lambda_http::http::header::{CONTENT_TYPE, HeaderName, RETRY_AFTER, USER_AGENT};
use lambda_http::http::request::Builder;
use lambda_http::http::{HeaderMap, Request, Response, StatusCode, Uri};
use outgoing::public::{PublicClient, check_url};
use std::sync::Arc;
use std::time::Duration;

/// How long a call to a target may take.
pub const CALL: Duration = Duration::from_secs(5);
/// How much of an answer is read, in bytes.
pub const READ: usize = 4 * 1024;
/// The time between two messages to a channel: it takes thirty in a minute.
const BETWEEN: Duration = Duration::from_secs(2);

/// What is sent at once to a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// How many notices are in it.
    pub count: usize,
    /// The same whenever it is sent.
    pub id: String,
    pub body: String,
}

/// How a target took a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub outcome: Outcome,
    /// No other message is sent to it before this time has passed.
    pub pause: Duration,
}

/// The targets that are connected, and the client that reaches them.
#[derive(Debug, Clone)]
pub struct Targets {
    keys: NoticeKeys,
    client: PublicClient,
    clock: Arc<dyn Clock>,
    between: Duration,
}

impl Targets {
    pub fn new(keys: NoticeKeys, client: PublicClient, clock: Arc<dyn Clock>) -> Self {
        Self { keys, client, clock, between: BETWEEN }
    }

    /// The same with another time between two messages to a channel, for tests.
    #[must_use]
    pub fn with_pace(self, between: Duration) -> Self {
        Self { between, ..self }
    }

    /// Sends a message that says that it is a test.
    pub async fn test(&self, target: &NoticeTarget, id: &str) -> Outcome {
        let body = match target.kind {
            TargetKind::Discord => discord::test(),
            TargetKind::Webhook => webhook::test(self.clock.seconds()),
        };
        self.send(target, &Message { count: 1, id: id.to_owned(), body }).await.outcome
    }

    fn request(&self, target: &NoticeTarget, address: &NoticeAddress, message: &Message) -> Option<Builder> {
        let request = match target.kind {
            TargetKind::Discord => Request::post(discord::confirmed(&address.url)),
            TargetKind::Webhook => {
                let seconds = self.clock.seconds();
                let sign = |key: &crate::config::SigningKey| key.sign(&message.id, seconds, &message.body);
                let signatures: Vec<String> = address.keys.iter().map(sign).collect();
                Request::post(&address.url)
                    .header("webhook-id", &message.id)
                    .header("webhook-timestamp", seconds)
                    .header("webhook-signature", signatures.join(" "))
            }
        };
        let request = request.header(CONTENT_TYPE, "application/json").header(USER_AGENT, "storefront-notices/1");
        request.uri_ref().is_some().then_some(request)
    }

    /// A message with the first of these notices, at least one.
    pub fn message(&self, target: &NoticeTarget, notices: &[&Notice]) -> Message {
        match target.kind {
            TargetKind::Discord => discord::message(target, notices),
            TargetKind::Webhook => webhook::message(notices),
        }
    }

    /// Sends a message, within a time that is limited.
    pub async fn send(&self, target: &NoticeTarget, message: &Message) -> Answer {
        let answer = |outcome| Answer { outcome, pause: Duration::ZERO };
        let Some(address) = self.keys.of(target) else {
            let command = format!("not connected: `storectl notify connect {}`", target.name);
            return answer(Outcome::Failed(command));
        };
        let request = self.request(target, address, message);
        let request = request.and_then(|request| request.body(message.body.clone().into()).ok());
        let Some(request) = request else { return answer(Outcome::Failed("its address is not a URL".to_owned())) };
        match self.client.send(request).await {
            Ok(response) => self.understand(target.kind, address, &response),
            Err(error) => answer(Outcome::Failed(error.to_string())),
        }
    }

    fn understand(&self, kind: TargetKind, address: &NoticeAddress, response: &Response<impl AsRef<[u8]>>) -> Answer {
        let status = response.status();
        let code = format!("HTTP {}", status.as_u16());
        let body = without_address(String::from_utf8_lossy(response.body().as_ref()).trim(), &address.url);
        let text = if body.is_empty() { code.clone() } else { format!("{code}: {body}") };
        let pause = match kind {
            TargetKind::Discord => discord::pause(response.headers()).max(self.between),
            TargetKind::Webhook => Duration::ZERO,
        };
        let outcome = match status {
            _ if status.is_success() => Outcome::Taken(code),
            StatusCode::TOO_MANY_REQUESTS => Outcome::Paused(seconds(response.headers(), RETRY_AFTER), text),
            StatusCode::BAD_REQUEST | StatusCode::PAYLOAD_TOO_LARGE | StatusCode::UNPROCESSABLE_ENTITY => {
                Outcome::Refused(text)
            }
            _ if status.is_redirection() => Outcome::Failed(format!("{code}: a redirect, which is not followed")),
            _ => Outcome::Failed(text),
        };
        Answer { outcome, pause }
    }
}

/// An answer without what is secret of the address: some servers repeat the path that they were asked for, and answers are kept
/// and shown.
fn without_address(answer: &str, url: &str) -> String {
    /// Shorter parts of an address are words.
    const SECRET: usize = 10;
    let uri: Uri = url.parse().unwrap_or_default();
    let path = uri.path_and_query().map_or("", |path| path.as_str()).trim_end_matches('/');
    let parts = path.split(['/', '?', '&', '=', '#']).filter(|part| part.len() >= SECRET);
    let mut parts: Vec<&str> = [path, uri.path().trim_end_matches('/')].into_iter().chain(parts).collect();
    parts.retain(|part| part.len() > 1);
    parts.sort_unstable_by_key(|part| std::cmp::Reverse(part.len()));
    parts.into_iter().fold(answer.to_owned(), |answer, part| answer.replace(part, "…"))
}

/// A header's number of seconds, rounded up; `None` if it is missing or a date.
fn seconds(headers: &HeaderMap, name: HeaderName) -> Option<i64> {
    let millis = millis(headers.get(name)?.to_str().ok()?)?;
    i64::try_from(millis.div_ceil(1_000)).ok()
}

/// A decimal number of seconds in milliseconds.
fn millis(text: &str) -> Option<u64> {
    let (whole, part) = text.trim().split_once('.').unwrap_or((text.trim(), ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !is_number(whole) || !is_number(part) {
        return None;
    }
    let part: String = part.chars().chain("000".chars()).take(3).collect();
    whole.parse::<u64>().ok()?.checked_mul(1_000)?.checked_add(part.parse().ok()?)
}

/// Checks the address of a target before it is stored; the reason says what it must be.
pub fn check_address(kind: TargetKind, url: &str, allows_here: bool) -> Result<(), String> {
    let parsed: Uri = url.parse().map_err(|_| "The address is not a URL: it begins with https://.".to_owned())?;
    let host = check_url(&parsed, allows_here).map_err(|reason| format!("The address {reason}."))?;
    match kind {
        TargetKind::Webhook => Ok(()),
        TargetKind::Discord if discord::is_webhook(&host, parsed.path(), allows_here) => Ok(()),
        TargetKind::Discord => Err("The address is not that of a webhook of Discord: it begins with \
                                    https://discord.com/api/webhooks/, and the channel's settings show it (Integrations, \
                                    Webhooks, Copy Webhook URL)."
            .to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_of_a_channel_is_one_of_discord() {
        let check = |url: &str| check_address(TargetKind::Discord, url, false);
        for url in [
            "https://discord.com/api/webhooks/1234/a-B_c",
            "https://discordapp.com/api/webhooks/1234/abc",
            "https://canary.discord.com/api/v10/webhooks/1234/abc?thread_id=5",
        ] {
            assert_eq!(check(url), Ok(()), "{url}");
        }
        for url in [
            "https://discord.com.evil.example/api/webhooks/1/a",
            "https://evil.example/api/webhooks/1/a",
            "https://discord.com/channels/1/2",
            "https://discord.com/api/webhooks/1",
            "https://discord.com/api/webhooks/x/a",
            "http://discord.com/api/webhooks/1/a",
            "https://discord.com@evil.example/api/webhooks/1/a",
            "discord",
            "",
        ] {
            assert!(check(url).is_err(), "{url}");
        }
        assert_eq!(check_address(TargetKind::Webhook, "https://hooks.example/a", false), Ok(()));
        let refused = check_address(TargetKind::Webhook, "https://10.0.0.1/a", false);
        assert_eq!(refused.unwrap_err(), "The address is not public.");
    }

    #[test]
    fn an_answer_never_has_what_is_secret_of_the_address() {
        for (url, answer, kept) in [
            ("https://a.example/hook/s3", "Cannot POST /hook/s3", "Cannot POST …"),
            ("https://a.example/hook?key=long-secret&x=1", "no: key long-secret, /hook", "no: key …, …"),
            (
                "https://discord.com/api/webhooks/12345/tOkEn-0123",
                "webhooks: no 12345 (tOkEn-0123)",
                "webhooks: no 12345 (…)",
            ),
            ("https://a.example/", "GET / or https://a.example", "GET / or https://a.example"),
            ("https://a.example", "no", "no"),
        ] {
            assert_eq!(without_address(answer, url), kept, "{url}");
        }
    }

    #[test]
    fn times_of_headers_are_read_with_their_fractions() {
        for (text, read) in [("900", Some(900_000)), ("1.5", Some(1_500)), ("0.0004", Some(0)), ("2.", Some(2_000))] {
            assert_eq!(millis(text), read, "{text}");
        }
        for text in ["", "-1", "soon", "Fri, 31 Dec 2027 23:59:59 GMT", "99999999999999999999", "1.x"] {
            assert_eq!(millis(text), None, "{text}");
        }
    }
}
