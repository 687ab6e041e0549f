//! The statements of infra/docs/migration.md, compared with a server.

use super::process::{HttpReply, Server};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// An order of the sample store that is Thornwick's, one without an owner, and one that is not paid yet.
const OWNED: &str = "knqgzewntc6hqf7g";
const GUESTS: &str = "u2qlyq2uxxth4o4j";
const PENDING: &str = "e7w5l7mm4dsapjtd";

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs")
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn header<'a>(reply: &'a HttpReply, name: &str) -> &'a str {
    reply.headers.get(name).map_or("", |value| value.to_str().unwrap())
}

/// The anchors of a page's headings, as GitHub makes them.
fn anchors(page: &str) -> BTreeSet<String> {
    let headings = page.lines().filter(|line| line.starts_with('#'));
    let anchor = |heading: &str| {
        let kept = heading.trim_start_matches('#').trim().to_lowercase();
        kept.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c)).collect::<String>().replace(' ', "-")
    };
    headings.map(anchor).collect()
}

#[test]
fn every_link_of_the_migration_page_leads_somewhere() {
    let page = text(&docs().join("migration.md"));
    let links: Vec<&str> = page.split("](").skip(1).filter_map(|rest| rest.split(')').next()).collect();
    assert!(links.len() > 10, "{links:?}");
    for link in links {
        let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
        let path = docs().join(file);
        assert!(path.is_file(), "{link}");
        assert!(anchor.is_empty() || anchors(&text(&path)).contains(anchor), "{link}");
    }
    for page in ["api.md", "../../README.md"] {
        assert!(text(&docs().join(page)).contains("migration.md"), "{page} does not link to it");
    }
}

#[test]
fn the_migration_page_names_calls_that_exist_and_all_that_are_added() {
    let page = text(&docs().join("migration.md"));
    let document: Value = serde_json::from_str(&text(&docs().join("../openapi.json"))).unwrap();
    let mut added = BTreeSet::new();
    let mut known = BTreeSet::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let name = format!("{} {path}", method.to_uppercase());
            if operation["x-beyond-contract"] == true {
                added.insert(name.clone());
            }
            known.insert(name);
        }
    }
    let words: Vec<&str> = page.split_whitespace().collect();
    let calls = words.windows(2).filter(|pair| matches!(pair[0], "GET" | "POST") && pair[1].starts_with('/'));
    let named: BTreeSet<String> = calls
        .map(|pair| format!("{} {}", pair[0], pair[1].trim_end_matches(|c: char| !c.is_alphanumeric() && c != '}')))
        .collect();
    assert_eq!(named.difference(&known).collect::<Vec<_>>(), Vec::<&String>::new(), "there are no such calls");
    assert_eq!(added.difference(&named).collect::<Vec<_>>(), Vec::<&String>::new(), "the page leaves these out");
}

#[test]
fn the_statuses_of_the_migration_page_are_those_of_the_server() {
    let server = Server::start(&[]);
    let post = |path: &str, user: Option<&str>, body: Value| {
        let reply = server.post(path, user, &body);
        (reply.status, reply.json())
    };
    let status = |path: &str, user: Option<&str>, body: Value| {
        let (status, body) = post(path, user, body);
        (status, body["status"].clone())
    };
    let refused = |path: &str, body: Value| {
        let (status, body) = post(path, Some("Pebble"), body);
        (status, body["success"].clone())
    };
    assert_eq!(refused("/cart/acceptCoupon", json!({"coupon": "no-such-code"})), (200, json!(false)));
    assert_eq!(refused("/cart/acceptCoupon", json!({"coupon": "x".repeat(41)})), (400, json!(false)));
    assert_eq!(refused("/cart/setReferral", json!({"ref_code": "no-such-code"})), (200, json!(false)));
    assert_eq!(refused("/pages/get", json!({"url": "nowhere"})), (200, json!(false)));
    let missing = post("/pages/get", Some("Pebble"), json!({}));
    assert_eq!(missing, (400, json!({"message": "The url field is required."})));
    let check = "/payments/checkStatus";
    assert_eq!(status(check, Some("Pebble"), json!({"order_id": OWNED})), (200, json!("forbidden")));
    assert_eq!(status(check, None, json!({"order_id": "nowhere"})), (200, json!("not_found")));
    assert_eq!(status(check, None, json!({"order_id": OWNED})), (401, json!("error")));
    assert_eq!(status(check, None, json!({"order_id": GUESTS})), (200, json!("success")));
    for path in ["/cart/getSelectServers", "/cart/get", "/user"] {
        assert_eq!(status(path, None, json!({})), (401, json!(false)), "{path}");
    }
    // The sample store has guest mode on: only a token that is rejected is refused.
    for path in ["/pages/get", "/categories/get/ranks"] {
        let url = format!("{}{path}", server.said("/base_url"));
        let body = br#"{"url":"rules"}"#;
        assert_eq!(server.send(&url, &[("authorization", "Bearer expired")], body).status, 401, "{path}");
        assert_eq!(server.send(&url, &[], body).status, 200, "{path}");
    }
    assert_eq!(post("/categories/get/nowhere", Some("Pebble"), json!({})).0, 404);
    assert_eq!(post("/user", Some("Pebble"), json!("x".repeat(16 * 1024))).0, 413);
    assert_eq!(server.get("/nowhere").status, 404);
    for authorization in ["", "Bearer", "Bearer undefined", "Bearer null", "Bearer expired"] {
        let url = format!("{}/items/getFeaturedDeals", server.said("/base_url"));
        assert_eq!(server.send(&url, &[("authorization", authorization)], b"").status, 200, "{authorization:?}");
    }
}

