//! Limits in time and place, subscriptions, and `payments` of store.yaml: how an owner writes them, what is published of them, what they
//! cannot be, and what is warned of.

use crate::support::{self, STORE, files_of_item, found, lines, store};
use publish::{Compiled, Diff, compile, read};
use serde_json::json;
use shared::model::{
    Every, Item, ItemLimit, Money, Payments, PeriodUnit, Plan, ServerId, TaxMode, TaxPrices, ThreeDSecure, WindowKind,
};

const TWO_SERVERS: &str = "time_zone: Europe/Berlin\nservers: [{id: 1, name: Hearth}, {id: 2, name: Moor}]\n";

fn item(written: &str) -> Item {
    support::compiled(&files_of_item(TWO_SERVERS, written)).items[0].item.clone()
}

#[test]
fn a_limit_stands_alone_or_in_a_list() {
    let weekly = ItemLimit { most: 1, per_user: true, every: Some(Every::Rolling(604_800)), server: None };
    assert_eq!(item("limit: {per_user: 1, every: 7 days}").limits, std::slice::from_ref(&weekly));
    let all = "select_server: true\nservers: [1, 2]\nlimit:\n  - {per_user: 1, every: 7 days}\n  - {total: 50, every: day}\n  - {total: 5, server: 2}\n  - {total: 9}";
    let item_of_all = item(all);
    let [first, daily, of_server] = item_of_all.limits.as_slice() else { panic!("{:?}", item_of_all.limits) };
    assert_eq!((first, item_of_all.global_limit), (&weekly, Some(9)));
    assert_eq!((of_server.most, of_server.server, &of_server.every), (5, Some(ServerId::new(2)), &None));
    let Some(Every::Window(window)) = &daily.every else { panic!("{daily:?}") };
    assert_eq!(window.kind, WindowKind::Day);
    // Twice a year for six years, whatever year it is; 28 March 2027, 01:00 UTC is among them until 2029.
    assert!((12..=13).contains(&window.offsets.len()), "{window:?}");
    assert!(window.offsets.iter().all(|(_, offset)| [3_600, 7_200].contains(offset)));
    let again: Item = serde_json::from_value(json!(item_of_all)).unwrap();
    assert_eq!(again, item_of_all);
    assert_eq!(item("limit: {per_user: 3}").user_limit, Some(3));
    for kind in ["hour", "day", "monday", "month"] {
        assert_eq!(item(&format!("limit: {{total: 5000, every: {kind}}}")).limits.len(), 1);
    }
}

#[test]
fn what_is_not_a_limit_is_a_fault_that_says_what_to_write() {
    let fault = |written: &str| {
        let found = support::found(&files_of_item(TWO_SERVERS, written)).0;
        found.trim_end().strip_prefix("categories/a.yaml, line 8, items[7].limit: ").unwrap_or(&found).to_owned()
    };
    for (written, expected) in [
        ("limit: {per_user: 0, every: day}", "must be at least 1; leave it out for no limit"),
        ("limit: {every: day}", "needs `per_user` or `total`, such as {per_user: 1, every: 7 days}"),
        ("limit: {per_user: 1, total: 1}", "has `per_user` and `total` at once: write a limit for each"),
        ("limit: {per_user: 101, every: day}", "is at most 100 for one user in a time"),
        (
            "limit: {total: 201, every: 7 days}",
            "is at most 200 in a time that ends now: write `every: day` or another window for more",
        ),
        (
            "limit: {total: 2, every: week}",
            "must be a duration such as `30 days`, `3 hours` or `90 seconds`; or one of `hour`, `day`, `monday` and `month`, which begin by the calendar",
        ),
        ("limit: {total: 2, server: 1}", "of a server is for an item with `select_server: true`"),
        ("limit: {total: 2, server: 3}\nselect_server: true\nservers: [1]", "the item has no server 3"),
        ("limit: {per_user: 2, server: 1}", "of one user counts for all servers: leave `server` out"),
        ("limit: {total: 2}\nglobal_limit: 3", "is the same as `global_limit`: write one of them"),
        ("limit: {per_user: 2}\nuser_limit: 3", "is the same as `user_limit`: write one of them"),
        ("limit: [{total: 2, every: day}, {total: 3, every: day}]", "has two limits alike: leave out the looser one"),
        ("limit: {per_user: 2}\nsubscription: true", "is not for a subscription, of which a player has one at a time"),
    ] {
        assert_eq!(fault(written), expected, "{written}");
    }
    let nine: Vec<String> = (1..=9).map(|days| format!("{{total: 1, every: {days} days}}")).collect();
    assert_eq!(fault(&format!("limit: [{}]", nine.join(", "))), "an item has at most 8 limits");
}

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

