//! Orders: as buyers look them up, and with what is needed to refund them.

use super::unfinished::Unfinished;
use crate::model::{BuyerAddress, GoalPart, InternalId, Money, Order, OrderEffects, OrderStatus, TaxMode};
use crate::rules::goals::Counted;
use crate::table::client::{Db, Rows};
use crate::table::codec::{Item, Row, encode_live, encode_value};
use crate::table::keys::{self, Key};
use crate::table::transaction::Write;
use crate::table::{StoreError, read_live};
use aws_sdk_dynamodb::types::AttributeValue;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The attribute with the mark of the statistics, see [`OrderEffects::counted`].
pub const COUNTED: &str = "counted";

/// An order with its effects, as one item of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredOrder {
    pub order: Order,
    pub effects: OrderEffects,
}

impl StoredOrder {
    /// Whether the statistics do not show the order's status, or what was refunded of it, yet.
    pub fn statistics_due(&self) -> bool {
        let OrderEffects { counted, counted_refunded, credited, .. } = &self.effects;
        let is_behind = || self.given_back() != *counted_refunded || *credited != self.order.moved_to;
        counted.is_some_and(|counted| counted != self.should_count() || (counted && is_behind()))
    }

    /// The part of the order's total that was refunded.
    pub fn given_back(&self) -> Money {
        self.order.given_back(self.effects.refunded)
    }

    pub fn should_count(&self) -> bool {
        self.order.status == OrderStatus::Paid
    }

    pub fn key(&self) -> Key {
        keys::order(&self.order.internal_id)
    }

    pub fn decode(key: &Key, row: Row) -> Result<Self, StoreError> {
        Ok(Self { effects: row.clone().live(key)?, order: row.live(key)? })
    }

    pub fn take(rows: &mut Rows, id: &InternalId) -> Result<Option<Self>, StoreError> {
        let key = keys::order(id);
        rows.take(&key).map(|row| Self::decode(&key, row)).transpose()
    }

    fn encode(&self) -> Result<Item, StoreError> {
        let key = self.key();
        let mut item = encode_live(&key, &self.effects)?;
        item.extend(encode_live(&key, &self.order)?);
        Ok(item)
    }

    /// The write of a new order, on the condition that its internal id is not used.
    pub fn put_new(&self) -> Result<Write, StoreError> {
        Ok(Write::put(self.key(), self.encode()?).only_if_absent())
    }

    /// The write that changes the status to that of `after`, with what differs there of lines, player, payment and subscription,
    /// on the condition that status, hold, refunds and dispute are as they were read, and the payment's id if the order becomes
    /// PAID. It adds the mark of the statistics to an order that has none.
    pub fn change_to(&self, after: &Self) -> Result<Write, StoreError> {
        let mut set = vec!["#status = :to", "counted = if_not_exists(counted, :counted)"];
        let mut removed = vec!["held"];
        let mut values = Item::new();
        // Without a mark the statistics agree with the status.
        values.insert(":counted".to_owned(), AttributeValue::Bool(self.should_count()));
        self.differences(after, (&mut set, &mut removed, &mut values))?;
        let is_paid = after.order.status == OrderStatus::Paid;
        removed.extend((!is_paid).then_some("unreturned"));
        let write = self.update(format!("SET {} REMOVE {}", set.join(", "), removed.join(", "))).values(values);
        let write = self.if_returned_as_read(write.text(":to", after.order.status.as_str()));
        let write = if self.effects.held {
            write.and_if("held = :held").flag(":held", true)
        } else {
            write.and_if("attribute_not_exists(held)")
        };
        // What is being refunded, or was by a read that is newer, is never paid.
        let write = if is_paid { self.if_intent_as_read(self.if_attempt_as_read(write)) } else { write };
        Ok(if after.order.lines == self.order.lines { write } else { write.name("#lines", "lines") })
    }

