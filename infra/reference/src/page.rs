//! The generated parts of a file, as Markdown. In api.md, one is below the text of each endpoint's section, from the
//! marker `<!-- generated -->` to the next heading; in Markdown, a table is between `<!-- generated table -->` and
//! `<!-- /generated table -->`; in Cargo.toml, it is a section.

use crate::samples::{self, Sample};
use crate::{Documented, Reference, json};
use serde_json::Value;
use shared::endpoint::{Access, Cache, Declaration, InputKind, OtherResponse};
use shared::fault::capital;
use shared::rules::payment_methods::{METHODS, Method, Refundable};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::PathBuf;

/// A page with generated parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Page {
    /// `infra/docs/api.md`.
    Api,
    /// `README.md`.
    Readme,
    /// `infra/docs/rules.md`.
    Rules,
    /// `infra/docs/migration.md`.
    Migration,
    /// `infra/docs/operations.md`.
    Operations,
    /// `Cargo.toml`.
    Manifest,
}

/// A page whose markers cannot be read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum PageError {
    #[error("there is no {marker}")]
    NoMarker { marker: &'static str },
    #[error("{heading} is not declared by any function; remove its section")]
    Unknown {
        /// The heading: a method and a path.
        heading: String,
    },
}

const HEADING: &str = "\n### ";
const GENERATED: &str = "<!-- generated -->\n";
const TABLE: &str = "<!-- generated table -->";
const TABLE_END: &str = "<!-- /generated table -->";
const ROUTER: &str = "[workspace.metadata.lambda.watch.router]\n";

impl Page {
    /// Every page with generated parts.
    pub const ALL: [Self; 6] =
        [Self::Api, Self::Readme, Self::Rules, Self::Migration, Self::Operations, Self::Manifest];

    /// The page's path in the repository.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Api => "infra/docs/api.md",
            Self::Readme => "README.md",
            Self::Rules => "infra/docs/rules.md",
            Self::Migration => "infra/docs/migration.md",
            Self::Operations => "infra/docs/operations.md",
            Self::Manifest => "Cargo.toml",
        }
    }

    /// The page's path on this machine.
    pub fn path(self) -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(self.name())
    }

    /// The page with its generated parts as they should be. An endpoint without a section gets one at the page's end.
    pub fn rendered(self, text: &str, reference: &Reference, samples: &[Sample]) -> Result<String, PageError> {
        match self {
            Self::Readme => with_table(text, &overview(reference)),
            Self::Rules => with_table(text, &round_trips(reference)),
            Self::Migration => with_table(text, &additions(reference)),
            Self::Operations => with_table(text, &payment_methods()),
            Self::Manifest => {
                let (before, rest) = text.split_once(ROUTER).ok_or(PageError::NoMarker { marker: ROUTER })?;
                let after = rest.find("\n\n").map_or("", |end| &rest[end + 1..]);
                Ok(format!("{before}{ROUTER}{}{after}", router(reference)))
            }
            Self::Api => with_sections(&with_table(text, &shared(reference))?, reference, samples),
        }
    }
}

fn with_table(text: &str, table: &str) -> Result<String, PageError> {
    let (before, rest) = text.split_once(TABLE).ok_or(PageError::NoMarker { marker: TABLE })?;
    let (_, after) = rest.split_once(TABLE_END).ok_or(PageError::NoMarker { marker: TABLE_END })?;
    Ok(format!("{before}{TABLE}\n{table}{TABLE_END}{after}"))
}

fn with_sections(text: &str, reference: &Reference, samples: &[Sample]) -> Result<String, PageError> {
    let mut parts = text.split(HEADING);
    let mut page = parts.next().unwrap_or_default().to_owned();
    let mut missing: Vec<_> = reference.endpoints.iter().collect();
    for part in parts {
        let heading = part.lines().next().unwrap_or_default();
        let place = missing.iter().position(|endpoint| endpoint.heading() == heading);
        let endpoint = missing.remove(place.ok_or_else(|| PageError::Unknown { heading: heading.to_owned() })?);
        let (before, after) = part.split_once(GENERATED).ok_or(PageError::NoMarker { marker: GENERATED })?;
        let rest = after.find("\n## ").map_or("", |start| &after[start..]);
        _ = write!(page, "{HEADING}{before}{GENERATED}{}{rest}", described(reference, endpoint, samples));
    }
    for endpoint in missing {
        let (heading, summary) = (endpoint.heading(), capital(&endpoint.summary()));
        let generated = described(reference, endpoint, samples);
        _ = write!(page, "{HEADING}{heading}\n\n{summary}.\n\n{GENERATED}{generated}");
    }
    Ok(page)
}

