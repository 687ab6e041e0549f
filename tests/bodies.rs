//! Malformed and unusual request bodies, for every endpoint that reads one (rules.md, "Request bodies").

use serde_json::{Value, json};
use shared::endpoint::{ErrorBody, InputKind};
use tests::{Call, Reply, TestStore, endpoints};

/// The largest body in bytes.
const LARGEST: usize = 16 * 1024;

/// An endpoint that reads one required string from its body.
struct Reader {
    path: &'static str,
    field: &'static str,
    good: &'static str,
    /// The longest value in characters.
    longest: usize,
    /// The user whose token is sent, if one is needed.
    user: Option<&'static str>,
    /// Whether the good value was found.
    is_hit: fn(&Value) -> bool,
    /// Whether a value was not found.
    is_miss: fn(&Value) -> bool,
}

const READERS: [Reader; 8] = [
    Reader {
        path: "/cart/acceptCoupon",
        field: "coupon",
        good: "EIGHTH",
        longest: 40,
        user: Some("Thornwick"),
        is_hit: |body| body["success"] == true && body["percent"] == 12.5,
        is_miss: |body| body["message"] == "This code does not exist.",
    },
    Reader {
        path: "/cart/setReferral",
        field: "ref_code",
        good: "lantern",
        longest: 255,
        user: Some("Pebble"),
        is_hit: |body| body["success"] == true,
        is_miss: |body| body["success"] == false,
    },
    Reader {
        path: "/cart/getGift",
        field: "gift",
        good: "GLOW-7QXM-2K4D",
        longest: 40,
        user: None,
        is_hit: |body| body["status"] == true,
        is_miss: |body| body["message"] == "This gift card does not exist.",
    },
    Reader {
        path: "/capture-referral",
        field: "ref",
        good: "lantern",
        longest: 255,
        user: None,
        is_hit: |body| body["success"] == true,
        is_miss: |body| body["success"] == false,
    },
    Reader {
        path: "/pages/get",
        field: "url",
        good: "rules",
        longest: 255,
        user: Some("Thornwick"),
        is_hit: |body| body["page"]["title"] == "House rules",
        is_miss: |body| *body == json!({ "success": false, "page": null }),
    },
    Reader {
        path: "/payments/checkStatus",
        field: "order_id",
        good: "u2qlyq2uxxth4o4j",
        longest: 255,
        user: None,
        is_hit: |body| body["order_data"]["id"] == 17,
        is_miss: |body| body["status"] == "not_found",
    },
    Reader {
        path: "/payments/delivery",
        field: "order_id",
        good: "u2qlyq2uxxth4o4j",
        longest: 255,
        user: None,
        is_hit: |body| body["lines"].is_array(),
        is_miss: |body| body["status"] == "not_found",
    },
    Reader {
        path: "/payments/receipt",
        field: "order_id",
        good: "u2qlyq2uxxth4o4j",
        longest: 255,
        user: Some("Thornwick"),
        is_hit: |body| body["message"] == "There is no receipt of this payment.",
        is_miss: |body| body["message"] == "This payment does not exist.",
    },
];

impl Reader {
    /// A request with an unchanged body, from an address of its own so that no rate limit is reached.
    fn call(&self, store: &TestStore, number: usize, body: impl Into<Vec<u8>>) -> Call {
        let call = Call::post(self.path).bytes(body).from_ip(&format!("203.0.{}.{}", number / 250, number % 250));
        self.user.iter().fold(call, |call, user| call.token(&store.token(user)))
    }

    async fn send(&self, store: &TestStore, number: usize, body: impl Into<Vec<u8>>) -> Reply {
        store.send(self.call(store, number, body).header("content-type", "application/json")).await
    }

    async fn assert_hit(&self, store: &TestStore, number: usize, body: &str) {
        let reply = self.send(store, number, body).await;
        assert!(reply.status == 200 && (self.is_hit)(&reply.json()), "{}: {body:.80}: {}", self.path, reply.text);
    }