    /// What differs in `after` besides the status and the hold.
    fn differences(
        &self,
        after: &Self,
        (set, removed, values): (&mut Vec<&'static str>, &mut Vec<&'static str>, &mut Item),
    ) -> Result<(), StoreError> {
        let (now, then) = (&self.effects, &after.effects);
        let numbers = [
            (then.due, ["due = :due", "due"]),
            (then.paid_at, ["paid_at = :paid_at", "paid_at"]),
            (then.refunded_at, ["refunded_at = :refunded_at", "refunded_at"]),
            (after.order.moved_to.map(|user| user.get().cast_signed()), ["moved_to = :moved_to", "moved_to"]),
        ];
        for (number, words) in numbers {
            assign(number, words, (set, removed, values));
        }
        let key = self.key();
        let has_new_lines = after.order.lines != self.order.lines;
        let subscription = then.subscription.as_ref().filter(|_| then.subscription != now.subscription);
        let reviewed = then.reviewed.as_ref().filter(|_| then.reviewed != now.reviewed);
        let facts = then.facts.as_ref().filter(|_| then.facts != now.facts);
        removed.extend(reviewed.map(|_| "review"));
        let tax = after.order.tax.as_ref().filter(|_| after.order.tax != self.order.tax);
        let price = AttributeValue::N(after.order.price.minor().to_string());
        values.extend(tax.map(|_| (":price".to_owned(), price)));
        removed.extend(self.address().filter(|_| after.address().is_none()).map(|_| "provider.address"));
        for (value, words, name) in [
            (has_new_lines.then(|| encode_value(&key, &after.order.lines)), "#lines = :lines", ":lines"),
            (tax.map(|tax| encode_value(&key, tax)), "tax = :tax, price = :price", ":tax"),
            (subscription.map(|own| encode_value(&key, own)), "subscription = :subscription", ":subscription"),
            (reviewed.map(|reviewed| encode_value(&key, reviewed)), "reviewed = :reviewed", ":reviewed"),
            (facts.map(|facts| encode_value(&key, facts)), "facts = :facts", ":facts"),
        ] {
            if let Some(value) = value {
                set.push(words);
                values.insert(name.to_owned(), value?);
            }
        }
        if let Some(intent) = after.intent().filter(|intent| self.intent() != Some(intent)) {
            set.push("provider.intent = :intent");
            values.insert(":intent".to_owned(), AttributeValue::S(intent.to_owned()));
        }
        for (is_set, words, value) in [
            (then.over_limit && !now.over_limit, "over_limit = :yes", (":yes", true)),
            (then.cart_cleared != now.cart_cleared, "cart_cleared = :no", (":no", false)),
        ] {
            if is_set {
                set.push(words);
                values.insert(value.0.to_owned(), AttributeValue::Bool(value.1));
            }
        }
        Ok(())
    }

    /// Whether it was made by a checkout.
    pub const fn is_checkout(&self) -> bool {
        self.effects.provider.is_some()
    }

    /// Whether the provider sold it in its own name. Then it answers disputes, and may refund by itself.
    pub fn is_sold_by_provider(&self) -> bool {
        self.effects.provider.as_ref().is_some_and(|checkout| checkout.tax == TaxMode::Managed)
    }

    /// The provider's id of its checkout; `None` if it was never opened.
    pub fn session(&self) -> Option<&str> {
        self.effects.provider.as_ref()?.session.as_deref()
    }

    /// The provider's id of its payment, once that is known.
    pub fn intent(&self) -> Option<&str> {
        self.effects.provider.as_ref()?.intent.as_deref()
    }

    /// The address that it is paid from, until it is paid or ends.
    pub fn address(&self) -> Option<&BuyerAddress> {
        self.effects.provider.as_ref()?.address.as_ref()
    }

    /// Whether its checkout can still be paid at `now`, seconds since 1970 UTC.
    pub fn is_open(&self, now: i64) -> bool {
        self.effects.provider.as_ref().is_some_and(|provider| now < provider.expires_at)
    }

    /// The key of its row among the orders with something left to do.
    pub fn unfinished(&self) -> Option<Key> {
        self.effects.due.map(|due| keys::unfinished_order(due, self.order.id))
    }

    /// The write that stores the provider's checkout, on the condition that the order waits for it.
    pub fn set_session(&self, session: &str, url: &str) -> Write {
        Write::update(self.key(), "SET provider.#session = :session, provider.#url = :url")
            .only_if("attribute_exists(provider) AND attribute_not_exists(provider.#session) AND #status = :pending")
            .name("#session", "session")
            .name("#status", "status")
            .text(":pending", OrderStatus::Pending.as_str())
            .name("#url", "url")
            .text(":session", session)
            .text(":url", url)
    }

    /// The write that removes the URL of the provider's checkout, while the order waits: nothing can be paid there any more.
    pub fn forget_url(&self) -> Write {
        Write::update(self.key(), "REMOVE provider.#url")
            .only_if("attribute_exists(provider) AND #status = :pending")
            .name("#url", "url")
            .name("#status", "status")
            .text(":pending", OrderStatus::Pending.as_str())
    }