#[test]
fn the_values_of_the_migration_page_are_those_of_the_server() {
    let server = Server::start(&[]);
    let post = |path: &str, user: &str, body: Value| server.post(path, Some(user), &body).json();
    // The look-up works, and the order is not paid.
    let pending = post("/payments/checkStatus", "Thornwick", json!({"order_id": PENDING}));
    assert_eq!((&pending["status"], &pending["order_data"]["status"]), (&json!("success"), &json!("PENDING")));
    let waiting = json!({"order_id": PENDING, "checkout_id": "none"});
    assert_eq!(post("/payments/checkStatus", "Thornwick", waiting)["status"], "pending");
    let settings = server.get("/settings/get").json();
    let dollar = settings["currencies"].as_array().unwrap().iter().find(|currency| currency["name"] == "USD").unwrap();
    assert_eq!(dollar["value"], 1);
    assert_eq!((&settings["chat_sync"], &settings["is_patrons_enabled"]), (&json!(1), &json!(1)));
    let ranks = post("/categories/get/ranks/player", "Thornwick", json!({}));
    let warden = ranks["items"].as_array().unwrap().iter().find(|item| item["name"] == "Warden").unwrap();
    assert_eq!(warden["quantityGlobalLimit"], Value::Null, "no limit is null");
    let number = |value: &Value| value.as_f64().unwrap();
    let (price, discount) = (number(&warden["price"]), number(&warden["discount"]));
    assert!((price + discount - number(&warden["original_price"])).abs() < 1e-9, "{warden}");
    let cart = &post("/cart/get", "Thornwick", json!({}))["cart"];
    let codes = number(&cart["coupon_sum"]) + number(&cart["gift_sum"]);
    assert!((number(&cart["clear_price"]) - codes - number(&cart["price"])).abs() < 1e-9, "{cart}");
    assert_eq!((&cart["coupon_type"], &cart["referral"]), (&json!("percentage"), &json!("Quillfeather")));
    let empty = &post("/cart/get", "Pebble", json!({}))["cart"];
    for (field, value) in
        [("gift_id", json!(null)), ("referral", json!(null)), ("coupon_code", json!("")), ("price", json!(0))]
    {
        assert_eq!(empty[field], value, "{field}");
    }
    assert_eq!(post("/user", "Pebble", json!({}))["virtual_currency"], 0);
    let patrons = server.get("/patrons/get").json();
    assert!(patrons["patrons"]["50"].is_array(), "{patrons}");
}

#[test]
fn codes_and_headers_are_as_the_migration_page_says() {
    let server = Server::start(&[]);
    let accept = |code: &str| server.post("/cart/acceptCoupon", Some("Thornwick"), &json!({"coupon": code})).json();
    let fields = |body: &Value| super::keys(body).join(" ");
    let gift = accept(" Warm-4cfy-6tgs ");
    assert_eq!(fields(&gift), "amount message percent success sum type");
    let replaces = |body: &Value| body["message"].as_str().unwrap().contains("replaces");
    assert!(!replaces(&gift), "a coupon stays beside a gift card: {gift}");
    for second in ["GLOW-7QXM-2K4D", "eighth"] {
        let accepted = accept(second);
        assert!(accepted["success"] == true && replaces(&accepted), "{second}: {accepted}");
    }
    assert_eq!(fields(&accept("no-such-code")), "message success");
    let referral = |code: &str| server.post("/cart/setReferral", Some("Thornwick"), &json!({"ref_code": code})).json();
    assert_eq!(referral("thornwick")["success"], false, "the caller's own");
    assert_eq!(referral("toadmail")["success"], false, "another one is set");
    for path in ["/categories/get", "/staff", "/settings/get", "/patrons/get"] {
        let reply = server.get(path);
        assert!(!header(&reply, "etag").is_empty() && header(&reply, "cache-control").contains("max-age=30"), "{path}");
    }
    let login = server.post("/auth/username", None, &json!({"username": "Bramble"}));
    let token = login.json().as_str().unwrap().to_owned();
    assert_eq!((header(&login, "cache-control"), header(&login, "ratelimit-limit")), ("no-store", "20"));
    let url = |path: &str| format!("{}{path}", server.said("/base_url"));
    let bearer = format!("Bearer {token}");
    let call =
        |path: &str, body: Value| server.send(&url(path), &[("authorization", &bearer)], body.to_string().as_bytes());
    // A login by name cannot spend virtual currency.
    assert_eq!(call("/cart/add/511", json!({})).status, 200);
    let agreed = json!({"paymentMethod": "Stripe", "termsAndConditions": true, "privacyPolicy": true});
    let refusal = call("/payments/create", agreed);
    assert_eq!((refusal.status, &refusal.json()["success"]), (200, &json!(false)), "{}", refusal.text);
    for _ in 0..18 {
        server.post("/payments/checkStatus", None, &json!({"order_id": GUESTS}));
    }
    let limited = server.post("/payments/checkStatus", None, &json!({"order_id": GUESTS}));
    assert_eq!((limited.status, &limited.json()["status"]), (429, &json!("error")));
    assert!(!header(&limited, "retry-after").is_empty());
}
