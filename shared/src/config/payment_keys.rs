//! The keys of payment providers, as the secret of the stack has them (`PAYMENT_KEYS`).

use crate::model::ProviderAccount;
use serde_json::{Map, Value, json};
use std::fmt;
use stripe::{ObjectId, SecretKey, WebhookSecret};

/// The most webhook secrets of a provider. Two are enough to rotate one.
pub const MOST_SECRETS: usize = 5;

/// The keys of every payment provider that is connected.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PaymentKeys {
    /// Stripe's; `None` if it is not connected.
    pub stripe: Option<StripeKeys>,
}

/// The keys of a Stripe account. They are never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct StripeKeys {
    /// The secret or restricted key that requests are sent with.
    pub key: SecretKey,
    /// The secrets that webhooks may be signed with, the newest first, at least one.
    pub webhook: Vec<WebhookSecret>,
    /// The webhook endpoint of the newest secret; `None` if the keys do not say it.
    pub endpoint: Option<ObjectId>,
    /// The id of the account; `None` in keys that were stored before it was.
    pub account: Option<String>,
}

impl fmt::Debug for StripeKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StripeKeys")
            .field("webhook", &self.webhook.len())
            .field("account", &self.account)
            .finish_non_exhaustive()
    }
}

/// A text without usable payment keys. The message never contains the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PaymentKeysError {
    #[error("the payment keys are not a JSON object")]
    NotAnObject,
    /// A provider that is not known.
    #[error("the payment keys have a provider that is not known; only \"stripe\" is")]
    Provider,
    #[error("stripe is not a JSON object")]
    Stripe,
    #[error("stripe has a field that is not known; \"key\", \"webhook\", \"endpoint\" and \"account\" are")]
    Field,
    #[error("stripe.key {0}")]
    Key(&'static str),
    #[error("stripe.webhook must be a list of 1 to {MOST_SECRETS} webhook secrets")]
    Secrets,
    #[error("stripe.account must be an id of Stripe's (acct_…)")]
    Account,
    #[error("stripe.endpoint must be an id of Stripe's (we_…)")]
    Endpoint,
    #[error("stripe.webhook[{place}] {reason}")]
    Secret {
        /// Its place in the list, from 0.
        place: usize,
        reason: &'static str,
    },
}

impl PaymentKeys {
    /// Reads `{"stripe":{"key":"rk_…","webhook":["new","old"],"endpoint":"we_…","account":"acct_…"}}`; `endpoint` and `account`
    /// may be missing. An empty object has no keys.
    pub fn parse(text: &str) -> Result<Self, PaymentKeysError> {
        // The parser's own message may quote the text.
        let mut providers: Map<String, Value> =
            serde_json::from_str(text).map_err(|_| PaymentKeysError::NotAnObject)?;
        let stripe = providers.remove("stripe").map(StripeKeys::read).transpose()?;
        if providers.is_empty() { Ok(Self { stripe }) } else { Err(PaymentKeysError::Provider) }
    }

    /// The text that [`Self::parse`] reads. It has the keys.
    pub fn expose(&self) -> String {
        let stripe = self.stripe.as_ref().map(|StripeKeys { key, webhook, endpoint, account }| {
            let webhook: Vec<&str> = webhook.iter().map(WebhookSecret::expose).collect();
            let mut stripe = json!({"key": key.expose(), "webhook": webhook});
            if let Some(endpoint) = endpoint {
                stripe["endpoint"] = endpoint.as_str().into();
            }
            if let Some(account) = account {
                stripe["account"] = account.as_str().into();
            }
            stripe
        });
        Value::Object(stripe.map(|stripe| ("stripe".to_owned(), stripe)).into_iter().collect()).to_string()
    }
}

impl StripeKeys {
    fn read(value: Value) -> Result<Self, PaymentKeysError> {
        let Value::Object(mut fields) = value else { return Err(PaymentKeysError::Stripe) };
        let (key, webhook) = (fields.remove("key"), fields.remove("webhook"));
        let account = fields.remove("account").map(read_account).transpose()?;
        let endpoint = fields.remove("endpoint").as_ref().map(read_endpoint).transpose()?;
        if !fields.is_empty() {
            return Err(PaymentKeysError::Field);
        }
        let Some(Value::String(key)) = key else { return Err(PaymentKeysError::Key("must be a text")) };
        let key = SecretKey::parse(&key).map_err(|invalid| PaymentKeysError::Key(invalid.reason))?;
        let Some(Value::Array(webhook)) = webhook else { return Err(PaymentKeysError::Secrets) };
        if webhook.is_empty() || webhook.len() > MOST_SECRETS {
            return Err(PaymentKeysError::Secrets);
        }
        let webhook = webhook.into_iter().enumerate().map(|(place, secret)| read_secret(place, secret));
        Ok(Self { key, webhook: webhook.collect::<Result<_, _>>()?, endpoint, account })
    }

    /// The account in the mode of the key.
    pub fn provider_account(&self) -> ProviderAccount {
        ProviderAccount { id: self.account.clone(), live: self.key.is_live() }
    }
}

