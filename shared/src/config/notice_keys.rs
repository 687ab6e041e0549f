//! The addresses of notices' targets and the keys that sign what is sent there, as the secret of the stack has them
//! (`NOTICE_KEYS`).

use crate::model::{NoticeTarget, TargetKind};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::Sha256;
use std::collections::BTreeMap;
use std::fmt;

/// The most keys that sign at once: a new one and the one before.
pub const MOST_KEYS: usize = 2;
/// How a key begins (Standard Webhooks).
const PREFIX: &str = "whsec_";
/// The sizes of keys in bytes that Standard Webhooks allows.
const SIZES: std::ops::RangeInclusive<usize> = 24..=64;

/// Every target that is connected, by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NoticeKeys(pub BTreeMap<String, NoticeAddress>);

/// Where a target is. It is never printed.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoticeAddress {
    pub url: String,
    /// The keys that sign, the oldest first; none for a channel of Discord.
    #[serde(default)]
    pub keys: Vec<SigningKey>,
}

impl fmt::Debug for NoticeAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NoticeAddress").field("keys", &self.keys.len()).finish_non_exhaustive()
    }
}

/// A key that signs messages. It is never printed.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct SigningKey(Vec<u8>);

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningKey")
    }
}

/// A text without usable addresses. The message never contains the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoticeKeysError {
    #[error("the notice keys are not a JSON object")]
    NotAnObject,
    #[error(
        "the target {0:?} is not a JSON object of \"url\" and at most {MOST_KEYS} \"keys\", each {PREFIX} and 24 to 64 bytes in base64"
    )]
    Target(String),
}

impl NoticeKeys {
    /// Reads `{"sales":{"url":"https://…","keys":["whsec_…"]}}`. An empty object has no targets.
    pub fn parse(text: &str) -> Result<Self, NoticeKeysError> {
        // The parser's own message may quote the text.
        let targets: BTreeMap<String, Value> = serde_json::from_str(text).map_err(|_| NoticeKeysError::NotAnObject)?;
        let read = |(name, value)| match serde_json::from_value::<NoticeAddress>(value) {
            Ok(address) if address.keys.len() <= MOST_KEYS => Ok((name, address)),
            Ok(_) | Err(_) => Err(NoticeKeysError::Target(name)),
        };
        targets.into_iter().map(read).collect::<Result<_, _>>().map(Self)
    }

    /// The address of a target, if it was connected as what it is now: of a webhook there are keys, of a channel none.
    pub fn of(&self, target: &NoticeTarget) -> Option<&NoticeAddress> {
        let address = self.0.get(&target.name)?;
        let is_channel = target.kind == TargetKind::Discord;
        (address.keys.is_empty() == is_channel).then_some(address)
    }

    /// The text that [`Self::parse`] reads. It has the addresses and the keys.
    pub fn expose(&self) -> String {
        let shown = |(name, address): (&String, &NoticeAddress)| {
            let keys: Vec<String> = address.keys.iter().map(SigningKey::expose).collect();
            (name.clone(), json!({"url": address.url, "keys": keys}))
        };
        Value::Object(self.0.iter().map(shown).collect()).to_string()
    }
}

impl TryFrom<String> for SigningKey {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text).ok_or("not a key")
    }
}

impl SigningKey {
    /// A new key; `None` if the system gives no random numbers.
    pub fn random() -> Option<Self> {
        let (first, second) = (crate::random::bits()?, crate::random::bits()?);
        Some(Self([first, second].concat()))
    }

    pub fn parse(text: &str) -> Option<Self> {
        let bytes = BASE64_STANDARD.decode(text.strip_prefix(PREFIX)?).ok()?;
        SIZES.contains(&bytes.len()).then_some(Self(bytes))
    }

    /// The text that [`Self::parse`] reads.
    pub fn expose(&self) -> String {
        format!("{PREFIX}{}", BASE64_STANDARD.encode(&self.0))
    }

    /// The signature of a message by Standard Webhooks: `v1,` and HMAC-SHA256 over id, time and body.
    pub fn sign(&self, id: &str, seconds: i64, body: &str) -> String {
        // HMAC takes keys of any length.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.0) else { return String::new() };
        mac.update(format!("{id}.{seconds}.{body}").as_bytes());
        format!("v1,{}", BASE64_STANDARD.encode(mac.finalize().into_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_signed_as_the_specification_says() {
        // The example of the specification, which its libraries in other languages are tested with.
        let key = SigningKey::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let signature = key.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, r#"{"test": 2432232314}"#);
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn addresses_are_read_and_written_and_never_printed() {
        let key = SigningKey::random().unwrap();
        assert_eq!(SigningKey::parse(&key.expose()), Some(key.clone()));
        let text = format!(r#"{{"own":{{"keys":["{}"],"url":"https://a.example/b"}}}}"#, key.expose());
        let keys = NoticeKeys::parse(&text).unwrap();
        assert_eq!((NoticeKeys::parse(&keys.expose()), keys.0["own"].keys.len()), (Ok(keys.clone()), 1));
        assert_eq!(format!("{keys:?}"), r#"NoticeKeys({"own": NoticeAddress { keys: 1, .. }})"#);
        assert_eq!(NoticeKeys::parse("{}"), Ok(NoticeKeys::default()));
        assert_eq!(NoticeKeys::parse(""), Err(NoticeKeysError::NotAnObject));
        for own in [
            r#""51abc""#,
            r#"{"keys":[]}"#,
            r#"{"url":"51abc","more":1}"#,
            r#"{"url":"51abc","keys":"51abc"}"#,
            r#"{"url":"51abc","keys":["whsec_51abc"]}"#,
            r#"{"url":"51abc","keys":[51]}"#,
        ] {
            let message = NoticeKeys::parse(&format!(r#"{{"own":{own}}}"#)).unwrap_err().to_string();
            assert!(message.contains("\"own\" is not") && !message.contains("51"), "{own}: {message}");
        }
    }
}
