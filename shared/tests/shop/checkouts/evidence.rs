//! Evidence in disputes: it is sent by itself, once, a day before it is due, and never over what others have written.

use crate::at_provider::{AWAY, LOST};
use crate::shop::Shop;
use crate::sums::assert_books;
use shared::model::{
    AnswerOutcome, DisputeAnswer, InternalId, LoginKind, OrderStatus, ReviewOutcome, Reviewed, UserId,
};
use shared::shop::orders::unfinished;
use shared::shop::payments::{Provider as _, WebhookEvent};
use shared::table::keys;
use shared::table::transaction::{Write, sent};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::time::Duration;
use stripe_stand_in::{Action, Fault, FaultKind};
use tests::NOW;

const DISPUTES: &str = "/v1/disputes/";

async fn open() -> Shop {
    Shop::open_with(|payments| payments.answer_disputes = true).await
}

/// Lets the bank ask about a payment, and the store hear of it.
async fn ask(shop: &Shop, payment: impl Display, action: Action) {
    shop.act(payment, action);
    let event = shop.events().await.remove(0);
    shop.hear(&event).await;
    shop.sweep().await;
}

/// A shop that answers disputes, a paid order, and what its bank asks.
async fn asked(action: Action) -> (Shop, InternalId) {
    let shop = open().await;
    let order = shop.paid().await;
    ask(&shop, &order, action).await;
    (shop, order)
}

/// The store's answer to the only dispute of an order, and the dispute's id.
async fn answer(shop: &Shop, order: &InternalId) -> (String, DisputeAnswer) {
    let answers = shop.order(order).await.effects.answers;
    assert_eq!(answers.len(), 1);
    answers.into_iter().next().unwrap()
}

async fn outcome(shop: &Shop, order: &InternalId) -> Option<AnswerOutcome> {
    answer(shop, order).await.1.outcome
}

/// What was sent to the provider: the keys, and the evidence that came last.
fn submitted(shop: &Shop) -> (BTreeSet<String>, BTreeMap<String, String>) {
    let all = shop.stand_in.received().into_iter().filter(|one| one.route.starts_with("POST /v1/disputes/"));
    let (mut keys, mut evidence) = (BTreeSet::new(), BTreeMap::new());
    for one in all {
        keys.insert(one.key.unwrap());
        evidence = one.parameters.into_iter().collect();
    }
    (keys, evidence)
}

async fn is_at_bank(shop: &Shop, dispute: &str) -> bool {
    shop.stripe.awaited(dispute).await.unwrap().is_submitted
}

#[tokio::test]
async fn evidence_is_sent_once_a_day_before_it_is_due() {
    for (action, state) in [(Action::Dispute(None), "under_review"), (Action::Inquire, "warning_under_review")] {
        let (shop, order) = asked(action).await;
        let (dispute, noted) = answer(&shop, &order).await;
        assert_eq!((noted.due_by, noted.due), (Some(shop.now() + 7 * 86_400), Some(shop.now() + 6 * 86_400)));
        shop.days(5);
        shop.sweep().await;
        assert_eq!(submitted(&shop).0.len(), 0, "there is time");
        assert_eq!(unfinished::due(&shop.db, shop.now()).await.unwrap().len(), 0);
        shop.days(1);
        shop.sweep().await;
        assert!(is_at_bank(&shop, &dispute).await);
        let (_, answered) = answer(&shop, &order).await;
        assert_eq!((answered.outcome, answered.sent_at), (Some(AnswerOutcome::Submitted), Some(shop.now())));
        assert_eq!((answered.due, answered.evidence.len()), (None, 0));
        let (keys, evidence) = submitted(&shop);
        assert_eq!((keys.len(), evidence["submit"].as_str()), (1, "true"));
        assert!(evidence["evidence[product_description]"].contains("5 × item"), "{evidence:?}");
        shop.sweep_later().await;
        assert_eq!(shop.order(&order).await.effects.disputes[&dispute], state);
        shop.act(&order, Action::CloseDispute { won: true });
        shop.sweep_later().await;
        assert_eq!((submitted(&shop).0.len(), shop.unfinished().await), (1, 0));
        assert_books(&shop).await;
    }
}

