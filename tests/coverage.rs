//! Facts that are stated in several places agree with the declarations of the endpoints, and every route has a handler,
//! an event file, and a test of its success with a pinned body.

use serde_json::Value;
use shared::endpoint::Access;
use std::collections::BTreeSet;
use tests::{Endpoint, TestStore, endpoints, event, event_names, repository, template};

/// Endpoints with random values in their success body; their tests check its parts instead of pinning it.
const NOT_PINNED: &[&str] = &["auth/chat", "auth/username"];

fn read(path: &str) -> String {
    let path = repository().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A route's method and path as clients write them.
fn method_and_path(endpoint: &Endpoint) -> (&'static str, String) {
    let (method, path) = endpoint.route.split_once(' ').unwrap();
    (method, path.replace("+}", "}"))
}

/// The rows of a page's tables with this many columns and a path in column `path`.
fn rows(page: &str, columns: usize, path: usize) -> Vec<String> {
    let text = read(page);
    let rows = text.lines().filter(|line| line.starts_with("| ") && line.split('|').count() == columns + 2);
    rows.filter(|row| row.split('|').nth(path).is_some_and(|cell| cell.trim().starts_with('/')))
        .map(str::to_owned)
        .collect()
}

#[track_caller]
fn assert_table(page: &str, written: &[String], declared: &[String]) {
    let (written, wanted): (BTreeSet<&String>, BTreeSet<&String>) =
        (written.iter().collect(), declared.iter().collect());
    assert_eq!(written, wanted, "{page} should have this table:\n{}", declared.join("\n"));
}

#[test]
fn the_template_has_the_routes_that_are_declared() {
    let declared: BTreeSet<(String, String)> =
        endpoints().iter().map(|endpoint| (endpoint.route.to_owned(), endpoint.function.to_owned())).collect();
    let deployed = template().routes().unwrap().into_iter().map(|route| (route.key(), route.function)).collect();
    assert_eq!(declared, deployed);
}

#[test]
fn the_interface_lists_every_documented_endpoint_with_its_access() {
    let mut documented = endpoints();
    documented.retain(|endpoint| endpoint.declaration.number.is_some());
    documented.sort_by_key(|endpoint| endpoint.declaration.number);
    documented.dedup_by_key(|endpoint| endpoint.declaration.number);
    let row = |endpoint: &Endpoint| {
        let (method, path) = method_and_path(endpoint);
        let number = endpoint.declaration.number.unwrap_or_default();
        let token = match (endpoint.declaration.access, endpoint.declaration.checks_account) {
            (Access::Ignored, _) => "ignored",
            (Access::Optional, _) => "optional",
            (Access::Required | Access::RequiredOrGuest, true) => "needed",
            (Access::Required | Access::RequiredOrGuest, false) => "needed, no user read",
        };
        format!("| {number} | {method} | {path} | {token} | {} |", endpoint.function)
    };
    let declared: Vec<String> = documented.iter().map(row).collect();
    assert_eq!(declared.len(), 16, "sixteen endpoints are documented");
    assert_table("infra/docs/api.md", &rows("infra/docs/api.md", 5, 3), &declared);
}

#[test]
fn the_readme_lists_every_endpoint() {
    let mut declared: Vec<String> = Vec::new();
    for endpoint in endpoints() {
        let of_endpoint = endpoints().into_iter().filter(|other| other.declaration.name == endpoint.declaration.name);
        let methods: Vec<&str> = of_endpoint.map(|other| method_and_path(&other).0).collect();
        let (_, path) = method_and_path(&endpoint);
        let (function, summary) = (endpoint.function, endpoint.declaration.summary);
        let row = format!("| {} | {path} | {function} | {summary} |", methods.join(", "));
        if !declared.contains(&row) {
            declared.push(row);
        }
    }
    assert_table("README.md", &rows("README.md", 4, 2), &declared);
}

#[test]
fn cargo_lambda_serves_the_paths_that_are_declared() {
    let manifest = read("Cargo.toml");
    let router = manifest.split("[workspace.metadata.lambda.watch.router]").nth(1).unwrap();
    let lines = router.lines().skip(1).take_while(|line| !line.starts_with('['));
    let listed: BTreeSet<String> = lines.filter(|line| line.contains(" = ")).map(str::to_owned).collect();
    let line = |endpoint: &Endpoint| {
        let path = endpoint.route.split_once(' ').unwrap().1.replace("{url+}", "{*url}");
        format!("\"{path}\" = \"{}\"", endpoint.function)
    };
    let declared: BTreeSet<String> = endpoints().iter().map(line).collect();
    assert_eq!(listed, declared);
}

#[tokio::test]
async fn every_route_has_a_handler() {
    let store = TestStore::open().await;
    for endpoint in endpoints() {
        let name = &endpoint.event;
        assert_eq!(name.split('/').next(), Some(endpoint.function), "{name} is in another function's folder");
        let reply = store.invoke_file(name).await;
        assert_eq!(reply.status, 200, "{name}: {}", reply.text);
    }
}

#[tokio::test]
async fn no_function_responds_to_a_route_of_another() {
    let store = TestStore::open().await;
    let functions: BTreeSet<&str> = endpoints().iter().map(|endpoint| endpoint.function).collect();
    for endpoint in endpoints() {
        for function in functions.iter().filter(|function| **function != endpoint.function) {
            let reply = store.invoke(function, &event(&endpoint.event)).await;
            let expected = (404, r#"{"message":"Not Found"}"#);
            assert_eq!((reply.status.as_u16(), reply.text.as_str()), expected, "{}", endpoint.route);
        }
    }
}

#[test]
fn every_endpoint_has_a_test_of_its_name_with_a_pinned_body() {
    for endpoint in endpoints() {
        let name = endpoint.event.split('.').next().unwrap_or_default();
        let tests = read(&format!("tests/{name}.rs"));
        assert!(tests.contains("#[tokio::test]"), "tests/{name}.rs tests something");
        if NOT_PINNED.contains(&name) {
            continue;
        }
        assert!(tests.contains("assert_json_snapshot!"), "tests/{name}.rs pins no body");
        let (function, endpoint) = name.split_once('/').unwrap();
        let snapshots = repository().join("tests").join(function).join("snapshots");
        let pinned = std::fs::read_dir(&snapshots)
            .unwrap()
            .flatten()
            .any(|file| file.file_name().to_string_lossy().contains(&format!("__{function}__{endpoint}__")));
        assert!(pinned, "{} holds no body of {name}", snapshots.display());
    }
}

#[test]
fn every_event_is_one_that_the_gateway_would_send() {
    let keys: BTreeSet<&str> = endpoints().iter().map(|endpoint| endpoint.route).collect();
    for name in event_names() {
        let event = event(&name);
        assert_eq!(event["version"], "2.0", "{name}");
        let key = event["routeKey"].as_str().unwrap();
        assert!(key == "$default" || keys.contains(key), "{name}: {key}");
        assert_eq!(event["requestContext"]["routeKey"], event["routeKey"], "{name}");
        assert!(event["requestContext"]["http"]["sourceIp"].is_string(), "{name}");
        assert!(event["body"].is_string() || event["body"] == Value::Null, "{name}");
    }
}
