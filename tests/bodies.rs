//! Malformed and unusual request bodies, for every endpoint that reads one (rules.md, "Request bodies").

#![expect(clippy::expect_used, reason = "a helper that fails fails its test")]

use serde_json::{Value, json};
use shared::endpoint::{ErrorBody, InputKind};
use tests::{Call, Reply, TestStore, endpoints};

/// The largest body in bytes.
const LARGEST: usize = 16 * 1024;

/// An endpoint that reads one required string from its body.
pub struct Reader {
    pub path: &'static str,
    pub field: &'static str,
    pub good: &'static str,
    /// The longest value in characters.
    pub longest: usize,
    /// The endpoint's error body, without its message.
    pub refused: Value,
    /// Adds a token, or anything else that the call needs.
    pub admit: fn(&TestStore, Call) -> Call,
}

impl Reader {
    /// Sends a body unchanged, from its own address so that no rate limit is reached.
    pub async fn send(&self, store: &TestStore, number: usize, body: impl Into<Vec<u8>>) -> Reply {
        let call = Call::post(self.path).header("content-type", "application/json").bytes(body);
        let address = format!("203.0.{}.{}", number / 250, number % 250);
        store.send((self.admit)(store, call).from_ip(&address)).await
    }

    /// Bodies that are refused with 400 (rules.md, "Request bodies").
    fn malformed(&self) -> Vec<Vec<u8>> {
        let (field, good) = (self.field, self.good);
        let mut bodies: Vec<Vec<u8>> = ["", " ", "x", "{", "}", "[]", "null", "true", "0", "\"text\"", "{}", "NaN"]
            .map(|text| text.as_bytes().to_vec())
            .to_vec();
        let values = [
            "null",
            "true",
            "1",
            "-0.5",
            "1e400",
            "[]",
            "{}",
            "\"\"",
            "\" \"",
            r#"" \t\r\n""#,
            r#""\u00a0\u2003\u3000""#,
            r#""\ud800""#,
            "\"a\nb\"",
            "'a'",
            "undefined",
            "",
        ];
        bodies.extend(values.map(|value| format!("{{\"{field}\":{value}}}").into_bytes()));
        bodies.push(format!("{{\"{field}\":[\"{good}\"]}}").into_bytes());
        bodies.push(format!("[{{\"{field}\":\"{good}\"}}]").into_bytes());
        bodies.push(format!("{{\"{field}\":\"{good}\"}} x").into_bytes());
        bodies.push(format!("{{\"{field}\":\"{good}\",}}").into_bytes());
        bodies.push(format!("\u{feff}{{\"{field}\":\"{good}\"}}").into_bytes());
        bodies.push(format!("{field}={good}").into_bytes());
        bodies.push(format!("{{\"{}\":\"{good}\"}}", field.to_uppercase()).into_bytes());
        bodies.push(format!("{{\"{field}\":{}}}", "9".repeat(5_000)).into_bytes());
        bodies.push(format!("{{\"{field}\":\"{}\"}}", "é".repeat(self.longest + 1)).into_bytes());
        bodies.push(format!("{{\"{field}\":\"{good}{}\"}}", " ".repeat(self.longest)).into_bytes());
        bodies.push("[".repeat(LARGEST).into_bytes());
        bodies.push("{\"a\":".repeat(3_000).into_bytes());
        bodies.push(
            format!("{{\"{field}\":\"\u{fe}\"}}").into_bytes().into_iter().filter(|byte| *byte != 0xc3).collect(),
        );
        bodies.push(format!("{{\"{field}\":\"{good}\"}}").encode_utf16().flat_map(u16::to_le_bytes).collect());
        bodies
    }

    /// Strings that are unusual but valid. No code and no order has them.
    fn odd_texts(&self) -> Vec<String> {
        let long = |c: char| c.to_string().repeat(self.longest);
        let short =
            ["\0", "\u{1}\u{7f}", "\u{200b}", "\u{202e}drawkcab", "e\u{301}", "İ", "ﬀ", "#", "a#b#c", "../..", "%00"];
        let mut texts: Vec<String> = short.map(str::to_owned).to_vec();
        texts.extend([format!("{}\0", self.good), long('💎'), long('İ'), long('\u{10ffff}'), long('\0')]);
        texts
    }

    /// A body of exactly `bytes` bytes with the valid value in it.
    fn sized(&self, bytes: usize) -> String {
        let frame = json!({ self.field: self.good, "padding": "" }).to_string();
        json!({ self.field: self.good, "padding": "x".repeat(bytes - frame.len()) }).to_string()
    }

    /// Every malformed body is a 400 with the endpoint's own error body, and only what is written for every request is
    /// written.
    pub async fn refuses_malformed_bodies(&self, store: &TestStore, writes_per_request: usize) {
        for (number, body) in self.malformed().into_iter().enumerate() {
            let text = String::from_utf8_lossy(&body).chars().take(60).collect::<String>();
            store.calls.clear();
            let reply = self.send(store, number, body).await;
            assert_eq!(reply.status, 400, "{text:?}: {}", reply.text);
            assert_eq!(reply.header("cache-control"), "no-store");
            let mut shape = reply.json();
            let message = shape.as_object_mut().and_then(|fields| fields.remove("message"));
            let message = message.expect("a message");
            let message = message.as_str().expect("a text");
            assert!(!message.is_empty(), "{text:?}");
            if text.trim().is_empty() {
                assert_eq!(message, format!("The {} field is required.", self.field));
            }
            assert_eq!(shape, self.refused, "{text:?}");
            assert!(store.calls.writes() <= writes_per_request, "{text:?}: {:?}", store.calls.operations());
        }
    }

