//! The token in the `Authorization` header (rules.md, "Tokens").

use crate::token::{Claim, TokenKeys};
use lambda_http::http::HeaderMap;
use lambda_http::http::header::AUTHORIZATION;

/// The content of the header. Whether the token's user exists is known when the account has been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bearer {
    /// No token: the header is absent, empty, `undefined` or `null`, or `Bearer` is followed by nothing or one of the two, as
    /// clients send it while a visitor is logged out.
    Absent,
    /// A token that is not valid, or another scheme.
    Invalid,
    /// A token whose signature, issuer and expiry are valid.
    Verified(Claim),
}

impl Bearer {
    /// Reads the header; `now` is in seconds since 1970 UTC.
    pub fn of(headers: &HeaderMap, keys: &TokenKeys, now: i64) -> Self {
        let mut values = headers.get_all(AUTHORIZATION).iter();
        let Some(value) = values.next() else { return Self::Absent };
        if values.next().is_some() {
            return Self::Invalid;
        }
        let Ok(value) = value.to_str() else { return Self::Invalid };
        match token(value) {
            Presented::Nothing => Self::Absent,
            Presented::Garbage => Self::Invalid,
            Presented::Token(token) => keys.verify(token, now).map_or(Self::Invalid, Self::Verified),
        }
    }

    /// The claim of a verified token.
    pub const fn claim(self) -> Option<Claim> {
        match self {
            Self::Verified(claim) => Some(claim),
            Self::Absent | Self::Invalid => None,
        }
    }
}

/// The text of the token that the header holds, valid or not; `None` if it holds none. What is never a valid token is
/// an empty text.
pub fn sent(headers: &HeaderMap) -> Option<String> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let value = values.next()?;
    if values.next().is_some() {
        return Some(String::new());
    }
    match value.to_str().map(token) {
        Ok(Presented::Nothing) => None,
        Ok(Presented::Token(token)) => Some(token.to_owned()),
        Ok(Presented::Garbage) | Err(_) => Some(String::new()),
    }
}

/// Whether a text is a token at all, valid or not: clients write `undefined` or `null` while no user is logged in.
pub fn is_token(text: &str) -> bool {
    !matches!(text, "" | "undefined" | "null")
}

#[derive(Debug, PartialEq, Eq)]
enum Presented<'a> {
    Nothing,
    Garbage,
    Token(&'a str),
}

fn token(header: &str) -> Presented<'_> {
    let header = header.trim();
    let (scheme, rest) = header.split_once(|c: char| c.is_ascii_whitespace()).unwrap_or((header, ""));
    let rest = rest.trim();
    match rest {
        _ if !is_token(header) => Presented::Nothing,
        _ if !scheme.eq_ignore_ascii_case("bearer") => Presented::Garbage,
        token if is_token(token) => Presented::Token(token),
        _ => Presented::Nothing,
    }
}
