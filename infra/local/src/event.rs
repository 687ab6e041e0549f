//! An HTTP request as the API Gateway v2 event that AWS would send for it.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::HeaderMap;
use jiff::Timestamp;
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

#[derive(Debug, Clone)]
pub struct Incoming<'a> {
    /// `GET`, `POST`, …
    pub method: &'a str,
    /// The path, percent-decoded.
    pub path: &'a str,
    /// The query string, as sent.
    pub query: &'a str,
    pub headers: &'a HeaderMap,
    pub body: &'a [u8],
    pub source_ip: &'a str,
    pub request_id: &'a str,
    pub at: Timestamp,
}

/// Decodes percent-encoding once, as API Gateway does before it matches routes; `None` if the result is not UTF-8.
pub fn decode_path(path: &str) -> Option<String> {
    percent_decode_str(path).decode_utf8().ok().map(std::borrow::Cow::into_owned)
}

/// The event for a request that matched the route `route_key`.
pub fn build(incoming: &Incoming<'_>, route_key: &str, parameters: &BTreeMap<String, String>) -> Value {
    let header = |name: &str| {
        incoming.headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes())).unwrap_or_default()
    };
    let host = header("host");
    let (body, is_base64) = encode_body(incoming.body, &header("content-type"));
    let mut event = json!({
        "version": "2.0",
        "routeKey": route_key,
        "rawPath": incoming.path,
        "rawQueryString": incoming.query,
        "headers": headers(incoming.headers),
        "requestContext": {
            "accountId": "000000000000",
            "apiId": "local",
            "domainName": host,
            "domainPrefix": host.split(['.', ':']).next().unwrap_or_default(),
            "http": {
                "method": incoming.method,
                "path": incoming.path,
                "protocol": "HTTP/1.1",
                "sourceIp": incoming.source_ip,
                "userAgent": header("user-agent"),
            },
            "requestId": incoming.request_id,
            "routeKey": route_key,
            "stage": "$default",
            "time": incoming.at.strftime("%d/%b/%Y:%H:%M:%S +0000").to_string(),
            "timeEpoch": incoming.at.as_millisecond(),
        },
        "isBase64Encoded": is_base64,
    });
    if let Value::Object(fields) = &mut event {
        let header = header("cookie");
        let cookies: Vec<&str> = header.split("; ").filter(|cookie| !cookie.is_empty()).collect();
        if !cookies.is_empty() {
            fields.insert("cookies".to_owned(), json!(cookies));
        }
        if !incoming.query.is_empty() {
            fields.insert("queryStringParameters".to_owned(), query(incoming.query));
        }
        if !parameters.is_empty() {
            fields.insert("pathParameters".to_owned(), json!(parameters));
        }
        if let Some(body) = body {
            fields.insert("body".to_owned(), Value::String(body));
        }
    }
    event
}

/// Header names in lower case; values of the same name are joined by commas; cookies are listed separately.
fn headers(headers: &HeaderMap) -> Value {
    let mut joined: BTreeMap<&str, String> = BTreeMap::new();
    for (name, value) in headers.iter().filter(|(name, _)| *name != "cookie") {
        let value = String::from_utf8_lossy(value.as_bytes());
        joined
            .entry(name.as_str())
            .and_modify(|values| {
                values.push(',');
                values.push_str(&value);
            })
            .or_insert_with(|| value.into_owned());
    }
    json!(joined)
}

fn query(query: &str) -> Value {
    let mut joined: Map<String, Value> = Map::new();
    for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
        let values = match joined.get(name.as_ref()) {
            Some(Value::String(earlier)) => format!("{earlier},{value}"),
            _ => value.into_owned(),
        };
        joined.insert(name.into_owned(), Value::String(values));
    }
    Value::Object(joined)
}

/// Text is passed unchanged, everything else in base64.
fn encode_body(body: &[u8], content_type: &str) -> (Option<String>, bool) {
    if body.is_empty() {
        return (None, false);
    }
    let media_type = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_text = media_type.starts_with("text/")
        || ["application/json", "application/javascript", "application/xml"].contains(&media_type.as_str())
        || media_type.ends_with("+json")
        || media_type.ends_with("+xml");
    match std::str::from_utf8(body) {
        Ok(text) if is_text => (Some(text.to_owned()), false),
        _ => (Some(BASE64_STANDARD.encode(body)), true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn event(headers: &HeaderMap, body: &[u8]) -> Value {
        let incoming = Incoming {
            method: "POST",
            path: "/cart/get",
            query: "a=1&a=2&b=%20",
            headers,
            body,
            source_ip: "127.0.0.1",
            request_id: "r",
            at: Timestamp::UNIX_EPOCH,
        };
        build(&incoming, "POST /cart/get", &BTreeMap::new())
    }

    #[test]
    fn values_of_one_name_are_joined_and_cookies_stand_apart() {
        let mut headers = HeaderMap::new();
        headers.append("x-a", HeaderValue::from_static("1"));
        headers.append("x-a", HeaderValue::from_static("2"));
        headers.append("cookie", HeaderValue::from_static("c=1; d=2"));
        let event = event(&headers, b"");
        assert_eq!(event["headers"], json!({"x-a": "1,2"}));
        assert_eq!(event["cookies"], json!(["c=1", "d=2"]));
        assert_eq!(event["queryStringParameters"], json!({"a": "1,2", "b": " "}));
        assert_eq!(event.get("body"), None);
        assert_eq!(event["requestContext"]["time"], "01/Jan/1970:00:00:00 +0000");
    }

    #[test]
    fn only_text_is_passed_as_text() {
        let mut headers = HeaderMap::new();
        headers.insert("content-type", HeaderValue::from_static("application/json; charset=utf-8"));
        assert_eq!(event(&headers, b"{}")["body"], "{}");
        assert_eq!(event(&headers, b"\xff")["isBase64Encoded"], true);
        assert_eq!(event(&HeaderMap::new(), b"{}")["body"], "e30=");
    }

    #[test]
    fn a_path_is_decoded_once() {
        assert_eq!(decode_path("/a%2Fb%2520c").as_deref(), Some("/a/b%20c"));
        assert_eq!(decode_path("/%ff"), None);
    }
}
