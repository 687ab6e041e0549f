//! The write that removes an erased player from an order.

use super::StoreError;
use super::codec::encode_live;
use super::orders::StoredOrder;
use super::transaction::Write;
use crate::model::OrderLine;
use serde::Serialize;

#[derive(Serialize)]
struct Lines<'a> {
    lines: &'a [OrderLine],
}

impl StoredOrder {
    /// The write that replaces the lines, and that removes chat account and login if the order is the erased player's.
    /// Its condition is that the status is as it was read: lines change with the status only.
    pub fn erase_player(&self, lines: &[OrderLine], is_own: bool) -> Result<Write, StoreError> {
        let lines = encode_live(&self.key(), &Lines { lines })?.remove("lines");
        let write = Write::update(
            self.key(),
            if is_own { "SET #lines = :lines REMOVE chat, login" } else { "SET #lines = :lines" },
        )
        .only_if("#status = :status")
        .name("#status", "status")
        .name("#lines", "lines")
        .text(":status", self.order.status.as_str());
        Ok(lines.into_iter().fold(write, |write, lines| write.value(":lines", lines)))
    }
}