    /// The write that notes that it is not paid because the card is banned.
    pub fn set_card_banned(&self) -> Write {
        Write::update(self.key(), "SET card_banned = :yes").only_if_present().flag(":yes", true)
    }

    /// The write that notes when the provider is asked, unless it was asked since `before`; seconds since 1970 UTC.
    pub fn set_asked(&self, now: i64, before: i64) -> Write {
        Write::update(self.key(), "SET provider.asked_at = :now")
            .only_if(
                "attribute_exists(provider) AND (attribute_not_exists(provider.asked_at) OR provider.asked_at <= :before)",
            )
            .number(":now", now)
            .number(":before", before)
    }

    /// The write that notes the states of the disputes, and of them the one that decides, on the condition that the noted
    /// ones, status and refunds are as they were read. `with` is the beginning of a step of the delivery, in the same write.
    pub fn set_disputes(&self, disputes: &BTreeMap<String, String>, decides: &str, with: Option<Write>) -> Write {
        let set = "dispute = :dispute, disputes = :disputes";
        let write = match with {
            Some(write) => write.also(&format!(", {set}")),
            None => self.update(format!("SET {set}")),
        };
        let map = |states: &BTreeMap<String, String>| {
            let states = states.iter().map(|(id, state)| (id.clone(), AttributeValue::S(state.clone())));
            AttributeValue::M(states.collect())
        };
        let write = self.if_returned_as_read(write).text(":dispute", decides).value(":disputes", map(disputes));
        match &self.effects.disputes {
            none if none.is_empty() => write.and_if("attribute_not_exists(disputes)"),
            read => write.and_if("disputes = :read_disputes").value(":read_disputes", map(read)),
        }
    }

    /// What of the price came back to the buyer: all of it once the order is REFUNDED, in minor units of its currency.
    pub fn came_back(&self) -> Money {
        if self.order.status == OrderStatus::Refunded { self.order.price } else { self.effects.refunded }
    }

    /// The write that marks the bought lines as removed from the cart.
    pub fn set_cart_cleared(&self) -> Write {
        Write::update(self.key(), "SET cart_cleared = :yes")
            .only_if("cart_cleared = :no")
            .value(":yes", AttributeValue::Bool(true))
            .value(":no", AttributeValue::Bool(false))
    }

    /// The writes that let the sweep look at the order at `due` (seconds since 1970 UTC), and not before.
    pub fn postpone(&self, due: i64) -> Result<Vec<Write>, StoreError> {
        let Some(before) = self.effects.due.filter(|before| *before != due) else { return Ok(Vec::new()) };
        let own = Write::update(self.key(), "SET due = :due").only_if("due = :before");
        let own = own.number(":due", due).number(":before", before);
        Ok([own].into_iter().chain(self.due_rows(Some(due))?).collect())
    }

    /// The writes after which its row among the unfinished is due at `due`, and none if nothing is left to do.
    pub fn due_rows(&self, due: Option<i64>) -> Result<Vec<Write>, StoreError> {
        // The same row may be due at the same second again: then it is replaced, not removed.
        let earlier = self.unfinished().filter(|_| self.effects.due != due).map(Write::delete);
        let next = due.map(|due| Unfinished::put(&self.order, due)).transpose()?;
        Ok(earlier.into_iter().chain(next).collect())
    }

    /// The writes that finish the order, on the condition that status, refunds and dispute are as they were read: nothing looks
    /// at it again.
    pub fn finish(&self) -> Vec<Write> {
        let Some((due, row)) = self.effects.due.zip(self.unfinished()) else { return Vec::new() };
        let own = self.if_returned_as_read(self.update("REMOVE due")).and_if("due = :due").number(":due", due);
        vec![own, Write::delete(row)]
    }

    /// The writes that mark the order, less what is refunded of it, as counted for these goals, on the condition that
    /// status, refunds, dispute and mark are as they were read. They finish the order if nothing else is left to do about it.
    pub fn mark_counted(&self, Counted { whole, parts }: &Counted) -> Result<Vec<Write>, StoreError> {
        let goals = whole.iter().cloned().map(AttributeValue::S).collect();
        let write = self
            .mark_parts("SET counted = :now, counted_refunded = :refunded, #goals = :goals", parts, false)?
            .name("#goals", "goals")
            .value(":now", AttributeValue::Bool(true))
            .number(":refunded", self.given_back().minor())
            .value(":goals", AttributeValue::L(goals));
        Ok(self.with_row(write))
    }

