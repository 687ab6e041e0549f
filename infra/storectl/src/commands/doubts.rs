//! Counts of what may have run on game servers since the time to which a table is restored.

use serde::Serialize;
use shared::usecases::delivery::Restored;

#[derive(Default, Serialize)]
pub(super) struct Doubts {
    #[serde(rename = "unknown_commands")]
    pub(super) commands: usize,
    /// Orders whose further commands are unknown as soon as they are queued.
    #[serde(rename = "undelivered_orders")]
    pub(super) orders: usize,
}

impl Doubts {
    pub(super) fn count(&mut self, restored: &Restored) {
        self.commands += usize::from(restored.is_unknown);
        self.orders += usize::from(restored.is_unmarked);
    }
}
