//! The ways to pay: which are offered, which are refused by the provider, and how an order ends with each.

use crate::shop::{FIVE, PLAIN, Shop, line};
use crate::sums::{assert_books, assert_quiet};
use shared::model::{InternalId, LineId, OrderStatus, ThreeDSecure};
use shared::rules::payment_methods::{METHODS, Method};
use shared::rules::refund::LineUnits;
use shared::shop::payments::{Desk, OperatorError, Provider as _, Settled, WebhookEvent};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use stripe_stand_in::Action;

/// The ways to pay that the newest request for a session named, and how many requests there were.
fn asked_for(shop: &Shop) -> (usize, Vec<String>) {
    let received = shop.stand_in.received();
    let sessions: Vec<_> = received.iter().filter(|one| one.route == "POST /v1/checkout/sessions").collect();
    let named = |(name, value): &(String, String)| (name == "allowed_payment_method_types[]").then(|| value.clone());
    (sessions.len(), sessions.last().unwrap().parameters.iter().filter_map(named).collect())
}

#[tokio::test]
async fn a_checkout_offers_what_fits_its_cart() {
    let words = |fits: fn(&Method) -> bool| -> Vec<String> {
        METHODS.iter().filter(|method| fits(method)).map(|method| method.word.to_owned()).collect()
    };
    let shop = Shop::open_with(|payments| payments.delayed = true).await;
    shop.checkout(1, &[(PLAIN, 1)], None).await;
    assert_eq!(asked_for(&shop).1, words(|_| true));
    shop.checkout(2, &[(PLAIN, 1), (FIVE, 1)], None).await;
    assert_eq!(asked_for(&shop).1, words(Method::is_prompt), "a limited item");
    shop.checkout(3, &[(PLAIN, 1)], Some("once")).await;
    assert_eq!(asked_for(&shop).1, words(Method::is_prompt), "a coupon of limited uses");
    let subscriptions = Shop::open_subscriptions().await;
    subscriptions.set_payments(|payments| payments.delayed = true).await;
    subscriptions.begin().await;
    assert_eq!(asked_for(&subscriptions).1, words(|method| method.recurs));
    let only = Shop::open_with(|payments| payments.only = vec!["paypal".to_owned()]).await;
    only.checkout(1, &[(FIVE, 1)], None).await;
    assert_eq!(asked_for(&only), (1, vec!["paypal".to_owned()]));
}

#[tokio::test]
async fn a_method_that_the_provider_refuses_costs_no_sale() {
    for (refused, requests) in [("klarna", 2), ("", 2)] {
        let shop = Shop::open().await;
        shop.stand_in.refuse_method(refused);
        shop.fill(1, &[(FIVE, 1)], None).await;
        let first = shop.create(1).await.unwrap();
        let (count, offered) = asked_for(&shop);
        assert_eq!(count, requests, "{refused}");
        assert!(!offered.contains(&"klarna".to_owned()) && offered.contains(&"card".to_owned()), "{offered:?}");
        assert_eq!(offered.len() == 1, refused.is_empty(), "{offered:?}");
        assert_eq!(shop.create(1).await.unwrap().url, first.url);
        assert_eq!(shop.stand_in.sessions().len(), 1);
        assert_eq!(shop.pay(&first.order).await, Settled::Changed);
        assert_quiet(&shop).await;
    }
}

#[tokio::test]
async fn the_bank_is_asked_about_whom_the_owner_says() {
    for (whom, of_new, of_old) in
        [(ThreeDSecure::Auto, false, false), (ThreeDSecure::NewBuyers, true, false), (ThreeDSecure::Always, true, true)]
    {
        let shop = Shop::open_with(|payments| payments.three_d_secure = whom).await;
        let is_asked = || {
            let received = shop.stand_in.received();
            let last = received.iter().rfind(|one| one.route == "POST /v1/checkout/sessions").unwrap();
            let asked = ("payment_method_options[card][request_three_d_secure]".to_owned(), "any".to_owned());
            last.parameters.contains(&asked)
        };
        shop.buy(1, &[(PLAIN, 1)], None).await;
        assert_eq!(is_asked(), of_new, "{whom:?}");
        shop.checkout(1, &[(PLAIN, 1)], None).await;
        assert_eq!(is_asked(), of_old, "{whom:?}");
    }
}

