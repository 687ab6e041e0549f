//! The documentation and the OpenAPI document are what the declarations generate, and every field has a text.

#![expect(clippy::panic, reason = "a helper that fails fails its test")]

use reference::page::{Page, PageError};
use reference::{Reference, openapi, samples};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

fn read(page: Page) -> String {
    std::fs::read_to_string(page.path()).unwrap_or_else(|error| panic!("{}: {error}", page.name()))
}

/// Every field of every definition, as `Definition.field`, with its schema.
fn fields(definitions: &Map<String, Value>) -> Vec<(String, &Value)> {
    fn collect<'s>(name: &str, schema: &'s Value, found: &mut Vec<(String, &'s Value)>) {
        let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
        found.extend(properties.map(|(field, schema)| (format!("{name}.{field}"), schema)));
        for alternatives in ["anyOf", "oneOf"].map(|keyword| schema.get(keyword).and_then(Value::as_array)) {
            alternatives.into_iter().flatten().for_each(|alternative| collect(name, alternative, found));
        }
    }
    let mut found = Vec::new();
    definitions.iter().for_each(|(name, schema)| collect(name, schema, &mut found));
    found
}

fn description(schema: &Value) -> &str {
    schema["description"].as_str().unwrap_or_default()
}

#[test]
fn the_pages_are_generated_from_the_declarations() {
    let (reference, samples) = (Reference::of_all_functions(), samples::run());
    for page in Page::ALL {
        let rendered = page.rendered(&read(page), &reference, &samples);
        let rendered = rendered.unwrap_or_else(|error| panic!("{}: {error}", page.name()));
        assert!(rendered == read(page), "{} is out of date: run `cargo run -p reference`", page.name());
    }
}

#[test]
fn an_endpoint_without_a_section_gets_one() {
    let (reference, page) = (Reference::of_all_functions(), read(Page::Api));
    let (before, rest) = page.split_once("\n### POST /user\n").unwrap();
    let (_, after) = rest.split_once("\n### ").unwrap();
    let rendered = Page::Api.rendered(&format!("{before}\n### {after}"), &reference, &samples::run()).unwrap();
    let section = rendered.split_once("### POST /user\n").unwrap().1;
    assert!(section.contains("Returns the caller's account."), "{section}");
    assert!(section.contains("Token: needed. Response: the account; `subscriptions` is an addition"), "{section}");
    assert!(section.contains(r#""username":"Thornwick""#), "{section}");
}

#[test]
fn a_section_of_an_endpoint_that_is_gone_is_reported() {
    let page = read(Page::Api).replace("### POST /user\n", "### POST /users\n");
    let rendered = Page::Api.rendered(&page, &Reference::of_all_functions(), &[]);
    assert_eq!(rendered, Err(PageError::Unknown { heading: "POST /users".to_owned() }));
}

#[test]
fn every_example_is_json() {
    let page = read(Page::Api);
    let examples: Vec<_> = page.split("```json\n").skip(1).map(|rest| rest.split("\n```").next().unwrap()).collect();
    assert!(examples.len() >= 10, "only {} examples were found", examples.len());
    for example in examples {
        assert!(serde_json::from_str::<Value>(example).is_ok(), "{example}");
    }
}

#[test]
fn every_field_has_a_doc_comment() {
    let reference = Reference::of_all_functions();
    let mut count = 0;
    for (name, schema) in fields(&reference.requests).into_iter().chain(fields(&reference.replies)) {
        count += 1;
        // The tag of an enum cannot have one.
        let is_tag = schema.get("const").is_some();
        assert!(is_tag || description(schema).ends_with('.'), "{name} has no doc comment that is a sentence");
    }
    assert!(count > 100, "only {count} fields were found");
}

#[test]
fn every_number_names_its_unit() {
    let reference = Reference::of_all_functions();
    let units = ["Money: ", "Virtual currency: ", "Percentage: ", "Percentage or money, ", "Exchange rate: "];
    let numbers: Vec<_> =
        fields(&reference.replies).into_iter().filter(|(_, schema)| schema["$ref"] == "#/$defs/Decimal").collect();
    assert!(numbers.len() > 20, "only {} numbers were found", numbers.len());
    for (name, schema) in numbers {
        assert!(units.iter().any(|unit| description(schema).starts_with(unit)), "{name}: {}", description(schema));
    }
}

#[test]
fn every_nullable_field_says_when_it_is_null() {
    fn is_nullable(schema: &Value) -> bool {
        let alternatives = schema["anyOf"].as_array();
        schema["type"].as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == "null"))
            || alternatives.is_some_and(|schemas| schemas.iter().any(|schema| schema["type"] == "null"))
    }
    let reference = Reference::of_all_functions();
    let nullable: Vec<_> = fields(&reference.replies).into_iter().filter(|(_, schema)| is_nullable(schema)).collect();
    assert!(nullable.len() > 10, "only {} nullable fields were found", nullable.len());
    for (name, schema) in nullable {
        assert!(description(schema).contains("Null "), "{name}: {}", description(schema));
    }
}

fn committed() -> String {
    std::fs::read_to_string(openapi::path()).unwrap_or_else(|error| panic!("infra/openapi.json: {error}"))
}

