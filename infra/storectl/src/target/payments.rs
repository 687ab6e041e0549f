//! The source of payment providers' keys, and the place of new ones. They are never shown.

use crate::error::{Exit, Failure, of_service};
use aws_config::SdkConfig;
use local::stripe::{Options, StandIn, start};
use shared::clock::Clock;
use shared::config::PaymentKeys;
use shared::providers::Stripe;
use shared::table::connector;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use stripe::{ApiBase, Client, SecretKey};
use tokio::sync::OnceCell;

/// The variable that holds the keys, as the function has it.
const VARIABLE: &str = "PAYMENT_KEYS";
/// The variable with the server that is called instead of Stripe.
const BASE: &str = "STRIPE_API_BASE";

/// A file, the environment, a deployed stack's secret, or the stand-in of a local server; and the server that is called.
#[derive(Debug, Clone)]
pub(crate) struct PaymentSource {
    file: Option<PathBuf>,
    secret: Option<(SdkConfig, String)>,
    base: Option<String>,
    local: Option<Local>,
}

/// The stand-in for Stripe of a local server.
#[derive(Debug, Clone)]
pub(crate) enum Local {
    /// It runs, at this URL.
    Running(String),
    /// It is started from the file in which it keeps what it remembers, when it is first needed.
    Kept { file: PathBuf, clock: Arc<dyn Clock>, started: Arc<OnceCell<StandIn>> },
}

impl Local {
    pub(crate) fn kept(file: PathBuf, clock: &Arc<dyn Clock>) -> Self {
        Self::Kept { file, clock: Arc::clone(clock), started: Arc::default() }
    }

    async fn url(&self) -> Result<String, Failure> {
        let (file, clock, started) = match self {
            Self::Running(url) => return Ok(url.clone()),
            Self::Kept { file, clock, started } => (file, clock, started),
        };
        let options = Options { kept: Some(file.clone()), clock: Arc::clone(clock), ..Options::default() };
        let stand_in = started.get_or_try_init(|| start(options)).await.map_err(|error| super::unusable(&error))?;
        Ok(stand_in.base_url())
    }
}

impl PaymentSource {
    pub(crate) fn new(file: Option<&Path>, secret: Option<(SdkConfig, String)>, base: Option<&str>) -> Self {
        Self { file: file.map(Path::to_owned), secret, base: base.map(str::to_owned), local: None }
    }

    /// The same, with the stand-in of a local server if no other keys are named.
    pub(crate) fn or_local(self, local: Option<Local>) -> Self {
        let is_named = self.file.is_some() || variable(VARIABLE).is_some();
        Self { local: local.filter(|_| !is_named), ..self }
    }

    /// Whether keys could be known here: of the option, the environment, a deployed stack or a local server.
    pub(crate) fn is_known(&self) -> bool {
        self.file.is_some() || self.secret.is_some() || self.local.is_some() || variable(VARIABLE).is_some()
    }

    /// The keys: of the file, the environment, a local server or the stack's secret, in this order; none if there is no such
    /// place, or it is empty.
    pub(crate) async fn read(&self) -> Result<PaymentKeys, Failure> {
        let Some((text, origin)) = self.text().await? else { return Ok(PaymentKeys::default()) };
        PaymentKeys::parse(&text).map_err(|error| {
            let what = format!("The payment keys of {origin} cannot be used: {error}.");
            Failure::new(Exit::Denied, what, "Set them again: `storectl payments connect stripe`.")
        })
    }

    async fn text(&self) -> Result<Option<(String, String)>, Failure> {
        if let Some(path) = &self.file {
            return match std::fs::read_to_string(path) {
                Ok(text) => Ok(Some((text, path.display().to_string()))),
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
                Err(error) => Err(Failure::file(path, &error)),
            };
        }
        if let Some(text) = variable(VARIABLE) {
            return Ok(Some((text, format!("the variable {VARIABLE}"))));
        }
        if self.local.is_some() {
            return Ok(Some((local::stripe::payment_keys(), "the local server".to_owned())));
        }
        let Some((config, arn)) = &self.secret else { return Ok(None) };
        let client = aws_sdk_secretsmanager::Client::new(config);
        let answer = client.get_secret_value().secret_id(arn).send().await;
        let answer = answer.map_err(|error| of_service("Secrets Manager", &error))?;
        Ok(answer.secret_string.map(|text| (text, "the stack's secret".to_owned())))
    }

    pub(crate) async fn write(&self, keys: &PaymentKeys) -> Result<String, Failure> {
        if let Some(path) = &self.file {
            local::data::write_whole(path, keys.expose().as_bytes()).map_err(|error| Failure::file(path, &error))?;
            return Ok(path.display().to_string());
        }
        let Some((config, arn)) = &self.secret else { return Err(no_place()) };
        let client = aws_sdk_secretsmanager::Client::new(config);
        let put = client.put_secret_value().secret_id(arn).secret_string(keys.expose());
        put.send().await.map_err(|error| of_service("Secrets Manager", &error))?;
        Ok("the stack's secret".to_owned())
    }

    pub(crate) fn must_be_writable(&self) -> Result<(), Failure> {
        if self.file.is_some() || self.secret.is_some() { Ok(()) } else { Err(no_place()) }
    }

    /// A client of Stripe with a key; of another server if one is named.
    pub(crate) async fn client(&self, key: SecretKey) -> Result<Client, Failure> {
        Ok(Client::new(outgoing::Client::new(connector::roots()), self.base().await?, key))
    }

    /// Stripe with the keys; `None` if there are none.
    pub(crate) async fn stripe(&self) -> Result<Option<Stripe>, Failure> {
        let base = self.base().await?;
        Ok(self.read().await?.stripe.map(|keys| Stripe::new(keys, base)))
    }

    async fn base(&self) -> Result<ApiBase, Failure> {
        if let Some(local) = &self.local {
            return parsed(&local.url().await?);
        }
        let Some(text) = self.base.clone().or_else(|| variable(BASE)) else { return Ok(ApiBase::default()) };
        parsed(&text)
    }
}

fn parsed(base: &str) -> Result<ApiBase, Failure> {
    ApiBase::parse(base)
        .map_err(|error| Failure::new(Exit::Denied, format!("{error}."), "Correct it, or leave it out."))
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|text| !text.trim().is_empty())
}

fn no_place() -> Failure {
    let next = "Name the deployed stack with --stack, or add --payment-keys FILE.";
    Failure::new(Exit::Denied, "There is no place for payment keys.", next)
}
