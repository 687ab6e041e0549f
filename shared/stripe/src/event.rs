//! Events: the word of Stripe that something has changed.

use crate::call::{Call, Form};
use crate::values::{List, ObjectId, names};
use serde::Deserialize;
use serde::de::IgnoredAny;

/// The number of events on a page: whole objects are in them, and a response has a largest size.
const EVENTS_ON_A_PAGE: usize = 20;

names! {
    /// The subject of an event.
    EventKind {
        /// The buyer has finished; with a delayed method the money is not there yet.
        SessionCompleted = "checkout.session.completed",
        /// A delayed payment succeeded.
        SessionPaymentSucceeded = "checkout.session.async_payment_succeeded",
        /// A delayed payment failed.
        SessionPaymentFailed = "checkout.session.async_payment_failed",
        /// A session can no longer be paid.
        SessionExpired = "checkout.session.expired",
        /// An attempt to pay was refused, by the buyer's bank for example.
        ChargeFailed = "charge.failed",
        /// A charge was refunded, in part or in full.
        ChargeRefunded = "charge.refunded",
        /// Something of a charge has become known: its fee, for example.
        ChargeUpdated = "charge.updated",
        /// A refund has changed; it may have failed days after it was made.
        RefundUpdated = "refund.updated",
        /// A refund has failed: the money is back with the store.
        RefundFailed = "refund.failed",
        /// The buyer's bank asks for the money back.
        DisputeCreated = "charge.dispute.created",
        /// A dispute has changed: an inquiry became one, for example.
        DisputeUpdated = "charge.dispute.updated",
        /// A dispute was decided.
        DisputeClosed = "charge.dispute.closed",
        /// The buyer's bank believes that a person other than the owner of the card has paid.
        EarlyFraudWarning = "radar.early_fraud_warning.created",
        /// A period of a subscription is paid: the first one, or a further one.
        InvoicePaid = "invoice.paid",
        /// A renewal could not be paid. It is tried again.
        InvoicePaymentFailed = "invoice.payment_failed",
        /// A subscription has changed: it was renewed, is past due or will end.
        SubscriptionUpdated = "customer.subscription.updated",
        /// A subscription has ended.
        SubscriptionDeleted = "customer.subscription.deleted",
    }
}

impl EventKind {
    /// The events that a checkout follows.
    pub const ALL: [Self; 17] = [
        Self::SessionCompleted,
        Self::SessionPaymentSucceeded,
        Self::SessionPaymentFailed,
        Self::SessionExpired,
        Self::ChargeFailed,
        Self::ChargeRefunded,
        Self::ChargeUpdated,
        Self::RefundUpdated,
        Self::RefundFailed,
        Self::DisputeCreated,
        Self::DisputeUpdated,
        Self::DisputeClosed,
        Self::EarlyFraudWarning,
        Self::InvoicePaid,
        Self::InvoicePaymentFailed,
        Self::SubscriptionUpdated,
        Self::SubscriptionDeleted,
    ];
}

/// An event. Of the object in it only ids are read: it is as old as the event, and is fetched again.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "Sent")]
pub struct Event {
    /// Its id, `evt_…`. A repeated event has the same.
    pub id: ObjectId,
    pub kind: EventKind,
    /// When it happened, in seconds since 1970 UTC.
    pub created: i64,
    /// Whether the money is real.
    pub livemode: bool,
    /// The object's id: a session, a charge, a refund, a dispute, an invoice or a subscription.
    pub object: Option<ObjectId>,
    /// The id of the payment that the object belongs to.
    pub payment_intent: Option<ObjectId>,
    /// The id of the charge that a dispute is about.
    pub charge: Option<ObjectId>,
}

impl Event {
    /// Lists events of some kinds of a time, newest first: from its first second to its last (since 1970 UTC). The next
    /// page begins after [`EventPage::last`] of this one.
    pub fn list(kinds: &[EventKind], (first, last): (i64, i64), after: Option<&ObjectId>) -> Call<EventPage> {
        let form =
            Form::default().with("created[gte]", &first).with("created[lte]", &last).with("limit", &EVENTS_ON_A_PAGE);
        let form = form.with_some("starting_after", after);
        let form = kinds.iter().fold(form, |form, kind| form.with("types[]", kind.as_str()));
        Call::get("/v1/events", form)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "List<Listed>")]
pub struct EventPage {
    pub events: Vec<Event>,
    pub unreadable: usize,
    /// The last event, if more follow after it.
    pub last: Option<ObjectId>,
}

/// An event of a list. One that cannot be read does not make the others unreadable.
#[derive(Deserialize)]
#[serde(untagged)]
enum Listed {
    Event(Box<Event>),
    Unreadable(Object),
    NoObject(IgnoredAny),
}

impl Listed {
    fn id(&self) -> Option<&ObjectId> {
        match self {
            Self::Event(event) => Some(&event.id),
            Self::Unreadable(Object { id: Field::Id(id), .. }) => Some(id),
            Self::Unreadable(_) | Self::NoObject(_) => None,
        }
    }
}

