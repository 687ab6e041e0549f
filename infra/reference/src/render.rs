//! The generated parts of the documentation, as Markdown.

use crate::endpoints::{Documented, Reference, json};
use crate::fields::{Field, Fields, Object};
use shared::endpoint::{Access, Cache, Declaration, InputKind, OtherResponse, RequestSchemas};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// The table of the documented endpoints in api.md.
pub fn interface(reference: &Reference) -> String {
    let mut text = String::from("| # | Method | Path | Bearer token | Function |\n|---|---|---|---|---|\n");
    for endpoint in &reference.endpoints {
        let (Some(number), Some((method, path))) = (endpoint.declaration.number, endpoint.routes().next()) else {
            continue;
        };
        let token = match (endpoint.declaration.access, endpoint.declaration.checks_account) {
            (Access::Ignored, _) => "ignored",
            (Access::Optional, _) => "optional",
            (Access::Required | Access::RequiredOrGuest, true) => "needed",
            (Access::Required | Access::RequiredOrGuest, false) => "needed, no user read",
        };
        _ = writeln!(text, "| {number} | {method} | {path} | {token} | {} |", endpoint.function);
    }
    text
}

/// The table of all endpoints in README.md.
pub fn overview(reference: &Reference) -> String {
    let mut text = String::from("| Method | Path | Function | Description |\n|---|---|---|---|\n");
    for endpoint in &reference.endpoints {
        let methods: Vec<&str> = endpoint.routes().map(|(method, _)| method).collect();
        let Some((_, path)) = endpoint.routes().next() else { continue };
        let (function, summary) = (endpoint.function, endpoint.declaration.summary);
        _ = writeln!(text, "| {} | {path} | {function} | {summary} |", methods.join(", "));
    }
    text
}

/// The section of an endpoint in api.md, below its heading and its text.
pub fn endpoint(reference: &Reference, endpoint: &Documented) -> String {
    let mut text = access(endpoint.declaration);
    text.push_str(&request(reference, endpoint));
    text.push_str(&responses(reference, endpoint));
    text.push_str(&reply_fields(reference, endpoint));
    text
}

fn access(declaration: &Declaration) -> String {
    let mut text = String::from("Token: ");
    text.push_str(match declaration.access {
        Access::Ignored if declaration.input == InputKind::TokenCookie => {
            "optional, in the cookie `token`, else in the header."
        }
        Access::Ignored => "ignored.",
        Access::Optional => "optional; one that is not valid counts as none.",
        Access::Required => "needed.",
        Access::RequiredOrGuest => "needed unless [guest mode](rules.md#guest-mode) is on.",
    });
    if !declaration.checks_account {
        text.push_str(" The account is not read: only signature, issuer and expiry are checked.");
    }
    if let Some(limit) = declaration.rate_limit {
        _ = write!(text, " Rate limit: {} requests in {} seconds per address.", limit.requests, limit.seconds);
    }
    if matches!(declaration.input, InputKind::Nothing | InputKind::TokenCookie | InputKind::Query) {
        text.push_str(" No request body.");
    }
    text.push('\n');
    text
}

fn request(reference: &Reference, endpoint: &Documented) -> String {
    let fields = Fields(&reference.requests);
    let mut text = String::new();
    let RequestSchemas { path_parameters, query, body } = &endpoint.description.request;
    let parameters = endpoint.description.path_parameters.iter().zip(path_parameters.iter().map(json));
    let parameters: Vec<Field> = parameters
        .map(|(name, schema)| Field {
            name: (*name).to_owned(),
            kind: fields.kind(schema),
            null: "no",
            meaning: fields.description(schema),
        })
        .collect();
    match parameters.as_slice() {
        [] => {}
        [_] => text.push_str(&table("Path parameter:", &parameters)),
        _ => text.push_str(&table("Path parameters:", &parameters)),
    }
    if let Some(schema) = query.as_ref().map(json) {
        text.push_str(&objects("Query", fields, schema));
    }
    if let Some(schema) = body.as_ref().map(json) {
        text.push_str(&objects("Request", fields, schema));
    }
    text
}

/// The most round trips of every endpoint; those with the same numbers in one row.
#[must_use]
pub fn round_trips(reference: &Reference) -> String {
    let mut rows: BTreeMap<(usize, usize), BTreeSet<String>> = BTreeMap::new();
    for endpoint in &reference.endpoints {
        let trips = endpoint.declaration.round_trips;
        let paths = endpoint.routes().map(|(_, path)| path.trim_start_matches('/').to_owned());
        rows.entry((trips.warm, trips.cold)).or_default().extend(paths);
    }
    let mut text = String::from("| Endpoints | Warm | Cold |\n|---|---|---|\n");
    for ((warm, cold), paths) in rows {
        let paths = paths.into_iter().collect::<Vec<_>>().join(", ");
        _ = writeln!(text, "| {paths} | {warm} | {cold} |");
    }
    text
}

