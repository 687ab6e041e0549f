//! The configuration of a function from its environment (template.yaml, `Environment`).

mod notice_keys;
mod payment_keys;

pub use notice_keys::{NoticeAddress, NoticeKeys, NoticeKeysError, SigningKey};
pub use payment_keys::{MOST_SECRETS, PaymentKeys, PaymentKeysError, StripeKeys, is_account};

use crate::http::address::{OriginKeys, Proxies, SHORTEST};
use crate::random;
use crate::token::{KeysError, TokenKeys};
use ipnet::IpNet;
use stripe::ApiBase;

#[derive(Debug, Clone)]
pub struct Config {
    /// Name of the table (`TABLE_NAME`).
    pub table: String,
    /// The keys that tokens are verified with (`TOKEN_KEYS`).
    pub keys: TokenKeys,
    /// Proxies in front of the API (`TRUSTED_PROXIES`, `ORIGIN_KEYS`; rules.md, "Client address" and "The edge").
    pub proxies: Proxies,
    /// The keys of payment providers (`PAYMENT_KEYS`); none unless it is set.
    pub payment_keys: PaymentKeys,
    /// Whether checkouts may begin (`TAKES_PAYMENTS`); true unless it is set. Open ones are settled in any case.
    pub takes_payments: bool,
    /// A server on this machine that is called instead of Stripe (`STRIPE_API_BASE`).
    pub stripe_base: Option<ApiBase>,
}

