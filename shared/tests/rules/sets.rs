//! What may be bought together: items that require and exclude others, for any of them, any cart and any player; and a
//! subscription, which is sold alone, once, and never for nothing.

use crate::any::{NOW, RICH, arb_ledger, buyer, inputs, item, items, line, money, published, subscription, terms};
use proptest::collection::vec;
use proptest::prelude::*;
use shared::model::{
    Bundle, Conditions, CouponUses, Discount, Item, ItemId, Items, Ledger, Line, LineId, LineVariable, Money,
    NamedItem, Part, PaymentType, Payments, Percent, PlayerName, PublishedItem, Scope, Sold, SubscriptionStatus,
    UserSubscription, Variable, VariableKind,
};
use shared::rules::cart::missing;
use shared::rules::cart::price_lines;
use shared::rules::checkout::{Beneficiary, CheckoutRefusal, Payer, bill, may_own, must_own, sale};
use shared::rules::code::{AppliedCodes, judge};
use shared::rules::order::without_refunded;
use shared::rules::pricing::Buyer;
use shared::rules::refund::{line_id, with_returned};
use shared::rules::sets::exclude_each_other;
use shared::rules::sets::folded;
use std::collections::BTreeMap;
use std::sync::Arc;

fn named(id: u64) -> NamedItem {
    NamedItem { id: ItemId::new(id), name: format!("item {id}") }
}

/// Items 0..8, of which a player has one of 5, 6 and 7.
fn arb_items() -> impl Strategy<Value = Items> {
    vec((vec(vec(0_u64..8, 1..3), 0..2), vec(0_u64..8, 0..2)), 8).prop_map(|rows| {
        items((0..).zip(rows).map(|(id, (requires, excludes))| {
            let others = |ids: Vec<u64>| ids.into_iter().filter(|other| *other != id).map(named).collect::<Vec<_>>();
            let requires = requires.into_iter().map(others).filter(|group| !group.is_empty()).collect();
            let one_of = if id < 5 { Vec::new() } else { [5, 6, 7].map(ItemId::new).into() };
            Item {
                gifting: true,
                conditions: Conditions { requires, excludes: others(excludes), one_of },
                ..item(id, 100)
            }
        }))
    })
}

/// Lines for the owner, and gifts for two players.
fn arb_lines() -> impl Strategy<Value = Vec<Line>> {
    vec((0_u64..8, 1_u32..3, 0_usize..4), 0..8).prop_map(|rows| {
        let line = |((item, count, to), id): ((u64, u32, usize), u64)| {
            let to = ["Ann_1", "Bob_2"].get(to).map(|name| PlayerName::parse(name).unwrap());
            let payment_type = if to.is_some() { PaymentType::Gift } else { PaymentType::OneOff };
            Line { payment_type, gift_to: to, ..Line::new(LineId::new(id), ItemId::new(item), count) }
        };
        rows.into_iter().zip(1..).map(line).collect()
    })
}

proptest! {
    #[test]
    fn what_can_be_bought_is_what_the_guards_of_a_checkout_allow(
        items in arb_items(), lines in arb_lines(), ledger in arb_ledger(),
    ) {
        let (sold, owner) = (Sold::new(), buyer(&ledger));
        let priced = price_lines(&lines, &items, terms(&sold), owner);
        let available = || priced.iter().filter(|line| !line.availability.unavailable);
        for line in available() {
            prop_assert_eq!(&line.hindrance, &None);
            for other in available().filter(|other| other.line.id != line.line.id && other.line.gift_to == line.line.gift_to) {
                prop_assert!(!exclude_each_other(&[line.published], &[other.published]));
            }
        }
        for (place, line) in priced.iter().enumerate() {
            let of_line = &priced[place..=place];
            let may = may_own(of_line, NOW).remove(&Beneficiary::Buyer).unwrap_or_default();
            let must = must_own(of_line).remove(&Beneficiary::Buyer).unwrap_or_default();
            let is_allowed = may.iter().all(|limit| u64::from(owner.owned(limit.item).units) <= limit.most)
                && must.iter().all(|needed| needed.any_of.iter().any(|item| owner.owns(*item)));
            let is_apart = price_lines(&lines[place..=place], &items, terms(&sold), owner);
            prop_assert_eq!(is_allowed, !is_apart[0].availability.unavailable, "{:?}", line.line);
        }
        let sale = sale(&priced, &AppliedCodes::default(), &Payments::default(), RICH);
        let hindered = priced.iter().find(|line| line.availability.unavailable);
        match hindered {
            Some(line) => prop_assert_eq!(sale, Err(CheckoutRefusal::Hindered {
                name: line.item().name.clone(), why: line.hindrance.clone().unwrap(),
            })),
            None => prop_assert_eq!(sale.is_ok(), !lines.is_empty()),
        }
    }
}

