//! Units of an order's lines that are refunded by themselves (rules.md, "Refunds and reviews").

use crate::model::{LineId, Money, Order, OrderEffects, OrderLine, PaymentType};

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
