//! The token keys, the payment keys and the chat client's secret: where they are read and written. They are never shown.

use super::Deployment;
use crate::error::{Exit, Failure, of_service};
use archive::running::{Payments, write_whole};
use aws_config::SdkConfig;
use shared::config::PaymentKeys;
use shared::providers::Stripe;
use shared::table::connector;
use shared::token::TokenKeys;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use stripe::{ApiBase, Client, SecretKey};

/// The variables that hold the keys, as the functions have them.
const TOKEN_KEYS: &str = "TOKEN_KEYS";
const PAYMENT_KEYS: &str = "PAYMENT_KEYS";
/// The variable with the server that is called instead of Stripe.
const BASE: &str = "STRIPE_API_BASE";
/// What a deployed stack's secret is called in messages.
const SECRET: &str = "the stack's secret";

/// A text that is kept from all but the functions: in a file, in the environment, of a local server or in a deployed stack's
/// secret, in this order.
#[derive(Debug, Clone)]
pub(super) struct Source {
    file: Option<PathBuf>,
    variable: &'static str,
    local: Option<String>,
    secret: Option<(SdkConfig, String)>,
}

impl Source {
    pub fn new(file: Option<&Path>, variable: &'static str, secret: Option<(SdkConfig, String)>) -> Self {
        Self { file: file.map(Path::to_owned), variable, local: None, secret }
    }

    /// Whether the text could be known here.
    pub fn is_known(&self) -> bool {
        self.is_named() || self.secret.is_some() || self.local.is_some()
    }

    fn is_named(&self) -> bool {
        self.file.is_some() || variable(self.variable).is_some()
    }

    /// The text, and where it is; `None` if there is no such place, or it is empty.
    pub async fn read(&self) -> Result<Option<(String, String)>, Failure> {
        if let Some(path) = &self.file {
            return match std::fs::read_to_string(path) {
                Ok(text) => Ok(Some((text, path.display().to_string()))),
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
                Err(error) => Err(Failure::file(path, &error)),
            };
        }
        if let Some(text) = variable(self.variable) {
            return Ok(Some((text, format!("the variable {}", self.variable))));
        }
        if let Some(text) = &self.local {
            return Ok(Some((text.clone(), "the local server".to_owned())));
        }
        let Some((config, arn)) = &self.secret else { return Ok(None) };
        let client = aws_sdk_secretsmanager::Client::new(config);
        let answer = client.get_secret_value().secret_id(arn).send().await;
        let answer = answer.map_err(|error| of_service("Secrets Manager", &error))?;
        Ok(answer.secret_string.map(|text| (text, SECRET.to_owned())))
    }

    /// Writes the text into the file or the secret, and returns which; `None` if there is neither.
    pub async fn write(&self, text: &str) -> Result<Option<String>, Failure> {
        if let Some(path) = &self.file {
            write_whole(path, text.as_bytes()).map_err(|error| Failure::file(path, &error))?;
            return Ok(Some(path.display().to_string()));
        }
        let Some((config, arn)) = &self.secret else { return Ok(None) };
        write_secret(config, arn, text).await?;
        Ok(Some(SECRET.to_owned()))
    }
}

async fn write_secret(config: &SdkConfig, arn: &str, content: &str) -> Result<(), Failure> {
    let client = aws_sdk_secretsmanager::Client::new(config);
    let written = client.put_secret_value().secret_id(arn).secret_string(content).send().await;
    written.map(drop).map_err(|error| of_service("Secrets Manager", &error))
}

/// The token keys.
#[derive(Debug, Clone)]
pub struct KeySource(Source);

impl KeySource {
    pub fn new(file: Option<&Path>, secret: Option<(SdkConfig, String)>) -> Self {
        Self(Source::new(file, TOKEN_KEYS, secret))
    }

