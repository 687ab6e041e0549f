//! Which request takes which route.
#![expect(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use template::{Route, Template, match_route};

fn own_routes() -> Vec<Route> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../template.yaml");
    let template = Template::read(&path, &BTreeMap::new()).unwrap();
    template.routes().unwrap()
}

fn routes(keys: &[&str]) -> Vec<Route> {
    keys.iter()
        .map(|key| {
            let (method, path) = key.split_once(' ').unwrap();
            Route { method: method.to_owned(), path: path.to_owned(), function: "any".to_owned() }
        })
        .collect()
}

/// Route key and variables, written `key` or `key name=value`.
fn taken(routes: &[Route], method: &str, path: &str) -> Option<String> {
    let (route, variables) = match_route(routes, method, path)?;
    let mut text = route.key();
    for (name, value) in variables {
        write!(text, " {name}={value}").unwrap();
    }
    Some(text)
}

#[test]
fn every_route_of_the_template_is_found_by_its_own_path() {
    let routes = own_routes();
    for route in &routes {
        let path = route.path.replace("{url+}", "ranks/vip");
        let (found, _) = match_route(&routes, &route.method, &path).unwrap();
        assert_eq!(found, route);
    }
}

#[test]
fn the_method_has_to_be_the_same() {
    let routes = own_routes();
    assert_eq!(taken(&routes, "GET", "/categories/get").unwrap(), "GET /categories/get");
    assert_eq!(taken(&routes, "POST", "/categories/get").unwrap(), "POST /categories/get");
    for (method, path) in [
        ("GET", "/user"),
        ("POST", "/staff"),
        ("GET", "/categories/get/ranks"),
        ("HEAD", "/staff"),
        ("get", "/staff"),
        ("OPTIONS", "/staff"),
        ("", "/staff"),
    ] {
        assert_eq!(taken(&routes, method, path), None, "{method} {path}");
    }
}

#[test]
fn a_greedy_variable_takes_all_that_is_left_as_it_is() {
    let routes = own_routes();
    for (path, url) in [
        ("/categories/get/ranks", "ranks"),
        ("/categories/get/ranks/vip", "ranks/vip"),
        ("/categories/get/ranks/", "ranks/"),
        ("/categories/get//ranks", "/ranks"),
        ("/categories/get//", "/"),
        ("/categories/get/../../pages/get", "../../pages/get"),
        ("/categories/get/.", "."),
        ("/categories/get/a?b#c", "a?b#c"),
        ("/categories/get/a b\t\u{0}é", "a b\t\u{0}é"),
        ("/categories/get/%2e%2e", "%2e%2e"),
        ("/categories/get/{url+}", "{url+}"),
    ] {
        let wanted = format!("POST /categories/get/{{url+}} url={url}");
        assert_eq!(taken(&routes, "POST", path).unwrap(), wanted);
    }
}

#[test]
fn a_path_is_taken_as_it_is_and_never_cleaned_up() {
    let routes = own_routes();
    for path in [
        "/categories/get/",
        "//categories/get/x",
        "//categories/get",
        "/categories//get/x",
        "/./categories/get/x",
        "/x/../categories/get/x",
        "/Categories/get/x",
        "/categories",
        "/categories/getx",
        "categories/get/x",
        "/",
        "",
        "//",
    ] {
        assert_eq!(taken(&routes, "POST", path), None, "{path:?}");
    }
    assert_eq!(taken(&routes, "GET", "/staff/"), None);
    assert_eq!(taken(&routes, "GET", "/staff?x=1"), None);
}

#[test]
fn an_exact_segment_beats_a_variable_and_a_variable_beats_a_greedy_one() {
    let routes = routes(&[
        "GET /{all+}",
        "GET /pets/{rest+}",
        "GET /pets/{id}",
        "GET /pets/dog",
        "GET /pets/{id}/toys",
        "GET /pets/dog/{thing}",
    ]);
    for (path, wanted) in [
        ("/pets/dog", "GET /pets/dog"),
        ("/pets/cat", "GET /pets/{id} id=cat"),
        ("/pets/cat/", "GET /pets/{rest+} rest=cat/"),
        ("/pets/cat/toys", "GET /pets/{id}/toys id=cat"),
        ("/pets/dog/toys", "GET /pets/dog/{thing} thing=toys"),
        ("/pets/cat/toys/1", "GET /pets/{rest+} rest=cat/toys/1"),
        ("/pets/", "GET /{all+} all=pets/"),
        ("/pets", "GET /{all+} all=pets"),
        ("/pets//toys", "GET /pets/{rest+} rest=/toys"),
    ] {
        assert_eq!(taken(&routes, "GET", path).as_deref(), Some(wanted), "{path}");
    }
    assert_eq!(taken(&routes, "GET", "/"), None);
}

#[test]
fn the_order_of_routes_does_not_matter() {
    let mut routes = routes(&["GET /a/{x+}", "GET /a/{x}", "GET /a/b"]);
    for _ in 0..routes.len() {
        routes.rotate_left(1);
        assert_eq!(taken(&routes, "GET", "/a/b").unwrap(), "GET /a/b");
        assert_eq!(taken(&routes, "GET", "/a/c").unwrap(), "GET /a/{x} x=c");
        assert_eq!(taken(&routes, "GET", "/a/b/c").unwrap(), "GET /a/{x+} x=b/c");
    }
}

#[test]
fn a_variable_takes_no_empty_segment() {
    let routes = routes(&["GET /a/{x}/b", "GET /"]);
    assert_eq!(taken(&routes, "GET", "/a//b"), None);
    assert_eq!(taken(&routes, "GET", "/").unwrap(), "GET /");
    assert_eq!(taken(&[], "GET", "/"), None);
}
