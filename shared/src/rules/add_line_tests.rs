//! Adding lines, by example and by property.

use super::*;
use crate::model::{CategoryId, PriceTier, PublishedItem};
use crate::rules::cart::price_lines;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use std::sync::Arc;

const BUYER: crate::model::UserId = crate::model::UserId::new(1);

fn published(item: serde_json::Value, price_tiers: Vec<PriceTier>) -> PublishedItem {
    let category = CategoryId::new(u64::from(price_tiers.is_empty()));
    PublishedItem { item: serde_json::from_value(item).unwrap(), category, parent: None, price_tiers }
}

fn wanted(item: u64, count: u32) -> LineToAdd {
    LineToAdd {
        item: ItemId::new(item),
        count,
        variables: Vec::new(),
        server: None,
        price: None,
        payment_type: PaymentType::OneOff,
    }
}

/// Price, flags, global limit and user limit of an item.
type Row = (i64, [bool; 4], Option<u32>, Option<u32>);

prop_compose! {
    /// Items 0..3 are steps of a cumulative category, 3..8 are not.
    fn some_items()(
        rows in vec((0_i64..1_000, any::<[bool; 4]>(), option::of(0_u32..6), option::of(0_u32..6)), 8),
    ) -> Items {
        let tier = |(id, (price, ..)): (u64, &Row)| PriceTier {
            item: ItemId::new(id),
            price: Money::from_minor(*price),
        };
        let tiers: Vec<PriceTier> = (0..3).zip(&rows).map(tier).collect();
        let one = |(id, (price, flags, global, user)): (u64, Row)| {
            let [inactive, virtual_only, any_price, subscription] = flags;
            let item = serde_json::json!({
                "id": id, "name": "", "price": price, "active": !(inactive && id % 3 == 0),
                "virtual_only": virtual_only && id == 5, "virtual_price": price, "any_price": any_price && id > 5,
                "min_price": if any_price && id > 5 { price / 2 } else { 0 },
                "is_subscription": subscription && id == 4, "global_limit": global, "user_limit": user,
            });
            let tiers = if id < 3 { tiers.clone() } else { Vec::new() };
            (ItemId::new(id), Arc::new(published(item, tiers)))
        };
        (0..).zip(rows).map(one).collect()
    }
}

prop_compose! {
    fn some_line()(
        item in 0_u64..9,
        count in 0_u32..4,
        price in option::weighted(0.3, 0_i64..1_500),
        payment in 0_usize..6,
    ) -> LineToAdd {
        let payments = [PaymentType::Gift, PaymentType::Subscription];
        LineToAdd {
            price: price.map(Money::from_minor),
            payment_type: payments.get(payment).copied().unwrap_or_default(),
            ..wanted(item, count)
        }
    }
}

prop_compose! {
    fn some_ledger()(rows in vec((0_u64..8, 1_u32..3, 0_i64..1_000), 0..4)) -> Ledger {
        let mut ledger = Ledger::default();
        for (id, units, paid) in rows {
            let entry = ledger.entry(ItemId::new(id));
            (entry.units, entry.paid) = (units, Money::from_minor(paid));
        }
        ledger
    }
}

proptest! {
    #[test]
    fn a_line_that_is_accepted_is_priced_and_available(
        items in some_items(),
        ledger in some_ledger(),
        sold in vec(0_u64..4, 8),
        has_virtual_currency in any::<bool>(),
        lines in vec(some_line(), 1..30),
    ) {
        let sold: Sold = (0..).map(ItemId::new).zip(sold).collect();
        let mut cart = Cart::empty(BUYER);
        for line in lines {
            let Ok(placed) = place(&cart, &items, &sold, &ledger, &line, has_virtual_currency) else { continue };
            let before: u64 = cart.lines.iter().map(|line| u64::from(line.count)).sum();
            let after: u64 = placed.cart.lines.iter().map(|line| u64::from(line.count)).sum();
            prop_assert!(after == before + u64::from(line.count) || !placed.replaced.is_empty());
            cart = placed.cart;
            // Every line that was ever accepted, not only the last.
            let priced = price_lines(&cart.lines, &items, &sold, &ledger);
            prop_assert_eq!(priced.len(), cart.lines.len());
            for line in &priced {
                prop_assert!(!line.availability.unavailable, "{:?}", line.line);
                prop_assert_eq!(line.count, line.line.count);
                prop_assert!(line.line.price.is_none_or(|price| price == line.unit_price));
            }
            for (id, published) in &items {
                let units = |of: &dyn Fn(&Line) -> bool| -> u64 {
                    cart.lines.iter().filter(|line| line.item == *id && of(line)).map(|line| u64::from(line.count)).sum()
                };
                let limits = Limits::of(&published.item, &sold, Some(&ledger));
                let within = |limit: Option<u32>, current: Option<u64>, units: u64| {
                    units == 0 || limit.is_none_or(|limit| current.unwrap_or_default() + units <= u64::from(limit))
                };
                prop_assert!(within(limits.global, limits.global_current, units(&|_| true)));
                let own = units(&|line| line.payment_type != PaymentType::Gift);
                prop_assert!(within(limits.user, limits.user_current, own));
            }
        }
    }
}

#[test]
fn a_quantity_of_zero_and_a_price_above_the_largest_amount_are_refused() {
    let any_price = serde_json::json!({ "id": 1, "name": "", "price": 0, "active": true, "any_price": true });
    let items = Items::from([(ItemId::new(1), Arc::new(published(any_price, Vec::new())))]);
    let add = |line: &LineToAdd| {
        let cart = Cart::empty(BUYER);
        place(&cart, &items, &Sold::new(), &Ledger::default(), line, false).map(|placed| placed.cart.lines.len())
    };
    let priced = |minor| LineToAdd { price: Some(Money::from_minor(minor)), ..wanted(1, 1) };
    assert_eq!(add(&wanted(1, 0)), Err(AddLineRefusal::NoUnits));
    assert_eq!(add(&priced(Money::LARGEST.minor() + 1)), Err(AddLineRefusal::PriceTooHigh));
    assert_eq!(add(&priced(Money::LARGEST.minor())), Ok(1));
}

#[test]
fn every_refusal_is_a_sentence_that_a_buyer_can_read() {
    let name = || "Colour".to_owned();
    for (refusal, text) in [
        (AddLineRefusal::NotPublished, "This item is not available."),
        (AddLineRefusal::Inactive, "This item is not on sale."),
        (AddLineRefusal::UnknownVariable(3), "This item has no variable 3."),
        (AddLineRefusal::DuplicateVariable { name: name() }, "\"Colour\" is given twice."),
        (AddLineRefusal::MissingVariable { id: 3, name: name() }, "\"Colour\" is missing."),
        (
            AddLineRefusal::WrongOption { name: name(), options: "red, blue".to_owned() },
            "\"Colour\" must be one of: red, blue.",
        ),
        (AddLineRefusal::BelowMinimum { minimum: Money::ZERO }, "The price is below this item's minimum."),
        (AddLineRefusal::GlobalLimit { left: 2 }, "Only 2 more can be bought."),
        (AddLineRefusal::GlobalLimit { left: 0 }, "No more can be bought."),
        (AddLineRefusal::UserLimit { left: 1 }, "Only 1 more can be bought. The limit is per buyer."),
        (AddLineRefusal::Full, "The cart is full: it has at most 50 lines."),
    ] {
        assert_eq!(refusal.to_string(), text);
    }
}
