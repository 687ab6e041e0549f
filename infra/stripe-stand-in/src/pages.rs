//! The pages: one to pay a session on, and an overview with events and switches. They need no scripts.

use super::html::{Parameters, button, buttons_to_give_back, html, in_html, lines, money, redirect, text};
use super::kept::Shared;
use super::new_session::{LATE_METHODS, METHODS};
use super::objects::Session;
use super::server::Fault;
use super::state::{Action, State, Switches};
use super::subscription_pages;
use super::tax::RATES;
use bytes::Bytes;
use http::header::{HOST, ORIGIN};
use http::request::Parts;
use http::{Method, Response, StatusCode};
use std::fmt::Write as _;

/// The days of a month, on buttons.
const MONTH: i64 = 30;

pub(super) fn respond(shared: &Shared, head: &Parts, body: &[u8]) -> Response<Bytes> {
    let path = head.uri.path();
    let now = shared.now();
    let mut state = shared.state();
    state.tick(now);
    match (&head.method, path.split('/').skip(1).collect::<Vec<_>>().as_slice()) {
        (&Method::GET, [""]) => html(StatusCode::OK, &overview(&state, shared)),
        (&Method::GET, ["c", "pay", id] | ["invoices", id]) => shown(&state, id, ""),
        (&Method::GET, ["receipts", id]) => receipt(&state, id),
        (&Method::GET, ["p", kind, id]) => subscription_pages::portal(&state, kind, id, ""),
        (&Method::POST, _) if !is_from_here(head) => text(StatusCode::FORBIDDEN, "This form is on another site."),
        (&Method::POST, ["c", "pay", id] | ["invoices", id]) => act(&mut state, id, &Parameters::parse(body), now),
        (&Method::POST, ["p", kind, id]) => {
            subscription_pages::act_in_portal(&mut state, (kind, id), &Parameters::parse(body), now)
        }
        (&Method::POST, ["switches"]) => {
            let fields = Parameters::parse(body);
            let is_on = |name: &str| !fields.get(name).is_empty();
            state.switches = Switches {
                twice: is_on("twice"),
                out_of_order: is_on("out_of_order"),
                late: is_on("late"),
                never: is_on("never"),
            };
            redirect("/")
        }
        (&Method::POST, ["faults"]) => match Fault::parse(Parameters::parse(body).get("fault")) {
            Some(fault) => {
                state.faults.push(fault);
                redirect("/")
            }
            None => text(StatusCode::BAD_REQUEST, "fault: write a status, cut, silence or slow-MILLISECONDS"),
        },
        (&Method::POST, ["clock"]) => match move_ahead(shared, Parameters::parse(body).get("days")) {
            Ok(()) => redirect("/"),
            Err(reason) => text(StatusCode::BAD_REQUEST, &reason),
        },
        (&Method::POST, ["events", id, "send"]) if state.event(id).is_some() => {
            state.post(id);
            redirect("/")
        }
        _ => text(StatusCode::NOT_FOUND, "There is no such page."),
    }
}

fn move_ahead(shared: &Shared, days: &str) -> Result<(), String> {
    let clock = shared.options.movable.as_ref().ok_or("This clock cannot be moved.")?;
    clock.move_ahead(days.parse().map_err(|_| "The days must be a whole number.")?)
}

/// Whether a form was sent from one of these pages, or by a program.
fn is_from_here(head: &Parts) -> bool {
    let Some(origin) = head.headers.get(ORIGIN) else { return true };
    let host = head.headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    origin.to_str().is_ok_and(|origin| origin == format!("http://{host}"))
}

const DECLINED: &str = "Your card was declined. Nothing was charged.";

/// Does what a button says, and sends the buyer where Stripe would.
fn act(state: &mut State, id: &str, fields: &Parameters, now: i64) -> Response<Bytes> {
    let session = state.sessions.get(id).cloned();
    let here = if session.is_some() { format!("/c/pay/{id}") } else { format!("/invoices/{id}") };
    if fields.get("action") == "leave" {
        return redirect(session.and_then(|session| session.cancel_url).as_deref().unwrap_or(&here));
    }
    let done = action_of(fields).and_then(|action| state.act(id, &action, now).map(|()| action));
    match (done, session) {
        (
            Ok(
                Action::Pay
                | Action::PayDelayed
                | Action::PayBy(_)
                | Action::PayAbroad
                | Action::PayCard(_)
                | Action::PayFrom(_),
            ),
            Some(session),
        ) => match state.sessions.get(id).map(|session| session.status) {
            Some("open") => shown(state, id, DECLINED),
            _ => redirect(&session.return_url()),
        },
        (Ok(Action::Decline), _) => shown(state, id, DECLINED),
        (Ok(_), _) => redirect(&here),
        (Err(reason), _) => shown(state, id, &reason),
    }
}