/// A part of a bundle.
fn part(of: &Item) -> Part {
    Part {
        item: of.id,
        name: of.name.clone(),
        price: of.price,
        virtual_price: of.virtual_price,
        global_limit: of.global_limit,
        user_limit: of.user_limit,
        limits: of.limits.clone(),
        conditions: of.conditions.clone(),
        included_in: vec![of.id],
    }
}

/// Item 9 sold as items 1 and 2 and `choices` of items 3 to 5.
fn bundle(price: i64, prices: &[i64], choices: u32) -> PublishedItem {
    let parts: Vec<Item> =
        (1..).zip(prices).map(|(id, price)| Item { user_limit: Some(2), ..item(id, *price) }).collect();
    let all: Vec<Part> = parts.iter().map(part).collect();
    let options: Vec<String> = all[2..].iter().map(|part| part.name.clone()).collect();
    let choice = |id| Variable {
        id,
        name: "Kit".to_owned(),
        options: options.clone(),
        surcharges: BTreeMap::new(),
        kind: VariableKind::default(),
        min: None,
        max: None,
    };
    let bundle = Bundle { parts: all[..2].to_vec(), from: all[2..].to_vec(), choices, despite_owned: false };
    let variables = bundle.variables().map(choice).collect();
    let own = Item { gifting: true, variables, bundle: Some(bundle), ..item(9, price) };
    PublishedItem { parts: parts.iter().map(published).collect(), ..published(&own) }
}

fn chosen(count: u32, names: &[&str]) -> Line {
    let choice = |(id, name): (u64, &&str)| LineVariable { id, value: (*name).to_owned() };
    Line { variables: (Bundle::FIRST_CHOICE..).zip(names).map(choice).collect(), ..line(1, 9, count) }
}

