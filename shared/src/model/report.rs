//! What a report is made of: the rows of orders by month, and the changes of the store's balance at the provider
//! (rules.md, "What was earned").

use super::{InternalId, Money, Window, WindowKind};
use serde::{Deserialize, Serialize};

/// A row in the month of an order, or of something that went back of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderOfMonth {
    pub order: InternalId,
    /// What went back then; `None` in the row of when it was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back: Option<Back>,
}

/// What went back of an order by the store's own hand. Of an order that was paid at the provider, the provider says when money
/// went back, and how much.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Back {
    /// In minor units of the order's currency.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub money: Money,
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub gift_card: Money,
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub virtual_currency: Money,
}

/// A change of the store's balance at the provider, in minor units of the currency in which the store is paid out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BalanceChange {
    pub id: String,
    /// The provider's word for what it is in its reports, such as `charge`, `refund`, `dispute` or `fee`.
    pub category: String,
    /// Without the fee; negative if it was taken.
    pub amount: Money,
    pub fee: Money,
    pub net: Money,
    /// The currency's code in upper case.
    pub currency: String,
    /// The payment that it is of, by which its order is found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent: Option<String>,
    /// The amount of its source, in the currency of the payment. Never negative.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub of: Money,
    /// Seconds since 1970 UTC.
    pub created: i64,
}

/// What a change of the balance is, for a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BalanceKind {
    Charge,
    /// A refund, or one that came back.
    Refund,
    /// What a bank took in a dispute, or gave back.
    Dispute,
    /// Money that moves between the balance and the owner's bank: nothing is earned or lost by it.
    Payout,
    /// A fee by itself, and whatever else the provider takes or gives.
    Other,
}

impl BalanceChange {
    pub fn kind(&self) -> BalanceKind {
        match self.category.as_str() {
            "charge" => BalanceKind::Charge,
            "refund" | "refund_failure" | "partial_capture_reversal" | "charge_failure" => BalanceKind::Refund,
            "dispute" | "dispute_reversal" => BalanceKind::Dispute,
            "payout"
            | "payout_reversal"
            | "payout_minimum_balance_hold"
            | "payout_minimum_balance_release"
            | "topup"
            | "topup_reversal" => BalanceKind::Payout,
            _ => BalanceKind::Other,
        }
    }
}

/// The time zone of a store's days.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StoreZone {
    /// Its name in the IANA database; empty for UTC.
    pub name: String,
    /// Its offsets from UTC, see [`Window`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub offsets: Vec<(i64, i32)>,
}

impl StoreZone {
    /// The days of it.
    pub fn days(&self) -> Window {
        Window { kind: WindowKind::Day, offsets: self.offsets.clone() }
    }
}
