//! Cancelled transactions by example: the engine of the other tests never reports contention or throttling.

use super::*;
use crate::table::StoreError;
use crate::table::transaction::judge;
use aws_sdk_dynamodb::types::{AttributeValue, CancellationReason};

const LEDGER: ItemId = ItemId::new(7);

fn guards() -> Vec<Option<Limit>> {
    let limits =
        vec![UserLimit { item: ItemId::new(6), count: 1, limit: 9 }, UserLimit { item: LEDGER, count: 2, limit: 3 }];
    vec![
        None,
        Some(Limit::Ledger { limits, now: 0 }),
        Some(Limit::Sold { item: ItemId::new(5), limit: 4 }),
        Some(Limit::CouponUses),
        Some(Limit::UserUses),
        Some(Limit::Balance { amount: Money::from_minor(300) }),
    ]
}

fn reason(code: &str, old: &[(&str, AttributeValue)]) -> CancellationReason {
    let old: Item = old.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    let old = (!old.is_empty()).then_some(old);
    CancellationReason::builder().code(code).set_item(old).build()
}

fn number(number: i64) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

fn coupon(uses: i64, max_uses: i64) -> Vec<(&'static str, AttributeValue)> {
    let discount = Item::from([("percentage".to_owned(), number(1_000))]);
    vec![
        ("kind", AttributeValue::S("coupon".to_owned())),
        ("id", number(1)),
        ("code", AttributeValue::S("summer".to_owned())),
        ("active", AttributeValue::Bool(true)),
        ("discount", AttributeValue::M(discount)),
        ("uses", number(uses)),
        ("max_uses", number(max_uses)),
    ]
}

fn gift(balance: i64) -> Vec<(&'static str, AttributeValue)> {
    vec![
        ("kind", AttributeValue::S("gift".to_owned())),
        ("id", number(2)),
        ("code", AttributeValue::S("card".to_owned())),
        ("active", AttributeValue::Bool(true)),
        ("balance", number(balance)),
        ("start_balance", number(balance)),
    ]
}

type Judged = Result<OrderRefusal, &'static str>;

const CONTENDED: Judged = Err("contended");
const THROTTLED: Judged = Err("throttled");
const INVALID: Judged = Err("invalid");

/// Reasons by position; all others had none.
fn judged(reasons: &[(usize, CancellationReason)]) -> Judged {
    let at = |place: usize| reasons.iter().find(|(other, _)| *other == place).map(|(_, reason)| reason.clone());
    judged_all(&(0..guards().len()).map(|place| at(place).unwrap_or_else(|| reason("None", &[]))).collect::<Vec<_>>())
}

fn judged_all(reasons: &[CancellationReason]) -> Judged {
    judge(&guards(), reasons, std::fmt::Error).map_err(|error| match error {
        StoreError::Contended => "contended",
        StoreError::Unavailable { .. } => "throttled",
        StoreError::Refused { .. } => "invalid",
        _ => "another",
    })
}

const FAILED: &str = "ConditionalCheckFailed";

#[test]
fn each_position_has_its_own_refusal() {
    let refused = |place, old: &[(&str, AttributeValue)]| judged(&[(place, reason(FAILED, old))]);
    let global = OrderRefusal::GlobalLimit { item: ItemId::new(5), limit: 4 };
    let user = OrderRefusal::UserLimit { item: LEDGER, limit: 3 };
    assert_eq!(refused(0, &[]), CONTENDED);
    assert_eq!(refused(1, &[("u7", number(2)), ("p7", number(500))]), Ok(user));
    assert_eq!(refused(2, &[("sold", number(4))]), Ok(global));
    assert_eq!(refused(3, &coupon(3, 3)), Ok(OrderRefusal::CouponUsedUp));
    assert_eq!(refused(4, &[("uses", number(1))]), Ok(OrderRefusal::CouponUsedUpByUser));
    assert_eq!(refused(5, &gift(299)), Ok(OrderRefusal::GiftCardBalance));
}

#[test]
fn a_condition_that_holds_by_now_is_decided_again() {
    let refused = |place, old: &[(&str, AttributeValue)]| judged(&[(place, reason(FAILED, old))]);
    assert_eq!(refused(1, &[("u7", number(1))]), CONTENDED);
    assert_eq!(refused(3, &coupon(2, 3)), CONTENDED);
    assert_eq!(refused(3, &gift(500)), CONTENDED);
    assert_eq!(refused(3, &[]), CONTENDED);
    assert_eq!(refused(5, &gift(300)), CONTENDED);
    assert_eq!(refused(5, &[]), CONTENDED);
}

#[test]
fn an_order_that_moved_comes_before_what_it_took() {
    let cases = [(0, reason(FAILED, &[])), (2, reason(FAILED, &[("sold", number(4))]))];
    assert_eq!(judged(&cases), CONTENDED);
}

#[test]
fn a_refusal_comes_before_contention_and_contention_before_a_fault() {
    let refusal = (4, reason(FAILED, &[("uses", number(1))]));
    let conflict = (1, reason("TransactionConflict", &[]));
    let throttled = (2, reason("ThrottlingError", &[]));
    let broken = (3, reason("ValidationError", &[]));
    let used_up = Ok(OrderRefusal::CouponUsedUpByUser);
    let all = [refusal, conflict.clone(), throttled.clone(), broken.clone()];
    assert_eq!(judged(&all), used_up);
    assert_eq!(judged(&[conflict, throttled.clone(), broken.clone()]), CONTENDED);
    assert_eq!(judged(&[throttled, broken.clone()]), THROTTLED);
    assert_eq!(judged(&[broken]), INVALID);
    assert_eq!(judged(&[(0, reason("ProvisionedThroughputExceeded", &[]))]), THROTTLED);
}

#[test]
fn of_two_refusals_the_first_by_position_is_named() {
    let two = [(5, reason(FAILED, &gift(0))), (3, reason(FAILED, &coupon(3, 3)))];
    assert_eq!(judged(&two), Ok(OrderRefusal::CouponUsedUp));
}

#[test]
fn a_cancellation_without_reasons_is_a_fault() {
    assert_eq!(judged_all(&[]), INVALID);
}
