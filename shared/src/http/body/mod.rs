//! Request bodies: JSON objects, with any Content-Type unless an endpoint requires that of JSON.
//!
//! A body is deserialised by serde, with three differences from serde_json: if a field occurs twice, the last one
//! counts; a field that is not read can contain any JSON, also numbers and strings that cannot be represented; every
//! fault names its field and never repeats the value.

mod values;

pub use values::{Flag, Text, Written, code, text};

use lambda_http::{Body, Request};
use serde::de::value::{MapAccessDeserializer, SeqDeserializer};
use serde::de::{
    self, Deserialize, DeserializeOwned, DeserializeSeed, Deserializer, Expected, IntoDeserializer, MapAccess,
    Unexpected, Visitor,
};
use serde_json::value::RawValue;
use std::collections::{BTreeMap, btree_map};
use std::fmt;

/// The largest body in bytes, unless an endpoint declares another limit.
pub const LARGEST_BODY: usize = 16 * 1024;

/// The reason why a body cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BodyFault {
    #[error("The request body must not be larger than {} KiB.", limit / 1024)]
    TooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    #[error("The request body must be valid JSON.")]
    NotJson,
    #[error("The request body must be a JSON object.")]
    NotAnObject,
    #[error("The {field} field {problem}.")]
    Field { field: String, problem: String },
}

/// The problem of a required field that is missing, null, empty or blank.
const REQUIRED: &str = "is required";

impl BodyFault {
    fn in_field(self, name: &str) -> Self {
        match self {
            Self::Field { field, problem } if field.is_empty() => Self::Field { field: name.to_owned(), problem },
            Self::Field { field, problem } => Self::Field { field: format!("{name}.{field}"), problem },
            other => other,
        }
    }
}

impl de::Error for BodyFault {
    fn custom<M: fmt::Display>(message: M) -> Self {
        Self::Field { field: String::new(), problem: message.to_string() }
    }

    fn invalid_type(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        // serde names integers by their Rust type, and lists by a word of its own.
        match expected.to_string().as_str() {
            "u8" | "u16" | "u32" | "u64" => Self::custom("must be a whole number that is not negative"),
            "i8" | "i16" | "i32" | "i64" => Self::custom("must be a whole number"),
            "a sequence" => Self::custom("must be a list"),
            other => Self::custom(format_args!("must be {other}")),
        }
    }

    fn invalid_value(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::invalid_type(unexpected, expected)
    }

    fn missing_field(field: &'static str) -> Self {
        Self::Field { field: field.to_owned(), problem: REQUIRED.to_owned() }
    }
}

fn bytes(request: &Request) -> &[u8] {
    match request.body() {
        Body::Text(text) => text.as_bytes(),
        Body::Binary(bytes) => bytes,
        // Body is non-exhaustive; it has no other variant that carries bytes.
        _ => &[],
    }
}

/// Refuses a body of more than `limit` bytes.
pub fn check_size(request: &Request, limit: usize) -> Result<(), BodyFault> {
    if bytes(request).len() > limit { Err(BodyFault::TooLarge { limit }) } else { Ok(()) }
}

/// Reads a body into a struct.
pub fn object<T: DeserializeOwned>(request: &Request) -> Result<T, BodyFault> {
    // An empty body is an object without fields, so that the fault names the first required field.
    let bytes = Some(bytes(request)).filter(|bytes| !bytes.trim_ascii().is_empty()).unwrap_or(b"{}");
    // Raw values are checked for syntax only, so that no number is too large and no nesting too deep to be ignored.
    let body: &RawValue = serde_json::from_slice(bytes).map_err(|_| BodyFault::NotJson)?;
    if !body.get().starts_with('{') {
        return Err(BodyFault::NotAnObject);
    }
    T::deserialize(MapAccessDeserializer::new(Fields::of(body.get())?))
}

/// The fields of an object, in the order of their names.
struct Fields<'de> {
    rest: btree_map::IntoIter<String, &'de RawValue>,
    /// The field whose name has been read and whose value is next.
    next: Option<(String, &'de RawValue)>,
}