/// The table of all endpoints in README.md.
pub fn overview(reference: &Reference) -> String {
    let mut text = String::from("| Method | Path | Function | Description |\n|---|---|---|---|\n");
    for endpoint in &reference.endpoints {
        let methods: Vec<&str> = endpoint.routes().map(|(method, _)| method).collect();
        let Some((_, path)) = endpoint.routes().next() else { continue };
        let (function, summary) = (endpoint.function, endpoint.summary());
        _ = writeln!(text, "| {} | {path} | {function} | {summary} |", methods.join(", "));
    }
    text
}

/// The table of calls beyond the documented interface in migration.md.
pub fn additions(reference: &Reference) -> String {
    let mut text = String::from("| Call | Description |\n|---|---|\n");
    for endpoint in &reference.endpoints {
        let added = endpoint.routes().enumerate().filter(|(place, _)| endpoint.is_added(*place == 0));
        let calls: Vec<String> = added.map(|(_, (method, path))| format!("{method} {path}")).collect();
        if !calls.is_empty() {
            _ = writeln!(text, "| {} | {} |", calls.join(", "), endpoint.summary());
        }
    }
    text
}

/// The table of what buyers can pay with in operations.md; those that differ in their word only in one row.
pub fn payment_methods() -> String {
    let mut rows: Vec<(String, Vec<&str>)> = Vec::new();
    for Method { word, is_late, refund, recurs, .. } in METHODS {
        let when = if *is_late { "after days" } else { "at once" };
        let offered = match (is_late, recurs) {
            (true, true) => "once, and for subscriptions, with `delayed: true`, if nothing is limited",
            (true, false) => "once, with `delayed: true`, if nothing is limited",
            (false, true) => "once, and for subscriptions",
            (false, false) => "once",
        };
        let refund = match refund {
            Refundable::Never => "never".to_owned(),
            Refundable::Days(days) => format!("for {days} days"),
            Refundable::Always => "no limit is known".to_owned(),
            Refundable::ByMail => "the buyer is asked for an account by e-mail".to_owned(),
        };
        let row = format!("{when} | {refund} | {offered}");
        match rows.iter_mut().find(|(known, _)| *known == row) {
            Some((_, words)) => words.push(word),
            None => rows.push((row, vec![word])),
        }
    }
    let mut text = String::from("| Words | Money is there | Refunded | Offered |\n|---|---|---|---|\n");
    for (row, words) in rows {
        _ = writeln!(text, "| `{}` | {row} |", words.join("`, `"));
    }
    text
}

