//! Request bodies: JSON objects of at most 16 KiB whatever the Content-Type (ruling 1).

use lambda_http::{Body, Request};
use serde::de::{Deserializer as _, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// The largest body in bytes (ruling 1).
pub const LARGEST: usize = 16 * 1024;

/// A body that is not looked at further. Names the field, never repeats what was sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BodyFault {
    /// More than [`LARGEST`] bytes.
    #[error("The request body must not be larger than 16 KiB.")]
    TooLarge,
    /// No JSON.
    #[error("The request body must be valid JSON.")]
    NotJson,
    /// JSON, but no object.
    #[error("The request body must be a JSON object.")]
    NotAnObject,
    /// A required field is missing, null, empty or blank.
    #[error("The {0} field is required.")]
    Required(&'static str),
    /// A field is no string.
    #[error("The {0} field must be a string.")]
    NotAString(&'static str),
    /// A field is too long.
    #[error("The {field} field must not be longer than {longest} characters.")]
    TooLong {
        /// The field.
        field: &'static str,
        /// The most characters it may have.
        longest: usize,
    },
}

fn bytes(request: &Request) -> &[u8] {
    match request.body() {
        Body::Text(text) => text.as_bytes(),
        Body::Binary(bytes) => bytes,
        // Body is non-exhaustive; it has no other variant that carries bytes.
        _ => &[],
    }
}

/// Refuses a body that is too large, also where none is needed.
///
/// # Errors
/// [`BodyFault::TooLarge`].
pub fn check_size(request: &Request) -> Result<(), BodyFault> {
    if bytes(request).len() > LARGEST { Err(BodyFault::TooLarge) } else { Ok(()) }
}

/// Reads the required text `field` of the body, as sent: neither trimmed nor normalised. Other fields are ignored
/// unread, whatever they hold; of a field that stands twice the last counts.
///
/// # Errors
/// [`BodyFault`] for the first thing that is wrong; length is counted in Unicode scalar values.
pub fn required_text(request: &Request, field: &'static str, longest: usize) -> Result<String, BodyFault> {
    check_size(request)?;
    // Raw values are checked for their syntax alone: no number is too large and no nesting too deep to be ignored.
    let body: &RawValue = serde_json::from_slice(bytes(request)).map_err(|_| BodyFault::NotJson)?;
    if !body.get().starts_with('{') {
        return Err(BodyFault::NotAnObject);
    }
    let mut json = serde_json::Deserializer::from_str(body.get());
    let value = json.deserialize_map(LastOf(field)).map_err(|_| BodyFault::NotJson)?;
    let text = match value.map(RawValue::get) {
        None | Some("null") => return Err(BodyFault::Required(field)),
        Some(value) if !value.starts_with('"') => return Err(BodyFault::NotAString(field)),
        Some(value) => serde_json::from_str::<String>(value).map_err(|_| BodyFault::NotJson)?,
    };
    if text.chars().count() > longest {
        return Err(BodyFault::TooLong { field, longest });
    }
    if text.trim().is_empty() {
        return Err(BodyFault::Required(field));
    }
    Ok(text)
}

/// The last value of a field, unread.
struct LastOf(&'static str);

impl<'de> Visitor<'de> for LastOf {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut last = None;
        while let Some(name) = map.next_key::<Cow<'_, str>>()? {
            let value: &RawValue = map.next_value()?;
            if name == self.0 {
                last = Some(value);
            }
        }
        Ok(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &str) -> Result<String, BodyFault> {
        required_text(&Request::new(Body::from(body)), "coupon", 4)
    }

    #[test]
    fn every_fault_names_the_field_or_the_body() {
        let unclosed = "[".repeat(10_000);
        let large = format!("{{\"coupon\":\"a\",\"x\":\"{}\"}}", "x".repeat(LARGEST));
        let cases = [
            ("", BodyFault::NotJson),
            ("{", BodyFault::NotJson),
            ("{\"coupon\":\"\\ud800\"}", BodyFault::NotJson),
            (unclosed.as_str(), BodyFault::NotJson),
            (large.as_str(), BodyFault::TooLarge),
            ("[]", BodyFault::NotAnObject),
            ("null", BodyFault::NotAnObject),
            ("{}", BodyFault::Required("coupon")),
            ("{\"Coupon\":\"a\"}", BodyFault::Required("coupon")),
            ("{\"coupon\":null}", BodyFault::Required("coupon")),
            ("{\"coupon\":\" \\t\\u00a0\"}", BodyFault::Required("coupon")),
            ("{\"coupon\":1}", BodyFault::NotAString("coupon")),
            ("{\"coupon\":1e999}", BodyFault::NotAString("coupon")),
            ("{\"coupon\":\"a\",\"coupon\":1}", BodyFault::NotAString("coupon")),
            ("{\"coupon\":[\"a\"]}", BodyFault::NotAString("coupon")),
            ("{\"coupon\":\"abcde\"}", BodyFault::TooLong { field: "coupon", longest: 4 }),
            ("{\"coupon\":\"abc  \"}", BodyFault::TooLong { field: "coupon", longest: 4 }),
        ];
        for (body, fault) in cases {
            assert_eq!(read(body), Err(fault), "{body:.40}");
        }
    }

    #[test]
    fn length_is_counted_in_characters_and_unknown_fields_are_ignored() {
        assert_eq!(read("{\"x\":1,\"coupon\":\"💎💎💎💎\"}").as_deref(), Ok("💎💎💎💎"));
        assert_eq!(read("{\"coupon\":\" a \"}").as_deref(), Ok(" a "));
    }

    #[test]
    fn what_nobody_reads_may_be_anything_that_is_json() {
        let nested = format!("{}1{}", "[".repeat(5_000), "]".repeat(5_000));
        for ignored in ["1e999", "\"\\ud800\"", "-0.0", &nested] {
            assert_eq!(read(&format!("{{\"x\":{ignored},\"coupon\":\"a\"}}")).as_deref(), Ok("a"), "{ignored:.20}");
        }
    }

    #[test]
    fn bytes_that_are_no_utf_8_are_no_json() {
        let request = Request::new(Body::Binary(b"{\"coupon\":\"\xff\"}".to_vec()));
        assert_eq!(required_text(&request, "coupon", 4), Err(BodyFault::NotJson));
    }
}
