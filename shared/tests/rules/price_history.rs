//! The price that a reduction is compared with (rules.md, "Prices that were").

use proptest::collection::vec;
use proptest::prelude::*;
use shared::model::{LowestPrice, Money};
use shared::rules::price_history::{AskedPrice, COMPARED_SECONDS, PriceHistory};
use std::collections::BTreeMap;

const DAY: i64 = 86_400;

fn asked(day: i64, price: i64, regular: i64) -> AskedPrice {
    let (price, regular) = (Money::from_minor(price), Money::from_minor(regular));
    AskedPrice { since: day * DAY, price: Some(price), regular: (price < regular).then_some(regular) }
}

fn gone(day: i64) -> AskedPrice {
    AskedPrice { since: day * DAY, price: None, regular: None }
}

/// The day on which each reduction begins, the lowest price before it, and since which day that is known.
fn lowest(prices: &[AskedPrice]) -> Vec<(i64, Option<i64>, Option<i64>)> {
    let history = PriceHistory::default().followed_by(0, prices);
    let told = history.reductions(0).map(|reduction| {
        (reduction.begins / DAY, reduction.lowest.map(Money::minor), reduction.known_since.map(|since| since / DAY))
    });
    told.collect()
}

#[test]
fn the_lowest_price_is_that_of_the_30_days_before_a_reduction_began() {
    for (what, prices, expected) in [
        ("plain", vec![asked(0, 1000, 1000), asked(60, 800, 1000)], vec![(60, Some(1000), None)]),
        ("never asked before", vec![asked(0, 800, 1000)], vec![(0, None, None)]),
        ("known for ten days", vec![asked(50, 1000, 1000), asked(60, 800, 1000)], vec![(60, Some(1000), Some(50))]),
        (
            "raised the day before",
            vec![asked(0, 800, 800), asked(59, 1000, 1000), asked(60, 700, 1000)],
            vec![(60, Some(800), None)],
        ),
        (
            "two in a row, the second deeper",
            vec![asked(0, 1000, 1000), asked(60, 800, 1000), asked(62, 700, 1000), asked(64, 1000, 1000)],
            vec![(60, Some(1000), None), (62, Some(800), None)],
        ),
        (
            "the second less deep, and one 30 days after it",
            vec![asked(0, 10, 10), asked(60, 7, 10), asked(62, 8, 10), asked(64, 10, 10), asked(94, 9, 10)],
            vec![(60, Some(10), None), (62, Some(7), None), (94, Some(10), None)],
        ),
        (
            "29 days after another",
            vec![asked(0, 10, 10), asked(60, 8, 10), asked(62, 10, 10), asked(91, 8, 10)],
            vec![(60, Some(10), None), (91, Some(8), None)],
        ),
        (
            "it goes on at the same price while the regular one is raised",
            vec![asked(0, 10, 10), asked(60, 8, 10), asked(70, 8, 12), asked(99, 12, 12)],
            vec![(60, Some(10), None)],
        ),
        (
            "it was not for sale in the 30 days",
            vec![asked(0, 10, 10), gone(20), asked(60, 8, 10)],
            vec![(60, None, None)],
        ),
        (
            "it was away for some of them",
            vec![asked(0, 10, 10), gone(20), asked(58, 9, 9), asked(60, 8, 10)],
            vec![(60, Some(9), Some(58))],
        ),
    ] {
        assert_eq!(lowest(&prices), expected, "{what}");
    }
}

#[test]
fn a_price_ends_at_the_second_at_which_the_next_begins() {
    let sale = |begins: i64| {
        let prices = [asked(0, 9, 9), asked(10, 10, 10), AskedPrice { since: begins, ..asked(0, 8, 10) }];
        PriceHistory::default().followed_by(0, &prices).reductions(0).next().unwrap().lowest.unwrap().minor()
    };
    let last = 10 * DAY + COMPARED_SECONDS;
    assert_eq!((sale(last - 1), sale(last)), (9, 10), "the last second of the lower price counts");
}

#[test]
fn a_raise_names_the_price_before_it_and_its_day() {
    let raised = |prices: &[AskedPrice]| {
        let history = PriceHistory::default().followed_by(0, prices);
        let reduction = history.reductions(0).last().unwrap();
        reduction.raised.map(|raised| (raised.from.minor(), raised.at / DAY))
    };
    assert_eq!(raised(&[asked(0, 10, 10), asked(60, 8, 10)]), None);
    assert_eq!(raised(&[asked(0, 8, 8), asked(59, 10, 10), asked(60, 7, 10)]), Some((8, 59)));
    assert_eq!(raised(&[asked(0, 8, 8), asked(60, 7, 10)]), Some((8, 60)), "raised with the sale");
    assert_eq!(raised(&[asked(0, 8, 8), asked(20, 10, 10), asked(60, 7, 10)]), None, "40 days before");
    assert_eq!(raised(&[asked(0, 10, 10), asked(50, 8, 10), asked(55, 10, 10), asked(60, 8, 10)]), None, "a sale");
}

