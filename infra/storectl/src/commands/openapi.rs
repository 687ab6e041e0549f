//! `storectl openapi`: the OpenAPI document of the API.

use crate::answer::Answer;
use crate::error::Failure;
use serde_json::Value;

/// The document. A test of the crate `reference` fails if it is out of date.
const DOCUMENT: &str = include_str!("../../../openapi.json");

pub fn run() -> Result<Answer, Failure> {
    let document: Value = serde_json::from_str(DOCUMENT)
        .map_err(|error| Failure::refused(format!("infra/openapi.json is not JSON: {error}."), "Report this."))?;
    Ok(Answer::new(DOCUMENT, document))
}