    /// Bodies that are refused with 400 (rules.md, "Request bodies").
    fn malformed(&self) -> Vec<Vec<u8>> {
        let (field, good) = (self.field, self.good);
        let mut bodies: Vec<Vec<u8>> = ["", " ", "x", "{", "}", "[]", "null", "true", "0", "\"text\"", "{}", "NaN"]
            .map(|text| text.as_bytes().to_vec())
            .to_vec();
        let values =
            ["null", "true", "1", "-0.5", "1e400", "[]", "{}", "\"\"", "\" \"", "\"a\nb\"", "'a'", "undefined", ""];
        let blank = [r#"" \t\r\n""#, r#""\u00a0\u2003\u3000""#, r#""\ud800""#];
        bodies.extend(values.into_iter().chain(blank).map(|value| format!("{{\"{field}\":{value}}}").into_bytes()));
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

    /// Strings that are unusual but valid. No code, page or order has them.
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
}

#[tokio::test]
async fn a_malformed_body_is_refused_and_only_the_request_is_counted() {
    for reader in READERS {
        let store = TestStore::open().await;
        let endpoint = Call::post(reader.path).endpoint();
        for (number, body) in reader.malformed().into_iter().enumerate() {
            let what = format!("{}: {:.60}", reader.path, String::from_utf8_lossy(&body));
            store.calls.clear();
            let is_blank = body.trim_ascii().is_empty();
            let reply = reader.send(&store, number, body).await;
            assert_eq!(reply.status, 400, "{what}: {}", reply.text);
            assert_eq!(reply.header("cache-control"), "no-store");
            let mut refused = reply.json();
            let message = refused.as_object_mut().and_then(|fields| fields.remove("message")).expect("a message");
            assert!(message.as_str().is_some_and(|text| !text.is_empty()), "{what}");
            if is_blank {
                assert_eq!(message, format!("The {} field is required.", reader.field));
            }
            assert_eq!(refused, shape(endpoint.declaration.errors), "{what}");
            assert!(store.calls.writes() <= endpoint.counting_writes(), "{what}: {:?}", store.calls.operations());
        }
    }
}

#[tokio::test]
async fn an_unusual_text_is_a_value_that_does_not_exist() {
    for reader in READERS {
        let store = TestStore::open().await;
        for (number, text) in reader.odd_texts().into_iter().enumerate() {
            let reply = reader.send(&store, number, json!({ reader.field: text }).to_string()).await;
            assert_eq!(reply.status, 200, "{}: {text:?}: {}", reader.path, reply.text);
            assert!((reader.is_miss)(&reply.json()), "{}: {text:?}: {}", reader.path, reply.text);
        }
    }
}

/// Unknown fields, duplicates, numbers that no program can represent, any Content-Type and any spelling of the JSON.
#[tokio::test]
async fn any_json_with_the_field_is_read() {
    let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
    for reader in READERS {
        let store = TestStore::open().await;
        let (field, good) = (reader.field, reader.good);
        let mut bodies = vec![
            format!("{{\"{field}\":\"{good}\"}}"),
            format!("\r\n\t {{ \"{field}\" : \"{good}\" }} \n"),
            format!("{{\"unknown\":{{\"{field}\":1}},\"\":null,\"{field}\":\"{good}\"}}"),
            format!("{{\"{field}\":\"no\",\"{field}\":\"{good}\"}}"),
            reader.sized(LARGEST),
        ];
        for value in [&deep, &"9".repeat(300), "1e999", "-1e999"] {
            bodies.push(format!("{{\"{field}\":\"{good}\",\"other\":{value}}}"));
        }
        for (number, body) in bodies.iter().enumerate() {
            reader.assert_hit(&store, number, body).await;
        }
        for (number, content_type) in ["text/plain", "application/octet-stream", "x", ""].into_iter().enumerate() {
            let call = reader.call(&store, 250 + number, reader.sized(200)).header("content-type", content_type);
            let reply = store.send(call).await;
            assert!(reply.status == 200 && (reader.is_hit)(&reply.json()), "{content_type:?}: {}", reply.text);
        }
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
            let is_optional = ["POST /cart/add/{id}", "POST /payments/orders"].contains(&endpoint.route)
                || endpoint.route.contains(" /game_auth/");
            let needs_no_field = is_optional && body == "{}";
            if !endpoint.declaration.input.has_json_body() || needs_no_field {
                assert_eq!(reply.status, endpoint.status(), "{}: {body}: {}", endpoint.route, reply.text);
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
