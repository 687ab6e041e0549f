//! `order refund --line`: units of single lines.

use super::refund::{introduced, not_refunded, read, render};
use super::{facts, format_of};
use crate::answer::{Answer, GOOD, paint};
use crate::cli::RefundOrder;
use crate::commands::common::published;
use crate::console::Console;
use crate::error::{Exit, Failure};
use crate::target::Target;
use shared::model::{InternalId, LineId, Money, OrderLine};
use shared::money::CurrencyFormat;
use shared::rules::line_refund::{LineUnits, line_id};
use shared::shop::orders::StoredOrder;
use shared::shop::payments::{Desk, LinesRefunded};

pub(super) async fn refund(target: &Target, console: &Console, options: &RefundOrder) -> Result<Answer, Failure> {
    let wanted: Vec<LineUnits> = options.lines.iter().map(|text| parse(text)).collect::<Result<_, _>>()?;
    let digits = published(target).await?.config.digits;
    let id = InternalId::new(&options.id);
    let stored = read(target, &id, super::refund::NOT_REFUNDED).await?;
    let format = format_of(&stored, digits);
    let asked: Vec<String> = wanted.iter().map(|(line, units)| of_line(&stored, *line, *units)).collect();
    let shown = format!("{}\n{}", introduced(&stored, format), asked.join("\n"));
    console.confirm(&shown, "Refund these units, with those that were refunded before?", options.yes)?;
    let provider = target.payments.stripe().await?;
    let refunded = Desk::new(&target.db, target.clock.as_ref(), provider.as_ref()).refund_lines(&id, &wanted).await;
    let refunded = refunded.map_err(|error| not_refunded(error, &stored, format))?;
    let mut json = facts(&refunded.stored, digits);
    let amount = refunded.payment.as_ref().map_or(Money::ZERO, |payment| payment.amount);
    json["amount"] = serde_json::to_value(format.money(amount)).unwrap_or_default();
    Ok(Answer::new(text(&stored, &refunded, &id, format), json))
}

/// A line's number and units, such as `2:3`.
fn parse(text: &str) -> Result<LineUnits, Failure> {
    let parts =
        text.split_once(':').and_then(|(line, units)| Some((line.trim().parse().ok()?, units.trim().parse().ok()?)));
    parts.map(|(line, units): (u64, u32)| (LineId::new(line), units)).ok_or_else(|| {
        let what = format!("--line {text:?} is not a line and a number of units.");
        Failure::new(Exit::Usage, what, "Give the number of the line in `storectl order show`, and the units that are refunded afterwards: --line 2:3.")
    })
}

fn line(stored: &StoredOrder, wanted: LineId) -> Option<&OrderLine> {
    let mut lines = stored.order.lines.iter().enumerate().filter(|(place, line)| line_id(*place, line) == wanted);
    lines.next().map(|(_, line)| line)
}

fn of_line(stored: &StoredOrder, wanted: LineId, units: u32) -> String {
    let Some(line) = line(stored, wanted) else { return format!("line {wanted}: not in this order") };
    let name = line.chosen.as_ref().map_or_else(|| line.item.to_string(), |chosen| chosen.name.clone());
    let before = if line.returned > 0 { format!(", {} of them already", line.returned) } else { String::new() };
    format!("line {wanted}, {name}: {units} of {} units{before}", line.count)
}

/// What was given back, by means of payment.
fn text(before: &StoredOrder, refunded: &LinesRefunded, id: &InternalId, format: CurrencyFormat) -> String {
    let (order, stored) = (&before.order, &refunded.stored);
    let mut lines = Vec::new();
    if refunded.is_new {
        lines.push(format!("{} The units of order {id} are refunded.", paint(GOOD, "ok")));
        let card = before.effects.gift_card.as_ref().map(|payment| payment.amount).unwrap_or_default();
        let card = stored.order.card_for_returned(card).less(order.card_for_returned(card));
        if card > Money::ZERO {
            lines.push(format!("{} are on the gift card again.", format.money(card)));
        }
        let virtual_currency = stored.order.returned_virtual().less(order.returned_virtual());
        if virtual_currency > Money::ZERO {
            lines.push(format!("{} of virtual currency are back.", format.money(virtual_currency)));
        }
        let charged = stored.order.charged_for_returned().less(order.charged_for_returned());
        if refunded.payment.is_none() && charged > Money::ZERO {
            let (charged, gateway) = (format.money(charged), &order.gateway);
            lines.push(format!("{charged} {} were paid through {gateway}: give them back there.", order.currency));
        }
    } else {
        lines.push(format!("Nothing to do: these units of order {id} are refunded."));
    }
    lines.extend(refunded.payment.as_ref().map(|payment| render(payment, id, format)));
    lines.push(format!("It is {}.", stored.order.status.as_str()));
    lines.join("\n")
}
