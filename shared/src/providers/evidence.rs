//! Stripe's disputes and refunds, as the evidence in a dispute needs them.

use crate::model::Money;
use crate::rules::evidence::ConfirmedRefund;
use crate::shop::payments::AwaitedEvidence;
use stripe::{Dispute, Refund, RefundStatus};

pub(super) fn awaited_of(dispute: &Dispute) -> AwaitedEvidence {
    let details = &dispute.evidence_details;
    AwaitedEvidence {
        state: dispute.outcome().as_str().to_owned(),
        due_by: details.due_by(),
        is_submitted: details.is_submitted(),
        has_others: details.has_evidence() || dispute.is_answered_by_stripe(),
    }
}

/// A refund whose money has gone back; `None` if it has not.
pub(super) fn confirmed(refund: &Refund) -> Option<ConfirmedRefund> {
    let (id, amount) = (refund.id.to_string(), Money::from_minor(refund.amount));
    (refund.status == Some(RefundStatus::Succeeded)).then_some(ConfirmedRefund { id, amount, at: refund.created })
}