impl<'de> Fields<'de> {
    fn of(object: &'de str) -> Result<Self, BodyFault> {
        let fields: BTreeMap<String, &RawValue> = serde_json::from_str(object).map_err(|_| BodyFault::NotJson)?;
        Ok(Self { rest: fields.into_iter(), next: None })
    }
}

impl<'de> MapAccess<'de> for Fields<'de> {
    type Error = BodyFault;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, BodyFault> {
        self.next = self.rest.next();
        let name = self.next.as_ref().map(|(name, _)| seed.deserialize(name.as_str().into_deserializer()));
        name.transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, BodyFault> {
        let (name, value) = self.next.take().ok_or(BodyFault::NotJson)?;
        seed.deserialize(Field(value.get())).map_err(|fault| fault.in_field(&name))
    }
}

/// A value as JSON.
struct Field<'de>(&'de str);

impl<'de> IntoDeserializer<'de, BodyFault> for Field<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Field<'de> {
    fn parse<T: Deserialize<'de>>(&self) -> Result<T, BodyFault> {
        serde_json::from_str(self.0).map_err(|_| BodyFault::NotJson)
    }
}

impl<'de> Deserializer<'de> for Field<'de> {
    type Error = BodyFault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, BodyFault> {
        match self.0.as_bytes().first() {
            Some(b'"') => visitor.visit_string(self.parse()?),
            Some(b't' | b'f') => visitor.visit_bool(self.parse()?),
            Some(b'n') => Err(de::Error::custom(REQUIRED)),
            Some(b'[') => {
                let elements: Vec<&RawValue> = self.parse()?;
                visitor.visit_seq(SeqDeserializer::new(elements.into_iter().map(|element| Field(element.get()))))
            }
            Some(b'{') => visitor.visit_map(Fields::of(self.0)?),
            _ => match (self.0.parse::<u64>(), self.0.parse::<i64>()) {
                (Ok(number), _) => visitor.visit_u64(number),
                (_, Ok(number)) => visitor.visit_i64(number),
                _ => Err(de::Error::invalid_type(Unexpected::Other("number"), &visitor)),
            },
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, BodyFault> {
        if self.0 == "null" { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, BodyFault> {
        if name == Written::NAME && self.0.starts_with(|first: char| first == '-' || first.is_ascii_digit()) {
            return visitor.visit_str(self.0);
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, BodyFault> {
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct enum identifier
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, Deserialize)]
    struct Sent {
        #[serde(deserialize_with = "text::<4, _, _>")]
        coupon: String,
    }

    fn read(body: &str) -> Result<String, BodyFault> {
        object(&Request::new(Body::from(body))).map(|sent: Sent| sent.coupon)
    }

    #[test]
    fn every_fault_names_the_field_or_the_body() {
        let unclosed = "[".repeat(10_000);
        let required = "The coupon field is required.";
        let not_a_string = "The coupon field must be a string.";
        let too_long = "The coupon field must not be longer than 4 characters.";
        let not_json = "The request body must be valid JSON.";
        let cases = [
            ("", required),
            (" \r\n", required),
            ("{", not_json),
            ("{\"coupon\":\"\\ud800\"}", not_json),
            (unclosed.as_str(), not_json),
            ("[]", "The request body must be a JSON object."),
            ("null", "The request body must be a JSON object."),
            ("{}", required),
            ("{\"Coupon\":\"a\"}", required),
            ("{\"coupon\":null}", required),
            ("{\"coupon\":\" \\t\\u00a0\"}", required),
            ("{\"coupon\":1}", not_a_string),
            ("{\"coupon\":-1.5}", not_a_string),
            ("{\"coupon\":1e999}", not_a_string),
            ("{\"coupon\":true}", not_a_string),
            ("{\"coupon\":{}}", not_a_string),
            ("{\"coupon\":\"a\",\"coupon\":1}", not_a_string),
            ("{\"coupon\":[\"a\"]}", not_a_string),
            ("{\"coupon\":\"abcde\"}", too_long),
            ("{\"coupon\":\"abc  \"}", too_long),
        ];
        for (body, message) in cases {
            assert_eq!(read(body).map_err(|fault| fault.to_string()), Err(message.to_owned()), "{body:.40}");
        }
    }
}