/// The action of a button.
fn action_of(fields: &Parameters) -> Result<Action, String> {
    Ok(match fields.get("action") {
        "pay" if fields.get("card").is_empty() => Action::Pay,
        "pay" => Action::PayCard(fields.get("card").parse().map_err(|_| "The number of a card has digits only.")?),
        "delayed" => Action::PayDelayed,
        "abroad" => Action::PayAbroad,
        "succeed" => Action::Succeed,
        "fail" => Action::Fail,
        "cancel_payment" => Action::CancelPayment,
        "decline" => Action::Decline,
        "expire" => Action::Expire,
        "refund" => Action::Refund(None),
        "fail_refund" => Action::FailRefund,
        "refund_part" => {
            let amount = fields.get("amount").parse();
            Action::Refund(Some(amount.map_err(|_| "The amount must be a whole number of minor units.")?))
        }
        "dispute" => Action::Dispute(None),
        "inquire" => Action::Inquire,
        "stage_evidence" => Action::StageEvidence,
        "escalate" => Action::Escalate,
        "warn_of_fraud" => Action::WarnOfFraud,
        "dispute_won" => Action::CloseDispute { won: true },
        "dispute_lost" => Action::CloseDispute { won: false },
        "renew" => Action::Renew,
        "fail_renewal" => Action::FailRenewal,
        "recover" => Action::Recover,
        "give_up" => Action::GiveUp,
        "cancel_at_period_end" => Action::CancelAtPeriodEnd,
        "resume" => Action::Resume,
        "end_period" => Action::EndPeriod,
        "cancel_now" => Action::CancelNow,
        "leave_unconfirmed" => Action::LeaveUnconfirmed,
        "mark_unpaid" => Action::MarkUnpaid,
        "pause" => Action::Pause,
        "unpause" => Action::Unpause,
        "trial" => Action::Trial(MONTH),
        "pause_trial" => Action::PauseTrial,
        "cancel_at" => Action::CancelAt(2 * MONTH),
        action if action.starts_with("from_") => {
            let from = RATES.iter().find(|(country, _)| action.ends_with(country));
            Action::PayFrom(from.ok_or("There is no such country.")?.0)
        }
        action => {
            let method = METHODS.iter().find(|method| **method == action);
            Action::PayBy(method.ok_or("There is no such action.")?)
        }
    })
}

/// The page of a session or of an invoice.
fn shown(state: &State, id: &str, note: &str) -> Response<Bytes> {
    if state.billing.invoices.contains_key(id) {
        return subscription_pages::invoice(state, id, note);
    }
    payment(state, id, note)
}

fn receipt(state: &State, charge: &str) -> Response<Bytes> {
    let Some(charge) = state.charges.get(charge) else {
        return text(StatusCode::NOT_FOUND, "There is no such receipt.");
    };
    let paid = money(charge.amount - charge.refunded, &charge.currency);
    html(
        StatusCode::OK,
        &format!("<h1>Receipt (stand-in for Stripe: no money moved)</h1><p>{paid} by {}</p>", charge.method),
    )
}

