//! An order as it stands in the table: what buyers see of it, and the trace of what it took.

use serde::{Deserialize, Serialize};
use shared::model::{CodeText, InternalId, ItemId, Money, Order, OrderLine, OrderStatus, UserId};
use shared::store::codec::{Item, Row, encode_live};
use shared::store::keys::{self, Key};
use shared::store::{Db, StoreError};
use std::collections::{BTreeMap, BTreeSet};

/// A part of the price that was paid with a gift card.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GiftPart {
    /// The gift card.
    pub code: CodeText,
    /// What is taken from it when the order is paid.
    pub amount: Money,
}

/// What is kept of an order beside what buyers see, so that a refund gives back exactly what was taken. An order
/// that was loaded together with its counters and statistics has none of it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct OrderEffects {
    /// The status it was first recorded with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded_as: Option<OrderStatus>,
    /// The coupon it uses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coupon: Option<CodeText>,
    /// The gift card it was paid with in part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gift_card: Option<GiftPart>,
    /// The goals that its sum was added to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goals: Option<Vec<String>>,
    /// Whether the statistics count it: the mark that guards their transaction. Where it is missing they agree with
    /// the status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<bool>,
}

/// An order with its trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// The order.
    pub order: Order,
    /// What it took.
    pub trace: OrderEffects,
}

impl Stored {
    /// Whether the statistics still have to follow the order's status.
    #[must_use]
    pub fn statistics_due(&self) -> bool {
        self.trace.counted.is_some_and(|counted| counted != self.should_count())
    }

    /// Whether the statistics should count the order.
    pub(super) fn should_count(&self) -> bool {
        self.order.status == OrderStatus::Paid
    }

    pub(super) fn key(&self) -> Key {
        keys::order(&self.order.internal_id)
    }

    pub(super) fn decode(key: &Key, row: Row) -> Result<Self, StoreError> {
        Ok(Self { trace: row.clone().live(key)?, order: row.live(key)? })
    }

    pub(super) fn encode(&self) -> Result<Item, StoreError> {
        let key = self.key();
        let mut item = encode_live(&key, &self.trace)?;
        item.extend(encode_live(&key, &self.order)?);
        Ok(item)
    }

    /// The owner and the recipients of gifts.
    pub(super) fn users(&self) -> BTreeSet<UserId> {
        self.order.lines.iter().filter_map(|line| line.recipient).chain(self.order.owner).collect()
    }

    /// Units and sums by item.
    pub(super) fn by_item(&self) -> BTreeMap<ItemId, (u64, Money)> {
        merged(&self.order.lines, |line| Some(line.item))
    }

    /// Units and sums by item, for each user that they count for (rules.md, "Gifts").
    pub(super) fn holdings(&self) -> BTreeMap<UserId, BTreeMap<ItemId, (u64, Money)>> {
        let mut holdings: BTreeMap<UserId, BTreeMap<ItemId, (u64, Money)>> = BTreeMap::new();
        let owner = self.order.owner;
        let lines = merged(&self.order.lines, |line| Some((line.beneficiary(owner)?, line.item)));
        for ((user, item), held) in lines {
            holdings.entry(user).or_default().insert(item, held);
        }
        holdings
    }

    /// What the lines come to, in the store's currency.
    pub(super) fn total(&self) -> Money {
        self.order.lines.iter().map(|line| line.total).sum()
    }
}

/// Reads an order; `None` where there is none with this id.
///
/// # Errors
/// [`StoreError`] where it can be neither read nor decoded.
pub async fn show(db: &Db, id: &InternalId) -> Result<Option<Stored>, StoreError> {
    let key = keys::order(id);
    db.get(&key, true).await?.map(|item| Stored::decode(&key, Row::from(item))).transpose()
}

/// Units and sums of lines by a key; lines without one are left out.
pub(super) fn merged<K: Ord>(lines: &[OrderLine], key: impl Fn(&OrderLine) -> Option<K>) -> BTreeMap<K, (u64, Money)> {
    let mut merged: BTreeMap<K, (u64, Money)> = BTreeMap::new();
    for line in lines {
        let Some(key) = key(line) else { continue };
        let (count, total) = merged.entry(key).or_default();
        *count = count.saturating_add(u64::from(line.count));
        *total = *total + line.total;
    }
    merged
}
