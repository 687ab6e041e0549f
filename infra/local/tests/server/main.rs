//! The local server from outside: its output, its responses and its exit.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a helper that fails fails its test")]

mod data;
mod game_servers;
mod process;
mod shop;
mod start;

use archive::{Content, Writer};
use process::{Process, Server};
use serde_json::{Value, json};
use shared::model::{PlayerName, User, UserId};
use shared::table::codec::encode_live;
use std::path::Path;
use std::time::{Duration, Instant};

fn keys(object: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = object.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

#[test]
fn the_ready_line_names_everything_and_nothing_else_is_printed() {
    let server = Server::start(&[]);
    assert_eq!(
        keys(&server.ready),
        ["base_url", "chat", "console", "dynamodb_endpoint", "payments", "shop", "table", "tokens", "try"]
    );
    assert_eq!(
        keys(&server.ready["tokens"]),
        ["Burdock", "Grimble", "Mildew", "Pebble", "Quillfeather", "Rushlight", "Tansy", "Thornwick"]
    );
    assert_eq!(keys(&server.ready["try"]), ["coupon", "gift", "orders", "page", "referral", "refused"]);
    let orders = server.ready["try"]["orders"].as_array().unwrap();
    for order in orders {
        assert_eq!(keys(order), ["id", "owner", "status"]);
    }
    let mut states: Vec<&str> = orders.iter().map(|order| order["status"].as_str().unwrap()).collect();
    states.sort_unstable();
    states.dedup();
    assert_eq!(states, ["CANCELLED", "FAILED", "PAID", "PENDING", "REFUNDED"]);
    assert!(orders.iter().any(|order| order["owner"].is_null()));
    assert!(server.said("/base_url").starts_with("http://127.0.0.1:"));
    let end = server.stop();
    assert_eq!((end.status.code(), end.out, end.err), (Some(0), Vec::new(), Vec::new()));
}

#[test]
fn what_a_person_reads_at_the_start_fits_on_a_screen_and_tokens_come_on_request() {
    let read = |arguments: &[&str], last: &str| {
        let process = Process::start(&[&["--port", "0"], arguments].concat());
        let mut lines = Vec::new();
        while !lines.last().is_some_and(|line: &String| line.contains(last)) {
            lines.push(process.line());
        }
        lines
    };
    let lines = read(&[], "Ctrl-C");
    assert!(lines.len() <= 12, "{lines:#?}");
    assert!(lines[0].starts_with("The shop is open at http://127.0.0.1:"), "{lines:#?}");
    assert!(!lines.iter().any(|line| line.contains("eyJ")), "no token: {lines:#?}");
    assert!(lines.iter().any(|line| line.contains("Database")), "{lines:#?}");
    let lines = read(&["--tokens"], "payments/checkStatus");
    for word in ["Thornwick: eyJ", "Quillfeather: eyJ", "Pebble: eyJ", "Grimble (refused: 401): eyJ"] {
        assert!(lines.iter().any(|line| line.trim().starts_with(word)), "{word}: {lines:#?}");
    }
    let calls = lines.iter().filter(|line| line.trim().starts_with("curl ") && line.contains("http://127.0.0.1:"));
    assert_eq!(calls.count(), 2, "{lines:#?}");
}

#[test]
fn every_value_to_try_works() {
    let server = Server::start(&[]);
    let value = |name: &str| server.said(&format!("/try/{name}")).to_owned();
    let page = server.post("/pages/get", Some("Thornwick"), &json!({"url": value("page")})).json();
    assert_eq!(page["success"], true);
    for (name, kind) in [("coupon", "coupon"), ("gift", "gift")] {
        let body = json!({"coupon": value(name)});
        let applied = server.post("/cart/acceptCoupon", Some("Thornwick"), &body).json();
        assert_eq!((&applied["success"], &applied["type"]), (&json!(true), &json!(kind)), "{applied}");
    }
    let refused = server.ready["try"]["refused"].as_array().unwrap();
    let reasons: Vec<&str> = refused.iter().map(|code| code["reason"].as_str().unwrap()).collect();
    assert_eq!(reasons, ["code used up", "code not valid now", "gift card without balance"]);
    for code in refused {
        let reply = server.post("/cart/acceptCoupon", Some("Thornwick"), &json!({"coupon": code["code"]})).json();
        assert_eq!(reply["success"], false, "{code}: {reply}");
    }
    let referral = server.post("/cart/setReferral", Some("Pebble"), &json!({"ref_code": value("referral")})).json();
    assert_eq!(referral["success"], true, "{referral}");
    for user in ["Thornwick", "Quillfeather", "Pebble"] {
        assert_eq!(server.post("/user", Some(user), &json!({})).json()["username"], user);
    }
    assert_eq!(server.post("/user", Some("Grimble"), &json!({})).status, 401, "every token of this user is revoked");
}

/// The event file's code is known to the stand-in from the start, but this server has another token key: a login has to
/// be begun here.
#[test]
fn a_login_begins_at_the_stand_in_and_comes_back_to_this_server() {
    let server = Server::start(&["--base-path", "/api"]);
    assert_eq!(keys(&server.ready["chat"]), ["allowed_origins", "chat_secret", "url"]);
    let (platform, shop) = (server.said("/chat/url"), server.said("/shop"));
    assert!(server.said("/chat/allowed_origins").starts_with(&format!("{shop},")));
    let reply = server.get("/auth/chat");
    let url = reply.json()["url"].as_str().unwrap().to_owned();
    let (endpoint, query) = url.split_once('?').unwrap();
    assert_eq!(endpoint, format!("{platform}/authorize"));
    let cookie = reply.headers["set-cookie"].to_str().unwrap();
    assert!(cookie.contains("; Path=/api/auth/chat/callback;"), "{cookie}");
    let callback = format!("{}/auth/chat/callback", server.said("/base_url"));
    let form = format!("{query}&account=418203377561042101");
    let back = server.send_without_redirects(endpoint, &form);
    let target = back.headers["location"].to_str().unwrap().to_owned();
    assert!(target.starts_with(&format!("{callback}?code=")), "{target}");
    let done = server.get_with(&target, "cookie", cookie.split(';').next().unwrap());
    assert_eq!(done.status, 200, "{}", done.text);
    assert!(done.text.contains(&format!(r#"{{"storefront":"{shop}","message":{{"success":true"#)), "{}", done.text);
    let without = server.get(&target.replace(server.said("/base_url"), ""));
    assert_eq!(without.status, 400, "{}", without.text);
}

/// A browser sends the cookie of a login only to the name that set it.
#[test]
fn a_login_that_began_on_localhost_comes_back_to_localhost() {
    let server = Server::start(&[]);
    let here = server.said("/base_url").replace("127.0.0.1", "localhost");
    let host = here.trim_start_matches("http://").to_owned();
    let reply = server.get_with(&format!("{}/auth/chat", server.said("/base_url")), "host", &host);
    let url = reply.json()["url"].as_str().unwrap().to_owned();
    let cookie = reply.headers["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
    let (endpoint, query) = url.split_once('?').unwrap();
    let back = server.send_without_redirects(endpoint, &format!("{query}&account=418203377561042101"));
    let target = back.headers["location"].to_str().unwrap().to_owned();
    let path = target.strip_prefix(&here).unwrap_or_else(|| panic!("{target}")).to_owned();
    let raw = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\nConnection: close\r\n\r\n");
    let done = server.raw(&raw);
    assert!(done.starts_with("HTTP/1.1 200 ") && done.contains(r#""success":true"#), "{done}");
    let elsewhere = server.get_with(&format!("{}/auth/chat", server.said("/base_url")), "host", "shop.example");
    assert!(elsewhere.json()["url"].as_str().unwrap().contains("redirect_uri=http%3A%2F%2F127.0.0.1"), "no other host");
}

#[test]
fn every_order_can_be_looked_up_by_its_owner() {
    // Behind a proxy, so that every lookup has its own address and none reaches the rate limit.
    let server = Server::start(&["--parameter", "TrustedProxies=127.0.0.0/8"]);
    let url = format!("{}/payments/checkStatus", server.said("/base_url"));
    for (place, order) in server.ready["try"]["orders"].as_array().unwrap().iter().enumerate() {
        let address = format!("203.0.113.{place}");
        let owner = order["owner"].as_str();
        let authorization = owner.map(|owner| format!("Bearer {}", server.token(owner))).unwrap_or_default();
        let headers = [("x-forwarded-for", address.as_str()), ("authorization", authorization.as_str())];
        let reply = server.send(&url, &headers, json!({"order_id": order["id"]}).to_string().as_bytes());
        if owner == Some("Grimble") {
            assert_eq!((reply.status, &reply.json()["status"]), (401, &json!("error")));
            continue;
        }
        let body = reply.json();
        assert_eq!((reply.status, &body["status"]), (200, &json!("success")), "{order}: {body}");
        assert_eq!(body["order_data"]["internal_id"], order["id"]);
        assert_eq!(body["order_data"]["status"], order["status"]);
    }
}

#[test]
fn the_database_listens_at_the_printed_url() {
    let server = Server::start(&[]);
    let credential =
        "AWS4-HMAC-SHA256 Credential=local/20260101/local/dynamodb/aws4_request, SignedHeaders=host, Signature=0";
    let headers = [
        ("x-amz-target", "DynamoDB_20120810.DescribeTable"),
        ("content-type", "application/x-amz-json-1.0"),
        ("authorization", credential),
        ("x-amz-date", "20260101T000000Z"),
    ];
    let body = json!({"TableName": server.said("/table")}).to_string();
    let reply = server.send(server.said("/dynamodb_endpoint"), &headers, body.as_bytes());
    assert_eq!((reply.status, &reply.json()["Table"]["TableName"]), (200, &server.ready["table"]), "{}", reply.text);
}

#[test]
fn every_request_prints_one_line_with_status_and_time_to_standard_error() {
    let server = Server::start(&[]);
    assert_eq!(server.get("/staff").status, 200);
    assert_eq!(server.get("/nowhere?secret=1").status, 404);
    assert_eq!(server.get("/a%0Ab%20c").status, 404);
    assert_eq!(server.post("/user", None, &json!({})).status, 401);
    let expected = ["GET /staff 200", "GET /nowhere 404", "GET /a%0Ab%20c 404", "POST /user 401"];
    for expected in expected {
        let line = server.process.error_line();
        let time = line.strip_prefix(expected).unwrap_or_else(|| panic!("{line}")).trim_start();
        assert!(time.starts_with(|c: char| c.is_ascii_digit()) && time.ends_with(" ms"), "{line}");
    }
    let token = server.token("Thornwick").to_owned();
    let end = server.stop();
    assert_eq!((end.out.len(), end.err.len()), (0, 0), "{:?}", end.err);
    assert!(!token.is_empty());
}

#[test]
fn a_quiet_server_prints_no_line_per_request() {
    let server = Server::start(&["--quiet"]);
    assert_eq!(server.get("/staff").status, 200);
    assert_eq!(server.stop().err, Vec::<String>::new());
}

/// The first section of infra/docs/operations.md up to the server's start: a published store, and users of its own in
/// the table.
#[test]
fn the_tokens_are_those_of_the_users_in_the_table() {
    let parent = tempfile::tempdir().unwrap();
    let (dir, files) = (parent.path().join("data"), parent.path().join("store"));
    let (data, store) = (dir.to_str().unwrap(), files.to_str().unwrap());
    write_store(&files, "Newt", "1.00");
    assert_eq!(Server::start(&["--data", data, "--store", store]).stop().status.code(), Some(0));
    // The sample store's files have other users under the same ids.
    let server = Server::start(&["--data", data]);
    assert_eq!(keys(&server.ready["tokens"]), ["Newt"]);
    assert_eq!(server.post("/user", Some("Newt"), &json!({})).json()["username"], "Newt");
    assert_eq!(server.ready["try"]["orders"], json!([]), "none of the sample's orders is in the table");
    assert_eq!((server.said("/try/coupon"), server.said("/try/referral")), ("", ""));
}

#[test]
fn a_note_says_that_an_edited_store_differs_until_it_is_published_again() {
    let parent = tempfile::tempdir().unwrap();
    let (dir, files) = (parent.path().join("data"), parent.path().join("store"));
    let arguments = ["--data", dir.to_str().unwrap(), "--store", files.to_str().unwrap()];
    let price = |server: &Server| {
        server.post("/categories/get/a", Some("Newt"), &json!({})).json()["items"][0]["price"].clone()
    };
    write_store(&files, "Newt", "1.00");
    let server = Server::start(&[&arguments[..], &["--quiet"]].concat());
    assert_eq!(price(&server), 1);
    assert_eq!(server.stop().err, Vec::<String>::new(), "it does not differ");
    write_store(&files, "Newt", "2.00");
    let server = Server::start(&[&arguments[..], &["--quiet"]].concat());
    let note = server.process.error_line();
    assert!(note.starts_with("note: ") && note.contains("differs") && note.contains("--republish"), "{note}");
    assert_eq!(price(&server), 1);
    server.stop();
    let server = Server::start(&[&arguments[..], &["--quiet", "--republish"]].concat());
    assert_eq!(price(&server), 2);
    assert_eq!(server.stop().err, Vec::<String>::new());
}

fn write_store(dir: &Path, user: &str, price: &str) {
    for (name, text) in [
        ("store.yaml", "format: 1\nname: X\ncurrency: {code: EUR}\n".to_owned()),
        ("categories/a.yaml", format!("id: 1\nslug: a\nname: A\nitems: [{{id: 1, name: P, price: {price}}}]\n")),
    ] {
        let path = dir.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let live = dir.join(publish::LIVE);
    _ = std::fs::remove_file(&live);
    let (id, name) = (UserId::new(1), PlayerName::parse(user).unwrap());
    let account = User::of_player(id, &name, String::new(), "4b5f8c1e-0d7a-4c5e-9a57-3f2b6d1c8e90".to_owned(), 0);
    let mut writer = Writer::create(&live, Content::Demo, "2026-06-15T12:00:00Z").unwrap();
    writer.item(&encode_live(&shared::table::keys::user(id), &account).unwrap()).unwrap();
    writer.finish().unwrap();
}

#[test]
fn the_gateways_own_responses_are_the_same_here() {
    let server = Server::start(&[]);
    let missing = server.get("/cart/get");
    assert_eq!((missing.status, missing.json()), (404, json!({"message": "Not Found"})));
    let host = server.raw("GET /staff HTTP/1.1\r\nHost: [\r\nConnection: close\r\n\r\n");
    assert!(host.starts_with("HTTP/1.1 400 ") && host.ends_with(r#"{"message":"Bad Request"}"#), "{host}");
    let climb = "POST /categories/get/../../pages/get HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    assert!(server.raw(climb).contains("This category does not exist."), "it stays a category");
    assert_eq!(server.get("/staff").status, 200, "it still serves");
}

/// Like a domain whose mapping has a base path.
#[test]
fn every_route_is_below_the_base_path() {
    let server = Server::start(&["--base-path", "/api"]);
    assert!(server.said("/base_url").ends_with("/api"));
    assert_eq!(server.get("/staff").status, 200);
    let category = server.post("/categories/get/ranks", Some("Thornwick"), &json!({}));
    assert_eq!((category.status, &category.json()["category"]["id"]), (200, &json!(1)), "{}", category.text);
    for outside in ["/staff", "/apistaff", "/api", "/other/staff"] {
        let reply = server.raw(&format!("GET {outside} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"));
        assert!(reply.starts_with("HTTP/1.1 404 ") && reply.ends_with(r#"{"message":"Not Found"}"#), "{reply}");
    }
}

#[test]
fn a_body_over_ten_megabytes_gets_the_gateways_response() {
    let server = Server::start(&[]);
    let url = format!("{}/user", server.said("/base_url"));
    let large = server.send(&url, &[], &vec![b'x'; 10 * 1024 * 1024 + 1]);
    assert_eq!((large.status, large.json()), (413, json!({"message": "Request Entity Too Large"})));
    assert_eq!(
        large.headers.get("content-type").map(ureq::http::HeaderValue::as_bytes),
        Some(&b"application/json"[..])
    );
    assert!(large.headers.get("cache-control").is_none());
}

#[test]
fn a_body_that_breaks_off_is_a_bad_request() {
    let server = Server::start(&[]);
    let chunks = "POST /user HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\nzz\r\n";
    let broken = server.raw(chunks);
    assert!(broken.starts_with("HTTP/1.1 400 ") && broken.ends_with(r#"{"message":"Bad Request"}"#), "{broken}");
}

#[test]
fn two_servers_do_not_share_data() {
    let (one, other) = (Server::start(&[]), Server::start(&[]));
    assert_ne!(one.ready["base_url"], other.ready["base_url"]);
    assert_ne!(one.ready["dynamodb_endpoint"], other.ready["dynamodb_endpoint"]);
    let body = json!({"ref_code": "lantern"});
    assert_eq!(one.post("/cart/setReferral", Some("Pebble"), &body).json()["success"], true);
    assert_eq!(other.post("/cart/get", Some("Pebble"), &json!({})).json()["cart"]["referral_code"], "");
    let foreign = format!("Bearer {}", one.token("Pebble"));
    let url = format!("{}/user", other.said("/base_url"));
    assert_eq!(other.send(&url, &[("authorization", &foreign)], b"").status, 401, "each has a key of its own");
}

#[test]
fn a_data_directory_keeps_the_table_and_the_token_key() {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("new/data");
    let data = ["--data", dir.to_str().unwrap()];
    let server = Server::start(&data);
    let bearer = format!("Bearer {}", server.token("Pebble"));
    let set = server.post("/cart/setReferral", Some("Pebble"), &json!({"ref_code": "lantern"})).json();
    assert_eq!(set["success"], true);
    let keys_file = dir.join("token-keys.json");
    let keys = std::fs::read(&keys_file).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&keys_file), mode(&dir)), (0o600, 0o700));
    }
    assert_eq!(server.stop().status.code(), Some(0));
    let server = Server::start(&data);
    assert_eq!(std::fs::read(&keys_file).unwrap(), keys);
    let url = format!("{}/cart/get", server.said("/base_url"));
    let cart = server.send(&url, &[("authorization", &bearer)], b"");
    assert_eq!((cart.status, &cart.json()["cart"]["referral_code"]), (200, &json!("lantern")), "{}", cart.text);
    let log = server.process.error_line();
    assert!(!log.contains("lantern") && !log.contains(&bearer), "{log}");
}

#[test]
fn both_signals_end_it_cleanly_within_seconds() {
    for signal in ["INT", "TERM"] {
        let server = Server::start(&[]);
        // Leaves a connection open, as browsers do.
        assert_eq!(server.get("/staff").status, 200);
        let asked = Instant::now();
        server.process.signal(signal);
        let end = server.process.end();
        assert_eq!((end.status.code(), end.out.len()), (Some(0), 0), "{signal}: {:?}", end.err);
        assert!(asked.elapsed() < Duration::from_secs(8), "{signal}");
    }
}

/// The reader of the ready line may end the server at once.
#[test]
fn a_signal_right_after_the_ready_line_ends_it_cleanly() {
    for _ in 0..12 {
        assert_eq!(Server::start(&[]).stop().status.code(), Some(0));
    }
}

#[test]
fn the_reference_is_served_with_tokens_that_work() {
    let server = Server::start(&["--base-path", "/api"]);
    let origin = server.said("/base_url").trim_end_matches("/api").to_owned();
    let get = |path: &str| server.get_with(&format!("{origin}{path}"), "accept", "*/*").text;
    assert!(get("/reference").contains("/reference/swagger-ui-bundle.js"));
    let document: Value = serde_json::from_str(&get("/openapi.json")).unwrap();
    assert_eq!(document["servers"][0]["url"], "/api");
    let tokens: Value = serde_json::from_str(&get("/reference/tokens.json")).unwrap();
    assert_eq!(tokens.as_array().unwrap().len(), server.ready["tokens"].as_object().unwrap().len());
    // The one that is filled in.
    let (name, token) = (&tokens[0]["name"], tokens[0]["token"].as_str().unwrap());
    let authorization = format!("Bearer {token}");
    let account = server.send(&format!("{origin}/api/user"), &[("authorization", &authorization)], b"");
    assert_eq!(account.json()["username"], *name);
}