#[tokio::test]
async fn of_two_calls_at_once_whose_method_is_refused_one_checkout_comes() {
    let shop = Shop::open().await;
    shop.stand_in.refuse_method("klarna");
    shop.fill(1, &[(FIVE, 2)], None).await;
    let (one, two) = tokio::join!(shop.create(1), shop.create(1));
    let urls: Vec<_> = [one, two].into_iter().flatten().filter_map(|checkout| checkout.url).collect();
    assert!(!urls.is_empty());
    let open = shop.stand_in.sessions();
    for session in &open {
        _ = shop.try_act(session, Action::Pay);
    }
    shop.sweep_later().await;
    let paid: Vec<InternalId> = shop
        .orders()
        .await
        .into_iter()
        .filter(|order| order.order.status == OrderStatus::Paid)
        .map(|order| order.order.internal_id)
        .collect();
    assert_eq!(paid.len(), 1);
    assert_books(&shop).await;
}

#[tokio::test]
async fn an_order_ends_alike_with_every_method() {
    for (method, is_late, can_return) in [
        ("card", false, true),
        ("paypal", false, true),
        ("ideal", false, true),
        ("klarna", false, true),
        ("sepa_debit", true, true),
        ("oxxo", true, false),
    ] {
        let shop = Shop::open_with(|payments| payments.delayed = true).await;
        let order = shop.checkout(1, &[(PLAIN, 5)], None).await;
        shop.act(&order, Action::PayBy(method));
        shop.settle(&order).await;
        if is_late {
            assert_eq!(shop.status(&order).await, OrderStatus::Pending, "{method}");
            shop.act(&order, Action::Succeed);
            shop.settle(&order).await;
        }
        assert_eq!(shop.status(&order).await, OrderStatus::Paid, "{method}");
        assert_quiet(&shop).await;
        let refund = shop.refund(&order, None).await;
        let (status, stored) = (shop.status(&order).await, shop.order(&order).await);
        if can_return {
            refund.unwrap();
            assert_eq!(status, OrderStatus::Refunded, "{method}");
        } else {
            let error = refund.unwrap_err();
            assert!(matches!(&error, OperatorError::Final(named) if named == method), "{error}");
            assert_eq!((status, stored.effects.refunded.minor()), (OrderStatus::Paid, 0), "{method}");
            let desk = Desk::new(&shop.db, &shop.clock, Some(&shop.stripe));
            let one: [LineUnits; 1] = [(LineId::new(1), 1)];
            assert!(desk.refund_lines(&order, &one).await.is_err());
            assert_eq!(shop.order(&order).await, stored, "nothing is written before");
        }
        shop.assert_sums().await;
    }
}

#[tokio::test]
async fn a_payment_that_comes_after_its_order_was_given_up_still_buys_what_it_paid_for() {
    let shop = Shop::open_with(|payments| payments.delayed = true).await;
    let order = shop.checkout(1, &[(PLAIN, 5)], None).await;
    shop.act(&order, Action::PayBy("oxxo"));
    shop.said(&order, shared::rules::payment::Progress::Expired).await;
    assert_eq!(shop.status(&order).await, OrderStatus::Cancelled);
    shop.act(&order, Action::Succeed);
    shop.settle(&order).await;
    assert_eq!(shop.status(&order).await, OrderStatus::Paid);
    assert_books(&shop).await;
}