/// A store with a currency, and with what follows in store.yaml.
fn yaml(currency: &str, rest: &str) -> String {
    format!("format: 1\nname: T\ncurrency: {{{currency}}}\nstorefront: {{url: 'https://shop.example'}}\n{rest}")
}

fn faults(currency: &str, rest: &str) -> String {
    found(&[("store.yaml", yaml(currency, rest))]).0
}

fn payments(currency: &str, rest: &str) -> Payments {
    support::compiled(&[("store.yaml", yaml(currency, rest))]).config.payments
}

#[test]
fn a_store_that_says_nothing_takes_no_payments() {
    assert_eq!(payments("code: EUR", ""), Payments::default());
    let kept = payments("code: EUR", "payments: {hold_minutes: 0, least: 2}\n");
    assert_eq!(kept, Payments { hold_minutes: 0, least: Money::from_minor(200), ..Payments::default() });
}

#[test]
fn a_method_brings_the_stores_currency_and_the_providers_minimum() {
    let paid = payments("code: PLN", "payments: {methods: [Stripe]}\n");
    let (methods, currency) = (vec!["Stripe".to_owned()], "PLN".to_owned());
    let wanted = Payments { methods, currency, least: Money::from_minor(200), ..Payments::default() };
    assert_eq!(paid, wanted);
    assert_eq!((wanted.hold_minutes, wanted.hold_units, wanted.delayed), (30, 10, false));
    let all = "payments: {methods: [Stripe], hold_minutes: 1400, hold_units: 1, delayed: true, least: 3.5}\n";
    let paid = payments("code: PLN", all);
    let least = Money::from_minor(350);
    assert_eq!(paid, Payments { hold_minutes: 1_400, hold_units: 1, delayed: true, least, ..wanted });
}

#[test]
fn an_owner_chooses_ways_to_pay_by_words_that_exist() {
    let of = |text: &str| payments("code: EUR", &format!("payments: {{methods: [Stripe], {text}}}\n"));
    let words = |list: &[&str]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(of("only: [card, paypal, ideal]").only, words(&["card", "paypal", "ideal"]));
    assert_eq!(of("except: [klarna]").except, words(&["klarna"]));
    assert!(of("delayed: true, only: [card, oxxo], adaptive: true").adaptive);
    assert!(of("invoices: true").invoices && !of("adaptive: true").invoices);
    assert_eq!(of("three_d_secure: new_buyers").three_d_secure, ThreeDSecure::NewBuyers);
    assert!(of("answer_disputes: true").answer_disputes && !of("delayed: true").answer_disputes);
    assert_eq!(of("first_day: {most: 50}").first_day, Some(Money::from_minor(5_000)));
    for (text, field, problem) in [
        ("first_day: {most: 0.49}", "first_day.most", "must be at least 0.50, or no new buyer could pay anything"),
        ("first_day: {most: lots}", "first_day.most", "must be a plain decimal number such as 9.99"),
        ("only: [paypall]", "only", "there is no way to pay paypall; did you mean paypal?"),
        ("except: [Karte]", "except", "there is no way to pay Karte; there are card, link, paypal"),
        ("only: [card, giropay]", "only", "giropay is not offered: it has ended"),
        ("only: [card, card]", "only", "way to pay card is already used in store.yaml, line 5"),
        ("only: [card], except: [klarna]", "except", "says what payments.only has left out already: write one of them"),
        (
            "only: [card, sepa_debit]",
            "only",
            "sepa_debit confirms days later or cannot be refunded, and needs delayed: true",
        ),
        ("only: [sepa_debit], delayed: true", "only", "needs one way to pay that confirms at once and can be refunded"),
    ] {
        let found = faults("code: EUR", &format!("payments: {{methods: [Stripe], {text}}}\n"));
        let start = format!("store.yaml, line 5, payments.{field}: {problem}");
        assert!(found.starts_with(&start) && found.lines().count() == 1, "{text}: {found}");
    }
}

