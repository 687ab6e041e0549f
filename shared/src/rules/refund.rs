//! How a payment is refunded up to a total, so that a repeated command is the same refund and never another one
//! (rules.md, "Refunds and reviews").

use super::payment::PaymentState;
use crate::model::{Money, OrderEffects, RefundAttempt};

/// For how many seconds an attempt may be sent after it was written. A process that was suspended in between does not
/// send it any more.
pub const SENDABLE: i64 = 60;
/// After how many seconds no process can still be sending an attempt, also by a clock that is wrong.
pub const SETTLED: i64 = 600;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextStep {
    /// The total is reached.
    Done,
    /// A new attempt is written and sent: there is none that is open, or the provider will never make it.
    Begin(RefundAttempt),
    /// The open attempt is sent, again or for the first time.
    Resume(RefundAttempt),
    /// The open attempt was never sent and would miss the total now: it is closed, and another one begun.
    Abandon(RefundAttempt),
}

/// The reason for which a total cannot be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RefundRefusal {
    #[error("a refund is of the smallest unit at least, and of the payment at most")]
    Bounds { amount: Money },
    #[error("more is refunded already")]
    Exceeded { refunded: Money },
    /// A refund to another total was begun, and it is not known how it ended.
    #[error("a refund to another total was begun")]
    Unfinished { total: Money },
    /// A refund was begun a short while ago, and another one was made meanwhile. It is not known yet whether both
    /// count.
    #[error("two refunds were begun at the same time")]
    Unclear {
        /// In how many seconds it is known.
        seconds: i64,
    },
}

/// The next step towards `total` of a payment, in the payment's minor units, by what the provider says. It was not asked
/// before `now`, in seconds since 1970 UTC.
pub fn next_step(
    effects: &OrderEffects,
    state: &PaymentState,
    total: Money,
    now: i64,
) -> Result<NextStep, RefundRefusal> {
    let last = effects.refund.as_ref();
    if let Some(open) = last.filter(|attempt| attempt.is_open()) {
        if open.after != total {
            return Err(RefundRefusal::Unfinished { total: open.after });
        }
        let seconds = open.at.saturating_add(SETTLED).saturating_sub(now);
        if open.before == state.refunded {
            // What the provider has not made by then it never will: it may repeat an error for the attempt's key instead.
            return Ok(if seconds > 0 {
                NextStep::Resume(RefundAttempt { at: now, ..open.clone() })
            } else {
                NextStep::Begin(RefundAttempt { number: open.number.saturating_add(1), at: now, ..open.clone() })
            });
        }
        return if seconds > 0 { Err(RefundRefusal::Unclear { seconds }) } else { Ok(NextStep::Abandon(open.clone())) };
    }
    if total <= Money::ZERO || total > state.amount {
        return Err(RefundRefusal::Bounds { amount: state.amount });
    }
    if total < state.refunded {
        return Err(RefundRefusal::Exceeded { refunded: state.refunded });
    }
    if total == state.refunded {
        return Ok(NextStep::Done);
    }
    Ok(NextStep::Begin(RefundAttempt {
        number: last.map_or(0, |attempt| attempt.number).saturating_add(1),
        before: state.refunded,
        after: total,
        at: now,
        outcome: None,
        reason: None,
    }))
}