#[test]
fn what_was_published_is_kept_while_it_says_the_same() {
    let plan = [asked(0, 10, 10), asked(60, 8, 10), asked(62, 10, 10), asked(70, 7, 10), asked(72, 10, 10)];
    let history = PriceHistory::default().followed_by(0, &plan);
    let first = history.lowest_prices(DAY);
    assert_eq!(first.iter().map(|lowest| lowest.price.unwrap().minor()).collect::<Vec<_>>(), [10, 8]);
    for day in 1..200 {
        assert!(history.kept(day * DAY).is_told_by(&first, day * DAY), "day {day}");
    }
    // The first sale goes on until the second begins.
    let longer = history.followed_by(61 * DAY, &[asked(61, 8, 10), asked(70, 7, 10), asked(72, 10, 10)]);
    assert!(longer.is_told_by(&first, 61 * DAY) && !longer.is_told_by(&first[..1], 61 * DAY));
    let shorter = history.followed_by(61 * DAY, &[asked(61, 10, 10), asked(95, 7, 10), asked(97, 10, 10)]);
    assert!(!shorter.is_told_by(&first, 61 * DAY));
    // The second at which a reduction is published is not compiled.
    let now = history.followed_by(30 * DAY, &[asked(30, 9, 10)]);
    assert_eq!(now.lowest_prices(30 * DAY)[0].from, None);
    assert!(now.is_told_by(&now.lowest_prices(30 * DAY), 200 * DAY));
}

#[test]
fn what_a_long_reduction_is_compared_with_is_kept_and_older_prices_are_not() {
    let history = PriceHistory::default().followed_by(0, &[asked(0, 9, 9), asked(5, 10, 10), asked(300, 8, 10)]);
    assert_eq!(history.kept(104 * DAY).prices.len(), 3);
    assert_eq!(history.kept(105 * DAY).prices, history.prices[1..]);
    assert_eq!(history.kept(900 * DAY).lowest_prices(900 * DAY), history.lowest_prices(900 * DAY));
    let over = history.followed_by(400 * DAY, &[asked(400, 10, 10)]);
    assert_eq!(over.kept(501 * DAY).prices, [asked(400, 10, 10)]);
}

/// Days until the price changes, the price, and the regular one.
type Planned = (i64, i64, i64);

/// Publishes on rising days, each with what it plans: the days from then on until the price changes, the price, and the regular one.
fn publishes() -> impl Strategy<Value = Vec<(i64, Vec<Planned>)>> {
    let planned = (1..50_i64, 0..6_i64, 3..6_i64);
    vec((0..80_i64, vec(planned, 1..6)), 1..8)
}

proptest! {
    /// The lowest of the days, each asked for by itself.
    #[test]
    fn the_lowest_price_is_that_of_a_list_of_days(publishes in publishes()) {
        let (mut history, mut days, mut now) = (PriceHistory::default(), BTreeMap::<i64, AskedPrice>::new(), 0);
        for (later, planned) in publishes {
            now += later;
            _ = days.split_off(&now);
            let (mut day, mut asked_prices) = (now, Vec::new());
            for (lasts, price, regular) in planned {
                // Free items are not for sale here.
                let asked = if price == 0 { gone(day) } else { asked(day, price.min(regular), regular) };
                asked_prices.push(asked);
                days.extend((day..day + lasts).map(|day| (day, asked)));
                day += lasts;
            }
            let last = days[&(day - 1)];
            days.extend((day..now + 400).map(|day| (day, last)));
            history = history.followed_by(now * DAY, &asked_prices).kept(now * DAY);
        }
        let is_like = |one: &AskedPrice, other: &AskedPrice| (one.price, one.regular.is_some()) == (other.price, other.regular.is_some());
        for reduction in history.reductions(now * DAY) {
            let begins = reduction.begins / DAY;
            prop_assert!(begins == 0 || !days.get(&(begins - 1)).is_some_and(|before| is_like(before, &days[&begins])));
            let before: Vec<&AskedPrice> = days.range(begins - 30..begins).map(|(_, asked)| asked).collect();
            prop_assert_eq!(reduction.lowest, before.iter().filter_map(|asked| asked.price).min());
        }
        let running = days.range(now..).filter(|(_, asked)| asked.regular.is_some());
        let told = history.lowest_prices(now * DAY);
        for (day, asked) in running {
            let begins = (0..=*day).rev().take_while(|day| days.get(day).is_some_and(|before| is_like(before, asked))).last().unwrap();
            let lowest = days.range(begins - 30..begins).filter_map(|(_, asked)| asked.price).min();
            prop_assert_eq!(LowestPrice::at(&told, day * DAY).and_then(|lowest| lowest.price), lowest);
        }
        prop_assert!(history.is_told_by(&told, now * DAY));
    }
}
