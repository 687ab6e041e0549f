//! The responses of this function. Game servers read bodies by the character set of their machine, so that JSON is ASCII only.

use lambda_http::http::StatusCode;
use lambda_http::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use lambda_http::{Body, Request, Response};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::ser::Formatter;
use shared::endpoint::{Cache, Refusal, Reply};
use shared::http::reply;
use std::io::{self, Write};
use std::marker::PhantomData;

/// 200 with a JSON body of type `T` in ASCII.
#[derive(Debug)]
pub struct AsciiJson<T> {
    body: String,
    shape: PhantomData<fn() -> T>,
}

impl<T> AsciiJson<T> {
    pub fn of(body: &impl Serialize) -> Self {
        let mut bytes = Vec::new();
        // Bodies consist of strings, numbers and each other; serialising them into memory cannot fail.
        _ = body.serialize(&mut serde_json::Serializer::with_formatter(&mut bytes, Ascii));
        Self { body: String::from_utf8(bytes).unwrap_or_default(), shape: PhantomData }
    }
}

impl<T: JsonSchema> Reply for AsciiJson<T> {
    fn into_response(self, _: &Request, _: Cache) -> Response<Body> {
        reply::text(self.body)
    }

    fn content(generator: &mut schemars::SchemaGenerator) -> shared::endpoint::Content {
        shared::endpoint::Content { media_type: "application/json", schema: generator.subschema_for::<T>() }
    }
}

/// Writes every character beyond ASCII as an escape.
struct Ascii;

impl Formatter for Ascii {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        for character in fragment.chars() {
            if character.is_ascii() {
                write!(writer, "{character}")?;
            } else {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    write!(writer, "\\u{unit:04x}")?;
                }
            }
        }
        Ok(())
    }
}

#[derive(Debug)]
pub struct PlainText(pub &'static str);

impl Reply for PlainText {
    fn into_response(self, _: &Request, _: Cache) -> Response<Body> {
        let mut response = reply::text(self.0.to_owned());
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
        response
    }

    fn content(generator: &mut schemars::SchemaGenerator) -> shared::endpoint::Content {
        shared::endpoint::Content { media_type: "text/plain", schema: generator.subschema_for::<String>() }
    }
}

#[derive(Debug)]
pub struct NoBody;

impl Reply for NoBody {
    fn into_response(self, _: &Request, _: Cache) -> Response<Body> {
        let mut response = Response::new(Body::Empty);
        response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response
    }

    fn content(generator: &mut schemars::SchemaGenerator) -> shared::endpoint::Content {
        shared::endpoint::Content { media_type: "", schema: generator.subschema_for::<()>() }
    }
}

/// No server has the key, or it was revoked.
#[derive(Debug, thiserror::Error)]
#[error("Unknown or revoked server key.")]
pub struct UnknownKey;

impl Refusal for UnknownKey {
    fn status(&self) -> StatusCode {
        StatusCode::UNAUTHORIZED
    }

    fn documented() -> Vec<(&'static str, Self)> {
        vec![("No server has the key, or it was revoked", Self)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_beyond_ascii_are_escaped() {
        let body = AsciiJson::<()>::of(&["a\"b\\c\n", "Größe", "💎", "\u{7f}"]);
        assert_eq!(body.body, "[\"a\\\"b\\\\c\\n\",\"Gr\\u00f6\\u00dfe\",\"\\ud83d\\udc8e\",\"\u{7f}\"]");
        let read: Vec<String> = serde_json::from_str(&body.body).unwrap();
        assert_eq!(read, ["a\"b\\c\n", "Größe", "💎", "\u{7f}"]);
    }
}