/// The most round trips of every endpoint; those with the same numbers in one row.
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
pub fn router(reference: &Reference) -> String {
    let path = |route: &&'static str| {
        let (_, path) = delivery::of_gateway(route).split_once(' ')?;
        // The rest of a path.
        let rest = path.rsplit_once('{').and_then(|(before, name)| Some((before, name.strip_suffix("+}")?)));
        Some(rest.map_or_else(|| path.to_owned(), |(before, name)| format!("{before}{{*{name}}}")))
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

/// The number of endpoints from which on an outcome is in the table of shared ones.
const SHARED: usize = 4;

/// The outcomes that several endpoints share, by status and condition, with the paths of these endpoints. Those that
/// follow from the kind of the request only are left out.
fn shared_outcomes(reference: &Reference) -> BTreeMap<(u16, &'static str), Vec<String>> {
    let mut shared: BTreeMap<(u16, &'static str), Vec<String>> = BTreeMap::new();
    for endpoint in &reference.endpoints {
        for OtherResponse { status, when, .. } in endpoint.description.others.iter().filter(|other| !other.common) {
            let (_, path) = endpoint.routes().next().unwrap_or_default();
            shared.entry((*status, when)).or_default().push(path.trim_start_matches('/').to_owned());
        }
    }
    shared.retain(|_, paths| paths.len() >= SHARED);
    shared
}

/// The table of shared outcomes in api.md.
pub fn shared(reference: &Reference) -> String {
    let mut text = String::from("| Status | Condition | Endpoints |\n|---|---|---|\n");
    for ((status, when), paths) in shared_outcomes(reference) {
        _ = writeln!(text, "| {status} | {when} | {} |", paths.join(", "));
    }
    text
}

/// The generated part of an endpoint's section in api.md: who may call, an example of the request, and the outcomes.
pub fn described(reference: &Reference, endpoint: &Documented, samples: &[Sample]) -> String {
    let first = endpoint.declaration.routes.first().copied().unwrap_or_default();
    let samples: Vec<&Sample> = samples.iter().filter(|sample| sample.route == first).collect();
    let mut text = access(endpoint.declaration);
    text.push_str(&request(reference, endpoint, &samples));
    let mut below = String::new();
    let mut outcomes = successes(reference, endpoint, &samples, &mut below);
    outcomes.extend(refusals(reference, endpoint));
    match outcomes.as_slice() {
        [Outcome { when, body, .. }] => {
            let what = if when == SUCCESS { String::new() } else { format!(": {}", lower_case(when)) };
            let body = if body == BELOW { String::new() } else { format!(" {body}") };
            _ = writeln!(text, " Response{what}:{body}");
        }
        outcomes => {
            text.push_str("\n\n| Status | Condition | Body |\n|---|---|---|\n");
            for Outcome { status, when, body } in outcomes {
                _ = writeln!(text, "| {status} | {when} | {body} |");
            }
        }
    }
    text + &below
}

/// The condition of a response that its type does not describe.
const SUCCESS: &str = "Success";
/// The body of an outcome whose example is below.
const BELOW: &str = "see below";

/// An outcome of an endpoint, in words.
struct Outcome {
    status: u16,
    when: String,
    body: String,
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
    if declaration.cache == Cache::Public {
        text.push_str(" The response to GET [can be cached](rules.md#caching).");
    }
    text
}

/// An example of the request body, and the fields that the example does not have.
fn request(reference: &Reference, endpoint: &Documented, samples: &[&Sample]) -> String {
    let Some(schema) = endpoint.description.request.body.as_ref().map(json) else { return String::new() };
    let Some(body) = samples.iter().find_map(|sample| sample.request.as_ref()) else { return String::new() };
    let fields = Reference::resolve(&reference.requests, schema).get("properties").and_then(Value::as_object);
    let others = fields.into_iter().flatten().filter(|(name, _)| body.get(name.as_str()).is_none());
    let others: Vec<String> = others.map(|(name, _)| format!("`{name}`")).collect();
    match others.as_slice() {
        [] => format!(" Request: `{body}`."),
        others => format!(" Request: `{body}`; optional fields: {}.", others.join(", ")),
    }
}

/// The outcomes with status 200 that the reply describes. Examples that are too long for a table are added to `below`.
fn successes(reference: &Reference, endpoint: &Documented, samples: &[&Sample], below: &mut String) -> Vec<Outcome> {
    let reply = &endpoint.description.reply;
    let outcome = |alternative| {
        let when = match reference.description(alternative).trim_end_matches('.') {
            "" => SUCCESS.to_owned(),
            description => description.to_owned(),
        };
        let schema = Reference::resolve(&reference.replies, alternative);
        let mut examples = samples.iter().filter(|sample| sample.status == 200).filter_map(|s| s.response.as_ref());
        let body = match examples.find(|body| samples::fits(schema, body)).map(samples::shortened) {
            Some(body) if body.to_string().len() <= samples::LONGEST_IN_A_TABLE => format!("`{body}`"),
            Some(body) => {
                _ = write!(below, "\n```json\n{}\n```\n", samples::lines(&samples::cut(&body), 0));
                BELOW.to_owned()
            }
            None if reply.media_type == "text/html" && schema["type"] == "string" => "a page".to_owned(),
            None if reply.media_type == "text/html" => format!("page that posts {}", samples::fields(schema)),
            None => samples::fields(schema),
        };
        Outcome { status: 200, when, body }
    };
    reference.alternatives(json(&reply.schema)).into_iter().map(outcome).collect()
}

/// All other outcomes that the endpoint does not share with many.
fn refusals(reference: &Reference, endpoint: &Documented) -> Vec<Outcome> {
    let shared = shared_outcomes(reference);
    let is_own = |other: &&OtherResponse| !other.common && !shared.contains_key(&(other.status, other.when));
    let mut others: Vec<_> = endpoint.description.others.iter().filter(is_own).collect();
    others.sort_by_key(|response| response.status);
    let outcome = |OtherResponse { status, when, body, is_page, retry_after, .. }: &OtherResponse| {
        let retry_after = if *retry_after { "; header `Retry-After` in seconds" } else { "" };
        let body = if *is_page { format!("page: {body}") } else { format!("`{body}`") };
        Outcome { status: *status, when: format!("{when}{retry_after}"), body }
    };
    others.into_iter().map(outcome).collect()
}

fn lower_case(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map(|first| first.to_lowercase().chain(characters).collect()).unwrap_or_default()
}
