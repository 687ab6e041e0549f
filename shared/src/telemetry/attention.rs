//! What an operator must notice: events of payments, and figures of game servers, which the sweep measures.
//!
//! An event is a metric only in the requests in which it happened, so that the functions that never see a payment do not pay for it.
//! Each server has a line of its own with its id; a metric has the values of all servers, because each further one is paid for, and
//! its maximum is that of the worst server.

use super::{Aws, Directive, Emitter, PER_FUNCTION, Request, shown};
use crate::model::ServerId;
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::cell::Cell;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PaymentEvent {
    /// A webhook's signature is stale or wrong.
    BadSignature,
    /// A webhook's signature is valid.
    GoodSignature,
    /// An order needs an operator.
    Review,
    /// A dispute was opened or closed.
    Dispute,
    /// An order has been due for 15 minutes or longer, and the sweep has not finished it.
    Overdue,
    /// The payment provider did not respond, or failed.
    ProviderError,
    /// A late payment was refunded because what it bought is gone.
    AutomaticRefund,
    /// A payment has no order in the table.
    PaidWithoutOrder,
    /// A refund has failed after it was made: the money is back with the store.
    FailedRefund,
}

impl PaymentEvent {
    pub const ALL: [Self; 9] = [
        Self::BadSignature,
        Self::GoodSignature,
        Self::Review,
        Self::Dispute,
        Self::Overdue,
        Self::ProviderError,
        Self::AutomaticRefund,
        Self::PaidWithoutOrder,
        Self::FailedRefund,
    ];

    /// The name of its metric.
    pub const fn metric(self) -> &'static str {
        match self {
            Self::BadSignature => "BadSignatures",
            Self::GoodSignature => "GoodSignatures",
            Self::Review => "PaymentReviews",
            Self::Dispute => "PaymentDisputes",
            Self::Overdue => "OverdueOrders",
            Self::ProviderError => "ProviderErrors",
            Self::AutomaticRefund => "AutomaticRefunds",
            Self::PaidWithoutOrder => "PaidWithoutOrder",
            Self::FailedRefund => "FailedRefunds",
        }
    }
}

