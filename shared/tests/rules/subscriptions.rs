//! The sale of a subscription: alone, once, and never for nothing.

use crate::any::{NOW, RICH, buyer, item, items, line, money, subscription, terms};
use shared::model::{
    Item, ItemId, Ledger, Line, Money, PaymentType, Payments, Sold, SubscriptionStatus, UserSubscription,
};
use shared::rules::cart::price_lines;
use shared::rules::checkout::{CheckoutRefusal, Payer, sale};
use shared::rules::code::AppliedCodes;
use shared::rules::pricing::Buyer;

/// A subscription of an item, which is over or not.
fn subscribed(item: u64, is_over: bool) -> UserSubscription {
    let (id, name, until) = ("sub_1".to_owned(), "Pass".to_owned(), if is_over { NOW } else { NOW + 1 });
    let (item, status) = (ItemId::new(item), SubscriptionStatus::Cancelled);
    let (detail, access_until, ends_at, rank_of) = (None, None, None, None);
    UserSubscription { id, item, name, price: money(500), status, detail, until, access_until, ends_at, rank_of }
}

/// The outcome of a checkout of these lines, of which item 1 is a subscription at this price; the buyer has `subscriptions`.
fn sale_of(
    lines: &[Line],
    price: i64,
    is_proven: bool,
    subscriptions: &[UserSubscription],
) -> Result<Money, CheckoutRefusal> {
    let items = items([Item { is_subscription: true, ..item(1, price) }, item(2, 300)]);
    let (sold, ledger) = (Sold::new(), Ledger::default());
    let priced = price_lines(lines, &items, terms(&sold), Buyer { subscriptions, ..buyer(&ledger) });
    let payer = Payer { is_proven, subscriptions, ..RICH };
    let sale = sale(&priced, &AppliedCodes::default(), &Payments { least: money(50), ..Payments::default() }, payer)?;
    assert!(sale.lines.iter().all(|line| line.count == 1 && line.payment_type == PaymentType::Subscription));
    Ok(sale.price)
}

#[test]
fn a_login_by_name_has_one_subscription_at_a_time_and_another_login_one_of_each_item() {
    let lines = [subscription(1, 1)];
    for (subscriptions, by_name, proven) in [
        (vec![], Ok(()), Ok(())),
        (vec![subscribed(1, true), subscribed(9, true)], Ok(()), Ok(())),
        (vec![subscribed(9, true), subscribed(9, false)], Err(CheckoutRefusal::OneSubscription), Ok(())),
        (
            vec![subscribed(9, false), subscribed(1, false)],
            Err(CheckoutRefusal::AlreadySubscribed),
            Err(CheckoutRefusal::AlreadySubscribed),
        ),
    ] {
        let price = |result: Result<(), CheckoutRefusal>| result.map(|()| money(500));
        assert_eq!(sale_of(&lines, 500, false, &subscriptions), price(by_name), "{subscriptions:?}");
        assert_eq!(sale_of(&lines, 500, true, &subscriptions), price(proven), "{subscriptions:?}");
    }
    let subscriptions = [subscribed(9, false)];
    let others = [line(1, 2, 1)];
    let items = items([item(2, 300)]);
    let (sold, ledger) = (Sold::new(), Ledger::default());
    let priced = price_lines(&others, &items, terms(&sold), Buyer { subscriptions: &subscriptions, ..buyer(&ledger) });
    let payer = Payer { is_proven: false, subscriptions: &subscriptions, ..RICH };
    assert!(
        sale(&priced, &AppliedCodes::default(), &Payments::default(), payer).is_ok(),
        "other items are for everyone"
    );
}

#[test]
fn a_subscription_is_paid_alone_as_one_and_never_for_nothing() {
    let alone = Err(CheckoutRefusal::SubscriptionNotAlone);
    assert_eq!(sale_of(&[line(1, 2, 1), subscription(2, 1)], 500, true, &[]), alone);
    assert_eq!(sale_of(&[subscription(1, 1), subscription(2, 1)], 500, true, &[]), alone);
    let three = Line { count: 3, ..subscription(1, 1) };
    assert_eq!(sale_of(&[three], 500, true, &[]), Ok(money(500)));
    for (price, least) in [(0, money(50)), (49, money(50))] {
        assert_eq!(
            sale_of(&[subscription(1, 1)], price, true, &[]),
            Err(CheckoutRefusal::BelowLeast { least }),
            "{price}"
        );
    }
    assert_eq!(sale_of(&[subscription(1, 1)], 50, true, &[]), Ok(money(50)));
    let unavailable = CheckoutRefusal::Unavailable { name: "item 1".to_owned() };
    assert_eq!(sale_of(&[line(1, 1, 1)], 500, true, &[]), Err(unavailable), "it became one after it was added");
    let unavailable = CheckoutRefusal::Unavailable { name: "item 2".to_owned() };
    let was_one = subscription(1, 2);
    assert_eq!(sale_of(&[was_one], 500, true, &[]), Err(unavailable), "it is none any more");
}

#[test]
fn a_subscription_of_nothing_is_refused_in_a_store_without_a_least_amount() {
    let items = items([Item { is_subscription: true, ..item(1, 0) }, item(2, 0)]);
    let (sold, ledger) = (Sold::new(), Ledger::default());
    let payments = Payments { least: Money::ZERO, ..Payments::default() };
    let of = |line: Line| {
        let lines = [line];
        let priced = price_lines(&lines, &items, terms(&sold), buyer(&ledger));
        sale(&priced, &AppliedCodes::default(), &payments, RICH).map(|sale| sale.price)
    };
    assert_eq!(of(subscription(1, 1)), Err(CheckoutRefusal::BelowLeast { least: money(1) }));
    assert_eq!(of(line(1, 2, 1)), Ok(Money::ZERO));
}
