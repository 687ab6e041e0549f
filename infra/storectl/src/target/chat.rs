//! The secret of the chat client in a deployed stack. It is written, and neither read nor shown.

use super::Target;
use crate::error::{Exit, Failure, of_service};
use aws_config::SdkConfig;

#[derive(Debug, Clone)]
pub(super) struct ChatSecret {
    pub(super) config: SdkConfig,
    /// `None` if the stack was deployed before there was such a secret.
    pub(super) arn: Option<String>,
}

impl Target {
    /// Writes the content of the chat client's secret. Fails if no stack was named, it has no such secret, or Secrets
    /// Manager refuses.
    pub async fn write_chat_secret(&self, content: &str) -> Result<(), Failure> {
        let secret = self.chat_secret.as_ref().and_then(|secret| Some((&secret.config, secret.arn.as_ref()?)));
        let (config, arn) = secret.ok_or_else(|| {
            let what = "The stack has no secret for the chat client (output ChatSecretArn).";
            Failure::new(Exit::Denied, what, "Deploy it with this template first, then run this command again.")
        })?;
        let client = aws_sdk_secretsmanager::Client::new(config);
        let written = client.put_secret_value().secret_id(arn).secret_string(content).send().await;
        written.map(drop).map_err(|error| {
            of_service("Secrets Manager", &error).done("It is not known whether the secret was written.")
        })
    }
}
