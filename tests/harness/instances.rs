//! Several instances of the functions on one table.

use crate::calls::{Calls, CartTrace};
use crate::request::{Call, Reply};
use crate::store::TestStore;
use local::gateway::Gateway;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// An instance of every function, with caches, connections and a recorder of its own. Like a sandbox of Lambda's, it
/// handles one request at a time.
#[derive(Debug)]
pub struct Instance {
    gateway: Gateway,
    calls: Calls,
}

/// Sends requests to instances, each of which takes the next one as soon as it is free. Returns the responses, in
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
                instance.calls.clear();
                let reply = instance.send(call).await;
                done.push((place, (reply, instance.calls.carts())));
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
    pub fn instances(&self, count: usize) -> Vec<Arc<Instance>> {
        let instance = |_| {
            let calls = Calls::default();
            Arc::new(Instance { gateway: self.another_gateway(calls.clone()), calls })
        };
        (0..count).map(instance).collect()
    }
}