    /// Every unusual string is an ordinary miss, which `is_miss` recognises.
    pub async fn takes_odd_texts_for_what_they_are(&self, store: &TestStore, is_miss: fn(&Value) -> bool) {
        for (number, text) in self.odd_texts().into_iter().enumerate() {
            let reply = self.send(store, number, json!({ self.field: text }).to_string()).await;
            assert_eq!(reply.status, 200, "{text:?}: {}", reply.text);
            assert!(is_miss(&reply.json()), "{text:?}: {}", reply.text);
        }
    }

    /// Unknown fields, duplicates, any Content-Type and any encoding of the body: the result is that of the plain body.
    pub async fn reads_whatever_is_json(&self, store: &TestStore, is_hit: fn(&Value) -> bool) {
        let (field, good) = (self.field, self.good);
        let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
        let bodies = [
            format!("{{\"{field}\":\"{good}\"}}"),
            format!("\r\n\t {{ \"{field}\" : \"{good}\" }} \n"),
            format!("{{\"unknown\":{{\"{field}\":1}},\"\":null,\"{field}\":\"{good}\"}}"),
            format!("{{\"{field}\":\"no\",\"{field}\":\"{good}\"}}"),
            format!("{{\"{field}\":\"{good}\",\"deep\":{deep}}}"),
            format!("{{\"{field}\":\"{good}\",\"number\":{}}}", "9".repeat(300)),
            self.sized(LARGEST),
        ];
        for (number, body) in bodies.into_iter().enumerate() {
            let reply = self.send(store, number, body.clone()).await;
            assert!(reply.status == 200 && is_hit(&reply.json()), "{body:.80}: {}", reply.text);
        }
        for (number, content_type) in ["text/plain", "application/octet-stream", "x", ""].into_iter().enumerate() {
            let call = Call::post(self.path).header("content-type", content_type).bytes(self.sized(200));
            let reply = store.send((self.admit)(store, call).from_ip(&format!("203.0.9.{number}"))).await;
            assert!(reply.status == 200 && is_hit(&reply.json()), "{content_type:?}: {}", reply.text);
        }
    }

    /// The value of an unknown field is ignored, also a number that no program can represent.
    pub async fn ignores_numbers_that_nobody_reads(&self, store: &TestStore, is_hit: fn(&Value) -> bool) {
        for number in ["1e999", "-1e999"] {
            let body = format!("{{\"{}\":\"{}\",\"number\":{number}}}", self.field, self.good);
            let reply = self.send(store, 0, body).await;
            assert!(reply.status == 200 && is_hit(&reply.json()), "{number}: {}", reply.text);
        }
    }

    /// 16 KiB are accepted, see [`Self::reads_whatever_is_json`]; one byte more is not.
    pub async fn refuses_one_byte_more_than_16_kib(&self, store: &TestStore) -> Reply {
        let reply = self.send(store, 0, self.sized(LARGEST + 1)).await;
        assert_eq!(reply.status, 413);
        let body = reply.json();
        assert_eq!(body.as_object().map(serde_json::Map::len), Some(1), "{body}");
        assert!(body["message"].is_string());
        reply
    }
}

/// The endpoint's error body, without its text.
fn shape(errors: ErrorBody) -> Value {
    match errors {
        ErrorBody::Message => json!({}),
        ErrorBody::Success | ErrorBody::SuccessError => json!({ "success": false }),
        ErrorBody::Status => json!({ "status": "error" }),
        ErrorBody::StatusFlag => json!({ "status": false }),
    }
}

#[tokio::test]
async fn every_endpoint_refuses_a_body_over_its_limit() {
    let store = TestStore::open().await;
    for endpoint in endpoints().iter().filter(|endpoint| endpoint.route.starts_with("POST ")) {
        let reply = store.send(endpoint.call().bytes(" ".repeat(endpoint.declaration.body_limit + 1))).await;
        assert_eq!(reply.status, 413, "{}: {}", endpoint.route, reply.text);
        let limit = format!("{} KiB", endpoint.declaration.body_limit / 1024);
        assert!(reply.json()["message"].as_str().is_some_and(|text| text.contains(&limit)), "{}", reply.text);
    }
}

#[tokio::test]
async fn a_body_is_read_exactly_if_the_endpoint_declares_it() {
    // Of a signed body every byte counts; its own tests change them.
    for endpoint in endpoints().into_iter().filter(|endpoint| endpoint.declaration.input != InputKind::Signed) {
        let store = TestStore::open().await;
        for body in ["[]", "{\"a\":", "\u{1}", "{}"] {
            let reply = store.send(endpoint.call().bytes(body)).await;
            let needs_no_field = endpoint.route == "POST /cart/add/{id}" && body == "{}";
            if !endpoint.declaration.input.has_json_body() || needs_no_field {
                assert_eq!(reply.status, 200, "{}: {body}: {}", endpoint.route, reply.text);
                continue;
            }
            assert_eq!(reply.status, 400, "{}: {body}: {}", endpoint.route, reply.text);
            let mut refused = reply.json();
            let texts = ["message", "error"].map(|name| refused.as_object_mut().and_then(|body| body.remove(name)));
            assert!(texts.iter().flatten().any(Value::is_string), "{}", reply.text);
            assert_eq!(refused, shape(endpoint.declaration.errors), "{}: {body}", endpoint.route);
        }
    }
}
