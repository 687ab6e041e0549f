//! Values with a shape of their own, parts that several objects have in common, and words of the API that may become
//! more.

use http::{HeaderValue, Uri};
use serde::Deserialize;
use std::fmt;

/// The longest id and the longest idempotency key.
const LONGEST_ID: usize = 255;

/// A text that cannot be used. The message never contains the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{what} {reason}")]
pub struct Invalid {
    pub what: &'static str,
    pub reason: &'static str,
}

/// The id of an object, such as `cs_test_a1…`: safe to put into a path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct ObjectId(String);

impl ObjectId {
    /// Reads an id. Fails unless it is 1 to 255 letters, digits, underscores and dashes.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        Self::try_from(text.to_owned())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for ObjectId {
    type Error = Invalid;

    fn try_from(text: String) -> Result<Self, Invalid> {
        let is_plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
        if text.is_empty() || text.len() > LONGEST_ID || !is_plain {
            let reason = "must be 1 to 255 letters, digits, underscores and dashes";
            return Err(Invalid { what: "the object's id", reason });
        }
        Ok(Self(text))
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The key that makes a repeated request have its effect once. Stripe keeps the first response under it for at least a
/// day and repeats it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyKey(HeaderValue);

impl IdempotencyKey {
    /// Reads a key. Fails unless it is 1 to 255 visible ASCII characters.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let invalid = Invalid { what: "the idempotency key", reason: "must be 1 to 255 visible ASCII characters" };
        if text.is_empty() || text.len() > LONGEST_ID || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(invalid);
        }
        HeaderValue::from_str(text).map(Self).map_err(|_| invalid)
    }

    pub(crate) const fn header(&self) -> &HeaderValue {
        &self.0
    }
}

/// A secret or restricted key of an account. It is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretKey {
    text: String,
    header: HeaderValue,
}

impl SecretKey {
    /// Reads a key. Fails unless it begins as a secret or restricted key does.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let what = "the Stripe key";
        let begins = ["sk_live_", "sk_test_", "rk_live_", "rk_test_"];
        let Some(start) = begins.iter().find(|start| text.starts_with(**start)) else {
            return Err(Invalid { what, reason: "must begin with rk_live_, rk_test_, sk_live_ or sk_test_" });
        };
        let is_plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if text.len() == start.len() || text.len() > LONGEST_ID || !is_plain {
            return Err(Invalid { what, reason: "must be letters, digits and underscores" });
        }
        let mut header = HeaderValue::try_from(format!("Bearer {text}"))
            .map_err(|_| Invalid { what, reason: "cannot be sent in a header" })?;
        header.set_sensitive(true);
        Ok(Self { text: text.to_owned(), header })
    }

    /// Whether the key moves real money.
    pub fn is_live(&self) -> bool {
        self.text[2..].starts_with("_live_")
    }

    /// Whether the key is restricted to the rights that it was given.
    pub fn is_restricted(&self) -> bool {
        self.text.starts_with("rk_")
    }

    /// The key as text, to store it.
    pub fn expose(&self) -> &str {
        &self.text
    }

    pub(crate) const fn header(&self) -> &HeaderValue {
        &self.header
    }

    /// A text without the key, if it repeats the key.
    pub(crate) fn without_key(&self, text: &str) -> String {
        text.replace(&self.text, "[key]")
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretKey")
    }
}

/// The secret that a webhook endpoint's requests are signed with. It is never printed.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct WebhookSecret(String);

impl WebhookSecret {
    /// Reads a secret. Fails unless it begins with `whsec_`, followed by visible ASCII characters.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        Self::try_from(text.to_owned())
    }

    /// The secret as text, to store it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for WebhookSecret {
    type Error = Invalid;

    fn try_from(text: String) -> Result<Self, Invalid> {
        let rest = text.strip_prefix("whsec_").unwrap_or_default();
        if rest.is_empty() || !rest.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(Invalid { what: "the webhook secret", reason: "must begin with whsec_" });
        }
        Ok(Self(text))
    }
}

impl fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebhookSecret")
    }
}

/// The address of the API: Stripe, or a server on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiBase(String);

