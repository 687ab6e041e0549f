//! Writes of the store's answers to the disputes of an order, with the rows by which the sweep finds what is due.

use super::StoredOrder;
use super::unfinished::UnfinishedDispute;
use crate::model::DisputeAnswer;
use crate::table::StoreError;
use crate::table::codec::encode_value;
use crate::table::keys::{self, Key};
use crate::table::transaction::Write;
use std::collections::BTreeMap;

/// Answers by the provider's ids of the disputes.
pub type Answers = BTreeMap<String, DisputeAnswer>;

fn row(answers: &Answers, dispute: &str) -> Option<Key> {
    Some(keys::unfinished_dispute(answers.get(dispute)?.due?, dispute))
}

impl StoredOrder {
    /// The key of the row by which the sweep finds a dispute.
    pub fn answer_row(&self, dispute: &str) -> Option<Key> {
        row(&self.effects.answers, dispute)
    }

    /// The writes of other answers, on the condition that status, refunds, dispute and answers are as they were read.
    pub fn set_answers(&self, next: &Answers) -> Result<Vec<Write>, StoreError> {
        self.with_answers(self.if_returned_as_read(self.update("SET answers = :answers")), next)
    }

    /// A write that sets `:answers`, with its value and the condition that answers are as they were read, and those of rows.
    pub(in crate::shop) fn with_answers(&self, write: Write, next: &Answers) -> Result<Vec<Write>, StoreError> {
        let (key, read) = (self.key(), &self.effects.answers);
        let write = write.value(":answers", encode_value(&key, next)?);
        let write = if read.is_empty() {
            write.and_if("attribute_not_exists(answers)")
        } else {
            write.and_if("answers = :read_answers").value(":read_answers", encode_value(&key, read)?)
        };
        let mut writes = vec![write];
        for dispute in next.keys() {
            let (before, after) = (row(read, dispute), row(next, dispute));
            if before != after {
                writes.extend(before.map(Write::delete));
                let put = |key: Key| {
                    let due = UnfinishedDispute { order: &self.order.internal_id, dispute };
                    Write::put_live(key, &due)
                };
                writes.extend(after.map(put).transpose()?);
            }
        }
        Ok(writes)
    }
}
