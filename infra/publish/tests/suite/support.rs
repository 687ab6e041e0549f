//! A table of its own for every test, and stores that are written on the spot.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, Intercept, Region, SharedInterceptor};
use aws_sdk_dynamodb::types::{AttributeDefinition, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType};
use publish::Fault;
use shared::store::{Db, keys};
use std::fmt::Write;
use std::net::SocketAddr;
use std::path::Path;
use tempfile::TempDir;

const TABLE: &str = "store";

/// An empty table in an engine of its own.
pub struct Table {
    /// The table.
    pub db: Db,
    address: SocketAddr,
}

impl Table {
    /// The same table through a client that an interceptor looks into.
    pub fn through(&self, interceptor: impl Intercept + 'static) -> Db {
        let config = config(self.address).interceptor(SharedInterceptor::new(interceptor)).build();
        Db::new(Client::from_conf(config), TABLE)
    }
}

fn config(address: SocketAddr) -> aws_sdk_dynamodb::config::Builder {
    aws_sdk_dynamodb::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("eu-central-1"))
        .endpoint_url(format!("http://{address}"))
        .credentials_provider(Credentials::new("test", "test", None, None, "test"))
        .http_client(aws_smithy_http_client::Builder::new().build_http())
}

/// Makes an empty table.
pub async fn table() -> Table {
    let database = dynoxide::Database::memory().unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(dynoxide::server::serve_on(listener, database));
    let client = Client::from_conf(config(address).build());
    let mut create = client.create_table().table_name(TABLE).billing_mode(BillingMode::PayPerRequest);
    for (name, kind) in [(keys::PK, KeyType::Hash), (keys::SK, KeyType::Range)] {
        let text = AttributeDefinition::builder().attribute_name(name).attribute_type(ScalarAttributeType::S);
        let schema = KeySchemaElement::builder().attribute_name(name).key_type(kind);
        create = create.attribute_definitions(text.build().unwrap()).key_schema(schema.build().unwrap());
    }
    create.send().await.unwrap();
    Table { db: Db::new(client, TABLE), address }
}

/// Writes files into a new directory.
pub fn store(files: &[(&str, &str)]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in files {
        write(dir.path(), path, text);
    }
    dir
}

/// Writes one file.
pub fn write(dir: &Path, path: &str, text: &str) {
    let path = dir.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// The least a `store.yaml` can be.
pub const STORE: &str = "format: 1\nname: Test\ncurrency: {code: EUR}\n";

/// Faults, one per line.
pub fn lines(faults: &[Fault]) -> String {
    faults.iter().fold(String::new(), |mut text, fault| {
        writeln!(text, "{fault}").unwrap();
        text
    })
}