impl From<List<Listed>> for EventPage {
    fn from(List { data, has_more }: List<Listed>) -> Self {
        let last = data.iter().rev().find_map(Listed::id).filter(|_| has_more).cloned();
        let all = data.len();
        let is_event = |listed| if let Listed::Event(event) = listed { Some(*event) } else { None };
        let events: Vec<Event> = data.into_iter().filter_map(is_event).collect();
        Self { unreadable: all - events.len(), events, last }
    }
}

/// An event in the form in which Stripe sends it.
#[derive(Deserialize)]
struct Sent {
    id: ObjectId,
    #[serde(rename = "type")]
    kind: EventKind,
    created: i64,
    livemode: bool,
    data: Data,
}

#[derive(Deserialize)]
struct Data {
    object: Object,
}

/// Any object of the API. A field that is not an id, as in kinds that are not ours, is passed over.
#[derive(Deserialize)]
struct Object {
    #[serde(default)]
    id: Field,
    #[serde(default)]
    payment_intent: Field,
    #[serde(default)]
    charge: Field,
}

#[derive(Default, Deserialize)]
#[serde(untagged)]
enum Field {
    Id(ObjectId),
    Other(IgnoredAny),
    #[default]
    Missing,
}

impl Field {
    fn id(self) -> Option<ObjectId> {
        match self {
            Self::Id(id) => Some(id),
            Self::Other(_) | Self::Missing => None,
        }
    }
}

impl From<Sent> for Event {
    fn from(sent: Sent) -> Self {
        let object = sent.data.object;
        Self {
            id: sent.id,
            kind: sent.kind,
            created: sent.created,
            livemode: sent.livemode,
            object: object.id.id(),
            payment_intent: object.payment_intent.id(),
            charge: object.charge.id(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(kind: &str, object: &str) -> Event {
        let text = format!(
            r#"{{"id": "evt_1", "object": "event", "type": "{kind}", "created": 5, "livemode": false,
                "data": {{"object": {object}, "previous_attributes": {{}}}}, "request": {{"id": null}}}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    fn id(text: &str) -> ObjectId {
        ObjectId::parse(text).unwrap()
    }

    #[test]
    fn an_event_names_its_object_and_the_payment() {
        let session = event("checkout.session.completed", r#"{"id": "cs_1", "payment_intent": null}"#);
        assert_eq!(
            (session.kind, session.object, session.payment_intent),
            (EventKind::SessionCompleted, Some(id("cs_1")), None)
        );
        let dispute = event("charge.dispute.created", r#"{"id": "du_1", "payment_intent": "pi_1", "charge": "ch_1"}"#);
        assert_eq!(
            (dispute.object, dispute.payment_intent, dispute.charge),
            (Some(id("du_1")), Some(id("pi_1")), Some(id("ch_1")))
        );
    }

    #[test]
    fn an_event_of_another_kind_is_read_whatever_its_object_is() {
        for object in [r"{}", r#"{"id": 5, "charge": {"id": "ch_1"}}"#, r#"{"id": "a/b", "payment_intent": [1]}"#] {
            let event = event("balance.available", object);
            assert_eq!(event.kind, EventKind::Other("balance.available".to_owned()));
            assert_eq!((event.object, event.payment_intent, event.charge), (None, None, None), "{object}");
        }
    }

    #[test]
    fn every_kind_is_read_as_it_is_written() {
        for kind in EventKind::ALL {
            assert_eq!(EventKind::from(kind.as_str().to_owned()), kind);
        }
    }

    #[test]
    fn a_page_of_events_begins_after_the_last_one() {
        let call = Event::list(&[EventKind::ChargeRefunded, EventKind::SessionExpired], (7, 9), Some(&id("evt_9")));
        let sent: Vec<(&str, &str)> = call.parameters().iter().map(|(name, value)| (&**name, &**value)).collect();
        let wanted = [
            ("created[gte]", "7"),
            ("created[lte]", "9"),
            ("limit", "20"),
            ("starting_after", "evt_9"),
            ("types[]", "charge.refunded"),
            ("types[]", "checkout.session.expired"),
        ];
        assert_eq!(sent, wanted);
    }

    #[test]
    fn an_event_that_cannot_be_read_is_counted_and_is_still_a_place_in_the_list() {
        let good =
            r#"{"id": "evt_1", "type": "charge.refunded", "created": 5, "livemode": false, "data": {"object": {}}}"#;
        let page = |data: &str, has_more: bool| -> EventPage {
            serde_json::from_str(&format!(r#"{{"data": [{data}], "has_more": {has_more}}}"#)).unwrap()
        };
        let with = |bad: &str| page(&format!("{good}, {bad}"), true);
        for bad in [r#"{"id": "evt_2"}"#, r#"{"id": "evt_2", "type": 5, "created": "now", "data": []}"#] {
            let page = with(bad);
            assert_eq!((page.events.len(), page.unreadable, page.last), (1, 1, Some(id("evt_2"))), "{bad}");
        }
        for bad in ["5", "null", "[]", r#"{"id": 5}"#] {
            let page = with(bad);
            assert_eq!((page.events.len(), page.unreadable, page.last), (1, 1, Some(id("evt_1"))), "{bad}");
        }
        assert_eq!(page(good, false).last, None);
    }
}
