//! Taxes: what the provider is asked, what an order keeps, and that price, refunds and tax agree with it to the minor unit.

use crate::at_provider::REFUSED;
use crate::shop::{FIVE, PLAIN, Shop, money, paid, published_item};
use crate::sums::{assert_audit, assert_books, assert_quiet};
use serde_json::json;
use shared::model::{InternalId, LineId, Money, OrderStatus, Tax, TaxMode, TaxPrices};
use shared::shop::orders::NewOrder;
use shared::shop::payments::{Desk, Difference, Settled, compare, paid_checkout};
use shared::shop::statistics::catch_up;
use stripe_stand_in::Action;

async fn taxed(tax: TaxMode, prices: TaxPrices) -> Shop {
    Shop::open_with(|payments| (payments.tax, payments.tax_prices) = (tax, prices)).await
}

/// The parameters of the newest request for a session, with this beginning.
fn asked(shop: &Shop, start: &str) -> Vec<String> {
    let received = shop.stand_in.received();
    let last = received.iter().rfind(|one| one.route == "POST /v1/checkout/sessions").unwrap();
    let all = last.parameters.iter().map(|(name, value)| format!("{name}={value}"));
    all.filter(|parameter| parameter.starts_with(start)).collect()
}

/// Price, tax and country of an order, and whether the tax came on top.
async fn kept(shop: &Shop, order: &InternalId) -> (i64, Option<(i64, String, bool)>) {
    let order = shop.order(order).await.order;
    let tax = order.tax.map(|tax| (tax.amount.minor(), tax.country.unwrap_or_default(), tax.on_top));
    (order.price.minor(), tax)
}

#[tokio::test]
async fn an_order_keeps_tax_country_and_rate_and_its_price_is_what_was_charged() {
    let de = |amount, on_top| Some((amount, "DE".to_owned(), on_top));
    for (tax, prices, action, expected, rate) in [
        (TaxMode::None, TaxPrices::Exclusive, Action::Pay, (500, None), None),
        (TaxMode::Stripe, TaxPrices::Inclusive, Action::Pay, (500, de(80, false)), Some(1_900)),
        (TaxMode::Stripe, TaxPrices::Exclusive, Action::Pay, (595, de(95, true)), Some(1_900)),
        (
            TaxMode::Stripe,
            TaxPrices::Exclusive,
            Action::PayFrom("FR"),
            (600, Some((100, "FR".into(), true))),
            Some(2_000),
        ),
        (TaxMode::Stripe, TaxPrices::Exclusive, Action::PayFrom("US"), (500, Some((0, "US".into(), true))), None),
    ] {
        let shop = taxed(tax, prices).await;
        let order = shop.checkout(1, &[(PLAIN, 5)], None).await;
        assert_eq!(kept(&shop, &order).await, (500, None));
        shop.act(&order, action);
        assert_eq!(shop.settle(&order).await, Settled::Changed);
        assert_eq!(kept(&shop, &order).await, expected, "{tax:?} {prices:?}");
        let stored = shop.order(&order).await;
        assert_eq!(stored.order.tax.and_then(|tax| tax.rate), rate);
        assert_eq!((stored.order.status, stored.effects.review), (OrderStatus::Paid, None));
        assert_eq!(shop.settle(&order).await, Settled::Unchanged);
        assert_eq!(shop.paid_for(1, PLAIN).await, 500, "ledgers count what the lines cost");
        assert_quiet(&shop).await;
        shop.assert_sums().await;
        assert_eq!(compare(&shop.db, &shop.stripe, 0, shop.orders().await).await.unwrap().differences, []);
    }
}

