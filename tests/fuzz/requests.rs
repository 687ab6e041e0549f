//! Parts of a request: the caller's address, the path and the body. And what is signed, access tokens, chat states and
//! Stripe's webhook events: what is accepted was signed with one of the keys.

use crate::{Outcome, PARSER, mutate, tries};
use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE, BASE64_URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use ipnet::IpNet;
use lambda_http::{Body, Request, RequestExt as _};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use sha2::{Sha256, Sha512};
use shared::endpoint::Declaration;
use shared::http::address::{Proxies, counted_as};
use shared::http::bearer::Bearer;
use shared::http::body::{self, BodyFault, Flag, Written, text};
use shared::http::route;
use shared::model::{CategoryPath, CodeText, ItemId, PlayerName, ServerId};
use shared::token::{LONGEST_TOKEN, TokenKeys};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use stripe::webhook::{TOLERANCE, verify};
use stripe::{Event, ObjectId, WebhookSecret};
use template::{Route, match_route};
use tests::{NOW, endpoints, repository, template};

const ADDRESSES: &str = "198.51.100.7 203.0.113.9:443 10.0.0.1 10.255.0.2 2001:db8:1:2::1 [2001:db8:1:2::2]:443 \
    ::ffff:198.51.100.7 ::ffff:10.0.0.1 fe80::1%eth0 fd00::1 127.0.0.1 unknown ";

/// `X-Forwarded-For` is believed only behind a trusted proxy, and no caller is counted under two names.
#[test]
fn forwarded_for() {
    let address = || {
        let known = select(ADDRESSES.split(' ').collect::<Vec<_>>());
        (known, mutate::rarely()).prop_map(|(address, edits)| mutate::text(address, &edits))
    };
    let header = (vec(address(), 0..5), select(vec![", ", ","])).prop_map(|(entries, comma)| entries.join(comma));
    let trusted: Vec<IpNet> = ["10.0.0.0/8", "fd00::/8"].map(|network| network.parse().unwrap()).to_vec();
    let (none, some) = (Proxies::default(), Proxies { trusted: trusted.clone(), edge: None });
    tries("forwarded-for", 2 * PARSER, (address(), vec(header, 0..3)), |(source, values)| {
        let values = values.iter().filter_map(|value| HeaderValue::from_str(value).ok());
        let headers: HeaderMap = values.map(|value| (HeaderName::from_static("x-forwarded-for"), value)).collect();
        let direct = counted_as(&source, &HeaderMap::new(), &none);
        prop_assert_eq!(&direct, &counted_as(&source, &headers, &none), "without a trusted proxy");
        let behind = counted_as(&source, &headers, &some);
        for counted in [&direct, &behind] {
            prop_assert!(is_canonical(counted), "counted for {counted:?}");
            let again = counted_as(counted.trim_end_matches("/64"), &HeaderMap::new(), &none);
            prop_assert_eq!(&again, counted);
        }
        let proxy = direct.trim_end_matches("/64").parse::<IpAddr>();
        let is_proxy = proxy.is_ok_and(|address| trusted.iter().any(|network| network.contains(&address)));
        prop_assert!(behind == direct || is_proxy, "{direct} is not a proxy, and counts for {behind}");
        Ok(behind != direct)
    });
}

/// Whether a text is one that counters are named by: no two for the same caller.
fn is_canonical(text: &str) -> bool {
    match text.strip_suffix("/64") {
        Some(network) => network.parse().is_ok_and(|address: Ipv6Addr| {
            address.segments()[4..] == [0; 4] && address.to_ipv4_mapped().is_none() && address.to_string() == network
        }),
        None => text == "unknown" || text.parse().is_ok_and(|address: Ipv4Addr| address.to_string() == text),
    }
}