/// The paths that `cargo lambda watch` routes, with their functions.
#[must_use]
pub fn router(reference: &Reference) -> String {
    let path = |route: &&'static str| {
        let (_, path) = delivery::of_gateway(route).split_once(' ')?;
        Some(path.replace("{url+}", "{*url}").replace("{call+}", "{*call}"))
    };
    let lines = reference.endpoints.iter().flat_map(|endpoint| {
        let paths = endpoint.declaration.routes.iter().filter_map(path);
        paths.map(|path| (endpoint.function, path))
    });
    let lines: BTreeSet<_> = lines.collect();
    let mut text = String::new();
    for (function, path) in lines {
        _ = writeln!(text, "\"{path}\" = \"{function}\"");
    }
    text
}

fn responses(reference: &Reference, endpoint: &Documented) -> String {
    let mut text = String::from("\n| Status | Condition | Body |\n|---|---|---|\n");
    let fields = Fields(&reference.replies);
    let schema = json(&endpoint.description.reply.schema);
    for alternative in fields.alternatives(schema) {
        let condition = match condition(&fields.description(alternative)) {
            condition if condition.is_empty() => "Success".to_owned(),
            condition => condition,
        };
        let kind = fields.kind(alternative);
        let kind = if is_page(endpoint) { format!("page that posts an {kind}") } else { kind };
        let kind = if endpoint.description.reply.media_type.is_empty() { "none".to_owned() } else { kind };
        let below = if matches!(kind.as_str(), "string" | "none") { "" } else { ", see below" };
        _ = writeln!(text, "| 200 | {condition} | {kind}{below} |");
    }
    let (common, mut own): (Vec<_>, Vec<_>) = endpoint.description.others.iter().partition(|response| response.common);
    own.sort_by_key(|response| response.status);
    for OtherResponse { status, when, body, is_page, retry_after, .. } in own {
        let retry_after = if *retry_after { "; header `Retry-After` in seconds" } else { "" };
        let body = match body.as_str() {
            "" => "none".to_owned(),
            text if *is_page => format!("page: {text}"),
            body => format!("`{body}`"),
        };
        _ = writeln!(text, "| {status} | {when}{retry_after} | {body} |");
    }
    let statuses: Vec<String> = common.iter().map(|response| response.status.to_string()).collect();
    if let Some((last, others)) = statuses.split_last() {
        let list = if others.is_empty() { last.clone() } else { format!("{} and {last}", others.join(", ")) };
        _ = writeln!(text, "\n{list}: see [Statuses and error bodies](rules.md#statuses-and-error-bodies).");
    }
    if endpoint.declaration.cache == Cache::Public {
        text.push_str("\nThe response to GET can be cached, see [Caching](rules.md#caching).\n");
    }
    text
}

/// Whether the ordinary response is a page.
fn is_page(endpoint: &Documented) -> bool {
    endpoint.description.reply.media_type == "text/html"
}

fn reply_fields(reference: &Reference, endpoint: &Documented) -> String {
    let fields = Fields(&reference.replies);
    let alternatives = fields.alternatives(json(&endpoint.description.reply.schema));
    let is_only = alternatives.len() == 1;
    let mut text = String::new();
    for alternative in alternatives {
        let title = match condition(&fields.description(alternative)) {
            _ if is_page(endpoint) => "Posted object".to_owned(),
            condition if is_only || condition.is_empty() => "Response".to_owned(),
            condition => format!("Response if {}", lower_case(&condition)),
        };
        text.push_str(&objects(&title, fields, alternative));
    }
    text
}

/// The tables of a body: the body's own fields, then those of the objects in it.
fn objects<'s>(title: &str, fields: Fields<'s>, schema: &'s serde_json::Value) -> String {
    let mut text = String::new();
    for object in fields.objects(schema) {
        let title = match in_words(&object) {
            Some(paths) => format!("{paths}:"),
            None => match fields.kind(schema).as_str() {
                "object" => format!("{title}:"),
                kind => format!("{title}, an {kind}:"),
            },
        };
        text.push_str(&table(&title, &fields.of(&object)));
    }
    text
}

/// The paths of an object, or nothing if it is the body itself.
fn in_words(object: &Object<'_>) -> Option<String> {
    let paths: Vec<String> = object.paths.iter().map(|path| format!("`{path}`")).collect();
    if object.paths.iter().any(String::is_empty) { None } else { Some(paths.join(", ")) }
}

fn table(title: &str, fields: &[Field]) -> String {
    let mut text = format!("\n{title}\n\n| Field | Type | Null | Meaning |\n|---|---|---|---|\n");
    for Field { name, kind, null, meaning } in fields {
        _ = writeln!(text, "| {name} | {kind} | {null} | {meaning} |");
    }
    text
}

/// A description as a condition: without its full stop.
fn condition(description: &str) -> String {
    description.trim_end_matches('.').to_owned()
}

/// A phrase with a capital letter.
pub fn sentence(phrase: &str) -> String {
    let mut characters = phrase.chars();
    characters.next().map(|first| first.to_uppercase().chain(characters).collect()).unwrap_or_default()
}

fn lower_case(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map(|first| first.to_lowercase().chain(characters).collect()).unwrap_or_default()
}
