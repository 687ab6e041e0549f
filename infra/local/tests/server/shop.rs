//! The shop's address and the pictures, from outside, and the links and calls of infra/docs/migration.md.

use super::process::{HttpReply, Server};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn demo(server: &Server, path: &str) -> HttpReply {
    server.get_with(&format!("{}{path}", server.said("/shop")), "accept", "*/*")
}

fn header<'a>(reply: &'a HttpReply, name: &str) -> &'a str {
    reply.headers.get(name).map_or("", |value| value.to_str().unwrap())
}

#[test]
fn the_shop_is_the_content_functions_pages_with_the_api_and_the_files_on_one_origin() {
    let server = Server::start(&[]);
    let page = demo(&server, "/");
    assert_eq!((page.status, header(&page, "content-type")), (200, "text/html; charset=utf-8"));
    let function = server.get_with(&format!("{}/shop/index", server.said("/base_url")), "accept", "*/*");
    let script = "<script type=\"module\" src=\"/local/demo.js\"></script>\n";
    assert_eq!(page.text.replace(script, ""), function.text, "the local server adds one script");
    assert_ne!(page.text, function.text);
    let policy = header(&page, "content-security-policy");
    assert!(policy.contains("script-src 'self';") && !policy.contains("unsafe-inline"), "{policy}");
    assert!(policy.contains("connect-src 'self';"), "{policy}");
    assert_eq!(demo(&server, "/local/demo.json").json()["players"][0], "Burdock");
    for path in
        ["/cart", "/category/ranks/player", "/payment/flow?order_id=a&checkout_id=b", "/pages/help/linking", "/console"]
    {
        assert_eq!(demo(&server, path).status, 200, "{path}");
    }
    for path in
        ["/nowhere", "/category/nowhere", "/local/missing.js", "/assets/0/js/missing.js", "/api/nowhere", "/api"]
    {
        assert_eq!(demo(&server, path).status, 404, "{path}");
    }
    // Every file that the first page names.
    let named: Vec<_> = page.text.split('"').filter(|text| text.starts_with("/assets/")).collect();
    assert!(named.len() > 5, "{named:?}");
    for path in named {
        assert_eq!(demo(&server, path).status, 200, "{path}");
    }
    let settings = server.get_with(&format!("{}/settings/get", server.said("/base_url")), "accept", "*/*").json();
    assert_eq!(demo(&server, "/api/settings/get").json(), settings);
    let tag = header(&page, "etag").to_owned();
    let again = server.get_with(&format!("{}/", server.said("/shop")), "if-none-match", &tag);
    assert_eq!((again.status, again.text.as_str()), (304, ""));
}

#[test]
fn no_request_leaves_the_directories() {
    let server = Server::start(&[]);
    let shop = server.said("/shop").to_owned();
    for path in [
        "/../Cargo.toml",
        "/%2e%2e/Cargo.toml",
        "/assets/0/..%2f..%2fsrc/lib.rs",
        "/assets/0/../../Cargo.toml",
        "/local/..%2fCargo.toml",
        "/img/../store.yaml",
        "/img/%2e%2e/store.yaml",
    ] {
        let reply = Server::raw_at(&shop, &format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"));
        assert!(
            !reply.contains("[package]") && !reply.contains("format: 1") && !reply.contains("fn main"),
            "{path}: {reply}"
        );
    }
}

#[test]
fn the_api_shares_its_responses_with_the_shop_and_with_no_other_page() {
    let server = Server::start(&[]);
    let url = format!("{}/settings/get", server.said("/base_url"));
    let shop = server.said("/shop").to_owned();
    let own = server.get_with(&url, "origin", &shop);
    assert_eq!(header(&own, "access-control-allow-origin"), shop);
    let other = server.get_with(&url, "origin", "http://127.0.0.1:1");
    assert_eq!(header(&other, "access-control-allow-origin"), "");
    let landing = server.get_with(&format!("{}/", server.said("/base_url")), "accept", "*/*");
    assert_eq!((landing.status, header(&landing, "content-type")), (200, "text/html; charset=utf-8"));
    assert!(landing.text.contains(&shop), "{}", landing.text);
}

/// The pictures that the store's files and the API name, at both ports.
#[test]
fn every_picture_of_the_sample_store_is_there() {
    let server = Server::start(&[]);
    let store = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sample-store");
    let mut named = vec!["/img/avatars/Somebody-New.svg".to_owned()];
    let categories = std::fs::read_dir(store.join("categories")).unwrap().map(|file| file.unwrap().path());
    for file in categories.chain([store.join(publish::LIVE)]) {
        let text = std::fs::read_to_string(file).unwrap();
        let paths = text.split([' ', '\n', '"']).filter(|word| word.starts_with("/img/"));
        named.extend(paths.map(str::to_owned));
    }
    assert!(named.len() > 40, "{named:?}");
    // The API names them by their hash, as a deployed shop does.
    let listed = server.get_with(&format!("{}/categories/get", server.said("/base_url")), "accept", "*/*").text;
    let hashed: Vec<String> =
        listed.split('"').filter_map(|word| Some(format!("/img/{}", word.split_once("/img/")?.1))).collect();
    assert!(hashed.len() > 4 && hashed.iter().all(|path| path.len() == "/img/.svg".len() + 32), "{hashed:?}");
    named.extend(hashed);
    for path in named {
        for base in ["/base_url", "/shop"] {
            let picture = server.get_with(&format!("{}{path}", server.said(base)), "accept", "*/*");
            assert_eq!((picture.status, header(&picture, "content-type")), (200, "image/svg+xml"), "{path}");
        }
    }
    // An item's is a path below the host by which the API is called, a category's a whole URL.
    let crates = server.post("/categories/get/crates", Some("Thornwick"), &json!({})).text;
    let image = crates.split("\"image\":\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    assert_eq!((image.len(), image.starts_with("/img/")), ("/img/.svg".len() + 32, true), "{image}");
    assert!(listed.contains(&format!("\"{}/img/", server.said("/shop"))), "{listed}");
    let missing = server.get_with(&format!("{}/img/keys/none.svg", server.said("/shop")), "accept", "*/*");
    assert_eq!(missing.status, 404);
    let posted =
        server.send(&format!("{}/img/keys/ember.svg", server.said("/base_url")), &[], json!({}).to_string().as_bytes());
    assert_eq!((posted.status, header(&posted, "allow")), (405, "GET, HEAD"));
}

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs")
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
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
fn the_migration_page_names_calls_that_exist() {
    let page = text(&docs().join("migration.md"));
    let document: Value = serde_json::from_str(&text(&docs().join("../openapi.json"))).unwrap();
    let paths = document["paths"].as_object().unwrap().iter();
    let operations =
        paths.flat_map(|(path, operations)| operations.as_object().unwrap().keys().map(move |method| (method, path)));
    let known: BTreeSet<String> =
        operations.map(|(method, path)| format!("{} {path}", method.to_uppercase())).collect();
    let words: Vec<&str> = page.split_whitespace().collect();
    let calls = words.windows(2).filter(|pair| matches!(pair[0], "GET" | "HEAD" | "POST") && pair[1].starts_with('/'));
    let named: BTreeSet<String> = calls
        .map(|pair| format!("{} {}", pair[0], pair[1].trim_end_matches(|c: char| !c.is_alphanumeric() && c != '}')))
        .collect();
    assert_eq!(named.difference(&known).collect::<Vec<_>>(), Vec::<&String>::new(), "there are no such calls");
}
