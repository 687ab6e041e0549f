//! The write that moves lines of an order to another player.

use super::StoreError;
use super::codec::Item;
use super::orders::StoredOrder;
use super::transaction::Write;
use crate::model::Order;
use aws_sdk_dynamodb::types::AttributeValue;

impl StoredOrder {
    /// The writes after which lines, and the player of those that are not gifts, are those of `after`, on the condition that
    /// the order is PAID, no operator has to look at it, and refunds, disputes and earlier moves are as they were read. An order
    /// that renews a subscription gives what that gives at its beginning. `with` is the beginning of a step of the delivery, in
    /// the same write. The sweep looks at `due` (seconds since 1970 UTC) at what follows from it.
    pub fn move_lines(&self, after: &Order, due: i64, with: Option<Write>) -> Result<Vec<Write>, StoreError> {
        let mut values = Item::from([
            (":moves".to_owned(), AttributeValue::N(self.effects.moves.saturating_add(1).to_string())),
            // Without a mark the statistics agree with the status.
            (":counted".to_owned(), AttributeValue::Bool(true)),
        ]);
        let mut set = "moves = :moves, counted = if_not_exists(counted, :counted)".to_owned();
        if self.effects.subscription.as_ref().is_some_and(|subscription| subscription.renewal) {
            set.push_str(", subscription.restart = :counted");
        }
        match after.moved_to {
            Some(player) => {
                values.insert(":moved_to".to_owned(), AttributeValue::N(player.to_string()));
                set.push_str(", moved_to = :moved_to");
            }
            None => set.push_str(" REMOVE moved_to"),
        }
        self.set_lines(&after.lines, (&set, "attribute_not_exists(review)", values), due, with)
    }
}
