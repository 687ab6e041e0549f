//! Writes of an order besides its status: refunds, what an operator decided, a move to another player, an erased player.
//! [`StoredOrder`] has them all.

use super::{Payment, StoredOrder};
use crate::model::{
    Money, Order, OrderLine, OrderStatus, PaymentFacts, RefundAttempt, RefundOutcome, Refunds, Reviewed,
};
use crate::table::StoreError;
use crate::table::codec::{Item, encode_value, number};
use crate::table::transaction::Write;
use aws_sdk_dynamodb::types::AttributeValue;

impl StoredOrder {
    /// The writes that begin an attempt to refund the payment, on the condition that status and last attempt are as
    /// they were read, and that one which is open was not about to be sent again. The row of the payment comes with it.
    pub fn begin_refund(&self, attempt: &RefundAttempt, intent: &str) -> Result<Vec<Write>, StoreError> {
        let write = self
            .if_attempt_as_read(self.update("SET refund = :refund, provider.intent = :intent"))
            .value(":refund", encode_value(&self.key(), attempt)?)
            .text(":intent", intent);
        let write = match self.effects.refund.as_ref().filter(|attempt| attempt.is_open()) {
            Some(open) => write.and_if("refund.sent_at = :sent_at").number(":sent_at", open.at),
            None => write,
        };
        Ok(vec![write, Payment::put(&self.order, intent)?])
    }

    /// The write that notes that the open attempt is about to be sent at `attempt.at`, on the condition that it is
    /// open.
    pub fn resume_refund(&self, attempt: &RefundAttempt) -> Write {
        Write::update(self.key(), "SET refund.sent_at = :at")
            .only_if("refund.attempt = :attempt AND attribute_not_exists(refund.outcome)")
            .number(":at", attempt.at)
            .number(":attempt", attempt.number)
    }

    /// The write that closes an attempt that the provider has a refund of, or notes its present state.
    pub fn close_refund(&self, attempt: u32, outcome: RefundOutcome) -> Write {
        Write::update(self.key(), "SET refund.outcome = :outcome REMOVE refund.reason")
            .only_if("refund.attempt = :attempt")
            .text(":outcome", outcome.as_str())
            .number(":attempt", attempt)
    }

    /// The write that closes an attempt without a refund, on the condition that it is open and was not about to be sent
    /// again since it was read. `reason` are the provider's words.
    pub fn end_refund(&self, attempt: &RefundAttempt, outcome: RefundOutcome, reason: &str) -> Write {
        Write::update(self.key(), "SET refund.outcome = :outcome, refund.reason = :reason")
            .only_if("refund.attempt = :attempt AND refund.sent_at = :at AND attribute_not_exists(refund.outcome)")
            .text(":outcome", outcome.as_str())
            .text(":reason", reason)
            .number(":at", attempt.at)
            .number(":attempt", attempt.number)
    }

    /// The writes that note how much of a paid order is refunded by now, on the condition that no other request noted
    /// more meanwhile. The sweep looks at once, `now` in seconds since 1970 UTC, whether the statistics show it.
    pub fn set_refunded(&self, refunds: &Refunds, now: i64) -> Result<Vec<Write>, StoreError> {
        let write = self.note_refunds(refunds, Some(now));
        Ok([write].into_iter().chain(self.due_rows(Some(now))?).collect())
    }

    /// The write that notes refunds which failed, of an order that is not paid, or not any more.
    pub fn set_failed_refunds(&self, refunds: &Refunds) -> Write {
        self.note_refunds(refunds, None)
    }

