//! The write that removes an erased player from an order.

use super::StoreError;
use super::codec::{Item, encode_live};
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
    /// Its condition is that status and refunds are as they were read: lines change with those only.
    pub fn erase_player(&self, lines: &[OrderLine], is_own: bool) -> Result<Write, StoreError> {
        let lines = encode_live(&self.key(), &Lines { lines })?.remove("lines");
        let mut values = Item::new();
        let as_read = self.returned_as_read(&mut values).join(" AND ");
        let write = Write::update(
            self.key(),
            if is_own { "SET #lines = :lines REMOVE chat, login" } else { "SET #lines = :lines" },
        )
        .only_if(format!("#status = :status AND {as_read}"))
        .name("#status", "status")
        .name("#lines", "lines")
        .text(":status", self.order.status.as_str())
        .values(values);
        Ok(lines.into_iter().fold(write, |write, lines| write.value(":lines", lines)))
    }
}
