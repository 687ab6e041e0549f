//! The embedded DynamoDB: an engine on a loopback port, with the table that template.yaml defines.

use crate::error::StartError;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, Region};
use aws_sdk_dynamodb::operation::describe_table::DescribeTableError;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType, TimeToLiveSpecification,
};
use dynoxide::Database;
use shared::fault::chain;
use shared::store::{Access, connector};
use std::path::Path;
use std::time::Duration;
use template::TableDefinition;

/// How often expired items are removed; DynamoDB itself takes days.
const SWEEP: Duration = Duration::from_mins(1);
/// The region that requests are signed for.
const REGION: &str = "local";

/// A running engine. It ends with its runtime.
#[derive(Debug, Clone)]
pub struct Engine {
    endpoint: String,
}

impl Engine {
    /// Starts an engine, in memory or in a file.
    ///
    /// # Errors
    /// [`StartError::Engine`] if the file cannot be used or no port is free.
    pub async fn start(file: Option<&Path>) -> Result<Self, StartError> {
        let fault = |error: &dyn std::fmt::Display| StartError::Engine(error.to_string());
        let database = match file {
            None => Database::memory(),
            Some(path) => Database::new(&path.to_string_lossy()),
        };
        let database = database.map_err(|error| fault(&error))?;
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.map_err(|error| fault(&error))?;
        let address = listener.local_addr().map_err(|error| fault(&error))?;
        tokio::spawn(sweep(database.clone()));
        tokio::spawn(dynoxide::server::serve_on(listener, database));
        Ok(Self { endpoint: format!("http://{address}") })
    }

    /// The engine's URL, for `AWS_ENDPOINT_URL_DYNAMODB`.
    #[must_use]
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// The functions' access to this engine, which accepts any credentials.
    #[must_use]
    pub fn access(&self) -> Access {
        Access::new(REGION, Some(self.endpoint.clone()), Some(credentials()), connector::plain_client())
    }

    /// The configuration of a client of this engine, with the timeouts of the SDK.
    #[must_use]
    pub fn client_config(&self) -> aws_sdk_dynamodb::config::Builder {
        aws_sdk_dynamodb::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new(REGION))
            .endpoint_url(&self.endpoint)
            .credentials_provider(credentials())
            .http_client(connector::plain_client())
    }
}

fn credentials() -> Credentials {
    Credentials::new("local", "local", None, None, "local")
}

async fn sweep(database: Database) {
    let mut ticks = tokio::time::interval(SWEEP);
    loop {
        ticks.tick().await;
        let database = database.clone();
        let swept = tokio::task::spawn_blocking(move || database.sweep_ttl()).await;
        if let Ok(Err(error)) = swept {
            tracing::warn!(%error, "expired items could not be removed");
        }
    }
}

/// Creates the table that the template defines, if it does not exist.
///
/// # Errors
/// [`StartError::Table`] if the database refuses.
pub async fn ensure_table(client: &Client, name: &str, definition: &TableDefinition) -> Result<(), StartError> {
    let refused = |action| move |reason: String| StartError::Table { action, reason };
    match client.describe_table().table_name(name).send().await {
        Ok(_) => return Ok(()),
        Err(error) if error.as_service_error().is_some_and(DescribeTableError::is_resource_not_found_exception) => {}
        Err(error) => return Err(refused("described")(chain(&error))),
    }
    let mut request = client.create_table().table_name(name).billing_mode(BillingMode::PayPerRequest);
    for (attribute, kind) in &definition.attributes {
        let kind = ScalarAttributeType::from(kind.as_str());
        let attribute = AttributeDefinition::builder().attribute_name(attribute).attribute_type(kind).build();
        request = request.attribute_definitions(attribute.map_err(|error| refused("created")(chain(&error)))?);
    }
    for (attribute, kind) in &definition.key_schema {
        let element = KeySchemaElement::builder().attribute_name(attribute).key_type(KeyType::from(kind.as_str()));
        request = request.key_schema(element.build().map_err(|error| refused("created")(chain(&error)))?);
    }
    request.send().await.map_err(|error| refused("created")(chain(&error)))?;
    let Some(attribute) = &definition.ttl_attribute else { return Ok(()) };
    let specification = TimeToLiveSpecification::builder().attribute_name(attribute).enabled(true).build();
    let specification = specification.map_err(|error| refused("given its time to live")(chain(&error)))?;
    let request = client.update_time_to_live().table_name(name).time_to_live_specification(specification);
    request.send().await.map_err(|error| refused("given its time to live")(chain(&error)))?;
    Ok(())
}