    /// The writes that mark what is refunded of the order as taken off, and the order as counted for its player, as
    /// [`StoredOrder::mark_counted`] does.
    pub fn mark_refunded(&self, parts: &BTreeMap<String, GoalPart>) -> Result<Vec<Write>, StoreError> {
        let write = self.mark_parts("SET counted_refunded = :refunded", parts, true)?;
        Ok(self.with_row(write.number(":refunded", self.given_back().minor())))
    }

    /// The writes that mark the order as no longer counted, as [`StoredOrder::mark_counted`] does.
    pub fn mark_not_counted(&self) -> Vec<Write> {
        let write = self.mark("SET counted = :now", &["counted_refunded", "credited", "goal_parts", "#goals"], true);
        self.with_row(write.name("#goals", "goals").value(":now", AttributeValue::Bool(false)))
    }

    /// The due time and row that a mark removes: nothing is left to do about the order then.
    fn done_by_mark(&self) -> Option<(i64, Key)> {
        let is_done = self.effects.cart_cleared != Some(false) && !self.delivery_due();
        self.effects.due.zip(self.unfinished()).filter(|_| is_done)
    }

    fn with_row(&self, mark: Write) -> Vec<Write> {
        let row = self.done_by_mark().map(|(_, row)| Write::delete(row));
        [mark].into_iter().chain(row).collect()
    }

    /// A mark that also notes which parts of the order are in the sums of goals, if there are any.
    fn mark_parts(&self, set: &str, parts: &BTreeMap<String, GoalPart>, counted: bool) -> Result<Write, StoreError> {
        if parts.is_empty() {
            return Ok(self.mark_credited(set, counted));
        }
        let write = self.mark_credited(&format!("{set}, goal_parts = :parts"), counted);
        Ok(write.value(":parts", encode_value(&self.key(), parts)?))
    }

    /// A mark that also notes for whom the statistics count the order.
    fn mark_credited(&self, set: &str, counted: bool) -> Write {
        match self.order.moved_to {
            Some(player) => {
                self.mark(&format!("{set}, credited = :credited"), &[], counted).number(":credited", player)
            }
            None => self.mark(set, &["credited"], counted),
        }
    }

    fn mark(&self, set: &str, removed: &[&str], counted: bool) -> Write {
        let due = self.done_by_mark().map(|(due, _)| due);
        let removed: Vec<&str> = removed.iter().copied().chain(due.map(|_| "due")).collect();
        let expression =
            if removed.is_empty() { set.to_owned() } else { format!("{set} REMOVE {}", removed.join(", ")) };
        let write = self.if_returned_as_read(self.update(expression));
        let write = write.and_if("counted = :before").flag(":before", counted);
        match due {
            Some(due) => write.and_if("due = :due").number(":due", due),
            None => write,
        }
    }

    /// An update on the condition that the status is as it was read.
    pub(in crate::shop) fn update(&self, expression: impl Into<String>) -> Write {
        let write = Write::update(self.key(), expression).only_if("#status = :status").name("#status", "status");
        write.text(":status", self.order.status.as_str())
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Payment {
    pub order: InternalId,
}

impl Payment {
    pub fn put(order: &Order, intent: &str) -> Result<Write, StoreError> {
        Write::put_live(keys::payment(intent), &Self { order: order.internal_id.clone() })
    }
}

/// The order of a provider's payment, strongly consistent.
pub async fn of_payment(db: &Db, intent: &str) -> Result<Option<InternalId>, StoreError> {
    let row: Option<Payment> = read_live(db, &keys::payment(intent)).await?;
    Ok(row.map(|row| row.order))
}

/// Reads an order with its effects, strongly consistent; `None` if there is no order with this id.
pub async fn get(db: &Db, id: &InternalId) -> Result<Option<StoredOrder>, StoreError> {
    let key = keys::order(id);
    db.get(&key, true).await?.map(|item| StoredOrder::decode(&key, Row::from(item))).transpose()
}

/// Sets an attribute to a number, or removes it.
fn assign(
    number: Option<i64>,
    [assignment, name]: [&'static str; 2],
    (set, removed, values): (&mut Vec<&'static str>, &mut Vec<&'static str>, &mut Item),
) {
    match number {
        Some(number) => {
            set.push(assignment);
            values.insert(format!(":{name}"), AttributeValue::N(number.to_string()));
        }
        None => removed.push(name),
    }
}
