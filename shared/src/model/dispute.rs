//! What an order remembers of the store's answer to a dispute.

use super::is_default;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The store's answer to a dispute of a payment. Times are seconds since 1970 UTC.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DisputeAnswer {
    /// When the sweep looks at the dispute; `None` if it does not again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<i64>,
    /// Until when the bank takes evidence; `None` if that is not known yet, or it takes none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due_by: Option<i64>,
    /// When evidence was about to be sent: noted before it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_at: Option<i64>,
    /// The evidence, by the provider's fields, until it is known what came of it: what is repeated is the same.
    #[serde(default, skip_serializing_if = "is_default")]
    pub evidence: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<AnswerOutcome>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AnswerOutcome {
    /// The bank has the evidence.
    Submitted,
    /// The provider did not take it.
    Refused,
    /// The provider had evidence that the store did not send: the owner's, or its own.
    Others,
}