#[test]
fn taxes_are_said_by_words_that_fit_each_other() {
    let with = |payments: &str, item: &str| {
        let category = format!("id: 1\nslug: a\nname: A\nitems:\n  - {{id: 7, name: I, price: 1{item}}}\n");
        let payments = format!("payments: {{methods: [Stripe]{payments}}}\n");
        let dir = store(&[("store.yaml", &yaml("code: EUR", &payments)), ("categories/a.yaml", &category)]);
        compile(&read(dir.path()).unwrap()).map_err(|faults| lines(&faults))
    };
    let of = |payments: &str, item: &str| with(payments, item).unwrap().config.payments;
    let taxed = of(", tax: stripe, tax_prices: exclusive, tax_code: txcd_10000000", "");
    assert_eq!((taxed.tax, taxed.tax_prices), (TaxMode::Stripe, TaxPrices::Exclusive));
    assert_eq!(taxed.tax_codes, ["txcd_10000000"]);
    let own = of(", tax: managed, tax_code: txcd_10000000", ", tax_code: txcd_10201000");
    assert_eq!((own.tax, own.tax_codes), (TaxMode::Managed, vec!["txcd_10201000".to_owned()]));
    assert_eq!(of(", tax_code: txcd_10000000", "").tax_codes, [""; 0], "nothing asks for it");
    for (payments, item, start) in [
        (", tax_prices: exclusive", "", "store.yaml, line 5, payments.tax_prices: exclusive needs tax: stripe"),
        (", tax_code: txcd_1", "", "store.yaml, line 5, payments.tax_code: txcd_1 is not a tax code: write txcd_"),
        ("", ", tax_code: games", "categories/a.yaml, line 5, items[7].tax_code: games is not a tax code"),
        (", tax: managed", "", "categories/a.yaml, line 5, items[7].tax_code: is missing: with tax: managed"),
        (
            ", tax: managed",
            ", tax_code: txcd_99999999",
            "categories/a.yaml, line 5, items[7].tax_code: txcd_99999999 is not digital goods: with tax: managed",
        ),
        (
            ", tax: managed, tax_code: txcd_10000000, only: [card]",
            "",
            "store.yaml, line 5, payments.only: is decided by Stripe where it sells in its own name",
        ),
        (
            ", tax: managed, tax_code: txcd_10000000, invoices: true",
            "",
            "store.yaml, line 5, payments.invoices: is decided by Stripe",
        ),
        (
            ", tax: managed, tax_code: txcd_10000000, three_d_secure: always",
            "",
            "store.yaml, line 5, payments.three_d_secure: is decided by Stripe",
        ),
    ] {
        let found = with(payments, item).unwrap_err();
        assert!(found.starts_with(start) && found.lines().count() == 1, "{payments} {item}: {found}");
    }
}

#[test]
fn a_currency_without_a_known_minimum_needs_one() {
    let found = faults("code: RSD", "payments: {methods: [Stripe]}\n");
    let problem = "is missing: the least amount that Stripe charges in RSD is not known here";
    assert_eq!(found, format!("store.yaml, line 5, payments.least: {problem}\n"));
    let paid = payments("code: RSD", "payments: {methods: [Stripe], least: 60}\n");
    assert_eq!(paid.least, Money::from_minor(6_000));
}

#[test]
fn an_item_that_one_checkout_can_keep_from_all_others_is_warned_of() {
    let warned = |payments: &str, item: &str| {
        let category = format!("id: 1\nslug: a\nname: A\nitems:\n  - {{id: 7, name: I, price: 1, {item}}}\n");
        found(&[("store.yaml", &yaml("code: EUR", payments)), ("categories/a.yaml", &category)]).1
    };
    let on = "payments: {methods: [Stripe]}\n";
    let problem =
        |units| format!("without a user_limit, one buyer's open checkout can hold up to {units} units until it ends");
    let line = |units| format!("categories/a.yaml, line 5, items[7].global_limit: {}\n", problem(units));
    assert_eq!(warned(on, "global_limit: 20"), line(10));
    assert_eq!(warned(on, "global_limit: 5"), line(5));
    assert_eq!(warned(on, "global_limit: 20, user_limit: 2"), "");
    assert_eq!(warned(on, "global_limit: 20, active: false"), "");
    assert_eq!(warned("payments: {methods: [Stripe], hold_minutes: 0}\n", "global_limit: 20"), "");
    assert_eq!(warned("", "global_limit: 20"), "");
}
