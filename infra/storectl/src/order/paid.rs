//! Commands about a paid order. `order refund` gives back a payment in full or up to a total, and with `--line` units
//! of single lines; `order move` gives an order, or a gift of it, to another player; `order redeliver` delivers it again.

use super::record::player;
use super::settle::{failed, provider, read};
use super::show::{Names, facts};
use super::unknown;
use crate::arguments::money;
use crate::prelude::*;
use crate::user;
use shared::model::{InternalId, LineId, Money, OrderLine, OrderStatus, UserId};
use shared::money::CurrencyFormat;
use shared::providers::Stripe;
use shared::rules::refund::{LineUnits, RefundRefusal, line_id};
use shared::shop::delivery::{self, Given, RedeliverError, given_of};
use shared::shop::orders as store;
use shared::shop::orders::{
    self, MoveError, Moved, NewPlayer, OrderRefusal, StoredOrder, check_move, moved_lines, player_of,
};
use shared::shop::payments::{Desk, LinesRefunded, OperatorError, RefundKind, Refunded};

#[derive(Debug, Clone, Args)]
pub struct RefundOrder {
    /// The internal id, matched exactly.
    pub id: String,
    /// The total to be refunded, in the order's currency, with what was refunded before; by default the whole payment.
    #[arg(long, value_name = "TOTAL")]
    pub to: Option<String>,
    /// Units of a line that are refunded afterwards, with those that were before, by the line's number in `order show`; may
    /// be given several times. Gives back their part of every means of payment, their stock and what they gave.
    #[arg(long = "line", value_name = "LINE:UNITS", conflicts_with = "to")]
    pub lines: Vec<String>,
    /// Do not ask.
    #[arg(long, short)]
    pub yes: bool,
}

pub const NOT_REFUNDED: &str = "The order is not refunded";

