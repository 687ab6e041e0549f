//! Header injection: line breaks in every text that an endpoint reads.

use super::{header_names, seen, set_query};
use serde_json::{Value, json};
use tests::{TestStore, endpoints, event};

/// Texts that would become a header and a page of their own.
const BREAKS: [&str; 7] = [
    "\r\nSet-Cookie: injected=1\r\n\r\n<script>injected</script>",
    "\nSet-Cookie: injected=1",
    "\rSet-Cookie: injected=1",
    "%0d%0aSet-Cookie:%20injected=1",
    "\u{560d}\u{560a}Set-Cookie: injected=1",
    "a\0b\r\ninjected: 1",
    "\u{85}injected: 1\u{2028}injected: 1",
];

/// Puts a text behind every string of a JSON value, one after the other.
fn with_breaks(value: &Value, text: &str) -> Vec<Value> {
    fn places(value: &Value, path: &str, found: &mut Vec<String>) {
        match value {
            Value::String(_) => found.push(path.to_owned()),
            Value::Object(fields) => {
                fields.iter().for_each(|(name, value)| places(value, &format!("{path}/{name}"), found));
            }
            Value::Array(values) => {
                values.iter().enumerate().for_each(|(at, value)| places(value, &format!("{path}/{at}"), found));
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    places(value, "", &mut found);
    let changed = |path: String| {
        let mut changed = value.clone();
        let place = changed.pointer_mut(&path).expect("a place that was found");
        *place = json!(format!("{}{text}", place.as_str().unwrap_or_default()));
        changed
    };
    found.into_iter().map(changed).collect()
}

#[tokio::test]
async fn no_text_of_a_body_reaches_a_header() {
    for endpoint in endpoints().into_iter().filter(|endpoint| endpoint.declaration.input.has_json_body()) {
        let store = TestStore::open().await;
        let mut sample = event(&endpoint.event);
        sample["body"] = json!("{}");
        let names_without_body = header_names(&store.invoke(endpoint.function, &sample).await);
        let body: Value = serde_json::from_str(event(&endpoint.event)["body"].as_str().unwrap_or("{}")).unwrap();
        for (place, text) in BREAKS.iter().enumerate() {
            for (inner, body) in with_breaks(&body, text).into_iter().enumerate() {
                let mut sent = event(&endpoint.event);
                sent["body"] = json!(body.to_string());
                sent["requestContext"]["http"]["sourceIp"] = json!(format!("203.0.{place}.{inner}"));
                let reply = store.invoke(endpoint.function, &sent).await;
                assert_not_injected(&format!("{}: {body}", endpoint.route), &reply);
                let new: Vec<String> =
                    header_names(&reply).into_iter().filter(|name| !names_without_body.contains(name)).collect();
                assert!(new.iter().all(|name| name.starts_with("ratelimit-") || name == "retry-after"), "{new:?}");
            }
        }
    }
}

#[tokio::test]
async fn no_part_of_a_query_a_path_or_a_header_reaches_a_header() {
    let store = TestStore::open().await;
    for endpoint in endpoints() {
        let sample = event(&endpoint.event);
        for (place, text) in BREAKS.iter().enumerate() {
            let address = format!("203.0.113.{place}");
            let mut changed = vec![sample.clone(); 6];
            let names = ["code", "state", "error", "redirect_uri", "next"];
            set_query(&mut changed[0], names.map(|name| (name, (*text).to_owned())));
            changed[1]["cookies"] = json!([format!("chat_login={text}"), format!("token={text}")]);
            changed[2]["requestContext"]["requestId"] = json!(text);
            if sample["pathParameters"].is_object() {
                let name = sample["pathParameters"].as_object().unwrap().keys().next().unwrap().clone();
                changed[3]["pathParameters"][name] = json!(text);
            }
            changed[4]["requestContext"]["http"]["userAgent"] = json!(text);
            changed[5]["requestContext"]["domainName"] = json!(text);
            for mut event in changed {
                event["requestContext"]["http"]["sourceIp"] = json!(address);
                let reply = store.invoke(endpoint.function, &event).await;
                assert!(reply.status.as_u16() < 500, "{}: {}", endpoint.route, reply.text);
                assert_not_injected(endpoint.route, &reply);
            }
        }
    }
}

#[track_caller]
fn assert_not_injected(what: &str, reply: &tests::Reply) {
    let (_, headers, _) = seen(reply);
    for (name, value) in headers {
        assert!(!name.contains("injected") && !value.contains("injected"), "{what}: {name}: {value}");
        assert!(!value.contains(['\r', '\n', '\0']), "{what}: {name}: {value:?}");
    }
}

#[tokio::test]
async fn a_login_sets_one_cookie_whatever_the_browser_sends() {
    let store = TestStore::open().await;
    for text in BREAKS {
        let mut sent = event("auth/chat");
        set_query(&mut sent, ["redirect_uri", "state"].map(|name| (name, text.to_owned())));
        sent["cookies"] = json!([format!("chat_login={text}")]);
        let reply = store.invoke("auth", &sent).await;
        assert_eq!(reply.headers.get_all("set-cookie").iter().count(), 1);
        let cookie = reply.header("set-cookie");
        assert!(cookie.starts_with("chat_login=") && !cookie.contains("injected"), "{cookie}");
    }
}
