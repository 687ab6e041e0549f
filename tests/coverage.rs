//! Facts that are stated in several places agree with the declarations of the endpoints, and every route has a handler,
//! an event file, and a test of its success with a pinned body.

use std::collections::BTreeSet;
use tests::{Endpoint, TestStore, endpoints, event, heads, repository, template};

/// Endpoints with random values in their success body, or without JSON; their tests check its parts instead of pinning it.
const NOT_PINNED: &[&str] = &["auth/chat", "auth/username", "content/shop", "delivery/get_version", "delivery/confirm"];

fn read(path: &str) -> String {
    let path = repository().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn the_template_has_the_routes_that_are_declared() {
    let declared: BTreeSet<(String, String)> = endpoints()
        .iter()
        .map(|endpoint| (endpoint.gateway_route().to_owned(), endpoint.function.to_owned()))
        .chain(heads())
        .collect();
    let deployed = template().routes().unwrap().into_iter().map(|route| (route.key(), route.function)).collect();
    assert_eq!(declared, deployed);
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

/// The tests of an endpoint: the file of its name, or those in its function's folder that name its route.
fn tests_of(endpoint: &Endpoint, name: &str) -> String {
    if repository().join(format!("tests/{name}.rs")).is_file() {
        return read(&format!("tests/{name}.rs"));
    }
    let files = std::fs::read_dir(repository().join("tests").join(endpoint.function)).unwrap().flatten();
    let texts = files.filter_map(|file| std::fs::read_to_string(file.path()).ok());
    texts.filter(|text| text.contains(endpoint.route)).collect()
}

#[test]
fn every_endpoint_has_a_test_of_its_name_with_a_pinned_body() {
    for endpoint in endpoints() {
        let name = endpoint.event.split('.').next().unwrap_or_default();
        assert_eq!(name.split('/').next(), Some(endpoint.function), "{name} is in another function's folder");
        let tests = tests_of(&endpoint, name);
        assert!(tests.contains("#[tokio::test]"), "the tests of {name} test something");
        if NOT_PINNED.contains(&name) {
            continue;
        }
        assert!(tests.contains("assert_json_snapshot!"), "the tests of {name} pin no body");
        let (function, endpoint) = name.split_once('/').unwrap();
        let snapshots = repository().join("tests").join(function).join("snapshots");
        let (of_several, named) = (format!("__{endpoint}__"), format!("__{endpoint}.snap"));
        let pinned = std::fs::read_dir(&snapshots).unwrap().flatten().any(|file| {
            let file = file.file_name().to_string_lossy().into_owned();
            file.contains(&of_several) || file.ends_with(&named)
        });
        assert!(pinned, "{} holds no body of {name}", snapshots.display());
    }
}