pub async fn refund(at: &Deployment, console: &Console, options: &RefundOrder) -> Outcome {
    if !options.lines.is_empty() {
        return lines(at, console, options).await;
    }
    let (provider, id) = (provider(at).await?, InternalId::new(&options.id));
    let stored = read(at, &id, NOT_REFUNDED).await?;
    let (order, format) = (&stored.order, CurrencyFormat::of(&stored.order));
    let total = options.to.as_deref().map(|text| money("--to", text, order.digits)).transpose()?;
    let asked = total.map_or_else(
        || "the whole payment".to_owned(),
        |total| format!("{} {} in all", format.money(total), order.currency),
    );
    console.confirm(&introduced(&stored, format), &format!("Refund {asked}?"), options.yes)?;
    let (refunded, text) = give_back(at, &provider, &stored, total).await?;
    let (order, amount) = (facts(&refunded.stored, None), format.money(refunded.amount));
    Ok(Printed::new(text, &facts! { #[serde(flatten)] order, amount }))
}

/// Refunds units of lines.
async fn lines(at: &Deployment, console: &Console, options: &RefundOrder) -> Outcome {
    let wanted: Vec<LineUnits> = options.lines.iter().map(|text| parse(text)).collect::<Result<_, _>>()?;
    let id = InternalId::new(&options.id);
    let stored = read(at, &id, NOT_REFUNDED).await?;
    let format = CurrencyFormat::of(&stored.order);
    let asked: Vec<String> = wanted.iter().map(|(line, units)| of_line(&stored, *line, *units)).collect();
    let shown = format!("{}\n{}", introduced(&stored, format), asked.join("\n"));
    console.confirm(&shown, "Refund these units, with those that were refunded before?", options.yes)?;
    let provider = at.payments.stripe().await?;
    let refunded = Desk::new(&at.db, at.clock.as_ref(), provider.as_ref()).refund_lines(&id, &wanted).await;
    let refunded = refunded.map_err(|error| not_refunded(error, &stored, format))?;
    let amount = refunded.payment.as_ref().map_or(Money::ZERO, |payment| payment.amount);
    let (order, amount) = (facts(&refunded.stored, None), format.money(amount));
    Ok(Printed::new(text(&stored, &refunded, &id, format), &facts! { #[serde(flatten)] order, amount }))
}

/// Refunds the payment of an order, in full or up to a total: the outcome, also in words.
pub async fn give_back(
    at: &Deployment,
    provider: &Stripe,
    stored: &StoredOrder,
    total: Option<Money>,
) -> Result<(Refunded, String)> {
    let (id, format) = (&stored.order.internal_id, CurrencyFormat::of(&stored.order));
    let refunded = Desk::new(&at.db, at.clock.as_ref(), provider).refund(id, total).await;
    let refunded = refunded.map_err(|error| not_refunded(error, stored, format))?;
    let text = format!("{}{}", render(&refunded, id, format), after(&refunded.stored, format));
    Ok((refunded, text))
}

fn not_refunded(error: OperatorError, stored: &StoredOrder, format: CurrencyFormat) -> Failure {
    match error {
        OperatorError::Refund(refusal) => refused(refusal, stored, format),
        error => failed(error, NOT_REFUNDED),
    }
}

pub fn introduced(stored: &StoredOrder, format: CurrencyFormat) -> String {
    let order = &stored.order;
    let review = stored.effects.review.as_ref().map(|review| format!("; {review}")).unwrap_or_default();
    let price = format.money(order.price);
    format!("Order {} of {price} {}, paid through {}{review}", order.internal_id, order.currency, order.gateway)
}

/// The outcome of the command, in a sentence.
pub fn render(refunded: &Refunded, id: &InternalId, format: CurrencyFormat) -> String {
    let (amount, total) = (format.money(refunded.amount), format.money(refunded.total));
    let currency = &refunded.currency;
    match refunded.kind {
        RefundKind::Made => {
            ok!("{amount} {currency} of order {id} are refunded, {total} in all.")
        }
        RefundKind::Finished => {
            ok!("The refund of {amount} {currency} that was begun before is finished: {total} in all of order {id}.")
        }
        RefundKind::Already => format!("Nothing to do: {total} {currency} of order {id} are refunded."),
    }
}

/// The refund as the order has it afterwards.
fn after(stored: &StoredOrder, format: CurrencyFormat) -> String {
    match stored.order.status {
        OrderStatus::Paid => format!(
            "\nIt stays PAID, with {} refunded in all; nothing is taken back from the buyer.",
            format.money(stored.effects.refunded)
        ),
        status => format!("\nIt is {}.", status.as_str()),
    }
}

fn refused(refusal: RefundRefusal, stored: &StoredOrder, format: CurrencyFormat) -> Failure {
    let (id, currency) = (&stored.order.internal_id, &stored.order.currency);
    let money = |amount| format!("{} {currency}", format.money(amount));
    match refusal {
        RefundRefusal::Bounds { amount } => Failure::refused(
            format!("{NOT_REFUNDED}: the payment is {}.", money(amount)),
            "Give a total from the smallest unit to that.",
        ),
        RefundRefusal::Exceeded { refunded } => Failure::refused(
            format!("{NOT_REFUNDED}: {} are refunded already.", money(refunded)),
            "--to is the total to be refunded, with what was refunded before.",
        ),
        RefundRefusal::Unfinished { total } => {
            let total = format.money(total);
            Failure::refused(
                format!("{NOT_REFUNDED}: a refund up to {total} {currency} was begun, and may have been made."),
                format!("Finish it first: `storectl order refund {id} --to {total}`."),
            )
        }
        RefundRefusal::Unclear { seconds } => Failure::new(
            Exit::Raced,
            format!("{NOT_REFUNDED}: another refund was made while one was begun."),
            format!("Run the same command again in {seconds} seconds: nothing is refunded twice."),
        ),
    }
}

/// A line's number and units, such as `2:3`.
fn parse(text: &str) -> Result<LineUnits> {
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

/// Refunded amounts by means of payment.
fn text(before: &StoredOrder, refunded: &LinesRefunded, id: &InternalId, format: CurrencyFormat) -> String {
    let (order, stored) = (&before.order, &refunded.stored);
    let mut lines = Vec::new();
    if refunded.is_new {
        lines.push(ok!("The units of order {id} are refunded."));
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

#[derive(Debug, Clone, Args)]
pub struct MoveOrder {
    /// The internal id, matched exactly.
    pub id: String,
    /// The player who gets it: id or name. A name without an account gets one.
    #[arg(long, value_name = "PLAYER")]
    pub to: String,
    /// The gift that is moved, by the line's number in `order show`; by default all lines that are not gifts.
    #[arg(long, value_name = "LINE")]
    pub line: Option<u64>,
    /// Move it also if the player has as many of an item as one user may buy.
    #[arg(long)]
    pub force: bool,
    /// Do not ask.
    #[arg(long, short)]
    pub yes: bool,
}

pub async fn move_order(at: &Deployment, console: &Console, options: &MoveOrder) -> Outcome {
    let (id, line) = (InternalId::new(&options.id), options.line.map(LineId::new));
    let fails = |error| not_moved(error, &id, options);
    let stored = store::get(&at.db, &id).await?.ok_or_else(|| fails(MoveError::Unknown(id.clone())))?;
    let places = moved_lines(&stored.order, line).map_err(fails)?;
    let (user, name) = player(at, &options.to).await?;
    let to = NewPlayer { user, name };
    let from = player_of(&stored.order, &places);
    if user.is_none() || user != from {
        check_move(&stored).map_err(fails)?;
        let given = given_of(&at.db, &stored, &places).await?;
        let names = Names::read(at, std::slice::from_ref(&stored)).await?;
        let to = shown(at, &to).await?;
        let text = asked(&stored, &places, (from, &to), &given, &names);
        console.confirm(&text, &format!("Move it to {to}?"), options.yes)?;
    }
    let moved = orders::move_order(&at.db, at.clock.as_ref(), &id, line, &to, options.force).await;
    let Moved { stored, is_new } = moved.map_err(fails)?;
    let names = Names::read(at, std::slice::from_ref(&stored)).await?;
    let to = player_of(&stored.order, &places).map_or_else(|| options.to.clone(), |user| names.user(user));
    let is_under_way = stored.delivery_due();
    let mut text = if is_new {
        ok!("Order {id} is moved to {to}.")
    } else {
        format!("Nothing to do: order {id} is moved to {to} already, or was always theirs.")
    };
    if is_under_way {
        text.push_str(
            "\nWhat ran for the player before is taken back first, as soon as nothing of it can run any more; the sweep does \
             the rest within minutes.",
        );
    }
    let order = facts(&stored, Some(&names));
    Ok(Printed::new(text, &facts! { #[serde(flatten)] order, moved: is_new, is_under_way }))
}

/// The new player, in words.
async fn shown(at: &Deployment, to: &NewPlayer) -> Result<String> {
    let user = match to.user {
        Some(user) => user::read(at, user).await?,
        None => None,
    };
    let name = to.name.as_ref().map(ToString::to_string).unwrap_or_default();
    Ok(user.map_or_else(
        || format!("{name} (who has no account yet, and gets one)"),
        |user| format!("{} (user {})", user.username, user.id),
    ))
}

/// The effects of the move, printed before it is confirmed.
fn asked(
    stored: &StoredOrder,
    places: &[u16],
    (from, to): (Option<UserId>, &str),
    given: &Given,
    names: &Names,
) -> String {
    let order = &stored.order;
    let from = from.map_or_else(|| "no one".to_owned(), |from| names.user(from));
    let mut lines = vec![format!("Order {}, from {from} to {to}:", order.internal_id)];
    let at = |place: &u16| order.lines.get(usize::from(*place));
    let of_line = |line: &OrderLine| format!("  {} × {}", line.units(), names.item(line));
    lines.extend(places.iter().filter_map(at).map(of_line));
    let of = |count: usize| if count == 1 { "1 command".to_owned() } else { format!("{count} commands") };
    if !given.ran.is_empty() {
        lines.push(format!("{} may have run for {from}: taken back.", of(given.ran.len())));
    }
    if !given.waiting.is_empty() {
        lines.push(format!("{} wait for {from}: recalled.", of(given.waiting.len())));
    }
    if !given.ran.is_empty() || !given.waiting.is_empty() {
        lines.push(format!("What the lines give runs for {to} then."));
    }
    for line in given.stays.iter().filter_map(at) {
        let said = format!("{} has no `refunded` command: {from} keeps it in the game.", names.item(line));
        lines.push(warning!("{said}"));
    }
    lines.join("\n")
}

fn not_moved(error: MoveError, id: &InternalId, options: &MoveOrder) -> Failure {
    let what = format!("The order is not moved: {error}.");
    let show = format!("`storectl order show {id}` shows it.");
    match error {
        MoveError::Store(error) => unknown(error, id, "the order was moved"),
        MoveError::Unknown(_) => Failure::refused(what, "It is matched exactly, case included."),
        MoveError::NoAccount => Failure::refused(what, "Give the name that the player types at login: --to NAME."),
        MoveError::Refused(OrderRefusal::UserLimit { .. }) => Failure::refused(what, "--force moves it all the same."),
        MoveError::Refused(OrderRefusal::Banned) => {
            let what = format!("The order is not moved: {} is banned.", options.to);
            Failure::refused(what, "`storectl unban` lifts a ban.")
        }
        MoveError::Disputed(_) => Failure::refused(what, "Wait until it is decided."),
        MoveError::InReview => {
            Failure::refused(what, format!("`storectl order accept {id}` or `storectl order refund {id}` ends that."))
        }
        MoveError::OnItsWay => Failure::refused(what, "Run the same command again in a few minutes."),
        MoveError::OnlyGifts => Failure::refused(what, format!("Say which: --line LINE. {show}")),
        MoveError::NotAGift(_) => {
            Failure::refused(what, "Leave out --line: the lines that are not gifts are moved together.")
        }
        MoveError::Older(newest) => {
            let next = format!("`storectl order move {newest} --to {}` moves the subscription.", options.to);
            Failure::refused(what, next)
        }
        MoveError::Subscribed => {
            Failure::refused(what, "`storectl subscription list` shows it; cancel one of the two.")
        }
        MoveError::Status(_) | MoveError::NoPlayer | MoveError::NoLine(_) | MoveError::Refused(_) => {
            Failure::refused(what, show)
        }
    }
}

/// Delivers an order again that was taken back because of a dispute.
pub async fn redeliver(at: &Deployment, id: &str) -> Outcome {
    let id = InternalId::new(id);
    delivery::redeliver(&at.db, at.clock.as_ref(), &id).await.map_err(|error| {
        let what = format!("Nothing is delivered again: {error}.");
        match error {
            RedeliverError::Store(error) => unknown(error, &id, "the order is delivered again"),
            RedeliverError::Unknown => Failure::refused(what, "It is matched exactly, case included."),
            RedeliverError::Disputed(_) => Failure::refused(what, "Wait until it is decided."),
            RedeliverError::OnItsWay => Failure::refused(what, "Run the same command again in a few minutes."),
            RedeliverError::NotPaid(_) | RedeliverError::NotTakenBack => {
                Failure::refused(what, format!("`storectl order show {id}` shows its commands."))
            }
        }
    })?;
    let text = ok!("Order {id} is delivered again. `storectl order show {id}` shows its commands.");
    Ok(Printed::new(text, &facts! { internal_id: id, delivered_anew: true }))
}
