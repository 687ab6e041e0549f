//! Outputs and parameters of a deployed stack.

use crate::error::{Exit, Failure, of_service};
use aws_config::SdkConfig;
use aws_sdk_cloudformation::error::ProvideErrorMetadata as _;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stack {
    pub name: String,
    /// Its table (output `TableName`).
    pub table: String,
    /// The secret with the token keys (output `TokenKeysArn`).
    pub secret: String,
    /// The secret of the chat client (output `ChatSecretArn`); `None` if it was deployed before there was one.
    pub chat_secret: Option<String>,
    /// The secret with the payment keys (output `PaymentKeysArn`); `None` if it was deployed before there was one.
    pub payment_secret: Option<String>,
    /// The bucket of its shop (output `ShopBucket`); `None` without a shop.
    pub shop_bucket: Option<String>,
    /// The address of its shop (output `ShopUrl`); empty without a shop.
    pub shop_url: String,
    /// Whether its functions are given the payment keys (parameter `Payments`).
    pub takes_payments: bool,
    /// The revision of its secrets (parameter `KeyRevision`).
    pub key_revision: String,
    /// Root of its API (output `ApiUrl`).
    pub api_url: String,
    /// Origins that browsers may come from (parameter `AllowedOrigins`).
    pub origins: Vec<String>,
}

impl Stack {
    /// Reads a stack's outputs and parameters. Fails if there is no such stack, or it is not one of this project's.
    pub(super) async fn read(config: &SdkConfig, name: &str) -> Result<Self, Failure> {
        let client = aws_sdk_cloudformation::Client::new(config);
        let answer = client.describe_stacks().stack_name(name).send().await;
        let answer = answer.map_err(|error| {
            if error.code() == Some("ValidationError") {
                let what = format!("There is no stack {name} in this account and region.");
                return Failure::new(Exit::Denied, what, "Check --stack, --region and --profile, or deploy it first.");
            }
            of_service("CloudFormation", &error)
        })?;
        let stack = answer.stacks.unwrap_or_default().into_iter().next();
        let outputs = stack.as_ref().map(aws_sdk_cloudformation::types::Stack::outputs).unwrap_or_default();
        let find = |key: &str| {
            let found = outputs.iter().find(|output| output.output_key() == Some(key));
            found.and_then(|output| output.output_value()).map(str::to_owned)
        };
        let output = |key: &str| {
            find(key).ok_or_else(|| {
                let what = format!("The stack {name} has no output {key}.");
                Failure::new(Exit::Denied, what, "Wait until it is deployed, or deploy it with this template.")
            })
        };
        let parameters = stack.as_ref().map(aws_sdk_cloudformation::types::Stack::parameters).unwrap_or_default();
        let parameter = |key: &str| {
            let found = parameters.iter().find(|parameter| parameter.parameter_key() == Some(key));
            found.and_then(|parameter| parameter.parameter_value())
        };
        let origins = parameter("AllowedOrigins").unwrap_or("*");
        Ok(Self {
            name: name.to_owned(),
            table: output("TableName")?,
            secret: output("TokenKeysArn")?,
            chat_secret: find("ChatSecretArn"),
            payment_secret: find("PaymentKeysArn"),
            shop_bucket: find("ShopBucket"),
            shop_url: find("ShopUrl").unwrap_or_default(),
            takes_payments: parameter("Payments") == Some("true"),
            key_revision: parameter("KeyRevision").unwrap_or_default().to_owned(),
            api_url: output("ApiUrl")?,
            origins: origins.split(',').map(|origin| origin.trim().to_owned()).collect(),
        })
    }
}

#[cfg(test)]
#[path = "stack_tests.rs"]
mod tests;
