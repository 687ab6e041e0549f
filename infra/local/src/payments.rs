//! How buyers pay: at the stand-in for Stripe, or at your own Stripe account in test mode.

use crate::options::StartError;
use shared::config::PaymentKeys;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use stripe_stand_in::{MovableClock, Options, StandIn};

/// The payment provider of a running server.
#[derive(Debug)]
pub struct PaymentProvider {
    /// The value of `PAYMENT_KEYS`.
    pub keys: String,
    /// The value of `STRIPE_API_BASE`; `None` is Stripe itself.
    pub base_url: Option<String>,
    /// The stand-in, which ends when it is dropped.
    pub stand_in: Option<StandIn>,
}

impl PaymentProvider {
    /// A stand-in on a port of this machine, which posts webhooks to `webhook_url` and can move the server's clock ahead. A
    /// file keeps what it remembers. Fails if the port is in use or not allowed, or the file cannot be read.
    pub async fn stand_in(
        port: u16,
        webhook_url: String,
        kept: Option<PathBuf>,
        clock: Arc<MovableClock>,
    ) -> Result<Self, StartError> {
        let (movable, webhook_url) = (Some(Arc::clone(&clock)), Some(webhook_url));
        let options = Options { port, webhook_url, kept, clock, movable, ..Options::default() };
        let stand_in = stripe_stand_in::start(options).await.map_err(|error| match error.kind() {
            ErrorKind::AddrInUse => StartError::PortTaken { port, option: "--stripe-port" },
            _ => StartError::StandIn(error),
        })?;
        stand_in.set_up_portal();
        let (keys, base_url) = (stripe_stand_in::payment_keys(), Some(stand_in.base_url()));
        Ok(Self { keys, base_url, stand_in: Some(stand_in) })
    }

    /// The account whose keys are in a file. `STRIPE_API_BASE` may name a server on this machine instead of Stripe.
    /// Fails with [`StartError::PaymentKeys`] if the file cannot be read, has no keys, or has one for real money.
    pub fn account(file: &Path) -> Result<Self, StartError> {
        let refused = |reason: String| StartError::PaymentKeys { path: file.to_owned(), reason };
        let keys = std::fs::read_to_string(file).map_err(|error| refused(error.to_string()))?;
        let parsed = PaymentKeys::parse(&keys).map_err(|error| refused(error.to_string()))?;
        let stripe = parsed.stripe.ok_or_else(|| refused("`stripe` is missing".to_owned()))?;
        if stripe.key.is_live() {
            return Err(refused("`stripe.key` is for real money; this server takes a key of test mode".to_owned()));
        }
        Ok(Self { keys, ..Self::of_environment() })
    }

    /// The provider that the environment names, as for a function.
    pub fn of_environment() -> Self {
        let variable = |name| std::env::var(name).ok().filter(|text| !text.trim().is_empty());
        let keys = variable("PAYMENT_KEYS").unwrap_or_default();
        Self { keys, base_url: variable("STRIPE_API_BASE"), stand_in: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(text: &str) -> Result<PaymentProvider, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        PaymentProvider::account(file.path()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_key_of_test_mode_is_taken_and_one_for_real_money_is_refused() {
        let keys = |key: &str| format!(r#"{{"stripe":{{"key":"{key}","webhook":["whsec_a"]}}}}"#);
        assert_eq!(account(&keys("rk_test_a")).unwrap().keys, keys("rk_test_a"));
        for live in ["rk_live_a", "sk_live_a"] {
            let error = account(&keys(live)).unwrap_err();
            assert!(error.contains("real money") && !error.contains(live), "{error}");
        }
        for text in ["", "{}", r#"{"stripe":{"key":"pk_test_a","webhook":["whsec_a"]}}"#] {
            assert!(account(text).unwrap_err().contains("payment keys"), "{text}");
        }
    }
}
