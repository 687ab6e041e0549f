//! An embedded engine over HTTP, with a table.

use crate::operation::{Operation, TABLE};
use crate::outcome::Outcome;
use crate::sides::{BACKENDS, Side};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeDefinition, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType};
use dynamodb::Item;
use dynoxide::Database;
use std::time::Duration;
use tokio::net::TcpListener;

/// One engine for each backend, with the same items.
pub struct Engines(Vec<Side>);

impl Engines {
    pub async fn with(items: &[Item]) -> Self {
        let mut sides = Vec::new();
        for backend in BACKENDS {
            let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
            let endpoint = format!("http://{}", listener.local_addr().unwrap());
            tokio::spawn(dynoxide::server::serve_on(listener, Database::memory().unwrap()));
            let side = Side::new(backend, &endpoint, Duration::from_secs(30));
            create_table(&side.client).await;
            for item in items {
                let put = side.client.put_item().table_name(TABLE).set_item(Some(item.clone()));
                Box::pin(put.send()).await.unwrap();
            }
            sides.push(side);
        }
        Self(sides)
    }

    /// The outcome of an operation, which is the same by each backend.
    pub async fn run(&self, operation: &Operation) -> Outcome {
        let mut outcomes = Vec::new();
        for side in &self.0 {
            let mut outcome = side.run(operation.clone()).await;
            if let Err(failure) = &mut outcome.result {
                assert!(failure.request_id.take().is_some(), "{:?}: {operation:?}", side.backend);
            }
            outcomes.push(outcome);
        }
        let expected = outcomes.remove(0);
        for (outcome, side) in outcomes.iter().zip(&self.0[1..]) {
            assert_eq!(*outcome, expected, "{:?}: {operation:?}", side.backend);
        }
        expected
    }
}

async fn create_table(client: &Client) {
    let mut request = client.create_table().table_name(TABLE).billing_mode(BillingMode::PayPerRequest);
    for (name, kind) in [("pk", KeyType::Hash), ("sk", KeyType::Range)] {
        let attribute = AttributeDefinition::builder().attribute_name(name).attribute_type(ScalarAttributeType::S);
        let element = KeySchemaElement::builder().attribute_name(name).key_type(kind);
        request = request.attribute_definitions(attribute.build().unwrap()).key_schema(element.build().unwrap());
    }
    Box::pin(request.send()).await.unwrap();
}
