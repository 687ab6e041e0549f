//! Tax on top of a price: what a refund in part returns of it, and what a payment must be.

use crate::any::{self, money};
use proptest::prelude::*;
use shared::model::{
    InternalId, ItemId, Money, Order, OrderEffects, OrderLine, OrderStatus, PaymentFacts, ProviderAccount,
    ProviderCheckout, Tax, TaxMode,
};
use shared::rules::order::without_refunded;
use shared::rules::payment::{Decision, PaymentState, Progress, amount_due, decide, tax_of};

/// A paid order of lines with these totals, and so much tax on top or in them.
fn taxed(totals: &[i64], tax: i64, on_top: bool) -> Order {
    let lines = totals.iter().map(|total| OrderLine::new(ItemId::new(1), 1, money(*total))).collect();
    let price = totals.iter().sum::<i64>() + if on_top { tax } else { 0 };
    let tax = Some(Tax { amount: money(tax), on_top, ..Tax::default() });
    Order { tax, ..any::order(OrderStatus::Paid, price, None, lines) }
}

proptest! {
    #[test]
    fn parts_of_a_refund_return_the_whole_tax_and_never_more(
        totals in prop::collection::vec(1_i64..10_000, 1..5),
        percent in 0_i64..100,
        on_top in any::<bool>(),
        parts in prop::collection::vec(0_i64..4_000, 0..8),
    ) {
        let order = taxed(&totals, totals.iter().sum::<i64>() * percent / 100, on_top);
        let (price, tax) = (order.price, order.tax.as_ref().unwrap().amount);
        let (mut refunded, mut returned, mut kept) = (Money::ZERO, Money::ZERO, order.total());
        for part in parts.into_iter().chain([i64::from(i32::MAX)]) {
            let before = (order.tax_of(refunded), order.before_tax(refunded));
            refunded = (refunded + money(part)).min(price);
            prop_assert!(order.tax_of(refunded) >= before.0 && order.before_tax(refunded) >= before.1);
            returned = returned + order.tax_of(refunded).less(before.0);
            // Half up: twice the exact part is at most one off.
            let exact = i128::from(tax.minor()) * i128::from(refunded.minor()) * 2;
            let twice = i128::from(order.tax_of(refunded).minor()) * i128::from(price.minor()) * 2;
            prop_assert!((twice - exact).abs() <= i128::from(price.minor()));
            let left = without_refunded(&order, refunded);
            prop_assert!(left.total() <= kept);
            prop_assert_eq!(left.price, price - refunded);
            prop_assert_eq!(order.given_back(refunded) + left.total(), order.total());
            let tax_back = if on_top { order.tax_of(refunded) } else { Money::ZERO };
            prop_assert_eq!(left.total() + refunded, order.total() + tax_back);
            kept = left.total();
        }
        prop_assert_eq!((returned, kept), (tax, Money::ZERO));
    }
}

#[test]
fn tax_on_top_is_due_with_the_price_until_the_order_is_paid_and_is_in_it_then() {
    let account = ProviderAccount { id: None, live: false };
    let effects = |tax, tax_on_top| {
        let paid = ProviderCheckout::paid("cs_1".to_owned(), None, account.clone(), 0);
        let provider = Some(ProviderCheckout { tax, tax_on_top, ..paid });
        OrderEffects { provider, held: true, ..OrderEffects::default() }
    };
    let state = |amount: i64, currency: &str| PaymentState {
        session: "cs_1".to_owned(),
        order: Some(InternalId::new("order")),
        amount: money(amount),
        currency: currency.to_owned(),
        same_mode: true,
        progress: Progress::Paid,
        intent: Some("intent".to_owned()),
        refunded: Money::ZERO,
        failed_refunds: Money::ZERO,
        attempts: Vec::new(),
        disputes: Vec::new(),
        period: None,
        tax: Tax { amount: money(57), ..Tax::default() },
        facts: PaymentFacts::default(),
        card: None,
    };
    let order = |status, price| any::order(status, price, None, Vec::new());
    let decided =
        |status, price, effects: &OrderEffects, amount| decide(&order(status, price), effects, &state(amount, "eur"));
    let (on_top, inside) = (effects(TaxMode::Stripe, true), effects(TaxMode::Stripe, false));
    for status in [OrderStatus::Pending, OrderStatus::Cancelled, OrderStatus::Failed] {
        assert_eq!(decided(status, 300, &on_top, 357), Decision::Pay);
        assert_eq!(decided(status, 300, &inside, 300), Decision::Pay);
        for (effects, amount) in [(&on_top, 300), (&on_top, 356), (&inside, 357), (&effects(TaxMode::None, false), 357)]
        {
            assert_eq!(decided(status, 300, effects, amount), Decision::Review("the payment is of another amount"));
        }
    }
    assert_eq!(decided(OrderStatus::Paid, 357, &on_top, 357), Decision::Nothing);
    assert_eq!(amount_due(&order(OrderStatus::Refunded, 357), &on_top, &state(357, "eur")), money(357));
    let kept = |effects: &OrderEffects, amount, currency: &str| {
        tax_of(&order(OrderStatus::Pending, 300), effects, &state(amount, currency)).map(|tax| tax.on_top)
    };
    assert_eq!((kept(&on_top, 357, "eur"), kept(&inside, 300, "eur")), (Some(true), Some(false)));
    // What an operator accepts although it is another sum stays as it is.
    assert_eq!((kept(&on_top, 999, "eur"), kept(&on_top, 357, "usd")), (Some(false), Some(false)));
    assert_eq!(
        (kept(&effects(TaxMode::None, false), 300, "eur"), kept(&OrderEffects::default(), 300, "eur")),
        (None, None)
    );
}