#[tokio::test]
async fn the_provider_is_told_what_is_sold_and_whether_tax_is_in_the_price() {
    let shop = taxed(TaxMode::Stripe, TaxPrices::Inclusive).await;
    let item = crate::fixture::item(PLAIN, 1, &json!({ "tax_code": "txcd_10201000" }));
    shop.write_item(published_item(&item)).await;
    shop.checkout(1, &[(PLAIN, 1), (FIVE, 1)], None).await;
    assert_eq!(asked(&shop, "automatic_tax"), ["automatic_tax[enabled]=true"]);
    assert_eq!(
        asked(&shop, "line_items[0][price_data][product_data][tax_code]"),
        ["line_items[0][price_data][product_data][tax_code]=txcd_10201000"]
    );
    assert_eq!(asked(&shop, "line_items[1][price_data][product_data][tax_code]"), [""; 0]);
    assert_eq!(
        asked(&shop, "line_items[1][price_data][tax_behavior]"),
        ["line_items[1][price_data][tax_behavior]=inclusive"]
    );
    let none = taxed(TaxMode::None, TaxPrices::Inclusive).await;
    none.checkout(1, &[(PLAIN, 1)], None).await;
    assert_eq!(asked(&none, "automatic_tax"), ["automatic_tax[enabled]=false"]);
    assert_eq!(asked(&none, "line_items[0][price_data][tax_behavior]"), [""; 0]);
}

#[tokio::test]
async fn what_the_provider_sells_itself_is_told_nothing_that_it_decides() {
    let shop = taxed(TaxMode::Managed, TaxPrices::Exclusive).await;
    let item = crate::fixture::item(PLAIN, 1, &json!({ "tax_code": "txcd_10201000" }));
    shop.write_item(published_item(&item)).await;
    let order = shop.checkout(1, &[(PLAIN, 5)], None).await;
    assert_eq!(asked(&shop, "managed_payments"), ["managed_payments[enabled]=true"]);
    for refused in ["adaptive", "automatic_tax", "allowed", "payment_method_options", "customer_update"] {
        assert_eq!(asked(&shop, refused), [""; 0]);
    }
    assert!(shop.order(&order).await.is_sold_by_provider());
    shop.pay(&order).await;
    assert_eq!(kept(&shop, &order).await, (595, Some((95, "DE".to_owned(), true))));
    // It refunds by itself, and the order follows.
    assert_eq!(shop.refund_there(&order, 595).await, Settled::Changed);
    assert_eq!(shop.status(&order).await, OrderStatus::Refunded);
    assert_quiet(&shop).await;
}

#[tokio::test]
async fn a_rate_that_the_key_may_not_know_keeps_no_order_from_being_paid() {
    let shop = taxed(TaxMode::Stripe, TaxPrices::Exclusive).await;
    let order = shop.checkout(1, &[(PLAIN, 5)], None).await;
    shop.act(&order, Action::Pay);
    shop.fail_request(1, REFUSED.on("/v1/checkout/sessions"));
    assert_eq!(shop.settle(&order).await, Settled::Changed);
    let tax = shop.order(&order).await.order.tax.unwrap();
    assert_eq!(tax, Tax { amount: money(95), on_top: true, country: Some("DE".to_owned()), rate: None });
}

#[tokio::test]
async fn parts_return_the_tax_in_proportion_and_the_whole_returns_all_of_it() {
    let shop = taxed(TaxMode::Stripe, TaxPrices::Exclusive).await;
    let order = shop.buy(1, &[(PLAIN, 5)], None).await;
    // 119 of 595 are 19 of tax and 100 of the lines.
    assert_eq!(shop.refund(&order, Some(119)).await.unwrap().amount, money(119));
    assert_eq!(shop.paid_for(1, PLAIN).await, 400);
    let stored = shop.order(&order).await;
    assert_eq!((stored.order.tax_of(money(119)), stored.order.price), (money(19), money(595)));
    assert_eq!(shop.refund_there(&order, 1).await, Settled::Changed);
    assert_eq!(shop.paid_for(1, PLAIN).await, 399);
    shop.sweep().await;
    shop.assert_sums().await;
    // A refund that fails counts again, tax and all.
    shop.act(&order, Action::FailRefund);
    shop.settle(&order).await;
    assert_eq!((shop.paid_for(1, PLAIN).await, shop.order(&order).await.effects.unreturned), (400, money(1)));
    assert_eq!(shop.refund(&order, None).await.unwrap().total, money(595));
    assert_eq!((shop.status(&order).await, shop.paid_for(1, PLAIN).await), (OrderStatus::Refunded, 0));
    assert_quiet(&shop).await;
    shop.assert_sums().await;
}