    pub async fn read(&self) -> Result<TokenKeys, Failure> {
        if let Some(path) = &self.0.file {
            std::fs::metadata(path).map_err(|error| Failure::file(path, &error))?;
        }
        let Some((text, origin)) = self.0.read().await? else {
            if self.0.secret.is_some() {
                let what = "The stack's secret is not text.";
                return Err(Failure::new(Exit::Denied, what, "Check the secret in the console."));
            }
            let next = format!("Add --key-file FILE, set {TOKEN_KEYS}, or name the deployed stack with --stack.");
            return Err(Failure::new(Exit::Denied, "There is no token key.", next));
        };
        TokenKeys::parse(&text).map_err(|error| {
            let what = format!("The token keys of {origin} cannot be used: {error}.");
            Failure::new(Exit::Denied, what, "They must be a JSON object from kid to secret, see operations.md.")
        })
    }
}

/// The payment keys, and the server that is called with them.
#[derive(Debug, Clone)]
pub struct PaymentSource {
    keys: Source,
    base: Option<String>,
}

impl PaymentSource {
    pub fn new(file: Option<&Path>, secret: Option<(SdkConfig, String)>, base: Option<&str>) -> Self {
        Self { keys: Source::new(file, PAYMENT_KEYS, secret), base: base.map(str::to_owned) }
    }

    /// The same, with the stand-in for Stripe of a local server if no other keys are named.
    pub fn or_local(mut self, local: Option<Payments>) -> Self {
        if let Some(local) = local.filter(|_| !self.keys.is_named()) {
            (self.keys.local, self.base) = (Some(local.keys), Some(local.url));
        }
        self
    }

    /// Whether keys could be known here.
    pub fn is_known(&self) -> bool {
        self.keys.is_known()
    }

    /// The keys; none if there is no place for them, or it is empty.
    pub async fn read(&self) -> Result<PaymentKeys, Failure> {
        let Some((text, origin)) = self.keys.read().await? else { return Ok(PaymentKeys::default()) };
        PaymentKeys::parse(&text).map_err(|error| {
            let what = format!("The payment keys of {origin} cannot be used: {error}.");
            Failure::new(Exit::Denied, what, "Set them again: `storectl payments connect stripe`.")
        })
    }

    pub async fn write(&self, keys: &PaymentKeys) -> Result<String, Failure> {
        self.keys.write(&keys.expose()).await?.ok_or_else(no_place)
    }

    pub fn must_be_writable(&self) -> Result<(), Failure> {
        if self.keys.file.is_some() || self.keys.secret.is_some() { Ok(()) } else { Err(no_place()) }
    }

    /// A client of Stripe with a key; of another server if one is named.
    pub fn client(&self, key: SecretKey) -> Result<Client, Failure> {
        Ok(Client::new(outgoing::Client::new(connector::roots()), self.base()?, key))
    }

    /// Stripe with the keys; `None` if there are none.
    pub async fn stripe(&self) -> Result<Option<Stripe>, Failure> {
        let base = self.base()?;
        Ok(self.read().await?.stripe.map(|keys| Stripe::new(keys, base)))
    }

    fn base(&self) -> Result<ApiBase, Failure> {
        let Some(base) = self.base.clone().or_else(|| variable(BASE)) else {
            return Ok(ApiBase::default());
        };
        ApiBase::parse(&base)
            .map_err(|error| Failure::new(Exit::Denied, format!("{error}."), "Correct it, or leave it out."))
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|text| !text.trim().is_empty())
}

fn no_place() -> Failure {
    let next = "Name the deployed stack with --stack, or add --payment-keys FILE.";
    Failure::new(Exit::Denied, "There is no place for payment keys.", next)
}

/// The secret of the chat client in a deployed stack. It is written, and neither read nor shown.
#[derive(Debug, Clone)]
pub struct ChatSecret {
    pub config: SdkConfig,
    /// `None` if the stack was deployed before there was such a secret.
    pub arn: Option<String>,
}

