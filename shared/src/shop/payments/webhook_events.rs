//! How far the provider's webhook events were asked for, and which of them failed. One row, which only the sweep
//! writes.

use crate::table::client::Db;
use crate::table::codec::encode_live;
use crate::table::keys;
use crate::table::transaction::Write;
use crate::table::{StoreError, read_live};
use serde::{Deserialize, Serialize};

/// How far the provider's webhook events were asked for. Times are seconds since 1970 UTC.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventCursor {
    /// All webhook events before this were acted on, but those in `failed`.
    pub since: i64,
    /// The time that is being asked for; `None` between two times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<Window>,
    /// Webhook events that failed and are acted on again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<FailedEvent>,
    /// How often the row was written since this was stored; the condition of the next write.
    #[serde(default)]
    version: u64,
}

/// A time that is being asked for, from the newest webhook event to the oldest. It begins at [`EventCursor::since`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// Its last second.
    pub until: i64,
    /// The position of the provider's next page; `None` at the first page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedEvent {
    pub kind: String,
    pub id: String,
    /// When it failed first.
    pub since: i64,
    pub failed: u32,
    /// When it is acted on again.
    pub again_at: i64,
}

impl EventCursor {
    /// A row that was not stored before.
    pub const fn beginning(since: i64) -> Self {
        Self { since, window: None, failed: Vec::new(), version: 0 }
    }

    /// Reads the row, strongly consistent; `None` before the first time.
    pub async fn read(db: &Db) -> Result<Option<Self>, StoreError> {
        read_live(db, &keys::webhook_events()).await
    }

    /// The write of the row, on the condition that no other sweep has written it since it was read.
    pub fn put(&mut self) -> Result<Write, StoreError> {
        const VERSION: &str = "version";
        let (key, read) = (keys::webhook_events(), self.version);
        self.version += 1;
        let write = Write::put(key.clone(), encode_live(&key, self)?);
        Ok(match read {
            0 => write.only_if("attribute_not_exists(#version)").name("#version", VERSION),
            read => write.only_if_equal(VERSION, read),
        })
    }
}
