//! The state of the stand-in, and the actions of buyers and of the account's owner.

use super::api::{CallLimit, Responses};
use super::billing::{Billing, Pause};
use super::objects::{Charge, Dispute, Intent, Refund, Session};
use super::server::Faults;
use super::webhooks::{Endpoint, Event};
use super::{API_VERSION, Options, Received};
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::sync::mpsc::UnboundedSender;

/// A day, in seconds.
const DAY: i64 = 24 * 60 * 60;

/// The number of the card that buyers have, and of one that is always declined.
const CARD: u64 = 4_242_424_242_424_242;
const DECLINED: u64 = 4_000_000_000_000_002;

/// An action of a buyer or of the account's owner on the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Pay,
    /// The buyer pays by a method whose money comes later.
    PayDelayed,
    /// The buyer pays by one of the methods.
    PayBy(&'static str),
    /// The buyer pays with the card of this number, unless it is one that is declined.
    PayCard(u64),
    /// The buyer pays in another currency.
    PayAbroad,
    /// The buyer pays from a country, which decides about the tax. From elsewhere than said here buyers pay from Germany.
    PayFrom(&'static str),
    Succeed,
    Fail,
    /// The payment that failed, or is being processed, is canceled.
    CancelPayment,
    /// The buyer tries to pay, and the card is declined.
    Decline,
    Expire,
    /// So many minor units are refunded; `None` for all that is left.
    Refund(Option<i64>),
    /// The fee of the payment becomes known.
    SettleFee,
    /// The newest refund fails: the money comes back to the store.
    FailRefund,
    /// The buyer's bank asks for the money back; so many minor units, or `None` for all that is left.
    Dispute(Option<i64>),
    /// The buyer's bank asks about a payment, without taking the money back.
    Inquire,
    /// The bank is given so many minor units, or all that is left, before it asks: a dispute is prevented.
    PreventDispute(Option<i64>),
    /// The account's owner writes evidence in the dashboard, and does not submit it yet.
    StageEvidence,
    /// The inquiry becomes a dispute.
    Escalate,
    /// The buyer's bank warns of fraud.
    WarnOfFraud,
    CloseDispute {
        won: bool,
    },
    /// The subscription is renewed now, whether its period is over or not: the invoice of the next period is paid.
    Renew,
    /// The same by a debit, whose payment succeeds or fails later.
    RenewLate,
    /// The same, but the card is declined: the invoice stays open, and the subscription is past due.
    FailRenewal,
    /// The invoice that failed is paid.
    Recover,
    /// It is not tried again: the subscription ends.
    GiveUp,
    /// The account's owner changes the subscription, and an invoice for the change is paid.
    ChargeChange,
    CancelAtPeriodEnd,
    /// The buyer cancels in the portal.
    CancelInPortal,
    /// The subscription does not end with its period after all.
    Resume,
    /// The period of a subscription that ends with it is over.
    EndPeriod,
    CancelNow,
    /// The buyer of a subscription begins to pay and does not confirm it: the subscription is incomplete.
    LeaveUnconfirmed,
    /// The renewal that failed is not tried again, and the subscription stays: it is unpaid.
    MarkUnpaid,
    /// The account's owner pauses the collection of payments.
    Pause,
    /// Payments are asked for again.
    Unpause,
    /// The account's owner lets it be free for so many days from now on.
    Trial(i64),
    /// The free time ends, and there is no card: the subscription is paused.
    PauseTrial,
    /// The account's owner lets it end in so many days.
    CancelAt(i64),
}

/// An account in one of its modes, with the key to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    pub key: String,
    /// The account's id, `acct_…`.
    pub id: String,
    /// Whether its objects say that the money is real.
    pub livemode: bool,
}

impl Account {
    /// An account in the mode of the key.
    pub fn new(key: &str, id: &str) -> Self {
        Self { key: key.to_owned(), id: id.to_owned(), livemode: key.contains("_live_") }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "four switches on a page")]
pub struct Switches {
    pub twice: bool,
    /// An event is posted after the one that follows it.
    pub out_of_order: bool,
    pub late: bool,
    /// Events are not posted at all; they are still listed by the API.
    pub never: bool,
}