impl Deployment {
    /// Writes the content of the chat client's secret. Fails if no stack was named, it has no such secret, or Secrets
    /// Manager refuses.
    pub async fn write_chat_secret(&self, content: &str) -> Result<(), Failure> {
        let secret = self.chat_secret.as_ref().and_then(|secret| Some((&secret.config, secret.arn.as_ref()?)));
        let (config, arn) = secret.ok_or_else(|| {
            let what = "The stack has no secret for the chat client (output ChatSecretArn).";
            Failure::new(Exit::Denied, what, "Deploy it with this template first, then run this command again.")
        })?;
        let written = write_secret(config, arn, content).await;
        written.map_err(|failure| failure.done("It is not known whether the secret was written."))
    }
}

/// A deployed stack and its secrets, as AWS itself answers.
#[cfg(test)]
mod tests {
    use super::{KeySource, PaymentSource};
    use crate::deployment::Stack;
    use crate::error::Exit;
    use aws_config::{BehaviorVersion, Region, SdkConfig};
    use aws_sdk_dynamodb::config::{Credentials, SharedCredentialsProvider};
    use std::fmt::Write as _;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    const SECRET: &str = "a-secret-that-nobody-may-ever-see-0123456789";

    /// A service that gives every request the same answer.
    async fn service(status: u16, kind: &'static str, body: String) -> SdkConfig {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut request = vec![0; 16_384];
                _ = stream.read(&mut request).await;
                let head = format!("HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n", body.len());
                _ = stream.write_all(format!("{head}connection: close\r\n\r\n{body}").as_bytes()).await;
            }
        });
        SdkConfig::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new("eu-central-1"))
            .endpoint_url(url)
            .credentials_provider(SharedCredentialsProvider::new(Credentials::new("a", "b", None, None, "test")))
            .http_client(aws_smithy_http_client::Builder::new().build_http())
            .build()
    }

    fn described(outputs: &[(&str, &str)]) -> String {
        let mut members = String::new();
        for (key, value) in outputs {
            _ = write!(members, "<member><OutputKey>{key}</OutputKey><OutputValue>{value}</OutputValue></member>");
        }
        format!(
            "<DescribeStacksResponse xmlns=\"http://cloudformation.amazonaws.com/doc/2010-05-15/\"><DescribeStacksResult>\
             <Stacks><member><StackName>storefront</StackName><StackStatus>CREATE_COMPLETE</StackStatus>\
             <CreationTime>2031-05-01T12:00:00Z</CreationTime><Outputs>{members}</Outputs><Parameters><member>\
             <ParameterKey>AllowedOrigins</ParameterKey><ParameterValue>https://a.example,https://b.example</ParameterValue>\
             </member></Parameters></member></Stacks></DescribeStacksResult></DescribeStacksResponse>"
        )
    }

    #[tokio::test]
    async fn a_stack_says_its_table_its_secret_and_its_origins() {
        let outputs = [("ApiUrl", "https://api.example"), ("TableName", "t-1"), ("TokenKeysArn", "arn:s")];
        let config = service(200, "text/xml", described(&outputs)).await;
        let stack = Stack::read(&config, "storefront").await.unwrap();
        assert_eq!(stack.chat_secret, None, "deployed by an older template");
        let newer = [&outputs[..], &[("ChatSecretArn", "arn:c")]].concat();
        let newer = Stack::read(&service(200, "text/xml", described(&newer)).await, "storefront").await.unwrap();
        assert_eq!(newer.chat_secret.as_deref(), Some("arn:c"));
        assert_eq!((stack.table.as_str(), stack.secret.as_str()), ("t-1", "arn:s"));
        assert_eq!(stack.origins, ["https://a.example", "https://b.example"]);
        assert_eq!(stack.api_url, "https://api.example");
        assert_eq!((stack.payment_secret, stack.takes_payments), (None, false));
    }

    #[tokio::test]
    async fn a_stack_of_another_kind_and_one_that_is_not_there_are_told_apart() {
        let config = service(200, "text/xml", described(&[("TableName", "t-1")])).await;
        let failure = Stack::read(&config, "storefront").await.unwrap_err();
        assert!(failure.what.contains("no output TokenKeysArn"), "{failure}");
        let none = "<ErrorResponse><Error><Type>Sender</Type><Code>ValidationError</Code><Message>Stack with id x does not \
                    exist</Message></Error></ErrorResponse>";
        let config = service(400, "text/xml", none.to_owned()).await;
        let failure = Stack::read(&config, "x").await.unwrap_err();
        assert_eq!(failure.exit, Exit::Denied);
        assert!(failure.what.contains("no stack x"), "{failure}");
    }

    #[tokio::test]
    async fn the_keys_come_out_of_the_secret_and_are_never_shown() {
        let answer = |text: &str| format!(r#"{{"Name":"s","SecretString":{text:?}}}"#);
        let keys = |config: SdkConfig| KeySource::new(None, Some((config, "arn:s".to_owned())));
        let config = service(200, "application/x-amz-json-1.1", answer(&format!(r#"{{"k1":"{SECRET}"}}"#))).await;
        assert_eq!(format!("{:?}", keys(config).read().await.unwrap()), r#"["k1"]"#);
        let config = service(200, "application/x-amz-json-1.1", answer(SECRET)).await;
        let failure = keys(config).read().await.unwrap_err();
        assert!(failure.what.contains("stack's secret") && !failure.to_string().contains(SECRET), "{failure}");
        let config = service(200, "application/x-amz-json-1.1", r#"{"Name":"s"}"#.to_owned()).await;
        assert_eq!(keys(config).read().await.unwrap_err().what, "The stack's secret is not text.");
        let denied = r#"{"__type":"AccessDeniedException","message":"User: arn:u is not authorized"}"#;
        let config = service(400, "application/x-amz-json-1.1", denied.to_string()).await;
        let failure = keys(config).read().await.unwrap_err();
        assert_eq!(failure.exit, Exit::Denied, "{failure}");
        assert!(failure.what.contains("may not do this"), "{failure}");
    }

    #[tokio::test]
    async fn a_stack_says_where_its_payment_keys_are() {
        let outputs = [("ApiUrl", "u"), ("TableName", "t"), ("TokenKeysArn", "s"), ("PaymentKeysArn", "arn:p")];
        let stack = Stack::read(&service(200, "text/xml", described(&outputs)).await, "storefront").await.unwrap();
        assert_eq!(stack.payment_secret.as_deref(), Some("arn:p"));
    }

    #[tokio::test]
    async fn payment_keys_come_out_of_the_secret_and_are_never_shown() {
        const JSON: &str = "application/x-amz-json-1.1";
        let answer = |text: &str| format!(r#"{{"Name":"s","SecretString":{text:?}}}"#);
        let source = |config: SdkConfig| PaymentSource::new(None, Some((config, "arn:p".to_owned())), None);
        let empty = source(service(200, JSON, answer("{}")).await);
        assert_eq!(empty.read().await.unwrap().stripe, None);
        let text = r#"{"stripe":{"key":"rk_test_51abc","webhook":["whsec_51def"]}}"#;
        let keys = source(service(200, JSON, answer(text)).await).read().await.unwrap();
        let key = keys.stripe.map(|stripe| stripe.key.expose().to_owned());
        assert_eq!(key.as_deref(), Some("rk_test_51abc"));
        let failure = source(service(200, JSON, answer("rk_test_51abc")).await).read().await.unwrap_err();
        assert!(failure.what.contains("stack's secret") && !failure.to_string().contains("51abc"), "{failure}");
        let failure = PaymentSource::new(None, None, None).must_be_writable().unwrap_err();
        assert_eq!(failure.exit, Exit::Denied);
        let other = PaymentSource::new(None, None, Some("https://stripe.example"));
        assert!(other.stripe().await.unwrap_err().what.contains("STRIPE_API_BASE"));
    }
}