#[tokio::test]
async fn a_buyer_abroad_pays_in_another_currency_and_the_order_stays_in_the_stores() {
    for adaptive in [true, false] {
        let shop = Shop::open_with(|payments| payments.adaptive = adaptive).await;
        shop.fill_with(1, vec![line(1, FIVE, 2)], None).await;
        let order = shop.create(1).await.unwrap().order;
        assert_eq!(shop.try_act(&order, Action::PayAbroad).is_ok(), adaptive);
        shop.settle(&order).await;
        let expected = if adaptive { OrderStatus::Paid } else { OrderStatus::Pending };
        assert_eq!(shop.status(&order).await, expected);
        if adaptive {
            let stored = shop.order(&order).await;
            assert_eq!(
                (stored.order.price.minor(), stored.order.currency.as_str(), stored.effects.review.clone()),
                (200, "EUR", None)
            );
            shop.refund(&order, None).await.unwrap();
            assert_eq!(shop.status(&order).await, OrderStatus::Refunded);
        }
        assert_books(&shop).await;
    }
}

#[tokio::test]
async fn an_order_keeps_how_it_was_paid_and_its_fee_once_that_is_known() {
    for (method, country) in [("card", "US"), ("paypal", "DE")] {
        let shop = Shop::open().await;
        shop.stand_in.delay_fees();
        let order = shop.checkout(1, &[(FIVE, 2)], None).await;
        shop.settle(&order).await;
        assert_eq!(shop.order(&order).await.effects.facts, None);
        shop.act(&order, Action::PayBy(method));
        shop.settle(&order).await;
        let first = shop.order(&order).await.effects.facts.unwrap();
        assert_eq!((first.method.as_deref(), first.country.as_deref()), (Some(method), Some(country)));
        assert_eq!(first.proceeds, None);
        shop.act(&order, Action::SettleFee);
        // The event that says so finds the order by its payment.
        let event = shop.events().await.remove(0);
        shop.hear(&event).await;
        let proceeds = shop.order(&order).await.effects.facts.unwrap().proceeds.unwrap();
        assert_eq!((proceeds.fee.minor(), proceeds.net.minor(), proceeds.currency.as_str()), (35, 165, "USD"));
        let writes = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&writes);
        let by = shop.failing(move |_, operation| {
            counted.fetch_add(usize::from(operation != "GetItem"), Ordering::SeqCst);
            None
        });
        shop.desk_of(&by.db).act(&event).await.unwrap();
        assert_eq!(writes.load(Ordering::SeqCst), 0, "what is known is not written again");
        assert_eq!(shop.order(&order).await.order.currency, "EUR");
        assert_quiet(&shop).await;
    }
}

#[tokio::test]
async fn an_invoice_of_what_is_paid_once_makes_nothing_new() {
    for (method, is_late) in [("card", false), ("sepa_debit", true)] {
        let shop = Shop::open_with(|payments| (payments.invoices, payments.delayed) = (true, true)).await;
        let order = shop.checkout(1, &[(PLAIN, 5)], None).await;
        shop.act(&order, Action::PayBy(method));
        if is_late {
            assert!(shop.stand_in.invoices().is_empty(), "it is made once the money is there");
            shop.act(&order, Action::Succeed);
        }
        let [invoice] = &shop.stand_in.invoices()[..] else { panic!("one invoice") };
        let event = WebhookEvent::Invoice(invoice.clone());
        for _ in 0..2 {
            // Whichever is heard first, and however often.
            shop.hear(&event).await;
            shop.settle(&order).await;
        }
        let stored = shop.orders().await;
        assert_eq!((stored.len(), stored[0].order.status), (1, OrderStatus::Paid), "{method}");
        let session = stored[0].session().unwrap().to_owned();
        assert!(shop.stripe.receipt(&session).await.unwrap().unwrap().ends_with(invoice));
        shop.refund_there(&order, 100).await;
        assert_eq!(shop.order(&order).await.effects.refunded.minor(), 100);
        assert_books(&shop).await;
    }
    let subscriptions = Shop::open_subscriptions().await;
    subscriptions.set_payments(|payments| payments.invoices = true).await;
    let order = subscriptions.begin().await;
    assert!(!subscriptions.order(&order).await.effects.provider.unwrap().invoice, "it has invoices anyway");
}