/// An event to post, with the switches as they were then.
#[derive(Debug)]
pub(super) struct Posting {
    pub(super) event: String,
    pub(super) switches: Switches,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) base: String,
    /// The first is that of the options' key.
    pub(super) accounts: Vec<Account>,
    /// The place of the account that calls or acts.
    pub(super) caller: usize,
    /// The place of the account that every object belongs to.
    pub(super) owners: BTreeMap<String, usize>,
    /// In the order of creation: ids begin with a counter.
    pub(super) sessions: BTreeMap<String, Session>,
    pub(super) intents: BTreeMap<String, Intent>,
    pub(super) charges: BTreeMap<String, Charge>,
    pub(super) refunds: BTreeMap<String, Refund>,
    pub(super) disputes: BTreeMap<String, Dispute>,
    pub(super) billing: Billing,
    pub(super) endpoints: BTreeMap<String, Endpoint>,
    pub(super) events: Vec<Event>,
    pub(super) responses: BTreeMap<usize, Responses>,
    pub(super) received: Vec<Received>,
    pub(super) faults: Faults,
    /// The number of the card that pays.
    pub(super) card: u64,
    /// The most objects on a page of a list.
    pub(super) largest_page: usize,
    /// Whether buyers are sent receipts.
    pub(super) sends_receipts: bool,
    /// Whether fees become known only later.
    pub(super) delays_fees: bool,
    /// The method that no session may offer; see [`super::StandIn::refuse_method`].
    pub(super) refused_method: Option<String>,
    pub(super) switches: Switches,
    pub(super) limit: CallLimit,
    pub(super) delay: Duration,
    to_post: UnboundedSender<Posting>,
    pub(super) counter: u32,
    /// How often the file was to be written.
    pub(super) changes: u64,
}

impl State {
    pub(super) fn new(options: &Options, base: String, to_post: UnboundedSender<Posting>) -> Self {
        let own = Account { key: options.key.clone(), id: options.account.clone(), livemode: options.livemode };
        let mut state = Self {
            base,
            accounts: std::iter::once(own).chain(options.others.iter().cloned()).collect(),
            caller: 0,
            owners: BTreeMap::new(),
            sessions: BTreeMap::new(),
            intents: BTreeMap::new(),
            charges: BTreeMap::new(),
            refunds: BTreeMap::new(),
            disputes: BTreeMap::new(),
            billing: Billing::default(),
            endpoints: BTreeMap::new(),
            events: Vec::new(),
            responses: BTreeMap::new(),
            received: Vec::new(),
            faults: Faults::default(),
            card: CARD,
            largest_page: usize::MAX,
            sends_receipts: false,
            delays_fees: false,
            refused_method: None,
            switches: Switches::default(),
            limit: CallLimit::new(options.calls_per_second),
            delay: options.delay,
            to_post,
            counter: 0,
            changes: 0,
        };
        if let Some(url) = &options.webhook_url {
            let id = state.id("we");
            let endpoint = Endpoint {
                id: id.clone(),
                created: options.clock.seconds(),
                livemode: options.livemode,
                url: url.clone(),
                events: vec!["*".to_owned()],
                api_version: Some(API_VERSION.to_owned()),
                description: None,
                metadata: serde_json::Map::new(),
                secret: options.webhook_secret.clone(),
                disabled: false,
            };
            state.endpoints.insert(id, endpoint);
        }
        state
    }

    /// A new id. Its random part keeps it apart from those of earlier runs.
    pub(super) fn id(&mut self, kind: &str) -> String {
        self.counter += 1;
        let mode = match (kind, self.livemode()) {
            ("cs", true) => "_live",
            ("cs", false) => "_test",
            _ => "",
        };
        let id = format!("{kind}{mode}_{:06}{}", self.counter, shared::random::id().unwrap_or_default());
        self.owners.insert(id.clone(), self.caller);
        id
    }

    /// Records an event and lets it be posted.
    pub(super) fn happen(&mut self, kind: &'static str, object: &Value, now: i64) {
        let id = self.id("evt");
        self.events.push(Event::new(id.clone(), kind, now, self.livemode(), object));
        if !self.switches.never {
            self.post(&id);
        }
    }

    /// Lets an event be posted, again or for the first time.
    pub(super) fn post(&self, event: &str) {
        // The other end is gone when the server ends.
        _ = self.to_post.send(Posting { event: event.to_owned(), switches: self.switches });
    }

    pub(super) fn event(&self, id: &str) -> Option<&Event> {
        self.events.iter().find(|event| event.id == id)
    }