#[tokio::test]
async fn nothing_is_sent_unless_the_owner_wants_it_and_has_not_written_and_the_bank_still_waits() {
    let others = Some(AnswerOutcome::Others);
    for case in ["off", "staged", "closed", "heard", "late", "erased", "unsold", "elsewhere"] {
        let (mut shop, order) = asked(Action::Dispute(None)).await;
        let (dispute, _) = answer(&shop, &order).await;
        match case {
            "off" => shop.set_payments(|payments| payments.answer_disputes = false).await,
            "staged" => shop.act(&order, Action::StageEvidence),
            "closed" => shop.act(&order, Action::CloseDispute { won: false }),
            "heard" => ask(&shop, &order, Action::CloseDispute { won: true }).await,
            "late" => shop.days(1),
            "erased" => assert!(sent(&shop.db, vec![Write::delete(keys::user(UserId::new(1)))]).await.unwrap()),
            // As after `order cancel`, and a refund by other means.
            "unsold" => {
                shop.rewrite(&order, |stored| {
                    let (reason, outcome) = ("by hand".to_owned(), ReviewOutcome::Refunded);
                    stored.order.status = OrderStatus::Cancelled;
                    stored.effects.reviewed = Some(Reviewed { reason, outcome, at: NOW });
                })
                .await;
            }
            _ => shop.change_account(Some("acct_other"), false),
        }
        shop.days(6);
        shop.sweep().await;
        shop.sweep_later().await;
        assert_eq!(submitted(&shop).0.len(), 0, "{case}");
        assert_eq!(outcome(&shop, &order).await, others.filter(|_| case == "staged"), "{case}");
        assert_eq!(shop.unfinished().await, 0, "{case}");
        if case == "staged" {
            assert!(!is_at_bank(&shop, &dispute).await, "the owner's words are the owner's to submit");
        }
    }
}

#[tokio::test]
async fn a_warning_is_not_answered_and_a_dispute_after_an_inquiry_that_was_is_the_owners() {
    let (shop, order) = asked(Action::WarnOfFraud).await;
    assert!(shop.order(&order).await.effects.answers.is_empty());
    ask(&shop, &order, Action::Inquire).await;
    shop.days(6);
    shop.sweep().await;
    assert_eq!(outcome(&shop, &order).await, Some(AnswerOutcome::Submitted));
    ask(&shop, &order, Action::Escalate).await;
    let (_, answer) = answer(&shop, &order).await;
    assert_eq!((answer.due, submitted(&shop).0.len()), (None, 1));
    assert_eq!(shop.order(&order).await.effects.dispute.as_deref(), Some("needs_response"));
}

#[tokio::test]
async fn evidence_is_sent_once_whenever_the_process_is_killed() {
    for nth in 1..=3 {
        for is_written in [false, true] {
            let (shop, order) = asked(Action::Dispute(None)).await;
            let (dispute, _) = answer(&shop, &order).await;
            shop.days(6);
            let killed = shop.killed_at_transaction(nth, is_written);
            shop.sweep_by(&killed.db).await.ok();
            shop.stand_in.clear_faults();
            // What is known of the order changes meanwhile; what was about to be sent does not.
            shop.name(1, "Other").await;
            shop.sweep_later().await;
            assert!(is_at_bank(&shop, &dispute).await, "{nth} {is_written}");
            assert_eq!(outcome(&shop, &order).await, Some(AnswerOutcome::Submitted), "{nth} {is_written}");
            assert_eq!((submitted(&shop).0.len(), shop.unfinished().await), (1, 0), "{nth} {is_written}");
        }
    }
}

#[tokio::test]
async fn evidence_is_sent_once_whatever_the_provider_responds() {
    let failed = FaultKind::Status(500);
    for (name, fault, keys) in [
        ("away", AWAY, 1),
        ("lost", LOST, 1),
        ("busy", Fault::before(FaultKind::Status(429)), 1),
        ("failed", Fault::before(failed), 2),
        ("failed after it was done", Fault::after(failed), 1),
    ] {
        let (shop, order) = asked(Action::Dispute(None)).await;
        let (dispute, _) = answer(&shop, &order).await;
        shop.days(6);
        // The second request about the dispute is the one that submits.
        shop.fail_request(1, fault.on(DISPUTES));
        shop.sweep().await;
        shop.stand_in.clear_faults();
        shop.sweep_later().await;
        assert!(is_at_bank(&shop, &dispute).await, "{name}");
        assert_eq!(outcome(&shop, &order).await, Some(AnswerOutcome::Submitted), "{name}");
        assert!(submitted(&shop).0.len() <= keys, "{name}");
    }
}

