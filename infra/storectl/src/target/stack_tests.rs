//! A deployed stack and its secret, as AWS itself answers.

use super::Stack;
use crate::error::Exit;
use crate::target::keys::KeySource;
use crate::target::payments::PaymentSource;
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
    let answer = |text: &str| serde_json::json!({ "Name": "s", "SecretString": text }).to_string();
    let keys = |config: SdkConfig| KeySource::new(None, Some((config, "arn:s".to_owned())));
    let config = service(200, "application/x-amz-json-1.1", answer(&format!(r#"{{"k1":"{SECRET}"}}"#))).await;
    assert_eq!(format!("{:?}", keys(config).read().await.unwrap()), r#"["k1"]"#);
    let config = service(200, "application/x-amz-json-1.1", answer(SECRET)).await;
    let failure = keys(config).read().await.unwrap_err();
    assert!(failure.what.contains("stack's secret") && !failure.to_string().contains(SECRET), "{failure}");
    let denied = serde_json::json!({ "__type": "AccessDeniedException", "message": "User: arn:u is not authorized" });
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
    let answer = |text: &str| serde_json::json!({ "Name": "s", "SecretString": text }).to_string();
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