    fn note_refunds(&self, refunds: &Refunds, now: Option<i64>) -> Write {
        let (mut set, mut removed, mut values) = (Vec::new(), Vec::new(), Item::new());
        // Of an order that is not paid, `refunded` stays what was refunded before.
        let refunded = (self.order.status == OrderStatus::Paid).then_some(("refunded", refunds.refunded));
        let others = [("failed_refunds", refunds.failed), ("unreturned", refunds.unreturned)];
        for (name, sum) in refunded.into_iter().chain(others) {
            if sum > Money::ZERO {
                set.push(format!("{name} = :{name}"));
                values.extend([number(format!(":{name}"), sum.minor())]);
            } else {
                // A condition reads zero as missing.
                removed.push(name);
            }
        }
        if let Some(now) = now {
            set.push("due = :now".to_owned());
            if refunds.refunded > self.effects.refunded {
                set.push("refunded_at = :now".to_owned());
            }
            values.extend([number(":now", now)]);
        }
        let removed = if removed.is_empty() { String::new() } else { format!(" REMOVE {}", removed.join(", ")) };
        self.if_returned_as_read(self.update(format!("SET {}{removed}", set.join(", ")))).values(values)
    }

    /// The writes that note units of lines as refunded, and the total to which the payment is refunded by that, on the condition
    /// that the order is PAID, and refunds, disputes and the last attempt are as they were read. `with` is the beginning of a
    /// step of the delivery, in the same write. The sweep looks at `due` (seconds since 1970 UTC) at what follows from it.
    pub fn return_lines(
        &self,
        lines: &[OrderLine],
        refund_to: Money,
        due: i64,
        with: Option<Write>,
    ) -> Result<Vec<Write>, StoreError> {
        let set = "line_refunds = :line_refunds, refund_to = :refund_to";
        self.set_lines(lines, (set, due, with), |write| {
            let next = self.effects.line_refunds.saturating_add(1);
            self.if_attempt_as_read(write).number(":line_refunds", next).number(":refund_to", refund_to.minor())
        })
    }

    /// The writes that change lines, and what `more` says, with the values and conditions that `and` adds, on the condition that the
    /// order is PAID, and refunds and disputes are as they were read. `with` and `due` are those of [`StoredOrder::return_lines`].
    fn set_lines(
        &self,
        lines: &[OrderLine],
        (more, due, with): (&str, i64, Option<Write>),
        and: impl FnOnce(Write) -> Write,
    ) -> Result<Vec<Write>, StoreError> {
        let set = format!("#lines = :lines, {more}");
        let begun = with.is_some();
        let write = match with {
            Some(write) => write.also(&format!(", {set}")),
            None => self
                .update(format!("SET due = :due, {set}"))
                .text(":status", OrderStatus::Paid.as_str())
                .number(":due", due),
        };
        let write = write.name("#lines", "lines").value(":lines", encode_value(&self.key(), &lines)?);
        let write = and(self.if_returned_as_read(write));
        if begun {
            return Ok(vec![write]);
        }
        Ok([write].into_iter().chain(self.due_rows(Some(due))?).collect())
    }

    /// The write that notes why an operator has to look at the order, if nothing is noted yet, and the provider's
    /// payment, so that it is known before an operator has decided.
    pub fn set_review(&self, reason: &str, intent: Option<&str>) -> Write {
        let mut expression = "SET review = if_not_exists(review, :reason)".to_owned();
        if intent.is_some() {
            expression.push_str(", provider.intent = :intent");
        }
        let write = Write::update(self.key(), expression).only_if_present().text(":reason", reason);
        match intent {
            Some(intent) => write.text(":intent", intent),
            None => write,
        }
    }

    /// The writes that note the provider's payment, on the condition that the status is as it was read.
    pub fn set_intent(&self, intent: &str) -> Result<Vec<Write>, StoreError> {
        let own = self.update("SET provider.intent = :intent").and_if("attribute_exists(provider)");
        Ok(vec![own.text(":intent", intent), Payment::put(&self.order, intent)?])
    }

    /// The write that notes what has become known of the payment, on the condition that what was known is as it was read.
    pub fn set_facts(&self, facts: &PaymentFacts) -> Result<Write, StoreError> {
        let key = self.key();
        let write = Write::update(self.key(), "SET facts = :facts").value(":facts", encode_value(&key, facts)?);
        Ok(match &self.effects.facts {
            None => write.only_if("attribute_exists(provider) AND attribute_not_exists(facts)"),
            Some(read) => write.only_if("facts = :read_facts").value(":read_facts", encode_value(&key, read)?),
        })
    }