impl ApiBase {
    /// Reads the value of `STRIPE_API_BASE`. Any other host would be given the key. Fails unless it is
    /// `https://api.stripe.com`, or `http://` and a loopback address.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let text = text.strip_suffix('/').unwrap_or(text);
        if text == Self::default().0 {
            return Ok(Self::default());
        }
        let reason = "must be https://api.stripe.com, or http:// and a loopback address, without a path";
        let invalid = Invalid { what: "STRIPE_API_BASE", reason };
        let url: Uri = text.parse().map_err(|_| invalid)?;
        let authority = url.authority().ok_or(invalid)?;
        // Nothing but scheme, host and port.
        let is_origin = text == format!("http://{authority}") && !authority.as_str().contains('@');
        if is_origin && outgoing::is_allowed(&url) { Ok(Self(text.to_owned())) } else { Err(invalid) }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for ApiBase {
    fn default() -> Self {
        Self("https://api.stripe.com".to_owned())
    }
}

/// The metadata of an object, for us.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Metadata {
    pub order: Option<String>,
    pub attempt: Option<String>,
}

/// A page of a list, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct List<T> {
    pub data: Vec<T>,
    /// Whether more follow after the last one.
    pub has_more: bool,
}

/// An enum of words. A word that is not in the list is kept as `Other`.
macro_rules! names {
    ($(#[$about:meta])* $type:ident { $($(#[$note:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
        #[serde(from = "String")]
        pub enum $type {
            $($(#[$note])* $variant,)+
            /// A word that this crate does not know.
            Other(String),
        }

        impl $type {
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $word,)+
                    Self::Other(word) => word,
                }
            }
        }

        impl From<String> for $type {
            fn from(word: String) -> Self {
                match word.as_str() {
                    $($word => Self::$variant,)+
                    _ => Self::Other(word),
                }
            }
        }
    };
}

pub(crate) use names;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_stripe_and_this_machine_are_given_the_key() {
        for text in ["https://api.stripe.com", "https://api.stripe.com/", "http://127.0.0.1:12111", "http://[::1]:80"] {
            assert!(ApiBase::parse(text).is_ok(), "{text}");
        }
        let refused = [
            "",
            "api.stripe.com",
            "http://api.stripe.com",
            "https://api.stripe.com.evil.example",
            "https://127.0.0.1:12111",
            "http://127.0.0.1:12111/v1",
            "http://127.0.0.1:1?a",
            "http://127.0.0.1@evil.example",
            "http://evil@127.0.0.1",
            "http://10.0.0.1:80",
            "http://0.0.0.0:80",
            "ftp://127.0.0.1",
        ];
        for text in refused {
            assert_eq!(ApiBase::parse(text).unwrap_err().what, "STRIPE_API_BASE", "{text}");
        }
    }

    #[test]
    fn a_key_is_a_secret_or_restricted_one_and_is_never_printed() {
        for (text, live, restricted) in [
            ("rk_live_51abc", true, true),
            ("rk_test_51abc", false, true),
            ("sk_live_51abc", true, false),
            ("sk_test_51abc", false, false),
        ] {
            let key = SecretKey::parse(text).unwrap();
            assert_eq!((key.is_live(), key.is_restricted()), (live, restricted), "{text}");
            assert!(!format!("{key:?} {:?}", key.header()).contains("51abc"));
        }
        for text in ["", "pk_live_51abc", "rk_live_", "rk_live_a b", "rk_live_a\n", " rk_live_a", "rk_prod_a"] {
            let error = SecretKey::parse(text).unwrap_err();
            assert_eq!(error.what, "the Stripe key", "{text}");
        }
    }

    #[test]
    fn an_id_cannot_leave_its_place_in_a_path() {
        assert_eq!(ObjectId::parse("cs_test_a1-B").unwrap().as_str(), "cs_test_a1-B");
        for text in ["", "a/b", "..", "a?b", "a b", "é", &"a".repeat(256)] {
            assert!(ObjectId::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_webhook_secret_is_never_printed() {
        assert_eq!(format!("{:?}", WebhookSecret::parse("whsec_abc").unwrap()), "WebhookSecret");
        for text in ["", "whsec_", "abc", "whsec_a b"] {
            assert!(WebhookSecret::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_idempotency_key_fits_into_a_header() {
        assert!(IdempotencyKey::parse("ska237syhxydekce-1").is_ok());
        for text in ["", "a b", "a\r\nX: y", "é", &"a".repeat(256)] {
            assert!(IdempotencyKey::parse(text).is_err(), "{text}");
        }
    }
}