fn document() -> Value {
    serde_json::from_str(&committed()).unwrap_or_else(|error| panic!("infra/openapi.json: {error}"))
}

/// Every operation as `POST /user`, with its description.
fn operations(document: &Value) -> Vec<(String, &Value)> {
    let paths = document["paths"].as_object().into_iter().flatten();
    paths
        .flat_map(|(path, operations)| {
            let operations = operations.as_object().into_iter().flatten();
            operations.map(move |(method, operation)| (format!("{} {path}", method.to_uppercase()), operation))
        })
        .collect()
}

#[test]
fn the_document_is_generated_from_the_declarations() {
    let rendered = openapi::rendered(&Reference::of_all_functions(), &samples::run());
    assert!(rendered == committed(), "infra/openapi.json is out of date: run `cargo run -p reference`");
}

#[test]
fn the_document_has_every_route_and_no_scheduled_event() {
    let routes = tests::template().routes().unwrap();
    let routes = routes.iter().map(|route| format!("{} {}", route.method, route.path.replace("+}", "}")));
    // The gateway has one route for the calls of game servers.
    let gateway = |name: String| match name.split_once(" /plugin/") {
        Some((method, _)) => {
            let route = delivery::ROUTES.into_iter().find(|route| route.starts_with(method)).unwrap();
            route.replace("+}", "}")
        }
        None => name,
    };
    let found: BTreeSet<String> = operations(&document()).into_iter().map(|(name, _)| gateway(name)).collect();
    assert_eq!(found, routes.collect());
}

#[test]
fn exactly_the_documented_sixteen_are_not_beyond_the_contract() {
    let document = document();
    let within =
        operations(&document).into_iter().filter(|(_, operation)| operation.get("x-beyond-contract").is_none());
    assert_eq!(within.count(), 16);
}

#[test]
fn the_json_body_of_every_event_is_an_example() {
    let document = document();
    let operations = operations(&document);
    let mut count = 0;
    for sample in samples::run().into_iter().filter(|sample| sample.response.is_some()) {
        let name = sample.route.replace("+}", "}");
        let (_, operation) = operations.iter().find(|(operation, _)| *operation == name).unwrap();
        let response = &operation["responses"][sample.status.to_string()]["content"]["application/json"];
        assert_eq!(
            response["examples"][&sample.outcome]["value"],
            sample.response.unwrap(),
            "{name}, {}",
            sample.outcome
        );
        count += 1;
    }
    assert!(count > 60, "only {count} events have a JSON body");
}

#[test]
fn every_operation_has_an_id_of_its_own() {
    let document = document();
    let operations = operations(&document);
    let ids: BTreeSet<&str> =
        operations.iter().filter_map(|(_, operation)| operation["operationId"].as_str()).collect();
    assert_eq!(ids.len(), operations.len());
}

#[test]
fn the_page_names_the_same_version() {
    let page = std::fs::read_to_string(reference::page::Page::Api.path()).unwrap();
    assert!(page.contains(&format!("Version {}:", delivery::INTERFACE_VERSION)));
    assert_eq!(document()["info"]["version"], delivery::INTERFACE_VERSION);
}

#[test]
fn exactly_the_marked_fields_are_the_added_fields_of_the_page() {
    fn marked(schema: &Value, found: &mut BTreeSet<String>) {
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            if field["x-beyond-contract"] == true {
                found.insert(name.clone());
            }
        }
        for alternative in schema["oneOf"].as_array().into_iter().flatten() {
            if alternative["x-beyond-contract"] == true {
                found.extend(alternative["properties"]["status"]["const"].as_str().map(str::to_owned));
            }
        }
    }
    let reference = Reference::of_all_functions();
    let mut found = BTreeSet::new();
    reference.requests.values().chain(reference.replies.values()).for_each(|schema| marked(schema, &mut found));
    assert!(found.len() > 15, "{found:?}");
    let page = std::fs::read_to_string(reference::page::Page::Api.path()).unwrap();
    let section = page.split_once("## Added fields").unwrap().1.split_once("\n## ").unwrap().0;
    let missing: Vec<&String> = found.iter().filter(|name| !section.contains(&format!("`{name}`"))).collect();
    assert_eq!(missing, Vec::<&String>::new());
    // And the other way: what the page names is marked, but for the fields that it names to say where another one is.
    let cells = section.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").nth(1));
    let named: BTreeSet<&str> = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
    let unmarked: Vec<&str> = named.into_iter().filter(|name| !found.contains(*name)).collect();
    assert_eq!(unmarked, ["category", "status", "value", "vars"]);
}

#[test]
fn no_two_definitions_share_a_component() {
    let reference = Reference::of_all_functions();
    let document = openapi::document(&reference, &[]);
    let servers = |name: &str, list: &str| {
        let server = &document["components"]["schemas"][name]["properties"][list]["items"]["$ref"];
        let name = server.as_str().and_then(|path| path.rsplit('/').next()).unwrap_or_default();
        let fields = document["components"]["schemas"][name]["properties"].as_object().unwrap();
        fields.keys().cloned().collect::<Vec<_>>()
    };
    assert_eq!(servers("CatalogItem", "allowed_servers"), ["id", "name"]);
    assert_eq!(servers("CartItem", "allowed_servers"), ["server_id", "server_name"]);
}