fn payment(state: &State, id: &str, note: &str) -> Response<Bytes> {
    let Some(session) = state.sessions.get(id) else { return text(StatusCode::NOT_FOUND, "There is no such session.") };
    let mut page = String::from("<h1>Pay (stand-in for Stripe: no money moves)</h1>");
    if !note.is_empty() {
        _ = write!(page, "<p class=note>{}</p>", in_html(note));
    }
    lines(&mut page, &session.lines, session.amount, &session.currency);
    if let Some(recurring) = &session.recurring {
        _ = write!(page, "<p>Paid again every {} {}.</p>", recurring.count, recurring.interval);
    }
    let invoice = session.invoice.as_ref().and_then(|invoice| state.billing.invoices.get(invoice));
    let intent = session.intent.as_ref().or_else(|| invoice?.intent.as_ref());
    let intent = intent.and_then(|intent| state.intents.get(intent));
    let payment = intent.map_or("not tried", |intent| intent.status);
    let (status, paid) = (session.status, session.payment_status);
    _ = write!(page, "<p>Session: <b>{status}</b>, {paid}. Payment: <b>{payment}</b>.</p><p>");
    match (session.status, payment) {
        ("open", _) => buttons_to_pay(&mut page, session),
        ("complete", "processing") => {
            button(&mut page, "succeed", "Let the payment succeed");
            button(&mut page, "fail", "Let the payment fail");
            if session.invoice.is_none() {
                button(&mut page, "cancel_payment", "Cancel the payment");
            }
        }
        ("complete", "requires_payment_method") => button(&mut page, "cancel_payment", "Cancel the payment"),
        ("complete", "succeeded") => buttons_to_give_back(&mut page, state, id),
        _ => {}
    }
    if let Some(subscription) = &session.subscription {
        subscription_pages::section(&mut page, state, subscription);
    }
    let back = in_html(&session.return_url());
    let reference = in_html(session.reference.as_deref().unwrap_or("none"));
    if session.status == "complete" {
        _ = write!(page, "</p><p><a href=\"{back}\">Return to the store</a>");
    }
    _ = write!(
        page,
        "</p><p><small>Session {id}, reference {reference}. <a href=\"/\">All sessions and events</a></small>"
    );
    html(StatusCode::OK, &page)
}

fn buttons_to_pay(page: &mut String, session: &Session) {
    page.push_str(
        "<form method=post><input type=hidden name=action value=pay><button class=pay>Pay</button> \
         <input name=card inputmode=numeric placeholder=\"4242424242424242\" aria-label=\"Number of the card\"></form>",
    );
    if session.has_delayed_methods() {
        button(page, "delayed", "Pay by a delayed method");
    }
    for method in session.methods.iter().filter(|method| *method != "card" && !LATE_METHODS.contains(&method.as_str()))
    {
        button(page, method, &format!("Pay by {method}"));
    }
    if session.adaptive && session.recurring.is_none() {
        button(page, "abroad", "Pay in another currency");
    }
    for (country, _) in RATES.iter().filter(|_| session.tax.is_some()) {
        button(page, &format!("from_{country}"), &format!("Pay from {country}"));
    }
    button(page, "decline", "Decline");
    button(page, "leave", "Leave");
    button(page, "expire", "Expire");
}

fn overview(state: &State, shared: &Shared) -> String {
    let mut page = String::from("<h1>Stand-in for Stripe</h1>");
    if let Some(clock) = &shared.options.movable {
        _ = write!(
            page,
            "<h2>Clock</h2><p>It is {} here and in the store, {} days ahead.</p><form method=post action=\"/clock\">\
             <input type=number name=days min=1 max=3650 value=1 aria-label=Days> <button>Move the clock ahead by so \
             many days</button></form><p><small>It does not go back. Who is logged in may have to log in again.</small></p>",
            subscription_pages::day(shared.now()),
            clock.days_ahead()
        );
    }
    page.push_str("<h2>Webhooks</h2><form method=post action=\"/switches\">");
    let switches = state.switches;
    for (name, label, is_on) in [
        ("twice", "send twice", switches.twice),
        ("out_of_order", "out of order", switches.out_of_order),
        ("late", "late", switches.late),
        ("never", "never", switches.never),
    ] {
        let checked = if is_on { " checked" } else { "" };
        _ = write!(page, "<label><input type=checkbox name={name}{checked}> {label}</label> ");
    }
    page.push_str(
        "<button>Apply</button></form><h2>Sessions</h2><table><tr><th>Session<th>Reference<th>State<th class=n>Total",
    );
    for session in state.sessions.values().rev() {
        _ = write!(
            page,
            "<tr><td><a href=\"/c/pay/{id}\">{id}</a><td>{reference}<td>{status}, {paid}<td class=n>{total}",
            id = session.id,
            reference = in_html(session.reference.as_deref().unwrap_or_default()),
            status = session.status,
            paid = session.payment_status,
            total = money(session.amount, &session.currency),
        );
    }
    page.push_str("</table><h2>Events</h2><table><tr><th>Event<th>Posted<th>");
    for event in state.events.iter().rev() {
        let attempts = event.attempts.iter().map(|attempt| in_html(attempt)).collect::<Vec<_>>().join("<br>");
        _ = write!(
            page,
            "<tr><td>{}<br><small>{}</small><td>{attempts}<td><form method=post action=\"/events/{}/send\"><button>Send again</button></form>",
            event.kind, event.id, event.id
        );
    }
    page.push_str("</table>");
    page
}
