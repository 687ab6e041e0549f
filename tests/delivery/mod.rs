//! The delivery function: the calls of game servers.

mod agent;
mod bad_input;
mod confirm;
mod delivered;
mod donation_goal;
mod executed;
mod get_version;
mod keys;
mod packages_new;
mod paynow;
mod profile;
mod queue;
mod settings_get;
mod top_donators;
mod total_payments;
mod validated;

use tests::{Call, Reply, SERVER_KEY, TestStore};

/// A call of the plugin with a key in the first place.
async fn content(store: &TestStore, call: &str) -> Reply {
    let reply = store.send(Call::get(&format!("/plugin/api/{SERVER_KEY}/{call}"))).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    assert!(reply.text.is_ascii(), "{}", reply.text);
    reply
}
