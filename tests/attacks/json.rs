//! JSON that is small to send and large to read, for every endpoint that reads a body.

use shared::endpoint::InputKind;
use std::time::{Duration, Instant};
use tests::{Endpoint, TestStore, endpoints};

/// The largest body in bytes.
const LARGEST: usize = 16 * 1024;
/// What an unoptimised build may take for one of these bodies on a busy machine. A reader that is quadratic takes minutes.
const AT_MOST: Duration = Duration::from_secs(5);

fn readers() -> impl Iterator<Item = Endpoint> {
    endpoints().into_iter().filter(|endpoint| endpoint.declaration.input.has_json_body())
}

/// Bodies of at most 16 KiB.
fn bombs(field: &str) -> Vec<String> {
    let fill = |part: &str| part.repeat((LARGEST - 64) / part.len());
    let nested = |open: &str, close: &str| {
        let depth = (LARGEST - 64) / (open.len() + close.len());
        format!("{{\"{field}\":{}1{}}}", open.repeat(depth), close.repeat(depth))
    };
    vec![
        nested("[", "]"),
        nested("{\"a\":", "}"),
        "[".repeat(LARGEST),
        "{\"a\":".repeat(LARGEST / 5),
        format!("{{\"{field}\":{}}}", "9".repeat(LARGEST - 64)),
        format!("{{\"{field}\":0.{}}}", "0".repeat(LARGEST - 64)),
        format!("{{\"{field}\":1e{}}}", "9".repeat(LARGEST - 64)),
        format!("{{\"{field}\":-{}}}", "1".repeat(LARGEST - 64)),
        format!("{{\"{field}\":\"{}\"}}", "x".repeat(LARGEST - 64)),
        format!("{{\"{field}\":\"{}\"}}", fill("\\u0130")),
        format!("{{\"{field}\":\"{}\"}}", fill("\\ud800")),
        format!("{{\"{field}\":\"{}\"}}", fill("\\\\")),
        format!("{{\"{field}\":[{}1]}}", fill("1,")),
        format!("{{\"{field}\":{{{}\"a\":1}}}}", fill("\"a\":1,")),
        format!("{{{}\"{field}\":1}}", fill(&format!("\"{field}\":1,"))),
        format!(
            "{{{}\"a\":1}}",
            (0..1_500).map(|number| format!("\"k{number}\":0")).collect::<Vec<_>>().join(",") + ","
        ),
        format!("{{\"{field}\":\"a\"{}}}", " ".repeat(LARGEST - 64)),
    ]
}

/// A name of a field that the endpoint reads.
fn field(endpoint: &Endpoint) -> &'static str {
    match endpoint.declaration.name {
        "cart/acceptCoupon" => "coupon",
        "cart/setReferral" => "ref_code",
        "cart/getGift" => "gift",
        "capture-referral" => "ref",
        "pages/get" => "url",
        "payments/checkStatus" => "order_id",
        "auth/username" => "username",
        "cart/add/{id}" => "variables",
        "payments/create" => "details",
        "cart/changePrice/{cid}" => "price",
        "cart/reload/{cid}" => "count",
        "cart/setVariable/{cid}" => "value",
        "cart/setSelectedServer/{cid}" => "server_id",
        other => panic!("{other} is new: name a field of its body here"),
    }
}

#[tokio::test]
async fn a_json_bomb_is_a_client_error_in_little_time_and_writes_nothing() {
    for endpoint in readers() {
        let store = TestStore::open().await;
        for (place, body) in bombs(field(&endpoint)).into_iter().enumerate() {
            assert!(body.len() <= LARGEST, "{place}: {}", body.len());
            let call = endpoint.call().from_ip(&format!("203.0.113.{place}")).bytes(body);
            store.calls.clear();
            let begun = Instant::now();
            let reply = store.send(call).await;
            let what = format!("{}, bomb {place}: {}", endpoint.route, reply.text);
            assert!(begun.elapsed() < AT_MOST, "{what}: {:?}", begun.elapsed());
            assert!(reply.status.as_u16() < 500, "{what}");
            assert!(reply.text.len() < 4_096, "the response is much smaller than the request: {}", reply.text.len());
            if reply.status.as_u16() >= 400 {
                assert!(store.calls.writes() <= endpoint.counting_writes(), "{what}: {:?}", store.calls.operations());
            }
        }
    }
}

#[tokio::test]
async fn a_bomb_in_a_signed_webhook_event_is_refused_by_its_signature() {
    let store = TestStore::open().await;
    for endpoint in endpoints().into_iter().filter(|endpoint| endpoint.declaration.input == InputKind::Signed) {
        for body in bombs("data") {
            store.calls.clear();
            let reply = store.send(endpoint.call().bytes(body)).await;
            assert_eq!(reply.status, 400, "{}", reply.text);
            assert_eq!(store.calls.operations(), Vec::<String>::new(), "{}", endpoint.route);
        }
    }
}