#[tokio::test]
async fn a_refund_that_was_made_just_before_is_in_the_evidence() {
    let (shop, order) = asked(Action::Inquire).await;
    let read = shop.order(&order).await;
    shop.days(6);
    shop.act(&order, Action::Refund(Some(100)));
    shop.sweep().await;
    let (_, evidence) = submitted(&shop);
    let refunded = &evidence["evidence[refund_refusal_explanation]"];
    assert!(
        refunded.starts_with("1.00 EUR of this payment was refunded at ") && refunded.contains("refund re_"),
        "{refunded}"
    );
    let stale = read.set_answers(&read.effects.answers).unwrap();
    assert!(!sent(&shop.db, stale).await.unwrap(), "what is noted is what was known when it was written");
}

#[tokio::test]
async fn evidence_a_refund_and_the_end_of_the_dispute_may_come_at_once() {
    for (evidence, end) in [(0, 30), (30, 0), (15, 15), (0, 0)] {
        let (shop, order) = asked(Action::Inquire).await;
        let (dispute, _) = answer(&shop, &order).await;
        shop.days(6);
        let wait = async |millis| tokio::time::sleep(Duration::from_millis(millis)).await;
        let (swept, refunded, ()) = tokio::join!(
            async {
                wait(evidence).await;
                shop.sweep().await
            },
            shop.refund(&order, Some(100)),
            async {
                wait(end).await;
                shop.act(&order, Action::CloseDispute { won: true });
                shop.hear(&WebhookEvent::Dispute(dispute.clone())).await;
            }
        );
        assert!(swept.failed == 0 && refunded.is_ok(), "{swept:?} {refunded:?}");
        shop.sweep_later().await;
        let (keys, sent) = submitted(&shop);
        let is_refund_in = sent.contains_key("evidence[refund_refusal_explanation]");
        let is_noted = outcome(&shop, &order).await.is_some();
        assert!(keys.len() <= 1 && is_noted >= is_at_bank(&shop, &dispute).await, "{sent:?}");
        assert!(keys.is_empty() || evidence == 0 || is_refund_in, "{sent:?}");
        assert_eq!(shop.unfinished().await, 0);
        assert_books(&shop).await;
    }
}

#[tokio::test]
async fn earlier_orders_are_named_only_if_both_logins_prove_who_paid_or_the_card_is_the_same() {
    const OTHER: Action = Action::PayCard(5_555_555_555_554_444);
    for (via, by, is_named) in
        [(LoginKind::Proven, OTHER, true), (LoginKind::Name, OTHER, false), (LoginKind::Name, Action::Pay, true)]
    {
        let shop = open().await;
        let first = shop.paid().await;
        shop.days(1);
        let order = shop.checkout(1, &[(1, 1)], None).await;
        shop.act(&order, by);
        shop.settle(&order).await;
        shop.rewrite(&order, |stored| stored.effects.via = Some(via)).await;
        ask(&shop, &order, Action::Dispute(None)).await;
        shop.days(6);
        shop.sweep().await;
        let (_, evidence) = submitted(&shop);
        let earlier = format!("undisputed: order {} of", shop.order(&first).await.order.id);
        assert_eq!(evidence["evidence[uncategorized_text]"].contains(&earlier), is_named, "{evidence:?}");
    }
}

#[tokio::test]
async fn the_evidence_about_a_renewal_has_the_consent_of_its_beginning_and_what_the_console_ran() {
    let mut shop = Shop::open_subscriptions().await;
    shop.set_payments(|payments| payments.answer_disputes = true).await;
    let first = shop.subscribe().await;
    shop.renew(&first).await;
    let renewal = shop.subscription(&first).await.newest;
    let invoice = shop.stand_in.invoices().pop().unwrap();
    ask(&shop, &invoice, Action::Dispute(None)).await;
    shop.days(6);
    shop.sweep().await;
    assert_eq!(outcome(&shop, &renewal).await, Some(AnswerOutcome::Submitted));
    let (_, evidence) = submitted(&shop);
    let consent = shared::money::date_and_time(shop.order(&first).await.effects.consented_at.unwrap());
    for (field, part) in [
        ("refund_policy_disclosure", consent.as_str()),
        ("refund_policy_disclosure", "with which the subscription began"),
        ("product_description", "The payment renews a subscription, which is paid every 1 month"),
    ] {
        assert!(evidence[&format!("evidence[{field}]")].contains(part), "{part}: {evidence:?}");
    }
    ask(&shop, &first, Action::Dispute(None)).await;
    shop.days(6);
    shop.sweep().await;
    let (_, evidence) = submitted(&shop);
    let log = &evidence["evidence[access_activity_log]"];
    assert!(log.contains("player user-1: give user-1; sent ") && !log.contains("seize"), "{log}");
}