impl PaymentEvent {
    /// Whether the event waits for the owner, and does not end by itself.
    const fn needs_person(self) -> bool {
        match self {
            Self::Review | Self::Dispute | Self::Overdue | Self::PaidWithoutOrder | Self::FailedRefund => true,
            Self::BadSignature | Self::GoodSignature | Self::ProviderError | Self::AutomaticRefund => false,
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Noted([Cell<Option<u32>>; PaymentEvent::ALL.len()]);

impl Noted {
    pub(super) fn add(&self, event: PaymentEvent, count: u32) {
        if let (Some(noted), 1..) = (self.place(event), count) {
            noted.set(Some(noted.get().unwrap_or_default().saturating_add(count)));
        }
    }

    pub(super) fn set_signature(&self, is_valid: bool) {
        self.set(PaymentEvent::BadSignature, u32::from(!is_valid));
        self.set(PaymentEvent::GoodSignature, u32::from(is_valid));
    }

    /// Sets the count of an event, zero included.
    pub(super) fn set(&self, event: PaymentEvent, count: u32) {
        if let Some(noted) = self.place(event) {
            noted.set(Some(count));
        }
    }

    /// How many of the events wait for the owner, and whether the request is a sweep, which notes what is overdue.
    pub(super) fn needs_person(&self) -> (u32, bool) {
        let count = |event: PaymentEvent| self.place(event).and_then(Cell::get);
        let waiting = PaymentEvent::ALL.into_iter().filter(|event| event.needs_person()).filter_map(count);
        (waiting.fold(0, u32::saturating_add), count(PaymentEvent::Overdue).is_some())
    }

    fn place(&self, event: PaymentEvent) -> Option<&Cell<Option<u32>>> {
        // The events are numbered in the order of ALL.
        self.0.get(event as usize)
    }

    /// The metrics of the events that were noted, with their counts.
    pub(super) fn counts(&self) -> impl Iterator<Item = (&'static str, u32)> + '_ {
        let all = PaymentEvent::ALL.into_iter().zip(&self.0);
        all.filter_map(|(event, count)| Some((event.metric(), count.get()?)))
    }

    /// Whether a request emits a metric: one of an event only if that happened.
    pub(super) fn emits(&self, metric: &str) -> bool {
        PaymentEvent::ALL.iter().all(|event| event.metric() != metric) || self.counts().any(|(name, _)| name == metric)
    }
}

/// After how many seconds a command that is ready is late, if its server polls.
pub const READY_TOO_LONG: i64 = 15 * 60;
/// After how many seconds without a poll a server is missed.
pub const SILENT_TOO_LONG: i64 = 30 * 60;

pub(super) const OLDEST_READY: &str = "OldestReady";
pub(super) const SILENCE: &str = "ServerSilence";
pub(super) const UNKNOWN: &str = "UnknownCommands";

/// Figures of what is stuck at a game server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerFigures {
    pub server: ServerId,
    /// Seconds since its oldest command was due that no poll has finished; `None` if the server does not poll.
    pub oldest_ready: Option<i64>,
    /// Seconds since its last poll; `None` if it is not connected.
    pub silence: Option<i64>,
    /// Commands of which it is not known whether they ran, or which the game server refused.
    pub undecided: usize,
}

impl ServerFigures {
    /// Whether something at the server waits for its owner.
    pub(super) fn needs_person(&self) -> bool {
        let is_over = |seconds: Option<i64>, most| seconds.is_some_and(|seconds| seconds > most);
        is_over(self.oldest_ready, READY_TOO_LONG) || is_over(self.silence, SILENT_TOO_LONG) || self.undecided > 0
    }

    pub(super) fn value(&self, metric: &str) -> Option<i64> {
        match metric {
            OLDEST_READY => self.oldest_ready,
            SILENCE => self.silence,
            UNKNOWN => i64::try_from(self.undecided).ok(),
            _ => None,
        }
    }
}

pub(super) struct Line<'a> {
    pub(super) emitter: &'a Emitter,
    pub(super) request: Request<'a>,
    pub(super) timestamp: u64,
    pub(super) figures: &'a ServerFigures,
}

impl Serialize for Line<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let directive = Directive::of(PER_FUNCTION, |metric| self.figures.value(metric).is_some());
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("level", "INFO")?;
        map.serialize_entry("message", "game server")?;
        map.serialize_entry("timestamp", &shown(self.timestamp))?;
        map.serialize_entry("request_id", self.request.id)?;
        map.serialize_entry("Stack", &self.emitter.stack)?;
        map.serialize_entry("Function", self.emitter.function)?;
        map.serialize_entry("server", &self.figures.server.to_string())?;
        for metric in &directive.metrics {
            map.serialize_entry(metric.name, &self.figures.value(metric.name))?;
        }
        map.serialize_entry("_aws", &Aws { timestamp: self.timestamp, directives: vec![directive] })?;
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_overdue_orders_are_noted_as_zero() {
        let noted = Noted::default();
        noted.add(PaymentEvent::Review, 0);
        noted.set(PaymentEvent::Overdue, 0);
        assert_eq!(noted.counts().collect::<Vec<_>>(), [("OverdueOrders", 0)]);
        assert!(noted.emits("OverdueOrders") && !noted.emits("PaymentReviews"));
    }

    #[test]
    fn a_signature_counts_as_good_or_bad_and_not_as_the_other() {
        for (is_valid, counts) in [(true, [0, 1]), (false, [1, 0])] {
            let noted = Noted::default();
            noted.set_signature(is_valid);
            let counts = [("BadSignatures", counts[0]), ("GoodSignatures", counts[1])];
            assert_eq!(noted.counts().collect::<Vec<_>>(), counts);
        }
    }

    #[test]
    fn every_event_has_a_place_and_a_metric_of_its_own() {
        let noted = Noted::default();
        for (place, event) in (1..).zip(PaymentEvent::ALL) {
            noted.add(event, place);
        }
        let counts: Vec<(&str, u32)> = noted.counts().collect();
        let wanted: Vec<(&str, u32)> = PaymentEvent::ALL.iter().map(|event| event.metric()).zip(1..).collect();
        assert_eq!(counts, wanted);
        let mut names: Vec<&str> = counts.iter().map(|(name, _)| *name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), PaymentEvent::ALL.len());
    }
}