    /// Adds the condition that the provider's payment is as it was read.
    pub(super) fn if_intent_as_read(&self, write: Write) -> Write {
        match self.intent() {
            Some(intent) => write.and_if("provider.intent = :intent_read").text(":intent_read", intent),
            None => write.and_if("attribute_not_exists(provider.intent)"),
        }
    }

    /// The write that notes what an operator decided, on the condition that status, refunds and dispute are as they were read.
    pub fn end_review(&self, reviewed: &Reviewed) -> Result<Write, StoreError> {
        let write = self.if_returned_as_read(self.update("SET reviewed = :reviewed REMOVE review"));
        let write = self.if_attempt_as_read(write).and_if("attribute_exists(review)");
        Ok(write.value(":reviewed", encode_value(&self.key(), reviewed)?))
    }

    /// Adds the conditions that as much is refunded, and as much has failed, as was read, that no line was refunded or moved since,
    /// and that the same state of the disputes decides.
    pub(super) fn if_returned_as_read(&self, write: Write) -> Write {
        let number = |number: i64| (number > 0).then(|| AttributeValue::N(number.to_string()));
        let read = [
            ("refunded", number(self.effects.refunded.minor())),
            ("failed_refunds", number(self.effects.failed_refunds.minor())),
            ("line_refunds", number(self.effects.line_refunds.into())),
            ("moves", number(self.effects.moves.into())),
            ("dispute", self.effects.dispute.clone().map(AttributeValue::S)),
        ];
        read.into_iter().fold(write, |write, (name, read)| match read {
            None => write.and_if(&format!("attribute_not_exists({name})")),
            Some(read) => write.and_if(&format!("{name} = :read_{name}")).value(format!(":read_{name}"), read),
        })
    }

    /// Adds the condition that the last attempt to refund is the one that was read, and as open as then.
    pub(super) fn if_attempt_as_read(&self, write: Write) -> Write {
        let Some(attempt) = &self.effects.refund else { return write.and_if("attribute_not_exists(refund)") };
        let outcome = if attempt.is_open() { "attribute_not_exists" } else { "attribute_exists" };
        write
            .and_if(&format!("refund.attempt = :attempt AND {outcome}(refund.outcome)"))
            .number(":attempt", attempt.number)
    }

    /// The write that replaces the lines, and that removes chat account, login and evidence if the order is the erased player's.
    /// Its condition is that status and refunds are as they were read: lines change with those only.
    pub fn erase_player(&self, lines: &[OrderLine], is_own: bool) -> Result<Write, StoreError> {
        let expression = if is_own { "SET #lines = :lines REMOVE chat, login, answers" } else { "SET #lines = :lines" };
        let write = self.if_returned_as_read(self.update(expression)).name("#lines", "lines");
        Ok(write.value(":lines", encode_value(&self.key(), &lines)?))
    }

    /// The writes after which lines, and the player of those that are not gifts, are those of `after`, on the condition that
    /// the order is PAID, no operator has to look at it, and refunds, disputes and earlier moves are as they were read. An order
    /// that renews a subscription gives what that gives at its beginning. `with` is the beginning of a step of the delivery, in
    /// the same write. The sweep looks at `due` (seconds since 1970 UTC) at what follows from it.
    pub fn move_lines(&self, after: &Order, due: i64, with: Option<Write>) -> Result<Vec<Write>, StoreError> {
        let mut set = "moves = :moves, counted = if_not_exists(counted, :counted)".to_owned();
        if self.effects.subscription.as_ref().is_some_and(|subscription| subscription.renewal) {
            set.push_str(", subscription.restart = :counted");
        }
        set.push_str(if after.moved_to.is_some() { ", moved_to = :moved_to" } else { " REMOVE moved_to" });
        self.set_lines(&after.lines, (&set, due, with), |write| {
            let write =
                write.and_if("attribute_not_exists(review)").number(":moves", self.effects.moves.saturating_add(1));
            // Without a mark the statistics agree with the status.
            let write = write.flag(":counted", true);
            after.moved_to.into_iter().fold(write, |write, player| write.number(":moved_to", player))
        })
    }
}
