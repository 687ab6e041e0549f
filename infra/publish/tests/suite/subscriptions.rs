//! Subscriptions: how an owner writes them, what is published of them, and what they cannot be as well.

use crate::support::{STORE, lines, store};
use publish::{Compiled, changes, check, compile, export, read, warnings};
use shared::model::{PeriodUnit, Plan};

const SERVERS: &str = "servers: [{id: 1, name: Hearth}]\n";

/// A store whose only item, which begins in line 5, has these fields from line 8 on.
fn files(of_store: &str, item: &str) -> Vec<(String, String)> {
    let item = item.replace('\n', "\n    ");
    let category = format!("id: 1\nslug: a\nname: A\nitems:\n  - id: 7\n    name: I\n    price: 4\n    {item}\n");
    vec![("store.yaml".to_owned(), format!("{STORE}{SERVERS}{of_store}")), ("categories/a.yaml".to_owned(), category)]
}

/// Faults and warnings.
fn found(of_store: &str, item: &str) -> (String, String) {
    let files = files(of_store, item);
    let dir = store(&files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect::<Vec<_>>());
    match read(dir.path()) {
        Ok(files) => (lines(&check(&files)), lines(&warnings(&files))),
        Err(faults) => (lines(&faults), String::new()),
    }
}

fn faults(item: &str) -> String {
    found("", item).0
}

/// A fault of the item's field in a line.
fn fault(line: u8, problem: &str) -> String {
    format!("categories/a.yaml, line {line}, items[7].{problem}\n")
}

fn compiled(item: &str) -> Compiled {
    let files = files("", item);
    let dir = store(&files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect::<Vec<_>>());
    compile(&read(dir.path()).unwrap()).unwrap_or_else(|faults| panic!("{}", lines(&faults)))
}

