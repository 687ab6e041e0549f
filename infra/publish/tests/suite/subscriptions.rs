//! Subscriptions: how an owner writes them, what is published of them, and what they cannot be as well.

use crate::support::{self, STORE, files_of_item, found};
use publish::{Compiled, Diff};
use shared::model::{PeriodUnit, Plan};

const SERVERS: &str = "servers: [{id: 1, name: Hearth}]\n";

/// A fault of the item's field in a line.
fn fault(line: u8, problem: &str) -> String {
    format!("categories/a.yaml, line {line}, items[7].{problem}\n")
}

fn compiled(item: &str) -> Compiled {
    support::compiled(&files_of_item(SERVERS, item))
}

#[test]
fn a_subscription_is_paid_every_month_or_as_often_as_its_owner_says() {
    let plan = |every, unit, grace| Plan { every, unit, grace };
    for (written, expected) in [
        ("subscription: true", Plan::default()),
        ("subscription: {every: 1, unit: month}\ngrace: 3 days", Plan::default()),
        ("subscription: yes", Plan::default()),
        ("subscription: {unit: day}", plan(1, PeriodUnit::Day, 86_400)),
        ("subscription: {unit: day, every: 5}", plan(5, PeriodUnit::Day, 108_000)),
        ("subscription: {unit: week}", plan(1, PeriodUnit::Week, 151_200)),
        ("subscription: {unit: week, every: 2}", plan(2, PeriodUnit::Week, Plan::GRACE)),
        ("subscription: {unit: day}\ngrace: 3 days", plan(1, PeriodUnit::Day, Plan::GRACE)),
        ("subscription: {every: 36, unit: month}\ngrace: 1 day", plan(36, PeriodUnit::Month, 86_400)),
        ("subscription:\n  every: 1095\n  unit: day\ngrace: 36 hours", plan(1_095, PeriodUnit::Day, 129_600)),
    ] {
        let item = &compiled(written).items[0].item;
        assert_eq!((item.is_subscription, item.plan), (true, expected), "{written}");
    }
    let item = &compiled("subscription: false").items[0].item;
    assert_eq!((item.is_subscription, item.plan), (false, Plan::default()));
}

#[test]
fn a_subscription_of_a_cumulative_category_is_a_rank() {
    let of = |cumulative: &str, item: &str| {
        let category =
            format!("id: 1\nslug: a\nname: A\n{cumulative}items:\n  - {{id: 7, name: I, price: 4, {item}}}\n");
        support::compiled(&[("store.yaml", STORE), ("categories/a.yaml", &category)]).items[0].is_rank
    };
    assert!(of("cumulative: true\n", "subscription: true"));
    assert!(!of("cumulative: true\n", "active: true") && !of("", "subscription: true"));
}

#[test]
fn a_period_is_from_one_unit_to_three_years() {
    for (unit, most) in [("day", 1_095), ("week", 156), ("month", 36), ("year", 3)] {
        let item = |every: u32| format!("subscription: {{every: {every}, unit: {unit}}}");
        let of = |every| found(&files_of_item(SERVERS, &item(every))).0;
        assert_eq!((of(1), of(most)), (String::new(), String::new()), "{unit}");
        let problem = format!("must be from 1 to {most} {unit}s: a period is at most three years");
        for wrong in [0, most + 1, 70_000] {
            assert_eq!(of(wrong), fault(8, &format!("subscription.every: {problem}")), "{wrong} {unit}s");
        }
    }
}

#[test]
fn a_subscription_costs_something() {
    let category = "id: 1\nslug: a\nname: A\nitems: [{id: 7, name: I, price: 0, active: false, subscription: true}]\n";
    let (faults, _) = found(&[("store.yaml", STORE), ("categories/a.yaml", category)]);
    assert_eq!(faults, fault(4, "price: must be more than 0: a subscription is paid every period"));
}

#[test]
fn a_change_of_the_plan_is_shown_as_its_owner_writes_it() {
    let changed = |before: &str, after: &str| {
        let changes = Diff::of(Some(&compiled(before)), &compiled(after)).changes;
        changes.changed.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(
        changed("subscription: true", "subscription: {every: 2, unit: week}\ngrace: 36 hours"),
        ["item 7 I: grace 3 days → 36 hours, subscription every 1 month → every 2 weeks"]
    );
    assert_eq!(
        changed("active: true", "subscription: true"),
        ["item 7 I: grace none → 3 days, subscription none → every 1 month"]
    );
}
