//! What is written down in more than one place agrees, and every route has what a route must have: a handler, an event
//! file, a test of its success with a pinned body, and an access test.

use crate::access;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use template::Route;
use tests::{TestStore, event, event_names, repository, template};

/// The one route that is not in the contract (ruling 7).
const ADDED: &str = "POST /categories/get";
/// Whose success body holds something random, so that its test takes it apart instead of pinning it.
const NOT_PINNED: &[&str] = &["auth/chat"];

fn read(path: &str) -> String {
    let path = repository().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn routes() -> Vec<Route> {
    template().routes().unwrap()
}

/// The event file without an outcome in its name, by route key; `list_categories.post` is that of the added route.
fn plain_events() -> BTreeMap<String, String> {
    let names = event_names().into_iter().filter(|name| !name.contains('.') || name == "catalog/list_categories.post");
    names.map(|name| (event(&name)["routeKey"].as_str().unwrap().to_owned(), name)).collect()
}

/// The rows of the first table of a page whose first column is a number or a method: (method, path) as written.
fn table(text: &str, method: usize) -> Vec<(String, String)> {
    let rows = text.lines().filter(|line| line.starts_with("| "));
    let cells = rows.map(|row| row.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>());
    let endpoints = cells.filter(|cells| cells.len() > method + 1 && cells[method + 1].starts_with('/'));
    endpoints.map(|cells| (cells[method].clone(), cells[method + 1].clone())).collect()
}

#[test]
fn the_interface_and_the_template_have_the_same_endpoints() {
    let documented = table(&read("infra/docs/api.md"), 2);
    assert_eq!(documented.len(), 16, "the contract has sixteen endpoints");
    let mut documented: BTreeSet<String> =
        documented.iter().map(|(method, path)| format!("{method} {}", path.replace("{url}", "{url+}"))).collect();
    assert!(documented.insert(ADDED.to_owned()), "the added route is no endpoint of the contract");
    let deployed: BTreeSet<String> = routes().iter().map(Route::key).collect();
    assert_eq!(documented, deployed);
}

#[test]
fn the_readme_lists_every_endpoint() {
    let listed: BTreeSet<String> = table(&read("README.md"), 1)
        .iter()
        .flat_map(|(methods, path)| {
            let path = path.replace("{url}", "{url+}");
            methods.split(", ").map(move |method| format!("{method} {path}")).collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(listed, routes().iter().map(Route::key).collect());
}

#[test]
fn cargo_lambda_serves_the_paths_of_the_template() {
    let manifest = read("Cargo.toml");
    let router = manifest.split("[workspace.metadata.lambda.watch.router]").nth(1).unwrap();
    let listed: BTreeSet<(String, String)> = router
        .lines()
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .filter_map(|line| line.split_once(" = "))
        .map(|(path, function)| (path.trim_matches('"').to_owned(), function.trim_matches('"').to_owned()))
        .collect();
    let deployed: BTreeSet<(String, String)> =
        routes().into_iter().map(|route| (route.path.replace("{url+}", "{*url}"), route.function)).collect();
    assert_eq!(listed, deployed);
}

#[tokio::test]
async fn every_route_has_a_handler() {
    let store = TestStore::open().await;
    let events = plain_events();
    for route in routes() {
        let name = events.get(&route.key()).unwrap_or_else(|| panic!("{} has no event file", route.key()));
        assert_eq!(name.split('/').next(), Some(route.function.as_str()), "{name} lies with another function");
        let reply = store.invoke_file(name).await;
        assert_eq!(reply.status, 200, "{name}: {}", reply.text);
    }
}

#[tokio::test]
async fn no_function_answers_to_a_route_of_another() {
    let store = TestStore::open().await;
    for (key, name) in plain_events() {
        let owner = routes().into_iter().find(|route| route.key() == key).unwrap().function;
        for function in ["catalog", "cart", "payments", "content", "auth"] {
            if function != owner {
                let reply = store.invoke(function, &event(&name)).await;
                assert_eq!((reply.status.as_u16(), reply.text.as_str()), (404, r#"{"message":"Not Found"}"#), "{key}");
            }
        }
    }
}

#[test]
fn every_endpoint_has_a_test_of_its_name_with_a_pinned_body() {
    for name in plain_events().values().map(|name| name.trim_end_matches(".post")) {
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
fn every_route_has_an_access_test() {
    let covered: BTreeSet<String> = access::COVERED.iter().map(|&key| key.to_owned()).collect();
    assert_eq!(covered, routes().iter().map(Route::key).collect());
}

#[test]
fn the_interface_says_of_every_endpoint_that_reads_a_token_that_it_does() {
    let documented = read("infra/docs/api.md");
    let rows = documented.lines().filter(|line| line.starts_with("| ")).map(|row| row.split('|').map(str::trim));
    let mut reading = BTreeSet::new();
    for mut cells in rows {
        let (Some(method), Some(path), Some(token)) = (cells.nth(2), cells.next(), cells.next()) else { continue };
        if path.starts_with('/') && token != "ignored" {
            reading.insert(format!("{method} {}", path.replace("{url}", "{url+}")));
        }
    }
    let tested: BTreeSet<String> = access::COVERED[..access::READERS].iter().map(|&key| key.to_owned()).collect();
    assert_eq!(reading, tested);
}

#[test]
fn every_event_is_one_that_the_gateway_would_send() {
    let keys: BTreeSet<String> = routes().iter().map(Route::key).collect();
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