#[tokio::test]
async fn units_of_a_line_return_their_tax_and_the_gift_card_its_own_part() {
    let shop = taxed(TaxMode::Stripe, TaxPrices::Exclusive).await;
    let order = shop.buy(1, &[(PLAIN, 12)], Some("card")).await;
    // The card has paid 1,000 of 1,200: tax is on what is left.
    assert_eq!((kept(&shop, &order).await.0, shop.balance().await), (238, 0));
    let desk = Desk::new(&shop.db, &shop.clock, Some(&shop.stripe));
    for (units, refunded, balance) in [(3, 60, 250), (6, 119, 500), (12, 238, 1_000)] {
        desk.refund_lines(&order, &[(LineId::new(1), units)]).await.unwrap();
        assert_eq!(shop.says(&order).await.refunded, money(refunded), "{units}");
        assert_eq!(shop.balance().await, balance, "{units}");
        catch_up(&shop.db, &order).await.unwrap();
        assert_audit(&shop.db).await;
    }
    assert_eq!(shop.status(&order).await, OrderStatus::Refunded);
    assert_quiet(&shop).await;
}

#[tokio::test]
async fn a_payment_that_is_not_price_and_tax_needs_an_operator() {
    for tax in [TaxMode::None, TaxMode::Stripe] {
        let shop = taxed(tax, TaxPrices::Exclusive).await;
        let order = shop.checkout(1, &[(PLAIN, 5)], None).await;
        // As if it was made by another program: without tax, and of another amount.
        let session = shop.replace_session(&order, Some(order.as_str()), 595, "eur").await;
        shop.act(&session, Action::Pay);
        assert_eq!(shop.settle(&order).await, Settled::Changed);
        let stored = shop.order(&order).await;
        assert_eq!(stored.effects.review.as_deref(), Some("the payment is of another amount"));
        assert_eq!((stored.order.status, stored.order.price), (OrderStatus::Pending, money(500)));
        let found = compare(&shop.db, &shop.stripe, 0, shop.orders().await).await.unwrap().differences;
        assert!(matches!(found.as_slice(), [Difference::Amount { .. }]), "{found:?}");
        // Accepted, it stays as it is, and refunds count in proportion.
        shop.desk().accept(&order).await.unwrap();
        assert_eq!(kept(&shop, &order).await.0, 500);
        assert_eq!(shop.refund_there(&order, 119).await, Settled::Changed);
        assert_eq!(shop.order(&order).await.effects.refunded, money(100));
        assert_eq!(shop.refund_there(&order, 476).await, Settled::Changed);
        assert_eq!(shop.status(&order).await, OrderStatus::Refunded);
        assert_books(&shop).await;
    }
}

#[tokio::test]
async fn a_late_payment_that_buys_nothing_any_more_is_returned_with_its_tax() {
    let shop = taxed(TaxMode::Stripe, TaxPrices::Exclusive).await;
    let order = shop.late().await;
    assert_eq!(shop.settle(&order).await, Settled::Changed);
    let says = shop.says(&order).await;
    assert_eq!((says.amount, says.refunded), (money(476), money(476)));
    assert_eq!(shop.status(&order).await, OrderStatus::Cancelled);
    assert_eq!(shop.settle(&order).await, Settled::Unchanged);
    // The refund fails: what the buyer waits for is the whole payment.
    shop.act(&order, Action::FailRefund);
    shop.settle(&order).await;
    assert_eq!(shop.order(&order).await.effects.unreturned, money(476));
    shop.refund(&order, None).await.unwrap();
    assert_eq!(shop.order(&order).await.effects.unreturned, Money::ZERO);
    assert_eq!(compare(&shop.db, &shop.stripe, 0, shop.orders().await).await.unwrap().differences, []);
    assert_quiet(&shop).await;
}

