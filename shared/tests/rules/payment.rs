//! The decision about an order when its provider was asked: every state of a payment and of an order.

use crate::any::{self, money};
use serde_json::json;
use shared::model::{
    InternalId, Money, Order, OrderEffects, OrderStatus, PaymentFacts, Proceeds, ProviderAccount, ProviderCheckout,
    RefundAttempt, RefundOutcome, Refunds, ReviewOutcome, Reviewed, Tax,
};
use shared::rules::payment::{Decision, Origin, PaymentState, Progress, decide, is_left, new_facts, origin};
use shared::rules::refund::{NextStep, RefundRefusal, next_step};

/// An order of 300.
fn order(status: OrderStatus) -> Order {
    any::order(status, 300, None, Vec::new())
}

/// How a payment agrees with its order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Agrees {
    Fully,
    /// It is of another amount or currency.
    NotInSum,
    /// It names another order, or is of another mode.
    NotAtAll,
}

/// The expected decision for every payment, order and hold.
#[expect(clippy::match_same_arms, reason = "a table, in the order of the rules")]
fn expected(progress: Progress, status: OrderStatus, is_held: bool, agrees: Agrees, refunded: i64) -> &'static str {
    use OrderStatus::{Cancelled, Failed, Paid, Pending, Refunded};
    match (progress, status) {
        (Progress::Open | Progress::Processing, _) | (Progress::Paid, Refunded) => "nothing",
        (Progress::Expired, Pending) => "cancel",
        (Progress::Failed, Pending) => "fail",
        (Progress::Expired | Progress::Failed, _) => "nothing",
        (Progress::Paid, _) if agrees == Agrees::NotAtAll => "review",
        (Progress::Paid, Paid) if refunded == 300 => "refund",
        (Progress::Paid, Pending) if refunded == 300 => "cancel",
        (Progress::Paid, Failed | Cancelled) if refunded == 300 => "nothing",
        (Progress::Paid, _) if agrees == Agrees::NotInSum => "review",
        (Progress::Paid, Paid) if refunded == 0 => "nothing",
        (Progress::Paid, Paid) => "refund in part",
        (Progress::Paid, _) if is_held => "pay",
        (Progress::Paid, _) => "pay or refund",
    }
}

fn name(decision: Decision) -> &'static str {
    match decision {
        Decision::Nothing => "nothing",
        Decision::Pay => "pay",
        Decision::PayOrRefund => "pay or refund",
        Decision::End(OrderStatus::Cancelled) => "cancel",
        Decision::End(OrderStatus::Failed) => "fail",
        Decision::End(_) => "?",
        Decision::Refund => "refund",
        Decision::RefundInPart(_) => "refund in part",
        Decision::RefundFailed(_) => "refund failed",
        Decision::FinishRefund => "finish refund",
        Decision::EndReview => "end review",
        Decision::Review(_) => "review",
    }
}

type Change = fn(&mut PaymentState);