/// An environment with which a function cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("the environment variable {0} is not set")]
    Missing(&'static str),
    #[error("the environment variable {name} is {problem}")]
    Invalid {
        name: &'static str,
        /// The problem, without the value.
        problem: String,
    },
    #[error("the environment variable TOKEN_KEYS cannot be used")]
    Keys(#[source] KeysError),
    #[error("the environment variable PAYMENT_KEYS cannot be used")]
    PaymentKeys(#[source] PaymentKeysError),
    #[error("the environment variable NOTICE_KEYS cannot be used")]
    NoticeKeys(#[source] NoticeKeysError),
    #[error("the system gives no random numbers")]
    NoEntropy,
}

impl From<dynamodb::MissingVariable> for ConfigError {
    fn from(dynamodb::MissingVariable(name): dynamodb::MissingVariable) -> Self {
        Self::Missing(name)
    }
}

impl Config {
    /// Reads the process's environment. Fails for the first variable that is missing or wrong.
    pub fn from_env() -> Result<Self, ConfigError> {
        Self::from_vars(|name| std::env::var(name).ok())
    }

    /// The configuration of a function that takes no requests from outside, and so has no key but one that no one knows.
    pub fn of_table(var: impl Fn(&'static str) -> Option<String>) -> Result<Self, ConfigError> {
        let key = random::uuid().ok_or(ConfigError::NoEntropy)?;
        let keys = serde_json::json!({ "none": key }).to_string();
        Self::from_vars(|name| match name {
            "TABLE_NAME" => var(name),
            "TOKEN_KEYS" => Some(keys.clone()),
            _ => None,
        })
    }

    /// Reads variables through `var`. Their names are those of template.yaml. Fails for the first variable that is
    /// missing or wrong.
    pub fn from_vars(var: impl Fn(&'static str) -> Option<String>) -> Result<Self, ConfigError> {
        let set = |name| var(name).filter(|value| !value.trim().is_empty());
        let keys = set("TOKEN_KEYS").ok_or(ConfigError::Missing("TOKEN_KEYS"))?;
        Ok(Self {
            table: set("TABLE_NAME").ok_or(ConfigError::Missing("TABLE_NAME"))?,
            keys: TokenKeys::parse(&keys).map_err(ConfigError::Keys)?,
            proxies: Proxies {
                trusted: set("TRUSTED_PROXIES").map_or(Ok(Vec::new()), |text| networks(&text))?,
                edge: set("ORIGIN_KEYS").map(|text| origin_keys(&text)).transpose()?,
            },
            payment_keys: set("PAYMENT_KEYS").map_or(Ok(PaymentKeys::default()), |text| payment_keys(&text))?,
            takes_payments: set("TAKES_PAYMENTS").map_or(Ok(true), |text| flag("TAKES_PAYMENTS", &text))?,
            stripe_base: set("STRIPE_API_BASE").map(|text| stripe_base(&text)).transpose()?,
        })
    }
}

/// What the sender of notices has besides the table.
#[derive(Debug, Clone, Default)]
pub struct NoticeConfig {
    /// The targets that are connected (`NOTICE_KEYS`); none unless it is set.
    pub keys: NoticeKeys,
    /// Whether it may send to this machine (`NOTICE_LOOPBACK`), as tests do. No deployment sets it.
    pub allows_here: bool,
}

impl NoticeConfig {
    /// Reads variables through `var`. Fails for the first one that is wrong.
    pub fn from_vars(var: impl Fn(&'static str) -> Option<String>) -> Result<Self, ConfigError> {
        let set = |name| var(name).filter(|value| !value.trim().is_empty());
        let keys = set("NOTICE_KEYS").map_or(Ok(NoticeKeys::default()), |text| NoticeKeys::parse(&text));
        Ok(Self {
            keys: keys.map_err(ConfigError::NoticeKeys)?,
            allows_here: set("NOTICE_LOOPBACK").map_or(Ok(false), |text| flag("NOTICE_LOOPBACK", &text))?,
        })
    }
}

fn flag(name: &'static str, text: &str) -> Result<bool, ConfigError> {
    text.trim().parse().map_err(|_| ConfigError::Invalid { name, problem: "not true or false".to_owned() })
}

fn networks(text: &str) -> Result<Vec<IpNet>, ConfigError> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    parts
        .map(|part| {
            part.parse().map_err(|_| ConfigError::Invalid {
                name: "TRUSTED_PROXIES",
                problem: format!("no list of CIDRs: {part:?} is none (such as 203.0.113.0/24)"),
            })
        })
        .collect()
}

fn origin_keys(text: &str) -> Result<OriginKeys, ConfigError> {
    OriginKeys::parse(text).ok_or_else(|| ConfigError::Invalid {
        name: "ORIGIN_KEYS",
        problem: format!("not a JSON object with current, and perhaps previous, of at least {SHORTEST} bytes each"),
    })
}

fn payment_keys(text: &str) -> Result<PaymentKeys, ConfigError> {
    PaymentKeys::parse(text).map_err(ConfigError::PaymentKeys)
}

fn stripe_base(text: &str) -> Result<ApiBase, ConfigError> {
    match ApiBase::parse(text) {
        Ok(base) if base != ApiBase::default() => Ok(base),
        _ => Err(ConfigError::Invalid {
            name: "STRIPE_API_BASE",
            problem: "not http:// and a loopback address, without a path".to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: &str = r#"{"k1":"0123456789abcdef0123456789abcdef"}"#;

    fn read(extra: &[(&str, &str)]) -> Result<Config, String> {
        let vars = |name: &'static str| match extra.iter().find(|(key, _)| *key == name) {
            Some((_, value)) => Some((*value).to_owned()),
            None if name == "TABLE_NAME" => Some("t".to_owned()),
            None if name == "TOKEN_KEYS" => Some(KEYS.to_owned()),
            None => None,
        };
        Config::from_vars(vars).map_err(|error| error.to_string())
    }

    #[test]
    fn a_table_and_keys_are_enough() {
        let config = read(&[]).unwrap();
        assert!(config.proxies.trusted.is_empty() && config.proxies.edge.is_none());
        assert_eq!((config.payment_keys, config.stripe_base), (PaymentKeys::default(), None));
        assert!(config.takes_payments);
        assert!(!read(&[("TAKES_PAYMENTS", "false")]).unwrap().takes_payments);
    }

    #[test]
    fn payment_keys_are_read_and_never_printed() {
        let text = r#"{"stripe":{"key":"rk_test_51abc","webhook":["whsec_51def"]}}"#;
        let config = read(&[("PAYMENT_KEYS", text), ("STRIPE_API_BASE", "http://127.0.0.1:12111")]).unwrap();
        let printed = format!("{config:?}");
        assert!(!printed.contains("51abc") && !printed.contains("51def"), "{printed}");
        let key = config.payment_keys.stripe.map(|stripe| stripe.key.expose().to_owned());
        assert_eq!(key.as_deref(), Some("rk_test_51abc"));
        assert_eq!(config.stripe_base, ApiBase::parse("http://127.0.0.1:12111").ok());
    }

    #[test]
    fn every_wrong_variable_is_named() {
        assert_eq!(read(&[("TABLE_NAME", " ")]).unwrap_err(), "the environment variable TABLE_NAME is not set");
        assert!(read(&[("TRUSTED_PROXIES", "10.0.0.0/8, host")]).unwrap_err().contains("\"host\""));
        let own = |name: &'static str| Some(if name == "NOTICE_KEYS" { "[]" } else { "t" }.to_owned());
        assert!(NoticeConfig::from_vars(own).unwrap_err().to_string().contains("NOTICE_KEYS"));
        assert!(read(&[("TOKEN_KEYS", "{}")]).unwrap_err().contains("TOKEN_KEYS"));
        assert!(read(&[("TAKES_PAYMENTS", "yes")]).unwrap_err().contains("TAKES_PAYMENTS"));
        assert!(read(&[("ORIGIN_KEYS", "{}")]).unwrap_err().contains("ORIGIN_KEYS"));
        assert!(read(&[("PAYMENT_KEYS", "[]")]).unwrap_err().contains("PAYMENT_KEYS"));
        for base in ["https://stripe.example", "https://api.stripe.com", "http://10.0.0.1:80"] {
            assert!(read(&[("STRIPE_API_BASE", base)]).unwrap_err().contains("STRIPE_API_BASE"), "{base}");
        }
    }
}
