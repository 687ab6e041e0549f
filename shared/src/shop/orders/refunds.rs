//! Writes of an order besides its status: refunds, what an operator decided, a move to another player, an erased player.
//! [`StoredOrder`] has them all.

use super::{Payment, StoredOrder};
use crate::model::{
    Money, Order, OrderLine, OrderStatus, PaymentFacts, RefundAttempt, RefundOutcome, Refunds, Reviewed,
};
use crate::table::StoreError;
use crate::table::codec::{Item, encode_live};
use crate::table::keys::Key;
use crate::table::transaction::Write;
use aws_sdk_dynamodb::types::AttributeValue;
use serde::Serialize;

#[derive(Serialize)]
struct Encoded<'a, T> {
    value: &'a T,
}

pub(in crate::shop) fn encode<T: Serialize>(key: &Key, value: &T) -> Result<AttributeValue, StoreError> {
    let mut item = encode_live(key, &Encoded { value })?;
    item.remove("value").ok_or_else(|| StoreError::unreadable(key, "nothing was encoded"))
}

fn number(money: Money) -> AttributeValue {
    AttributeValue::N(money.minor().to_string())
}

impl StoredOrder {
    /// The writes that begin an attempt to refund the payment, on the condition that status and last attempt are as
    /// they were read, and that one which is open was not about to be sent again. The row of the payment comes with it.
    pub fn begin_refund(&self, attempt: &RefundAttempt, intent: &str) -> Result<Vec<Write>, StoreError> {
        let mut values = Item::from([(":refund".to_owned(), encode(&self.key(), attempt)?)]);
        let mut as_read = self.attempt_as_read(&mut values);
        if let Some(open) = self.effects.refund.as_ref().filter(|attempt| attempt.is_open()) {
            as_read.push_str(" AND refund.sent_at = :sent_at");
            values.insert(":sent_at".to_owned(), AttributeValue::N(open.at.to_string()));
        }
        let write = Write::update(self.key(), "SET refund = :refund, provider.intent = :intent")
            .only_if(format!("#status = :status AND {as_read}"))
            .name("#status", "status")
            .text(":status", self.order.status.as_str())
            .text(":intent", intent);
        Ok(vec![write.values(values), Payment::put(&self.order, intent)?])
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
                values.insert(format!(":{name}"), number(sum));
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
            values.insert(":now".to_owned(), AttributeValue::N(now.to_string()));
        }
        let mut condition = vec!["#status = :status".to_owned()];
        condition.extend(self.returned_as_read(&mut values));
        let removed = if removed.is_empty() { String::new() } else { format!(" REMOVE {}", removed.join(", ")) };
        let write = Write::update(self.key(), format!("SET {}{removed}", set.join(", ")))
            .only_if(condition.join(" AND "))
            .name("#status", "status")
            .text(":status", self.order.status.as_str());
        write.values(values)
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
        let mut values = Item::from([
            (":line_refunds".to_owned(), AttributeValue::N(self.effects.line_refunds.saturating_add(1).to_string())),
            (":refund_to".to_owned(), number(refund_to)),
        ]);
        let attempt = self.attempt_as_read(&mut values);
        self.set_lines(lines, (set, &attempt, values), due, with)
    }

    /// The writes that change lines, and what `more` sets under its condition, on the condition that the order is PAID, and
    /// refunds and disputes are as they were read. `with` and `due` are those of [`StoredOrder::return_lines`].
    fn set_lines(
        &self,
        lines: &[OrderLine],
        (more, only_if, mut values): (&str, &str, Item),
        due: i64,
        with: Option<Write>,
    ) -> Result<Vec<Write>, StoreError> {
        let set = format!("#lines = :lines, {more}");
        let begun = with.is_some();
        let write = match with {
            Some(write) => write.also(&format!(", {set}")),
            None => Write::update(self.key(), format!("SET due = :due, {set}"))
                .only_if("#status = :status")
                .name("#status", "status")
                .text(":status", OrderStatus::Paid.as_str())
                .number(":due", due),
        };
        values.insert(":lines".to_owned(), encode(&self.key(), &lines)?);
        let mut condition: Vec<String> = self.returned_as_read(&mut values).into();
        condition.push(only_if.to_owned());
        let write = write.name("#lines", "lines").and_if(&condition.join(" AND ")).values(values);
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
        let own = Write::update(self.key(), "SET provider.intent = :intent")
            .only_if("attribute_exists(provider) AND #status = :status")
            .name("#status", "status")
            .text(":status", self.order.status.as_str())
            .text(":intent", intent);
        Ok(vec![own, Payment::put(&self.order, intent)?])
    }

    /// The write that notes what has become known of the payment, on the condition that what was known is as it was read.
    pub fn set_facts(&self, facts: &PaymentFacts) -> Result<Write, StoreError> {
        let key = self.key();
        let write = Write::update(self.key(), "SET facts = :facts").value(":facts", encode(&key, facts)?);
        Ok(match &self.effects.facts {
            None => write.only_if("attribute_exists(provider) AND attribute_not_exists(facts)"),
            Some(read) => write.only_if("facts = :read_facts").value(":read_facts", encode(&key, read)?),
        })
    }

    /// The condition that the provider's payment is as it was read.
    pub(in crate::shop) fn intent_as_read(&self, values: &mut Item) -> &'static str {
        match self.intent() {
            Some(intent) => {
                values.insert(":intent_read".to_owned(), AttributeValue::S(intent.to_owned()));
                "provider.intent = :intent_read"
            }
            None => "attribute_not_exists(provider.intent)",
        }
    }

    /// The write that notes what an operator decided, on the condition that status, refunds and dispute are as they were read.
    pub fn end_review(&self, reviewed: &Reviewed) -> Result<Write, StoreError> {
        let mut values = Item::from([(":reviewed".to_owned(), encode(&self.key(), reviewed)?)]);
        let mut condition = vec!["#status = :status".to_owned(), "attribute_exists(review)".to_owned()];
        condition.extend(self.returned_as_read(&mut values));
        condition.push(self.attempt_as_read(&mut values));
        let write = Write::update(self.key(), "SET reviewed = :reviewed REMOVE review")
            .only_if(condition.join(" AND "))
            .name("#status", "status")
            .text(":status", self.order.status.as_str());
        Ok(write.values(values))
    }

    /// The conditions that as much is refunded, and as much has failed, as was read, that no line was refunded or moved since,
    /// and that the same state of the disputes decides.
    pub(in crate::shop) fn returned_as_read(&self, values: &mut Item) -> [String; 5] {
        let sum = |sum: Money| (sum > Money::ZERO).then(|| number(sum));
        let count = |count: u32| (count > 0).then(|| AttributeValue::N(count.to_string()));
        let read = [
            ("refunded", sum(self.effects.refunded)),
            ("failed_refunds", sum(self.effects.failed_refunds)),
            ("line_refunds", count(self.effects.line_refunds)),
            ("moves", count(self.effects.moves)),
            ("dispute", self.effects.dispute.clone().map(AttributeValue::S)),
        ];
        read.map(|(name, read)| {
            let Some(read) = read else { return format!("attribute_not_exists({name})") };
            values.insert(format!(":read_{name}"), read);
            format!("{name} = :read_{name}")
        })
    }

    /// The condition that the last attempt to refund is the one that was read, and as open as then.
    pub(in crate::shop) fn attempt_as_read(&self, values: &mut Item) -> String {
        let Some(attempt) = &self.effects.refund else { return "attribute_not_exists(refund)".to_owned() };
        values.insert(":attempt".to_owned(), AttributeValue::N(attempt.number.to_string()));
        let outcome = if attempt.is_open() { "attribute_not_exists" } else { "attribute_exists" };
        format!("refund.attempt = :attempt AND {outcome}(refund.outcome)")
    }
}

#[derive(Serialize)]
struct Lines<'a> {
    lines: &'a [OrderLine],
}

impl StoredOrder {
    /// The write that replaces the lines, and that removes chat account, login and evidence if the order is the erased player's.
    /// Its condition is that status and refunds are as they were read: lines change with those only.
    pub fn erase_player(&self, lines: &[OrderLine], is_own: bool) -> Result<Write, StoreError> {
        let lines = encode_live(&self.key(), &Lines { lines })?.remove("lines");
        let mut values = Item::new();
        let as_read = self.returned_as_read(&mut values).join(" AND ");
        let write = Write::update(
            self.key(),
            if is_own { "SET #lines = :lines REMOVE chat, login, answers" } else { "SET #lines = :lines" },
        )
        .only_if(format!("#status = :status AND {as_read}"))
        .name("#status", "status")
        .name("#lines", "lines")
        .text(":status", self.order.status.as_str())
        .values(values);
        Ok(lines.into_iter().fold(write, |write, lines| write.value(":lines", lines)))
    }
}

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