proptest! {
    #[test]
    fn the_shares_of_a_bundle_add_up_before_and_after_refunds(
        price in 0_i64..10_000, prices in vec(0_i64..5_000, 5), count in 1_u32..3, percent in 1_u32..10_000,
        returned in vec((0_usize..4, 1_u32..3), 0..4),
    ) {
        let items: Items = [(ItemId::new(9), Arc::new(bundle(price, &prices, 1)))].into();
        let lines = [chosen(count, &["item 4"]), line(7, 8, 1)];
        let (sold, ledger) = (Sold::new(), Ledger::default());
        let priced = price_lines(&lines, &items, terms(&sold), buyer(&ledger));
        let discount = Discount::Percentage(Percent::from_hundredths(percent));
        let coupon = shared::model::Code::Coupon(crate::any::coupon(discount, Scope::default()));
        let applied = judge(Some(&coupon), CouponUses::default(), inputs(&priced), NOW).ok();
        let codes = AppliedCodes { coupon: applied, gift_card: None };
        let Ok(sale) = sale(&priced, &codes, &Payments::default(), RICH) else { return Ok(()) };
        let ids: Vec<u64> = sale.lines.iter().map(|line| line.item.get()).collect();
        prop_assert_eq!(ids, [9, 1, 2, 4]);
        prop_assert_eq!(sale.lines[0].total, Money::ZERO);
        prop_assert!(sale.lines.iter().all(|line| line.count == count));
        let total: Money = sale.lines.iter().map(|line| line.total).sum();
        prop_assert_eq!(total, money(price).times(count).less(codes.coupon_sum()));
        let bill = bill(&sale.lines, None);
        prop_assert_eq!(bill.iter().map(|line| line.amount).sum::<Money>(), total);
        prop_assert!(bill.len() == usize::from(total > Money::ZERO) && bill.iter().all(|line| line.name.starts_with("item 9")));
        prop_assert_eq!(folded(&sale.lines).iter().map(|line| (line.item.get(), line.total)).collect::<Vec<_>>(), [(9, total)]);
        // Whatever units of whatever lines are refunded, never more comes back than was paid.
        let mut order = crate::any::order(shared::model::OrderStatus::Paid, total.minor(), Some(1), sale.lines.clone());
        for (place, units) in returned {
            let wanted = [(line_id(place, &order.lines[place]), units.min(count))];
            let Ok(lines) = with_returned(&order, &shared::model::OrderEffects::default(), &wanted) else { continue };
            order.lines = lines;
            if place == 0 {
                prop_assert!(order.lines.iter().all(|line| line.returned >= units.min(count)));
            }
        }
        let rest = without_refunded(&order, order.charged_for_returned());
        prop_assert_eq!(rest.total() + order.returned_total(), total);
        prop_assert!(order.lines.iter().any(|line| line.units() > 0) || rest.total() == Money::ZERO);
    }
}

#[test]
fn a_bundle_is_hindered_by_its_parts_and_its_choices() {
    let all = bundle(500, &[100; 5], 2);
    let items: Items =
        [(ItemId::new(9), Arc::new(all.clone())), (ItemId::new(1), Arc::new(all.parts[0].clone()))].into();
    let refusal = |lines: &[Line], sold: &Sold, ledger: &Ledger| {
        let priced = price_lines(lines, &items, terms(sold), buyer(ledger));
        sale(&priced, &AppliedCodes::default(), &Payments::default(), RICH)
            .map(|sale| sale.lines.len())
            .map_err(|why| why.to_string())
    };
    let (sold, ledger) = (Sold::new(), Ledger::default());
    let whole = chosen(1, &["item 3", "item 5"]);
    assert_eq!(refusal(std::slice::from_ref(&whole), &sold, &ledger), Ok(5));
    let lacks: Vec<String> =
        missing(&chosen(1, &["item 3", "item 3"]), &all.item).iter().map(ToString::to_string).collect();
    assert_eq!(lacks, ["\"Kit\" must be another than the choice before it."]);
    assert_eq!(missing(&chosen(1, &["item 3"]), &all.item).len(), 1);
    // Two of a part are all that one player may have.
    let together = [chosen(2, &["item 3", "item 5"]), line(2, 1, 1)];
    assert_eq!(refusal(&together, &sold, &ledger).unwrap_err(), "Only 2 of \"item 1\" can still be bought.");
    let mut owner = Ledger::default();
    owner.entry(ItemId::new(3)).all.units = 1;
    let sentence =
        "\"item 9\" cannot be bought: you own \"item 3\", which is part of it, or something that includes that.";
    assert_eq!(refusal(std::slice::from_ref(&whole), &sold, &owner).unwrap_err(), sentence);
    assert_eq!(refusal(&[chosen(1, &["item 4", "item 5"])], &sold, &owner), Ok(5), "another choice is left");
    owner.entry(ItemId::new(4)).all.units = 1;
    assert!(refusal(&[chosen(1, &["item 5", "item 4"])], &sold, &owner).is_err());
    let limits = may_own(&price_lines(&[whole], &items, terms(&sold), buyer(&ledger)), NOW);
    let of: Vec<(u64, u64)> = limits[&Beneficiary::Buyer].iter().map(|limit| (limit.item.get(), limit.most)).collect();
    assert_eq!(of, [1, 2, 3, 5].map(|id| [(id, 1), (id, 0)]).concat());
}

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
