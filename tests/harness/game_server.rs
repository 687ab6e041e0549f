//! A game server of the sample store, with the key of the events.

use crate::request::{Call, Reply};
use crate::store::TestStore;
use serde_json::{Value, json};
use shared::clock::Clock as _;
use shared::model::{Command, CommandEvent, CommandId, CommandState, Delivery, InternalId, ItemId, ServerId};
use shared::shop::delivery::servers::{self, Lease, StoredKey};
use shared::shop::delivery::{ServerKey, commands};
use shared::table::transaction::{Write, send};
use shared::table::{Db, keys};

/// The key of the events.
pub const SERVER_KEY: &str = "4-7c1e9a4b2f8d6035e1a7c94b8d2f60357c1e9a4b";
pub const SERVER: ServerId = ServerId::new(4);

/// Gives the server its key.
pub(crate) async fn connect(db: &Db, now: i64) {
    let key = ServerKey::parse(SERVER_KEY).expect("a key");
    let stored = StoredKey { server: SERVER, created_at: now, seen: Some(now) };
    write(db, vec![servers::put(key.hash(), &stored).expect("a row")]).await;
}

async fn write(db: &Db, writes: Vec<Write>) {
    send(db, writes).await.expect("the database responds");
}

impl TestStore {
    /// A call of the server: GET without a body, POST with one.
    pub async fn server_says(&self, call: &str, body: Option<Value>) -> Reply {
        let path = format!("/plugin/api/servers/{SERVER_KEY}/commands/{call}/");
        match body {
            Some(body) => self.send(Call::post(&path).json(&body)).await,
            None => self.send(Call::get(&path)).await,
        }
    }

    /// The rows that a poll of the server returns.
    pub async fn poll(&self) -> Value {
        let reply = self.server_says("queue", None).await;
        assert_eq!(reply.status, 200, "{}", reply.text);
        reply.json()
    }

    /// The server says a word about ids; what it is answered for each.
    pub async fn tell(&self, call: &str, ids: &[u32]) -> Vec<(Value, bool)> {
        let reply = self.server_says(call, Some(json!({ "ids": ids }))).await;
        assert_eq!(reply.status, 200, "{}", reply.text);
        let name = if call == "validated" { "cmd_id" } else { "id" };
        let results = reply.json()["results"].as_array().cloned().unwrap_or_default();
        results.iter().map(|result| (result[name].clone(), result["status"] == json!(true))).collect()
    }

    /// Queues a command for the server, due now.
    pub async fn queue_command(&self, player: &str, text: &str, online: bool) -> u32 {
        let id = commands::reserve(&self.db, 1).await.expect("the database responds");
        let due = self.clock.seconds();
        let command = Command {
            id,
            version: 1,
            order: InternalId::new("4mjyi2i34hbzt6b6"),
            line: 0,
            item: ItemId::new(302),
            event: CommandEvent::Bought,
            server: SERVER,
            player: player.to_owned(),
            player_id: None,
            text: text.to_owned(),
            lasting: None,
            ends: None,
            retried_as: None,
            retry_of: None,
            runs: Vec::new(),
            paid_at: None,
            delayed: false,
            output: None,
            delivery: Delivery { online, ..Delivery::new(CommandState::Ready, due) },
        };
        let place = keys::queued(SERVER, due, id);
        write(&self.db, commands::put_new(&command, Some(&place)).expect("a row")).await;
        id.get()
    }

    /// Notes that the server has polled just now.
    pub async fn see_server(&self) {
        write(&self.db, vec![Lease::see(SERVER, self.clock.seconds())]).await;
    }

    pub async fn command_state(&self, id: u32) -> CommandState {
        let id = CommandId::new(id).expect("an id");
        commands::get(&self.db, id).await.expect("the database responds").expect("a command").delivery.state
    }
}