#[test]
fn a_subscription_is_paid_every_month_or_as_often_as_its_owner_says() {
    let plan = |every, unit, grace| Plan { every, unit, grace };
    for (written, expected) in [
        ("subscription: true", Plan::default()),
        ("subscription: {every: 1, unit: month}\ngrace: 3 days", Plan::default()),
        ("subscription: yes", Plan::default()),
        ("subscription: {unit: week}", plan(1, PeriodUnit::Week, Plan::GRACE)),
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
fn a_subscription_is_exported_as_shortly_as_it_can_be_written() {
    for (written, expected) in [
        ("subscription: {every: 1, unit: month}\ngrace: 3 days", "  subscription: true\n"),
        ("subscription: {unit: year}", "  subscription:\n    every: 1\n    unit: year\n"),
        ("subscription: true\ngrace: 48 hours", "  subscription: true\n  grace: 2 days\n"),
    ] {
        let store = compiled(written);
        let files = export(&store);
        let dir = tempfile::tempdir().unwrap();
        publish::write_files(dir.path(), &files).unwrap();
        let text = std::fs::read_to_string(dir.path().join("categories/a.yaml")).unwrap();
        assert!(text.contains(expected), "{written}: {text}");
        assert_eq!(compile(&read(dir.path()).unwrap()).unwrap(), store, "{written}");
    }
}

#[test]
fn a_period_is_from_one_unit_to_three_years() {
    for (unit, most) in [("day", 1_095), ("week", 156), ("month", 36), ("year", 3)] {
        let of = |every: u32| faults(&format!("subscription: {{every: {every}, unit: {unit}}}"));
        assert_eq!((of(1), of(most)), (String::new(), String::new()), "{unit}");
        let problem = format!("must be from 1 to {most} {unit}s: a period is at most three years");
        for wrong in [0, most + 1, 70_000] {
            assert_eq!(of(wrong), fault(8, &format!("subscription.every: {problem}")), "{wrong} {unit}s");
        }
    }
}

#[test]
fn what_is_not_an_interval_is_named() {
    for (written, problem) in [
        ("subscription: monthly", "items[7].subscription: must be true or false, or fields with values, not `monthly`"),
        ("subscription: {every: 1, unit: fortnight}", "unit: `fortnight` is not one of day, week, month, year"),
        ("subscription: {every: 2}", "items[7].subscription.unit: is missing"),
        ("subscription: {evry: 2, unit: day}", "items[7].subscription.evry: is not a field here; did you mean every?"),
        ("subscription: [month]", "items[7].subscription: must be true or false, not a list"),
    ] {
        assert_eq!(faults(written), format!("categories/a.yaml, line 8, {problem}\n"), "{written}");
    }
}

#[test]
fn grace_is_at_least_a_day_and_for_a_subscription() {
    let grace = |grace: &str| faults(&format!("subscription: true\ngrace: {grace}"));
    let problem = "must be at least 1 day: payment providers charge about an hour after the end of a period";
    assert_eq!(grace("23 hours"), fault(9, &format!("grace: {problem}")));
    assert_eq!(grace("24 hours"), "");
    let problem = "must be a duration such as `30 days`, `3 hours` or `90 seconds`";
    assert_eq!(grace("soon"), fault(9, &format!("grace: {problem}")));
    let problem = "is for a subscription: remove it, or add subscription: true";
    assert_eq!(faults("grace: 3 days"), fault(8, &format!("grace: {problem}")));
}

#[test]
fn a_subscription_cannot_be_what_would_renew_for_ever_or_is_counted() {
    let reduced = "is not for a subscription, which would renew at the reduced price for ever";
    for (line, field, written, problem) in [
        (9, "discount", "discount: 1", reduced),
        (9, "promotion", "promotion: {price: 3}", reduced),
        (9, "global_limit", "global_limit: 5", "is not for a subscription, whose renewals are not counted as units"),
        (9, "user_limit", "user_limit: 1", "is not for a subscription, of which a player has one at a time"),
        (9, "expires_after", "expires_after: 30 days", "is not for a subscription, which lasts as long as it is paid"),
        (5, "gifting", "gifting: true", "is not for a subscription; a gift is paid once"),
    ] {
        assert_eq!(faults(&format!("subscription: true\n{written}")), fault(line, &format!("{field}: {problem}")));
        assert_eq!(faults(&format!("subscription: false\n{written}")), "", "{field} of another item");
    }
    let virtual_only = "virtual_only: true\nvirtual_price: 3";
    let in_store = |subscription: &str| {
        found("virtual_currency: {enabled: true, name: Embers}\n", &format!("{subscription}\n{virtual_only}")).0
    };
    let problem = "virtual_only: is not for a subscription, which is paid in money";
    assert_eq!((in_store("subscription: true"), in_store("active: true")), (fault(5, problem), String::new()));
}

#[test]
fn a_subscription_costs_something() {
    let category = "id: 1\nslug: a\nname: A\nitems: [{id: 7, name: I, price: 0, active: false, subscription: true}]\n";
    let dir = store(&[("store.yaml", STORE), ("categories/a.yaml", category)]);
    let problem = "must be more than 0: a subscription is paid every period";
    assert_eq!(lines(&check(&read(dir.path()).unwrap())), fault(4, &format!("price: {problem}")));
}

#[test]
fn the_commands_of_a_subscription_end_it() {
    let of = |commands: &str, kind: &str| found("", &format!("subscription: {kind}\ncommands: [{commands}]"));
    let whole = "{run: a}, {run: b, on: renewed}, {run: c, on: expired}, {run: d, on: refunded}";
    assert_eq!(of(whole, "true"), (String::new(), String::new()), "on: expired needs no expires_after");
    let problem = "a subscription's buyer keeps this after its end: add a command with on: expired";
    let (faults, warned) = of("{run: a}, {run: d, on: refunded}", "true");
    assert_eq!((faults, warned), (String::new(), fault(9, &format!("commands: {problem}"))));
    assert_eq!(of("{run: d, on: refunded}", "true"), (String::new(), String::new()), "nothing to keep");
    let (faults, warned) = of("{run: b, on: renewed}", "false");
    let problem = "never runs: the item is not a subscription";
    assert_eq!((faults, warned), (String::new(), fault(9, &format!("commands.on: {problem}"))));
}

#[test]
fn commands_of_every_sale_run_for_subscriptions_if_there_are_any() {
    let of = |event: &str, item: &str| found(&format!("commands:\n  - {{run: a, on: {event}}}\n"), item);
    let nothing = (String::new(), String::new());
    for event in ["expired", "renewed"] {
        let (faults, warned) = of(event, "subscription: true");
        assert_eq!(faults, "", "{event}");
        assert!(!warned.contains("never runs"), "{event}: {warned}");
    }
    let at = "store.yaml, line 6, commands.on: never runs: no item";
    assert_eq!(of("expired", "active: false"), (format!("{at} has expires_after or is a subscription\n"), nothing.1));
    assert_eq!(of("renewed", "active: false"), (nothing.0, format!("{at} is a subscription\n")));
    let ended = found("commands: [{run: a, on: expired}]\n", "subscription: true\ncommands: [{run: a}]").1;
    assert!(!ended.contains("after its end"), "a command of every sale ends it: {ended}");
}

#[test]
fn a_subscription_that_ends_with_too_many_commands_on_a_server_is_named() {
    let commands = |count: usize| vec!["{run: a, on: expired}"; count].join(", ");
    let of = |count| {
        found(
            &format!("commands: [{}]\n", commands(count)),
            &format!("subscription: true\ncommands: [{}]", commands(15)),
        )
        .0
    };
    let problem = "runs 25 commands on server 1 when the item expires, those of every sale among them; at most 24 fit";
    assert_eq!((of(9), of(10)), (String::new(), fault(5, &format!("subscription: {problem}"))));
}

#[test]
fn a_change_of_the_plan_is_shown_as_its_owner_writes_it() {
    let changed = |before: &str, after: &str| {
        let changes = changes(Some(&compiled(before)), &compiled(after));
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