    /// Expires the sessions, and ends the cancelled subscriptions, whose time has come. Returns whether there were any.
    pub(super) fn tick(&mut self, now: i64) -> bool {
        let due = self.sessions.values().filter(|session| session.status == "open" && session.expires_at <= now);
        let due: Vec<String> = due.map(|session| session.id.clone()).collect();
        for id in &due {
            self.act_for(id);
            _ = self.expire(id, now);
        }
        let is_any = self.expire_unconfirmed(now) || !due.is_empty();
        self.end_periods(now) || is_any
    }

    fn pay_card(&mut self, session: &str, number: u64, now: i64) -> Result<(), String> {
        self.card = number;
        let paid = self.pay_by(session, "card", now);
        self.card = CARD;
        paid
    }

    /// Does an action to a session, or to an invoice and its subscription, or says why it is not possible.
    pub(super) fn act(&mut self, session: &str, action: &Action, now: i64) -> Result<(), String> {
        self.tick(now);
        if !self.sessions.contains_key(session) && !self.billing.invoices.contains_key(session) {
            return Err(format!("There is no session {session}."));
        }
        self.act_for(session);
        let subscription = self.subscription_of(session);
        if *action != Action::Expire {
            self.address(session, if let Action::PayFrom(country) = action { country } else { "DE" });
        }
        match action {
            Action::Pay | Action::PayFrom(_) => self.pay_by(session, "card", now),
            Action::PayDelayed => self.pay_by(session, "sepa_debit", now),
            Action::PayBy(method) => self.pay_by(session, method, now),
            Action::Decline | Action::PayCard(DECLINED) => self.decline(session, now),
            Action::PayCard(number) => self.pay_card(session, *number, now),
            Action::PayAbroad => self.pay_abroad(session, now),
            Action::Succeed => self.settle(session, now, true),
            Action::Fail => self.settle(session, now, false),
            Action::CancelPayment => self.cancel_payment(session, now),
            Action::Expire => self.expire(session, now),
            Action::Refund(amount) => {
                let charge = self.charge_of(session)?;
                self.refund(&charge, *amount, None, now).map(drop).map_err(|error| error.message().to_owned())
            }
            Action::SettleFee => self.settle_fee(session, now),
            Action::FailRefund => self.fail_refund(session, now),
            Action::Dispute(amount) => self.dispute(session, "needs_response", *amount, now),
            Action::Inquire => self.dispute(session, "warning_needs_response", None, now),
            Action::PreventDispute(amount) => self.dispute(session, "prevented", *amount, now),
            Action::StageEvidence => self.stage_evidence(session, now),
            Action::Escalate => self.change_dispute(session, "needs_response", "charge.dispute.updated", now),
            Action::WarnOfFraud => self.warn_of_fraud(session, now),
            Action::CloseDispute { won } => {
                self.change_dispute(session, if *won { "won" } else { "lost" }, "charge.dispute.closed", now)
            }
            Action::Renew => self.renew(&subscription?, now),
            Action::RenewLate => self.renew_late(&subscription?, now),
            Action::FailRenewal => self.fail_renewal(&subscription?, now),
            Action::Recover => self.recover(&subscription?, now),
            Action::GiveUp => self.give_up(&subscription?, now),
            Action::ChargeChange => self.charge_change(&subscription?, now),
            Action::CancelAtPeriodEnd => self.cancel_at_period_end(&subscription?, true, now),
            Action::CancelInPortal => self.cancel_in_portal(&subscription?, now),
            Action::Resume => self.cancel_at_period_end(&subscription?, false, now),
            Action::EndPeriod => self.end_period(&subscription?, now),
            Action::CancelNow => self.cancel_now(&subscription?, now),
            Action::LeaveUnconfirmed => self.leave_unconfirmed(session, now),
            Action::MarkUnpaid => self.mark_unpaid(&subscription?, now),
            Action::Pause => {
                let pause = Pause { behavior: "void".to_owned(), resumes_at: None };
                self.pause_collection(&subscription?, Some(pause), now)
            }
            Action::Unpause => self.pause_collection(&subscription?, None, now),
            Action::Trial(days) => self.trial(&subscription?, now + days * DAY, now),
            Action::PauseTrial => self.pause_trial(&subscription?, now),
            Action::CancelAt(days) => self.cancel_at(&subscription?, now + days * DAY, now),
        }
    }

    pub(super) fn session_json(&self, id: &str) -> Value {
        self.sessions.get(id).map(|session| session.json(&self.base)).unwrap_or_default()
    }
}
