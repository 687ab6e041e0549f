//! The pages of subscriptions: their part of a session's page, invoices, and the customer portal.

use super::billing::Subscription;
use super::html::{Parameters, button, buttons_to_give_back, html, in_html, lines, money, redirect, text};
use super::renew::RUNNING;
use super::state::State;
use bytes::Bytes;
use http::{Response, StatusCode};
use jiff::Timestamp;
use std::fmt::Write as _;

pub(super) fn day(seconds: i64) -> String {
    Timestamp::from_second(seconds).unwrap_or_default().strftime("%Y-%m-%d %H:%M UTC").to_string()
}

fn state_of(found: &Subscription) -> String {
    let (start, end) = found.period();
    let mut text = format!("<b>{}</b>, period {} to {}", found.status, day(start), day(end));
    if let Some(ended) = found.ended_at {
        _ = write!(text, ", ended {}", day(ended));
    } else if found.ends_with_period() {
        text.push_str(", ends with its period");
    } else if let Some(at) = found.cancel_at {
        _ = write!(text, ", ends {}", day(at));
    }
    if found.pause.is_some() {
        text.push_str(", payments are paused");
    }
    text
}

/// The state of a subscription, what its owner and Stripe do to it, and its invoices.
pub(super) fn section(page: &mut String, state: &State, id: &str) {
    let Some(found) = state.billing.subscriptions.get(id) else { return };
    _ = write!(page, "</p><h2>Subscription</h2><p>{}.</p><p>", state_of(found));
    let is_running = RUNNING.contains(&found.status);
    if matches!(found.status, "active" | "trialing") && !found.ends_with_period() {
        button(page, "renew", "Renew now");
        button(page, "fail_renewal", "Let a renewal fail");
    }
    if state.billing.invoices_of(id).any(|invoice| invoice.status == "open") && found.status != "incomplete" {
        button(page, "recover", "Pay the open invoice");
    }
    if matches!(found.status, "past_due" | "unpaid") {
        button(page, "give_up", "Give up: end the subscription unpaid");
    }
    if found.status == "past_due" {
        button(page, "mark_unpaid", "Stop trying: leave it unpaid");
    }
    if found.status == "trialing" {
        button(page, "pause_trial", "End the free time without a card: pause it");
    }
    if found.ends_at().is_some() && is_running {
        button(page, "resume", "Do not cancel");
        button(page, "end_period", "End it as planned");
    } else if is_running {
        button(page, "cancel_at_period_end", "Cancel at the end of the period");
        button(page, "cancel_at", "Let it end in two months");
    }
    if is_running {
        let (action, label) =
            if found.pause.is_some() { ("unpause", "Collect payments again") } else { ("pause", "Pause payments") };
        button(page, action, label);
        button(page, "trial", "Make it free for a month");
        button(page, "cancel_now", "Cancel now");
    }
    page.push_str("</p><table><tr><th>Invoice<th>State<th>Pays until<th class=n>Total");
    for invoice in state.billing.invoices_of(id) {
        let (id, total) = (&invoice.id, money(invoice.amount, &invoice.terms.currency));
        let (status, until) = (invoice.status, day(invoice.period.1));
        _ = write!(page, "<tr><td><a href=\"/invoices/{id}\">{id}</a><td>{status}<td>{until}<td class=n>{total}");
    }
    page.push_str("</table><p>");
}

fn note(page: &mut String, note: &str) {
    if !note.is_empty() {
        _ = write!(page, "<p class=note>{}</p>", in_html(note));
    }
}

pub(super) fn invoice(state: &State, id: &str, message: &str) -> Response<Bytes> {
    let Some(found) = state.billing.invoices.get(id) else {
        return text(StatusCode::NOT_FOUND, "There is no such invoice.");
    };
    let mut page = format!("<h1>Invoice {id}</h1>");
    note(&mut page, message);
    lines(&mut page, &found.lines, found.amount, &found.terms.currency);
    let (start, end) = found.period;
    _ = write!(page, "<p>State: <b>{}</b>. It pays from {} to {}.</p><p>", found.status, day(start), day(end));
    buttons_to_give_back(&mut page, state, id);
    section(&mut page, state, &found.terms.subscription);
    page.push_str("</p><p><a href=\"/\">All sessions and events</a>");
    html(StatusCode::OK, &page)
}

/// The part of the portal that a page is of: its configuration, its customer, and where the buyer returns to. The page to log
/// in is of every customer, because the stand-in sends no e-mail.
fn scope(state: &State, kind: &str, id: &str) -> Option<(String, Option<String>, Option<String>)> {
    match kind {
        "session" => {
            let session = state.billing.portal_sessions.get(id)?;
            Some((session.configuration.clone(), Some(session.customer.clone()), session.return_url.clone()))
        }
        "login" => {
            let configuration = state.billing.configurations.get(id).filter(|found| found.login_page)?;
            Some((id.to_owned(), None, configuration.return_url.clone()))
        }
        _ => None,
    }
}

pub(super) fn portal(state: &State, kind: &str, id: &str, message: &str) -> Response<Bytes> {
    let Some((configuration, customer, return_url)) = scope(state, kind, id) else {
        return text(StatusCode::NOT_FOUND, "There is no such page.");
    };
    let mut page = String::from("<h1>Your subscriptions (stand-in for Stripe)</h1>");
    note(&mut page, message);
    let cancels = state.billing.configurations.get(&configuration).is_some_and(|found| found.cancel);
    for found in state.in_portal(&configuration, customer.as_deref()) {
        let names: Vec<String> = found.lines.iter().map(|line| in_html(&line.name)).collect();
        _ = write!(page, "<h2>{}</h2><p>{}.</p><p>", names.join(", "), state_of(&found));
        let actions = [
            ("cancel", "Cancel", cancels && found.ends_at().is_none() && found.status != "canceled"),
            ("resume", "Do not cancel", found.ends_at().is_some() && found.status != "canceled"),
            ("pay", "Pay the open invoice", matches!(found.status, "past_due" | "unpaid")),
        ];
        for (action, label, _) in actions.into_iter().filter(|(_, _, is_shown)| *is_shown) {
            _ = write!(
                page,
                "<form method=post><input type=hidden name=subscription value={}>\
                 <input type=hidden name=action value={action}><button>{label}</button></form>",
                found.id()
            );
        }
        page.push_str("</p>");
    }
    if let Some(url) = return_url {
        _ = write!(page, "<p><a href=\"{}\">Return to the store</a></p>", in_html(&url));
    }
    html(StatusCode::OK, &page)
}

pub(super) fn act_in_portal(
    state: &mut State,
    (kind, id): (&str, &str),
    fields: &Parameters,
    now: i64,
) -> Response<Bytes> {
    let Some((configuration, customer, _)) = scope(state, kind, id) else { return portal(state, kind, id, "") };
    let Some(configuration) = state.billing.configurations.get(&configuration).cloned() else {
        return portal(state, kind, id, "");
    };
    let subscription = fields.get("subscription");
    if !state.in_portal(&configuration.id, customer.as_deref()).iter().any(|found| found.id() == subscription) {
        return portal(state, kind, id, "There is no such subscription.");
    }
    match state.act_in_portal(&configuration, subscription, fields.get("action"), now) {
        Ok(()) => redirect(&format!("/p/{kind}/{id}")),
        Err(reason) => portal(state, kind, id, &reason),
    }
}
