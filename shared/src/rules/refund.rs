//! How a payment is refunded up to a total, so that a repeated command is the same refund and never another one; and units of an
//! order's lines that are refunded by themselves (rules.md, "Refunds and reviews").

use super::payment::PaymentState;
use crate::model::{LineId, Money, Order, OrderEffects, OrderLine, PaymentType, RefundAttempt};

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

/// The units of a line that are refunded afterwards, with those that were before.
pub type LineUnits = (LineId, u32);

/// The reason for which units of a line are not refunded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LineRefusal {
    #[error("the order has no line {line}")]
    Unknown { line: LineId },
    #[error("line {line} is given twice")]
    Twice { line: LineId },
    #[error("line {line} has {count} units")]
    TooMany { line: LineId, count: u32 },
    #[error("{returned} units of line {line} are refunded already")]
    Less { line: LineId, returned: u32 },
    #[error("line {line} pays a period of a subscription, which is refunded as a whole")]
    Subscription { line: LineId },
    /// The order is of before the lines' parts were stored.
    #[error("it is not known what line {line} cost in virtual currency")]
    VirtualCurrency { line: LineId },
}

/// The id of a line: the cart's, or its place from 1.
pub fn line_id(place: usize, line: &OrderLine) -> LineId {
    let of_place = || LineId::new(u64::try_from(place).unwrap_or(u64::MAX).saturating_add(1));
    line.chosen.as_ref().map_or_else(of_place, |chosen| chosen.line)
}

/// The units with those of a bundle's parts, each unless it is named by itself, or has more refunded.
fn with_parts(order: &Order, wanted: &[LineUnits]) -> Vec<LineUnits> {
    let mut all = wanted.to_vec();
    for (place, part) in order.lines.iter().enumerate() {
        let id = line_id(place, part);
        let of = part.bundle.and_then(|of| wanted.iter().find(|(line, _)| *line == of.line));
        if let Some((_, units)) = of.filter(|_| !wanted.iter().any(|(line, _)| *line == id)) {
            all.push((id, (*units).max(part.returned)));
        }
    }
    all
}

/// The order's lines with so many units refunded; the same if they are already.
pub fn with_returned(
    order: &Order,
    effects: &OrderEffects,
    wanted: &[LineUnits],
) -> Result<Vec<OrderLine>, LineRefusal> {
    let wanted = &with_parts(order, wanted)[..];
    let mut lines = order.lines.clone();
    let known: Money = order.lines.iter().map(|line| line.virtual_total).sum();
    let lacks_virtual = effects.virtual_currency != known;
    for (place, (id, units)) in wanted.iter().enumerate() {
        let (line, units) = (*id, *units);
        if wanted.iter().take(place).any(|(other, _)| *other == line) {
            return Err(LineRefusal::Twice { line });
        }
        let mut own = lines.iter_mut().enumerate().filter(|(place, own)| line_id(*place, own) == line);
        let (_, own) = own.next().ok_or(LineRefusal::Unknown { line })?;
        if own.payment_type == PaymentType::Subscription {
            return Err(LineRefusal::Subscription { line });
        }
        if units > own.count {
            return Err(LineRefusal::TooMany { line, count: own.count });
        }
        if units < own.returned {
            return Err(LineRefusal::Less { line, returned: own.returned });
        }
        if lacks_virtual && own.total == Money::ZERO {
            return Err(LineRefusal::VirtualCurrency { line });
        }
        own.returned = units;
    }
    Ok(lines)
}