#[test]
fn every_state_of_a_payment_and_an_order_is_decided() {
    let progresses = [Progress::Open, Progress::Expired, Progress::Processing, Progress::Failed, Progress::Paid];
    let right = |progress, refunded| PaymentState { progress, ..payment(refunded, 0) };
    let wrong: [(Agrees, Change); 4] = [
        (Agrees::NotAtAll, |state| state.order = Some(InternalId::new("another"))),
        (Agrees::NotInSum, |state| state.amount = Money::from_minor(299)),
        (Agrees::NotInSum, |state| state.currency = "usd".to_owned()),
        (Agrees::NotAtAll, |state| state.same_mode = false),
    ];
    for progress in progresses {
        for status in OrderStatus::ALL {
            for is_held in [false, true] {
                for refunded in [0, 150, 300] {
                    let order = order(status);
                    let effects = OrderEffects { held: is_held, ..OrderEffects::default() };
                    let state = right(progress, refunded);
                    let decided = name(decide(&order, &effects, &state));
                    let note = format!("{progress:?} {status:?} held: {is_held} refunded: {refunded}");
                    assert_eq!(decided, expected(progress, status, is_held, Agrees::Fully, refunded), "{note}");
                    for (agrees, change) in wrong {
                        let mut state = state.clone();
                        change(&mut state);
                        let decided = name(decide(&order, &effects, &state));
                        assert_eq!(decided, expected(progress, status, is_held, agrees, refunded), "{note}, wrong");
                        // An operator is notified once.
                        let told = OrderEffects { review: Some(String::new()), ..effects.clone() };
                        assert_ne!(name(decide(&order, &told, &state)), "review", "{note}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_refund_that_is_noted_already_changes_nothing() {
    let order = order(OrderStatus::Paid);
    let state = payment(100, 0);
    let noted = |refunded: i64| OrderEffects { refunded: money(refunded), ..OrderEffects::default() };
    assert_eq!(
        decide(&order, &noted(99), &state),
        Decision::RefundInPart(Refunds { refunded: money(100), failed: Money::ZERO, unreturned: Money::ZERO })
    );
    assert_eq!(decide(&order, &noted(100), &state), Decision::Nothing);
    assert_eq!(decide(&order, &noted(101), &state), Decision::Nothing);
    let free = Order { price: Money::ZERO, status: OrderStatus::Pending, ..order };
    let state = PaymentState { amount: Money::ZERO, refunded: Money::ZERO, ..state };
    assert_eq!(decide(&free, &OrderEffects { held: true, ..OrderEffects::default() }, &state), Decision::Pay);
}

/// A payment of 300 of which so much is refunded, and so much failed.
fn payment(refunded: i64, failed: i64) -> PaymentState {
    PaymentState {
        session: "cs_1".to_owned(),
        order: Some(InternalId::new("order")),
        amount: money(300),
        currency: "eur".to_owned(),
        same_mode: true,
        progress: Progress::Paid,
        intent: Some("intent".to_owned()),
        refunded: money(refunded),
        failed_refunds: money(failed),
        attempts: Vec::new(),
        disputes: Vec::new(),
        period: None,
        tax: Tax::default(),
        facts: PaymentFacts::default(),
        card: None,
    }
}

fn attempt(after: i64, outcome: Option<RefundOutcome>) -> RefundAttempt {
    RefundAttempt { number: 1, before: Money::ZERO, after: money(after), at: 0, outcome, reason: None }
}

#[test]
fn of_two_reads_the_one_with_more_failures_is_the_newer_one() {
    use OrderStatus::{Cancelled, Paid, Refunded};
    let noted = |status: OrderStatus, refunded: i64, failed: i64, unreturned: i64| {
        let effects = OrderEffects {
            refunded: money(refunded),
            failed_refunds: money(failed),
            unreturned: money(unreturned),
            ..OrderEffects::default()
        };
        move |state: PaymentState| match decide(&order(status), &effects, &state) {
            Decision::RefundInPart(sums) | Decision::RefundFailed(sums) => {
                Some((sums.refunded.minor(), sums.failed.minor(), sums.unreturned.minor()))
            }
            Decision::Nothing => None,
            other => panic!("{other:?}"),
        }
    };
    // A refund of 100 fails, and is made again.
    assert_eq!(noted(Paid, 100, 0, 0)(payment(0, 100)), Some((0, 100, 100)));
    assert_eq!(noted(Paid, 0, 100, 100)(payment(100, 0)), None, "an older read");
    assert_eq!(noted(Paid, 0, 100, 100)(payment(0, 100)), None);
    assert_eq!(noted(Paid, 0, 100, 100)(payment(100, 100)), Some((100, 100, 0)));
    assert_eq!(noted(Paid, 100, 100, 0)(payment(0, 100)), None, "an older read");
    // Of two parts the smaller one fails.
    assert_eq!(noted(Paid, 150, 0, 0)(payment(100, 50)), Some((100, 50, 50)));
    // An order that is not paid is marked, and an operator's own REFUNDED is not.
    for status in [Refunded, Cancelled] {
        assert_eq!(noted(status, 0, 0, 0)(payment(0, 300)), Some((0, 300, 300)));
        assert_eq!(noted(status, 0, 300, 300)(payment(0, 300)), None);
        assert_eq!(noted(status, 0, 300, 300)(payment(300, 300)), Some((300, 300, 0)));
        assert_eq!(noted(status, 0, 300, 0)(payment(0, 300)), None, "an older read");
    }
    assert_eq!(noted(Refunded, 0, 0, 0)(payment(0, 0)), None);
}

#[test]
fn a_late_payment_whose_refund_was_begun_is_never_paid() {
    for held in [false, true] {
        for (outcome, found) in [
            (None, "finish refund"),
            (Some(RefundOutcome::Refused), "review"),
            (Some(RefundOutcome::Abandoned), "review"),
            (Some(RefundOutcome::Refunded), "nothing"),
            (Some(RefundOutcome::Failed), "nothing"),
        ] {
            let effects = OrderEffects { refund: Some(attempt(300, outcome)), held, ..OrderEffects::default() };
            let decided = decide(&order(OrderStatus::Cancelled), &effects, &payment(0, 0));
            assert_eq!(name(decided), found, "{outcome:?}");
        }
    }
}

#[test]
fn an_older_read_does_not_pay_an_order_that_a_refund_ended() {
    let checkout = |intent| ProviderCheckout::paid("cs_1".to_owned(), intent, account(None, false), 0);
    let ended = OrderEffects { provider: Some(checkout(Some("intent".to_owned()))), ..OrderEffects::default() };
    for status in [OrderStatus::Cancelled, OrderStatus::Failed] {
        let decided = |effects: &OrderEffects, state: &PaymentState| name(decide(&order(status), effects, state));
        assert_eq!(decided(&ended, &payment(0, 0)), "nothing");
        assert_eq!(decided(&ended, &payment(150, 0)), "nothing");
        assert_eq!(decided(&ended, &PaymentState { currency: "usd".to_owned(), ..payment(0, 0) }), "nothing");
        let unknown = OrderEffects { provider: Some(checkout(None)), ..OrderEffects::default() };
        assert_eq!(decided(&unknown, &payment(0, 0)), "pay or refund");
        let begun = OrderEffects { refund: Some(attempt(300, None)), ..ended.clone() };
        assert_eq!(decided(&begun, &payment(0, 0)), "finish refund");
        for (outcome, found) in [(ReviewOutcome::Accepted, "pay or refund"), (ReviewOutcome::Refunded, "nothing")] {
            let reviewed = Some(Reviewed { reason: String::new(), outcome, at: 0 });
            assert_eq!(decided(&OrderEffects { reviewed, ..ended.clone() }, &payment(0, 0)), found);
        }
    }
}

#[test]
fn what_an_operator_has_decided_is_not_asked_again() {
    let reviewed = |outcome| OrderEffects {
        reviewed: Some(Reviewed { reason: String::new(), outcome, at: 0 }),
        ..OrderEffects::default()
    };
    let other = |refunded| PaymentState { amount: money(150), ..payment(refunded, 0) };
    let decided = |status, effects: &OrderEffects, refunded| decide(&order(status), effects, &other(refunded));
    let accepted = reviewed(ReviewOutcome::Accepted);
    assert_eq!(decided(OrderStatus::Paid, &accepted, 0), Decision::Nothing);
    let half = Refunds { refunded: money(150), failed: Money::ZERO, unreturned: Money::ZERO };
    assert_eq!(decided(OrderStatus::Paid, &accepted, 75), Decision::RefundInPart(half), "in proportion");
    assert_eq!(decided(OrderStatus::Paid, &accepted, 150), Decision::Refund);
    let refunded = reviewed(ReviewOutcome::Refunded);
    assert_eq!(decided(OrderStatus::Cancelled, &refunded, 150), Decision::Nothing);
    let in_review = OrderEffects { review: Some("why".to_owned()), ..OrderEffects::default() };
    assert_eq!(decided(OrderStatus::Cancelled, &in_review, 0), Decision::Nothing);
    assert_eq!(decided(OrderStatus::Cancelled, &in_review, 150), Decision::EndReview);
    assert_eq!(decided(OrderStatus::Pending, &in_review, 150), Decision::End(OrderStatus::Cancelled));
}

#[test]
fn the_next_step_towards_a_total_is_never_a_second_refund() {
    let with = |attempt: Option<RefundAttempt>| OrderEffects { refund: attempt, ..OrderEffects::default() };
    let step =
        |effects: &OrderEffects, refunded, total, now| next_step(effects, &payment(refunded, 0), money(total), now);
    let none = with(None);
    let Ok(NextStep::Begin(first)) = step(&none, 0, 100, 7) else { panic!("not begun") };
    assert_eq!((first.number, first.before, first.after, first.at), (1, Money::ZERO, money(100), 7));
    assert_eq!(step(&none, 100, 100, 0), Ok(NextStep::Done));
    assert_eq!(step(&none, 101, 100, 0), Err(RefundRefusal::Exceeded { refunded: money(101) }));
    for total in [-1, 0, 301] {
        assert_eq!(step(&none, 0, total, 0), Err(RefundRefusal::Bounds { amount: money(300) }));
    }
    let open = with(Some(attempt(100, None)));
    let resumed = RefundAttempt { at: 5, ..attempt(100, None) };
    assert_eq!(step(&open, 0, 100, 5), Ok(NextStep::Resume(resumed)));
    let Ok(NextStep::Begin(next)) = step(&open, 0, 100, 600) else { panic!("not begun again") };
    assert_eq!((next.number, next.before, next.after, next.at), (2, Money::ZERO, money(100), 600));
    for total in [99, 101, 300] {
        assert_eq!(step(&open, 0, total, 5), Err(RefundRefusal::Unfinished { total: money(100) }));
    }
    assert_eq!(step(&open, 30, 100, 5), Err(RefundRefusal::Unclear { seconds: 595 }));
    assert_eq!(step(&open, 30, 100, 600), Ok(NextStep::Abandon(attempt(100, None))));
    for outcome in [RefundOutcome::Refused, RefundOutcome::Failed, RefundOutcome::Abandoned, RefundOutcome::Refunded] {
        let Ok(NextStep::Begin(next)) = step(&with(Some(attempt(100, Some(outcome)))), 30, 100, 0) else {
            panic!("not begun")
        };
        assert_eq!((next.number, next.amount()), (2, money(70)));
    }
}

fn account(id: Option<&str>, live: bool) -> ProviderAccount {
    ProviderAccount { id: id.map(str::to_owned), live }
}

#[test]
fn a_checkout_is_ours_only_if_account_and_mode_are_known_and_the_same() {
    for (account_then, live, ours, expected) in [
        (Some("acct_1"), false, account(Some("acct_1"), false), Origin::Own),
        (Some("acct_1"), true, account(Some("acct_1"), true), Origin::Own),
        (Some("acct_1"), false, account(Some("acct_2"), false), Origin::Other),
        (Some("acct_1"), false, account(Some("acct_1"), true), Origin::Other),
        (Some("acct_1"), false, account(None, true), Origin::Other),
        (Some("acct_1"), false, account(None, false), Origin::Unknown),
        (None, false, account(Some("acct_1"), true), Origin::Other),
        (None, true, account(Some("acct_1"), true), Origin::Unknown),
        (None, true, account(None, true), Origin::Unknown),
    ] {
        let checkout = json!({ "expires_at": 0, "storefront": "", "account": account_then, "live": live });
        let checkout: ProviderCheckout = serde_json::from_value(checkout).unwrap();
        assert_eq!(origin(&checkout, &ours), expected, "{checkout:?} {ours:?}");
    }
}

#[test]
fn an_account_is_left_unless_it_is_certainly_another() {
    let leaving = |id, live| Some(account(id, live));
    for (mark, ours, expected) in [
        (None, account(Some("acct_1"), false), false),
        (leaving(Some("acct_1"), false), account(Some("acct_1"), false), true),
        (leaving(Some("acct_1"), false), account(None, false), true),
        (leaving(None, false), account(Some("acct_1"), false), true),
        (leaving(Some("acct_1"), false), account(Some("acct_2"), false), false),
        (leaving(Some("acct_1"), false), account(Some("acct_1"), true), false),
        (leaving(None, true), account(None, false), false),
    ] {
        assert_eq!(is_left(mark.as_ref(), &ours), expected, "{mark:?} {ours:?}");
    }
}

#[test]
fn what_is_known_of_a_payment_is_written_once_and_decides_nothing() {
    let order = order(OrderStatus::Paid);
    let says = |method: Option<&str>, fee: Option<i64>| PaymentState {
        facts: PaymentFacts {
            method: method.map(str::to_owned),
            country: None,
            proceeds: fee.map(|fee| Proceeds { fee: money(fee), net: money(300 - fee), currency: "USD".to_owned() }),
        },
        ..payment(0, 0)
    };
    let noted = |facts: &PaymentFacts| OrderEffects { facts: Some(facts.clone()), ..OrderEffects::default() };
    let known = new_facts(&order, &OrderEffects::default(), &says(Some("card"), None)).unwrap();
    for (looks, is_news) in [
        (says(Some("card"), None), false),
        (says(None, None), false),
        (says(Some("link"), None), false),
        (says(Some("link"), Some(301)), true),
        (PaymentState { progress: Progress::Processing, ..says(None, Some(1)) }, false),
        (PaymentState { order: Some(InternalId::new("other")), ..says(None, Some(1)) }, false),
    ] {
        let next = new_facts(&order, &noted(&known), &looks);
        assert_eq!(next.is_some(), is_news, "{looks:?}");
        let next = next.unwrap_or_else(|| known.clone());
        assert_eq!(next.method, known.method, "what is known stays");
        assert_eq!(new_facts(&order, &noted(&next), &looks), None, "a second look writes nothing");
        let nothing = PaymentState { facts: PaymentFacts::default(), ..looks.clone() };
        assert_eq!(decide(&order, &noted(&next), &looks), decide(&order, &OrderEffects::default(), &nothing));
    }
}