#[tokio::test]
async fn a_dispute_takes_back_lines_and_tax() {
    let shop = taxed(TaxMode::Stripe, TaxPrices::Exclusive).await;
    let order = shop.buy(1, &[(PLAIN, 5)], None).await;
    shop.act(&order, Action::Dispute(None));
    shop.settle(&order).await;
    assert_eq!(shop.paid_for(1, PLAIN).await, 0);
    assert_audit(&shop.db).await;
    shop.act(&order, Action::CloseDispute { won: true });
    shop.settle(&order).await;
    assert_eq!(shop.paid_for(1, PLAIN).await, 500);
    shop.act(&order, Action::Dispute(Some(119)));
    shop.act(&order, Action::CloseDispute { won: false });
    shop.settle(&order).await;
    assert_eq!(shop.order(&order).await.effects.refunded, money(119));
    shop.sweep().await;
    assert_audit(&shop.db).await;
}

#[tokio::test]
async fn every_period_of_a_subscription_is_price_and_tax() {
    for (prices, price, tax) in [(TaxPrices::Inclusive, 499, 80), (TaxPrices::Exclusive, 594, 95)] {
        let mut shop = Shop::open_subscriptions().await;
        shop.set_payments(|payments| (payments.tax, payments.tax_prices) = (TaxMode::Stripe, prices)).await;
        let first = shop.subscribe().await;
        let expected = (price, Some((tax, "DE".to_owned(), prices == TaxPrices::Exclusive)));
        assert_eq!(kept(&shop, &first).await, expected);
        // What the store asks of others later changes nothing for a subscription that runs.
        shop.set_payments(|payments| (payments.tax, payments.tax_prices) = Default::default()).await;
        shop.after(&first, Action::Renew).await;
        let orders = shop.orders().await;
        let renewal = orders.iter().find(|stored| stored.order.internal_id != first).unwrap();
        let id = renewal.order.internal_id.clone();
        assert_eq!((renewal.order.status, renewal.effects.review.as_deref()), (OrderStatus::Paid, None));
        assert_eq!(kept(&shop, &id).await, expected);
        assert_eq!(renewal.order.total(), money(499));
        shop.refund(&id, Some(100)).await.unwrap();
        shop.refund(&id, None).await.unwrap();
        assert_eq!(shop.status(&id).await, OrderStatus::Refunded);
        assert_audit(&shop.db).await;
    }
}

#[tokio::test]
async fn an_order_that_was_lost_is_recorded_with_the_tax_of_its_payment() {
    for (prices, price, on_top) in [(TaxPrices::Inclusive, 500, false), (TaxPrices::Exclusive, 595, true)] {
        let shop = taxed(TaxMode::Stripe, prices).await;
        let order = shop.checkout(1, &[(PLAIN, 5)], None).await;
        shop.act(&order, Action::Pay);
        let lost = shop.order(&order).await;
        let payment = paid_checkout(&shop.stripe, lost.session().unwrap()).await.unwrap();
        shop.delete(&lost.key()).await;
        let new = paid(order.as_str(), Some(1), &[(PLAIN, 5, 500)]);
        shop.record(NewOrder { price: payment.amount, payment: Some(payment), ..new }).await.unwrap();
        assert_eq!((kept(&shop, &order).await.0, shop.order(&order).await.order.tax.unwrap().on_top), (price, on_top));
        assert_eq!(shop.settle(&order).await, Settled::Unchanged);
        assert_eq!(shop.refund(&order, None).await.unwrap().total, money(price));
        assert_eq!((shop.status(&order).await, shop.paid_for(1, PLAIN).await), (OrderStatus::Refunded, 0));
    }
}

#[tokio::test]
async fn a_known_customer_is_asked_for_the_address_that_tax_needs() {
    let shop = Shop::open_subscriptions().await;
    let first = shop.begin().await;
    shop.pay(&first).await;
    shop.act(&first, Action::CancelNow);
    shop.sweep_later().await;
    shop.days(40);
    shop.sweep_later().await;
    shop.set_payments(|payments| payments.tax = TaxMode::Stripe).await;
    shop.begin().await;
    assert_eq!(
        asked(&shop, "customer"),
        ["customer_update[address]=auto".to_owned(), asked(&shop, "customer=").concat()]
    );
}