fn read_account(value: Value) -> Result<String, PaymentKeysError> {
    match value {
        Value::String(id) if is_account(&id) => Ok(id),
        _ => Err(PaymentKeysError::Account),
    }
}

fn read_endpoint(value: &Value) -> Result<ObjectId, PaymentKeysError> {
    let id = value.as_str().filter(|id| id.starts_with("we_")).and_then(|id| ObjectId::parse(id).ok());
    id.ok_or(PaymentKeysError::Endpoint)
}

/// Whether a text can be the id of a Stripe account.
pub fn is_account(id: &str) -> bool {
    id.starts_with("acct_") && ObjectId::parse(id).is_ok()
}

fn read_secret(place: usize, secret: Value) -> Result<WebhookSecret, PaymentKeysError> {
    let Value::String(secret) = secret else {
        return Err(PaymentKeysError::Secret { place, reason: "must be a text" });
    };
    WebhookSecret::try_from(secret).map_err(|invalid| PaymentKeysError::Secret { place, reason: invalid.reason })
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: &str = r#"{"stripe":{"key":"rk_test_51abc","webhook":["whsec_new","whsec_old"]}}"#;

    #[test]
    fn keys_are_read_and_written_and_never_printed() {
        let keys = PaymentKeys::parse(KEYS).unwrap();
        let stripe = keys.stripe.clone().unwrap();
        assert_eq!((stripe.key.expose(), stripe.webhook.len()), ("rk_test_51abc", 2));
        assert_eq!(stripe.webhook.iter().map(WebhookSecret::expose).collect::<Vec<_>>(), ["whsec_new", "whsec_old"]);
        assert_eq!(PaymentKeys::parse(&keys.expose()).unwrap(), keys);
        let printed = format!("{keys:?}");
        assert!(!printed.contains("51abc") && !printed.contains("new"), "{printed}");
        assert_eq!(stripe.provider_account(), ProviderAccount { id: None, live: false });
        let known = PaymentKeys::parse(&KEYS.replace("}}", r#","endpoint":"we_1","account":"acct_1"}}"#)).unwrap();
        let ids = known.stripe.clone().map(|stripe| (stripe.endpoint.unwrap(), stripe.account.unwrap())).unwrap();
        assert_eq!((ids.0.as_str(), ids.1.as_str()), ("we_1", "acct_1"));
        assert_eq!(PaymentKeys::parse(&known.expose()).unwrap(), known);
    }

    #[test]
    fn an_empty_object_has_no_keys() {
        assert_eq!(PaymentKeys::parse("{}").unwrap(), PaymentKeys::default());
        assert_eq!(PaymentKeys::default().expose(), "{}");
    }

    #[test]
    fn every_problem_is_named_and_nothing_is_quoted() {
        let many =
            r#"{"stripe":{"key":"rk_test_a","webhook":["whsec_a","whsec_a","whsec_a","whsec_a","whsec_a","whsec_a"]}}"#;
        for (text, problem) in [
            ("", "not a JSON object"),
            ("rk_test_51abc", "not a JSON object"),
            (r#"["rk_test_51abc"]"#, "not a JSON object"),
            (r#"{"Stripe":{}}"#, "only \"stripe\""),
            (r#"{"stripe":"rk_test_51abc"}"#, "stripe is not a JSON object"),
            (r#"{"stripe":{}}"#, "stripe.key must be a text"),
            (r#"{"stripe":{"key":7,"webhook":["whsec_a"]}}"#, "stripe.key must be a text"),
            (r#"{"stripe":{"key":"pk_test_51abc","webhook":["whsec_a"]}}"#, "stripe.key must begin"),
            (r#"{"stripe":{"key":"rk_test_51abc"}}"#, "stripe.webhook must be a list"),
            (r#"{"stripe":{"key":"rk_test_51abc","webhook":"whsec_a"}}"#, "stripe.webhook must be a list"),
            (r#"{"stripe":{"key":"rk_test_51abc","webhook":[]}}"#, "stripe.webhook must be a list"),
            (many, "1 to 5"),
            (r#"{"stripe":{"key":"rk_test_51abc","webhook":["whsec_a","51abc"]}}"#, "stripe.webhook[1] must begin"),
            (r#"{"stripe":{"key":"rk_test_51abc","webhook":[null]}}"#, "stripe.webhook[0] must be a text"),
            (r#"{"stripe":{"key":"rk_test_51abc","webhook":["whsec_a"],"51abc":1}}"#, "\"endpoint\" and \"account\""),
            (r#"{"stripe":{"key":"rk_test_51abc","webhook":["whsec_a"],"account":"51abc"}}"#, "stripe.account must be"),
            (r#"{"stripe":{"key":"rk_test_51abc","webhook":["whsec_a"],"account":7}}"#, "stripe.account must be"),
            (
                r#"{"stripe":{"key":"rk_test_51abc","webhook":["whsec_a"],"endpoint":"51abc"}}"#,
                "stripe.endpoint must be",
            ),
        ] {
            let message = PaymentKeys::parse(text).unwrap_err().to_string();
            assert!(message.contains(problem) && !message.contains("51abc"), "{text}: {message}");
        }
    }
}
