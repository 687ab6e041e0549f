//! Several instances of the functions on one table.

use crate::calls::operation;
use crate::request::{Call, Reply};
use crate::store::TestStore;
use aws_sdk_dynamodb::config::interceptors::{BeforeTransmitInterceptorContextRef, FinalizerInterceptorContextRef};
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_dynamodb::error::BoxError;
use aws_smithy_types::config_bag::{Storable, StoreReplace};
use local::gateway::Gateway;
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// An instance of every function, with caches, connections and a recorder of its own. Like a sandbox of Lambda's, it
/// handles one request at a time.
#[derive(Debug)]
pub struct Instance {
    gateway: Gateway,
    trace: Recorder,
}

/// What a request did with carts: the versions that it read and wrote, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CartTrace {
    /// The version of each read; 0 if there was no cart.
    pub read: Vec<u64>,
    /// The version of each write that was done.
    pub written: Vec<u64>,
}

/// Sends requests to instances, each of which takes the next one as soon as it is free. Returns the response to each, in
/// the order of `calls`, and what the request did with carts.
pub async fn spread(instances: &[Arc<Instance>], calls: Vec<Call>) -> Vec<(Reply, CartTrace)> {
    let count = calls.len();
    let queue = Arc::new(Mutex::new(calls.into_iter().enumerate().collect::<VecDeque<_>>()));
    let workers = instances.iter().map(|instance| {
        let (instance, queue) = (Arc::clone(instance), Arc::clone(&queue));
        tokio::spawn(async move {
            let mut done = Vec::new();
            loop {
                let next = queue.lock().expect("no worker panics here").pop_front();
                let Some((place, call)) = next else { return done };
                instance.trace.clear();
                let reply = instance.send(call).await;
                done.push((place, (reply, instance.trace.get())));
            }
        })
    });
    let mut replies: Vec<Option<(Reply, CartTrace)>> = vec![None; count];
    for worker in workers.collect::<Vec<_>>() {
        for (place, reply) in worker.await.expect("a worker that ends") {
            replies[place] = Some(reply);
        }
    }
    replies.into_iter().map(|reply| reply.expect("a response to every request")).collect()
}

impl Instance {
    /// Sends a request through the gateway.
    pub async fn send(&self, call: Call) -> Reply {
        Reply::from_gateway(&self.gateway, call).await
    }
}

impl TestStore {
    /// New instances on the table of this store.
    #[must_use]
    pub fn instances(&self, count: usize) -> Vec<Arc<Instance>> {
        let instance = |_| {
            let trace = Recorder::default();
            Arc::new(Instance { gateway: self.another_gateway(trace.clone()), trace })
        };
        (0..count).map(instance).collect()
    }
}

/// Records reads and writes of carts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Recorder(Arc<Mutex<CartTrace>>);

impl Recorder {
    fn clear(&self) {
        *self.0.lock().expect("no test panics here") = CartTrace::default();
    }

    fn get(&self) -> CartTrace {
        self.0.lock().expect("no test panics here").clone()
    }

    fn note(&self, sent: &Sent, response: &Value) {
        let is_cart = |key: &Value| key["pk"]["S"].as_str().is_some_and(|pk| pk.starts_with("CART#"));
        let number = |value: &Value| value["N"].as_str().and_then(|text| text.parse::<u64>().ok());
        let mut trace = self.0.lock().expect("no test panics here");
        match sent.operation.as_str() {
            "UpdateItem" if is_cart(&sent.body["Key"]) => {
                trace.written.extend(number(&sent.body["ExpressionAttributeValues"][":version"]));
            }
            "BatchGetItem" => {
                let tables = sent.body["RequestItems"].as_object().into_iter().flatten();
                let mut keys = tables.flat_map(|(_, table)| table["Keys"].as_array().into_iter().flatten());
                if keys.any(is_cart) {
                    let rows = response["Responses"].as_object().into_iter().flatten();
                    let mut rows = rows.flat_map(|(_, rows)| rows.as_array().into_iter().flatten());
                    trace.read.push(rows.find(|row| is_cart(row)).and_then(|row| number(&row["version"])).unwrap_or(0));
                }
            }
            _ => {}
        }
    }
}

impl Intercept for Recorder {
    fn name(&self) -> &'static str {
        "Recorder"
    }

    fn read_before_transmit(
        &self,
        context: &BeforeTransmitInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let request = context.request();
        let sent = Sent { operation: operation(request).to_owned(), body: json(request.body().bytes()) };
        config.interceptor_state().store_put(sent);
        Ok(())
    }

    fn read_after_attempt(
        &self,
        context: &FinalizerInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        if let (Some(sent), Some(response)) = (config.load::<Sent>(), context.response())
            && response.status().is_success()
        {
            self.note(sent, &json(response.body().bytes()));
        }
        Ok(())
    }
}

/// The request of an attempt. The SDK gives it away when it sends it.
#[derive(Debug)]
struct Sent {
    operation: String,
    body: Value,
}

impl Storable for Sent {
    type Storer = StoreReplace<Self>;
}

fn json(body: Option<&[u8]>) -> Value {
    serde_json::from_slice(body.unwrap_or_default()).unwrap_or_default()
}
