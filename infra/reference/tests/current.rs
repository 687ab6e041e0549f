//! The documentation is what the declarations generate, and every field of it has a text.

#![expect(clippy::panic, reason = "a helper that fails fails its test")]

use reference::page::{Page, PageError};
use reference::{Reference, samples};
use serde_json::{Map, Value};

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
