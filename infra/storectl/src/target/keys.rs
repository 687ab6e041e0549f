//! The source of the token keys. They are read when a command needs them, and never shown.

use crate::error::{Exit, Failure, of_service};
use aws_config::SdkConfig;
use shared::token::TokenKeys;
use std::path::{Path, PathBuf};

/// The variable that holds the keys, as the functions have it.
const VARIABLE: &str = "TOKEN_KEYS";

/// A file, the environment, or a deployed stack's secret.
#[derive(Debug, Clone)]
pub(crate) struct KeySource {
    file: Option<PathBuf>,
    secret: Option<(SdkConfig, String)>,
}

impl KeySource {
    pub(crate) fn new(file: Option<&Path>, secret: Option<(SdkConfig, String)>) -> Self {
        Self { file: file.map(Path::to_owned), secret }
    }

    pub(crate) async fn read(&self) -> Result<TokenKeys, Failure> {
        let (text, origin) = self.text().await?;
        TokenKeys::parse(&text).map_err(|error| {
            let what = format!("The token keys of {origin} cannot be used: {error}.");
            Failure::new(Exit::Denied, what, "They must be a JSON object from kid to secret, see operations.md.")
        })
    }

    async fn text(&self) -> Result<(String, String), Failure> {
        if let Some(path) = &self.file {
            let text = std::fs::read_to_string(path).map_err(|error| Failure::file(path, &error))?;
            return Ok((text, path.display().to_string()));
        }
        if let Some(text) = std::env::var(VARIABLE).ok().filter(|text| !text.trim().is_empty()) {
            return Ok((text, format!("the variable {VARIABLE}")));
        }
        let Some((config, arn)) = &self.secret else {
            let next = format!("Add --key-file FILE, set {VARIABLE}, or name the deployed stack with --stack.");
            return Err(Failure::new(Exit::Denied, "There is no token key.", next));
        };
        let client = aws_sdk_secretsmanager::Client::new(config);
        let answer = client.get_secret_value().secret_id(arn).send().await;
        let answer = answer.map_err(|error| of_service("Secrets Manager", &error))?;
        let text = answer.secret_string.ok_or_else(|| {
            Failure::new(Exit::Denied, "The stack's secret is not text.", "Check the secret in the console.")
        })?;
        Ok((text, "the stack's secret".to_owned()))
    }
}
