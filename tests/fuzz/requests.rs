//! Parts of a request: the caller's address, the path and the body.

use crate::{Outcome, PARSER, mutate, tries};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use ipnet::IpNet;
use lambda_http::{Body, Request, RequestExt as _};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use shared::endpoint::Declaration;
use shared::http::address::{Proxies, counted_as};
use shared::http::body::{self, BodyFault, Flag, Written, text};
use shared::http::route;
use shared::model::{CategoryPath, CodeText, ItemId, PlayerName, ServerId};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use template::{Route, match_route};
use tests::{endpoints, template};

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