/// The functions and the gateway find the same route, and the same parameter.
#[test]
fn paths() {
    let gateway = template().routes().unwrap();
    let (mut declared, mut examples) = (Vec::<&'static Declaration>::new(), Vec::<(Method, String)>::new());
    // The gateway has one route for all calls of game servers, and the function's own router is below it.
    for endpoint in endpoints().into_iter().filter(|endpoint| !endpoint.route.contains(" /plugin/")) {
        let (method, path) = endpoint.route.split_once(' ').unwrap();
        let path = path.replace("{url+}", "ranks/vip").replace("{id}", "202").replace("{cid}", "1");
        examples.push((method.parse::<Method>().unwrap(), path));
        if !declared.iter().any(|known| known.name == endpoint.declaration.name) {
            declared.push(endpoint.declaration);
        }
    }
    let inputs = (select(examples), mutate::edits(), 0..10_u8).prop_map(|((method, path), edits, way)| {
        (if way == 9 { Method::from_bytes(b"BREW").unwrap() } else { method }, mutate::text(&path, &edits))
    });
    tries("path", PARSER, inputs, |(method, path)| same_route(&gateway, &declared, &method, &path));
}

fn same_route(gateway: &[Route], declared: &[&'static Declaration], method: &Method, path: &str) -> Outcome {
    let mut request = Request::new(Body::Empty).with_raw_http_path(path);
    *request.method_mut() = method.clone();
    let by_function = route::find(&request, declared, |declared| declared.routes);
    let by_gateway = match_route(gateway, method.as_str(), path);
    prop_assert_eq!(by_function.is_some(), by_gateway.is_some(), "only one finds a route");
    let Some(((route, parameters), declared)) = by_gateway.zip(by_function) else { return Ok(false) };
    prop_assert!(declared.routes.contains(&route.key().as_str()), "{} and {}", declared.name, route.key());
    if let (Some(sent), Some(read)) = (parameters.values().next(), &route::parameter(&request, declared.routes)) {
        prop_assert!(sent.contains('%') || sent == read, "{sent:?} is read as {read:?}");
        _ = (CategoryPath::parse(read), read.parse::<ItemId>());
    }
    Ok(true)
}

/// A body with every kind of field that an endpoint reads.
#[derive(Debug, Deserialize)]
struct Fields {
    #[serde(deserialize_with = "text::<255, _, _>")]
    url: String,
    #[serde(deserialize_with = "body::code::<40, _>")]
    coupon: CodeText,
    count: Option<u32>,
    price: Option<Written>,
    promoted: Option<Flag>,
    server_id: Option<ServerId>,
    gift_to: Option<PlayerName>,
    #[serde(default)]
    variables: BTreeMap<String, Written>,
    names: Option<Vec<String>>,
}

/// A body is read as any JSON reader reads it.
#[test]
fn bodies() {
    let seed = json!({
        "url": "/rules", "coupon": "Hearth10", "count": 2, "price": "4.50", "promoted": 1, "server_id": 3,
        "gift_to": "Pebble", "variables": { "7": "red", "8": 1.5 }, "names": ["a", "b"], "unknown": { "deep": [1, {}] },
    });
    let inputs = (mutate::json_text(Just(seed)), mutate::rarely());
    tries("body", PARSER, inputs, |(text, edits)| {
        let sent = mutate::bytes(text.as_bytes(), &edits);
        let any = serde_json::from_slice::<Value>(&sent).ok();
        match (body::object::<Fields>(&Request::new(Body::Binary(sent))), any) {
            (Ok(fields), Some(any)) => read(&fields, &any),
            // A value that no field reads may be one that serde_json cannot represent.
            (Ok(_), None) => Ok(true),
            (Err(fault), any) => refused(&fault, any.as_ref()),
        }
    });
}

fn read(fields: &Fields, any: &Value) -> Outcome {
    // serde_json reads -0 as a fraction.
    let whole = |name: &str| any[name].as_u64().or_else(|| (any[name] == json!(-0.0)).then_some(0));
    prop_assert_eq!(&any["url"], &fields.url);
    prop_assert_eq!(whole("count"), fields.count.map(u64::from));
    prop_assert_eq!(whole("server_id"), fields.server_id.map(ServerId::get));
    prop_assert_eq!(any["coupon"].as_str().unwrap_or_default().trim().to_lowercase(), fields.coupon.as_str());
    let names = any["names"].as_array().map(|names| names.iter().map(Value::as_str).collect::<Vec<_>>());
    prop_assert_eq!(names, fields.names.as_ref().map(|names| names.iter().map(|name| Some(name.as_str())).collect()));
    let is_flag = |flag: &Flag| any["promoted"] == flag.0 || any["promoted"] == u8::from(flag.0);
    prop_assert!(fields.promoted.as_ref().is_none_or(is_flag), "promoted is read as {:?}", fields.promoted);
    if let (Some(text), Some(read)) = (any["price"].as_str(), &fields.price) {
        prop_assert_eq!(text, &read.0);
    }
    let recipient = any["gift_to"].as_str().map(|name| name.replace(' ', "_"));
    prop_assert_eq!(recipient.as_deref(), fields.gift_to.as_ref().map(PlayerName::as_str));
    prop_assert_eq!(any["variables"].as_object().map_or(0, Map::len), fields.variables.len());
    Ok(true)
}

/// A fault is one of the documented sentences, and repeats no value that was sent.
fn refused(fault: &BodyFault, any: Option<&Value>) -> Outcome {
    let text = fault.to_string();
    prop_assert!(text.starts_with("The ") && text.ends_with('.'), "not a sentence: {text:?}");
    match fault {
        BodyFault::NotAnObject => prop_assert!(any.is_none_or(|any| !any.is_object()), "it is an object"),
        BodyFault::Field { field, .. } => prop_assert!(!field.is_empty(), "no field is named: {text}"),
        BodyFault::NotJson | BodyFault::TooLarge { .. } => {}
    }
    Ok(false)
}

/// HMAC-SHA256.
pub fn hmac(secret: &[u8], text: &[u8]) -> Vec<u8> {
    Hmac::<Sha256>::new_from_slice(secret).unwrap().chain_update(text).finalize().into_bytes().to_vec()
}

fn hmac_sha512(secret: &[u8], text: &[u8]) -> Vec<u8> {
    Hmac::<Sha512>::new_from_slice(secret).unwrap().chain_update(text).finalize().into_bytes().to_vec()
}

/// A part of a token in base64, mostly as the standard wants it.
fn encoded(way: u8, part: &[u8]) -> String {
    match way {
        11 => BASE64_STANDARD.encode(part),
        10 => BASE64_URL_SAFE.encode(part),
        _ => BASE64_URL_SAFE_NO_PAD.encode(part),
    }
}

fn tokens(secrets: &Map<String, Value>) -> impl Strategy<Value = String> + use<> {
    let kid = secrets.keys().next().unwrap().clone();
    let ours: Vec<Vec<u8>> = secrets.values().map(|secret| secret.as_str().unwrap().as_bytes().to_vec()).collect();
    let derived = hmac(&ours[0], b"chat-state");
    let others = [Vec::new(), b"0123456789abcdef0123456789abcdef".to_vec(), kid.clone().into_bytes()].to_vec();
    let secret = prop_oneof![4 => select(ours), 1 => Just(derived), 2 => select(others)];
    let header = json!({ "alg": "HS256", "typ": "JWT", "kid": kid });
    let claims = json!({ "sub": "1", "iat": NOW, "exp": NOW + 3_600, "iss": "storefront", "via": "name" });
    let state = json!({ "nonce": "00ff", "iat": NOW, "exp": NOW + 600, "iss": "storefront/chat-state" });
    let claims = || prop_oneof![3 => Just(claims.clone()), 1 => Just(state.clone())];
    let whole = claims().prop_map({
        let header = header.to_string();
        move |claims| (header.clone(), claims.to_string())
    });
    let parts = prop_oneof![1 => whole, 2 => (mutate::json_text(Just(header)), mutate::json_text(claims()))];
    let ways = (0..12_u8, 0..12_u8, 0..10_u8);
    (parts, secret, ways, mutate::rarely()).prop_map(|((header, claims), secret, (first, second, code), edits)| {
        let text = format!("{}.{}", encoded(first, header.as_bytes()), encoded(second, claims.as_bytes()));
        let sign = if code == 9 { hmac_sha512 } else { hmac };
        mutate::text(&format!("{text}.{}", encoded(0, &sign(&secret, text.as_bytes()))), &edits)
    })
}

#[test]
fn access_tokens() {
    let text = std::fs::read_to_string(repository().join("events/token-keys.json")).unwrap();
    let keys = TokenKeys::parse(&text).unwrap();
    let secrets: Map<String, Value> = serde_json::from_str(&text).unwrap();
    tries("token", PARSER, tokens(&secrets), |token| verified(&keys, &secrets, &token));
}

fn verified(keys: &TokenKeys, secrets: &Map<String, Value>, token: &str) -> Outcome {
    let (claim, state) = (keys.verify(token, NOW), keys.verify_state(token, NOW));
    prop_assert!(claim.is_err() || state.is_err(), "both a token and a state");
    // The header says the same as the token in it.
    if let Ok(value) = HeaderValue::from_str(&format!("Bearer {token}")) {
        let headers = HeaderMap::from_iter([(header::AUTHORIZATION, value)]);
        prop_assert_eq!(Bearer::of(&headers, keys, NOW).claim(), keys.verify(token.trim(), NOW).ok());
    }
    if claim.is_err() && state.is_err() {
        return Ok(false);
    }
    let decoded: Vec<Vec<u8>> = token.split('.').flat_map(|part| BASE64_URL_SAFE_NO_PAD.decode(part)).collect();
    let [header, claims, signature] = decoded.as_slice() else {
        return Err(TestCaseError::fail("not three parts in base64"));
    };
    let [header, claims] = [header, claims].map(|part| serde_json::from_slice::<Value>(part).unwrap_or_default());
    prop_assert!(token.split('.').count() == 3 && token.len() <= LONGEST_TOKEN, "more than {LONGEST_TOKEN} bytes");
    prop_assert_eq!(&header["alg"], "HS256");
    prop_assert!(claims["exp"].as_i64().is_some_and(|exp| exp >= NOW - 60), "accepted: {claims}");
    prop_assert_eq!(&claims["iss"], if claim.is_ok() { "storefront" } else { "storefront/chat-state" });
    let (text, _) = token.rsplit_once('.').unwrap();
    let is_ours = secrets.values().any(|secret| {
        let secret = secret.as_str().unwrap().as_bytes();
        let secret = if claim.is_ok() { secret.to_vec() } else { hmac(secret, b"chat-state") };
        hmac(&secret, text.as_bytes()) == *signature
    });
    prop_assert!(is_ours, "accepted, and not signed by one of our keys");
    if let Ok(claim) = claim {
        prop_assert_eq!(&claims["sub"], &claim.user.to_string());
        prop_assert_eq!(claims["iat"].as_i64(), Some(claim.issued_at));
    }
    Ok(true)
}

const SECRETS: [&str; 2] = ["whsec_new", "whsec_old"];

/// A webhook event is accepted over these bytes and at this time only.
#[test]
fn webhooks() {
    let secrets = SECRETS.map(|secret| WebhookSecret::parse(secret).unwrap());
    let event = json!({
        "id": "evt_1", "object": "event", "type": "checkout.session.completed", "created": NOW, "livemode": false,
        "data": { "object": { "id": "cs_test_1", "payment_intent": "pi_1", "charge": "ch_1" } },
    });
    let away = select(vec![0, 0, 0, 299, -300, 301, -301, 86_400]);
    let secret = select(vec!["whsec_new", "whsec_old", "whsec_foreign", ""]);
    let changes = (mutate::rarely(), mutate::rarely());
    let inputs = (mutate::json_text(Just(event)), away, secret, 0..4_u8, changes);
    let inputs = inputs.prop_map(|(body, away, secret, way, (in_header, in_body))| {
        let at = NOW + away;
        let v1 = hex::encode(hmac(secret.as_bytes(), format!("{at}.{body}").as_bytes()));
        let header = match way {
            3 => format!("t={at},v1={v1},v0=legacy"),
            2 => format!("v1={},v1={v1}, t={at}", "00".repeat(32)),
            _ => format!("t={at},v1={v1}"),
        };
        (mutate::text(&header, &in_header), mutate::bytes(body.as_bytes(), &in_body))
    });
    tries("webhook", PARSER, inputs, |(header, body)| {
        let is_valid = verify(Some(&header), &body, &secrets, NOW).is_ok();
        if is_valid {
            signed(&header, &body)?;
        }
        if let Ok(event) = serde_json::from_slice::<Event>(&body) {
            let ids = [Some(&event.id), event.object.as_ref(), event.payment_intent.as_ref(), event.charge.as_ref()];
            let is_plain = |id: &ObjectId| id.as_str().bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b));
            prop_assert!(ids.into_iter().flatten().all(is_plain), "not safe in a path: {event:?}");
        }
        Ok(is_valid)
    });
}

fn signed(header: &str, body: &[u8]) -> Outcome {
    let values = |name: &str| {
        let parts = header.split(',').filter_map(|part| part.trim().split_once('='));
        parts.filter(|(key, _)| *key == name).map(|(_, value)| value.to_owned()).collect::<Vec<_>>()
    };
    let times = values("t");
    let is_now = times.len() == 1 && times[0].parse::<i64>().is_ok_and(|time| time.abs_diff(NOW) <= TOLERANCE);
    prop_assert!(is_now, "accepted of {times:?}");
    let text = [times[0].as_bytes(), b".", body].concat();
    let expected = SECRETS.map(|secret| hex::encode(hmac(secret.as_bytes(), &text)));
    let is_ours = values("v1").iter().any(|v1| expected.contains(&v1.to_ascii_lowercase()));
    prop_assert!(is_ours, "accepted, and signed by none of our secrets");
    Ok(true)
}
