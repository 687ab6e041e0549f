//! The embedded DynamoDB: an engine on a loopback port, with the table that template.yaml defines.

use crate::options::StartError;
use archive::running;
use aws_sdk_dynamodb::config::Credentials;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::operation::describe_table::DescribeTableError;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType, TimeToLiveSpecification,
    TimeToLiveStatus,
};
use dynoxide::Database;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use shared::fault::chain;
use shared::table::{Access, Db, connector};
use std::path::Path;
use std::time::Duration;
use template::TableDefinition;

/// How often expired items are removed; DynamoDB itself takes days.
const SWEEP: Duration = Duration::from_mins(1);
/// How long a call to the engine may take. It runs one call after another, so a call waits for all that came before it;
/// DynamoDB's own limits are in [`Access::new`].
pub(crate) const CALL: Duration = Duration::from_secs(30);
/// The region that requests are signed for.
const REGION: &str = "local";

/// A running engine. It ends with its runtime.
#[derive(Clone)]
pub struct Engine {
    endpoint: String,
    database: Database,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("endpoint", &self.endpoint).finish_non_exhaustive()
    }
}

impl Engine {
    /// Starts an engine, in memory or in a file.
    pub async fn start(file: Option<&Path>) -> Result<Self, StartError> {
        let database = match file {
            None => Database::memory(),
            Some(path) => Database::new(&path.to_string_lossy()),
        };
        Self::serve(database.map_err(|error| StartError::Engine(error.to_string()))?).await
    }

    /// Starts an engine in memory with the contents of a file that [`Self::copy_into`] wrote. Fails with
    /// [`StartError::Engine`] if the file is not such a copy or no port is free.
    pub async fn start_from(copy: &Path) -> Result<Self, StartError> {
        let fault = |error: &dyn std::fmt::Display| StartError::Engine(error.to_string());
        let database = Database::memory().map_err(|error| fault(&error))?;
        database.restore_from(&copy.to_string_lossy()).map_err(|error| fault(&error))?;
        Self::serve(database).await
    }

    /// Writes a copy of the database to a file, which must not exist.
    pub fn copy_into(&self, file: &Path) -> Result<(), StartError> {
        self.database.vacuum_into(&file.to_string_lossy()).map_err(|error| StartError::Engine(error.to_string()))
    }

    async fn serve(database: Database) -> Result<Self, StartError> {
        let fault = |error: &dyn std::fmt::Display| StartError::Engine(error.to_string());
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.map_err(|error| fault(&error))?;
        let address = listener.local_addr().map_err(|error| fault(&error))?;
        tokio::spawn(sweep(database.clone()));
        tokio::spawn(dynoxide::server::serve_on(listener, database.clone()));
        Ok(Self { endpoint: format!("http://{address}"), database })
    }

    /// The engine's URL, for `AWS_ENDPOINT_URL_DYNAMODB`.
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// The access to this engine, which accepts any credentials.
    pub fn access(&self) -> Access {
        let client = connector::plain_client();
        let timeouts = TimeoutConfig::builder().connect_timeout(CALL).operation_attempt_timeout(CALL).build();
        let credentials = Credentials::new("local", "local", None, None, "local");
        Access { timeouts, ..Access::new(REGION, Some(self.endpoint.clone()), Some(credentials), client) }
    }
}

async fn sweep(database: Database) {
    // Not at once: a copy of a prepared table must stay unchanged until its test has read it.
    let mut ticks = tokio::time::interval_at(tokio::time::Instant::now() + SWEEP, SWEEP);
    loop {
        ticks.tick().await;
        let database = database.clone();
        let swept = tokio::task::spawn_blocking(move || database.sweep_ttl()).await;
        if let Ok(Err(error)) = swept {
            tracing::warn!(%error, "expired items could not be removed");
        }
    }
}

/// Creates the file of a database with the table that the template defines, if the file does not exist. It has its name
/// only when it is complete, so that a start that is killed leaves nothing behind that the next one would use.
pub fn create_file(path: &Path, definition: &TableDefinition) -> Result<(), StartError> {
    if path.exists() {
        return Ok(());
    }
    let fault = |error: &dyn std::fmt::Display| StartError::Engine(error.to_string());
    let unfinished = running::unfinished(path);
    for ending in ["", "-wal", "-shm", "-journal"] {
        let mut name = unfinished.as_os_str().to_owned();
        name.push(ending);
        match std::fs::remove_file(name) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(fault(&error)),
            _ => {}
        }
    }
    let name = &definition.logical_id;
    let attributes = definition.attributes.iter();
    let attributes: Vec<Value> =
        attributes.map(|(name, kind)| json!({ "AttributeName": name, "AttributeType": kind })).collect();
    let keys = definition.key_schema.iter();
    let keys: Vec<Value> = keys.map(|(name, role)| json!({ "AttributeName": name, "KeyType": role })).collect();
    let table = json!({
        "TableName": name, "AttributeDefinitions": attributes, "KeySchema": keys, "BillingMode": "PAY_PER_REQUEST",
    });
    let database = Database::new(&unfinished.to_string_lossy()).map_err(|error| fault(&error))?;
    database.create_table(request(table)?).map_err(|error| fault(&error))?;
    if let Some(attribute) = &definition.ttl_attribute {
        let time_to_live = json!({ "AttributeName": attribute, "Enabled": true });
        let time_to_live = json!({ "TableName": name, "TimeToLiveSpecification": time_to_live });
        database.update_time_to_live(request(time_to_live)?).map_err(|error| fault(&error))?;
    }
    // Closing it moves what is in its log into the file.
    drop(database);
    std::fs::rename(&unfinished, path).map_err(|error| fault(&error))
}

fn request<T: DeserializeOwned>(body: Value) -> Result<T, StartError> {
    serde_json::from_value(body).map_err(|error| StartError::Engine(error.to_string()))
}

/// Creates the table that the template defines with its time to live, or what of both is missing.
pub async fn ensure_table(db: &Db, definition: &TableDefinition) -> Result<(), StartError> {
    let (client, name) = (db.client(), db.table());
    let refused = |action| move |reason: String| StartError::Table { action, reason };
    match client.describe_table().table_name(name).send().await {
        Ok(_) => return ensure_time_to_live(db, definition).await,
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
    ensure_time_to_live(db, definition).await
}

/// Sets the attribute by which items expire, if it is not set: an earlier start may have been killed before it was.
async fn ensure_time_to_live(db: &Db, definition: &TableDefinition) -> Result<(), StartError> {
    let (client, name) = (db.client(), db.table());
    let refused = |reason: String| StartError::Table { action: "given its time to live", reason };
    let Some(attribute) = &definition.ttl_attribute else { return Ok(()) };
    let described = client.describe_time_to_live().table_name(name).send().await;
    let described = described.map_err(|error| refused(chain(&error)))?.time_to_live_description;
    let status = described.and_then(|description| description.time_to_live_status);
    if matches!(status, Some(TimeToLiveStatus::Enabled | TimeToLiveStatus::Enabling)) {
        return Ok(());
    }
    let specification = TimeToLiveSpecification::builder().attribute_name(attribute).enabled(true).build();
    let specification = specification.map_err(|error| refused(chain(&error)))?;
    let request = client.update_time_to_live().table_name(name).time_to_live_specification(specification);
    request.send().await.map_err(|error| refused(chain(&error)))?;
    Ok(())
}
