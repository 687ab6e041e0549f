//! Values that fields have, beyond those that serde knows.

use super::REQUIRED;
use crate::model::CodeText;
use serde::de::{self, Deserialize, Deserializer, Unexpected, Visitor};
use std::fmt;

/// Deserialises a required string of at most `LONGEST` characters (Unicode scalar values, counted as sent):
/// `#[serde(deserialize_with = "text::<255, _, _>")]`. The string is neither trimmed nor normalised.
pub fn text<'de, const LONGEST: usize, T, D>(field: D) -> Result<T, D::Error>
where
    T: for<'t> From<&'t str>,
    D: Deserializer<'de>,
{
    let text = String::deserialize(field)?;
    if text.chars().count() > LONGEST {
        return Err(de::Error::custom(format_args!("must not be longer than {LONGEST} characters")));
    }
    if text.trim().is_empty() { Err(de::Error::custom(REQUIRED)) } else { Ok(text.as_str().into()) }
}

/// The schema of a string that [`text`] reads.
#[derive(Debug)]
pub struct Text<const LONGEST: usize>;

impl<const LONGEST: usize> schemars::JsonSchema for Text<LONGEST> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("Text{LONGEST}").into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "minLength": 1, "maxLength": LONGEST, "pattern": "\\S" })
    }
}

/// Same as [`text`], for a coupon, gift card or referral code.
pub fn code<'de, const LONGEST: usize, D: Deserializer<'de>>(field: D) -> Result<CodeText, D::Error> {
    let text: String = text::<LONGEST, _, _>(field)?;
    CodeText::parse(&text).map_err(|_| de::Error::custom(REQUIRED))
}

/// A string, or a number exactly as its digits were sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written(pub String);

impl Written {
    /// By this name, the deserializer passes on a number as it was sent.
    pub(super) const NAME: &'static str = "shared::http::body::Written";
}

impl<'de> Deserialize<'de> for Written {
    fn deserialize<D: Deserializer<'de>>(field: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = Written;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or a number")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Written, E> {
                Ok(Written(text.to_owned()))
            }

            fn visit_newtype_struct<D: Deserializer<'de>>(self, field: D) -> Result<Written, D::Error> {
                field.deserialize_any(self)
            }
        }

        field.deserialize_newtype_struct(Self::NAME, Reader)
    }
}

/// True or false, or 1 or 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flag(pub bool);

impl<'de> Deserialize<'de> for Flag {
    fn deserialize<D: Deserializer<'de>>(field: D) -> Result<Self, D::Error> {
        struct Reader;

        impl Visitor<'_> for Reader {
            type Value = Flag;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("true or false, or 1 or 0")
            }

            fn visit_bool<E: de::Error>(self, flag: bool) -> Result<Flag, E> {
                Ok(Flag(flag))
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Flag, E> {
                match number {
                    0 | 1 => Ok(Flag(number == 1)),
                    _ => Err(E::invalid_value(Unexpected::Unsigned(number), &self)),
                }
            }
        }

        field.deserialize_any(Reader)
    }
}

impl schemars::JsonSchema for Written {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Written".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": ["string", "number"] })
    }
}

impl schemars::JsonSchema for Flag {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Flag".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": ["boolean", "integer"], "minimum": 0, "maximum": 1 })
    }
}

#[cfg(test)]
mod tests {
    use super::super::object;
    use super::*;
    use lambda_http::{Body, Request};

    #[test]
    fn a_number_is_read_as_it_was_sent_and_a_flag_may_be_a_number() {
        #[derive(Debug, serde::Deserialize, PartialEq)]
        struct Sent {
            price: Option<Written>,
            promoted: Option<Flag>,
        }
        let read = |body: &str| object::<Sent>(&Request::new(Body::from(body))).map_err(|fault| fault.to_string());
        for (sent, text) in [
            ("9.99", "9.99"),
            ("0.1000000000000000055511151231257827", "0.1000000000000000055511151231257827"),
            ("1e400", "1e400"),
            ("-0", "-0"),
            ("\"\\u0661 x\"", "١ x"),
        ] {
            let price = Some(Written(text.to_owned()));
            assert_eq!(read(&format!("{{\"price\": {sent} }}")), Ok(Sent { price, promoted: None }));
        }
        assert_eq!(read("{\"price\":null,\"promoted\":null}"), Ok(Sent { price: None, promoted: None }));
        for wrong in ["true", "[9.99]", "{}"] {
            let fault = read(&format!("{{\"price\":{wrong}}}"));
            assert_eq!(fault, Err("The price field must be a string or a number.".to_owned()), "{wrong}");
        }
        for (sent, flag) in [("true", true), ("false", false), ("1", true), ("0", false)] {
            let promoted = Some(Flag(flag));
            assert_eq!(read(&format!("{{\"promoted\":{sent}}}")), Ok(Sent { price: None, promoted }));
        }
        for wrong in ["2", "-1", "1.0", "\"1\"", "1e400", "[]"] {
            let fault = read(&format!("{{\"promoted\":{wrong}}}"));
            assert_eq!(fault, Err("The promoted field must be true or false, or 1 or 0.".to_owned()), "{wrong}");
        }
    }
}
