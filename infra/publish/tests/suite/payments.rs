//! `payments` in store.yaml: what can be paid, what is refused, and what is warned of.

use crate::support::{lines, store};
use publish::{check, compile, export, files::Decimal, read, warnings};
use shared::model::{Money, Payments};

/// A store with a currency, and with what follows in store.yaml.
fn yaml(currency: &str, rest: &str) -> String {
    format!("format: 1\nname: T\ncurrency: {{{currency}}}\nstorefront: {{url: 'https://shop.example'}}\n{rest}")
}

/// The faults and the warnings of a store.yaml.
fn told(text: &str) -> (String, String) {
    let dir = store(&[("store.yaml", text)]);
    let files = read(dir.path()).unwrap_or_else(|faults| panic!("{}", lines(&faults)));
    (lines(&check(&files)), lines(&warnings(&files)))
}

fn faults(currency: &str, rest: &str) -> String {
    told(&yaml(currency, rest)).0
}

fn payments(currency: &str, rest: &str) -> Payments {
    let dir = store(&[("store.yaml", &yaml(currency, rest))]);
    compile(&read(dir.path()).unwrap()).unwrap_or_else(|faults| panic!("{}", lines(&faults))).config.payments
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
fn every_setting_that_cannot_be_is_named() {
    for (rest, fault) in [
        ("methods: [stripe]", "methods: there is no method stripe; did you mean Stripe?"),
        ("methods: [PayPal]", "methods: there is no method PayPal; there are Stripe"),
        ("methods: [Stripe, Stripe]", "methods: method Stripe is already used in store.yaml, line 6"),
        ("hold_minutes: 29", "hold_minutes: must be 0, which holds nothing, or from 30 to 1400"),
        ("hold_minutes: 1401", "hold_minutes: must be 0, which holds nothing, or from 30 to 1400"),
        ("hold_units: 0", "hold_units: must be at least 1"),
        ("least: 0.505", "least: has more than 2 digits after the point"),
    ] {
        let found = faults("code: EUR", &format!("payments:\n  {rest}\n"));
        assert_eq!(found, format!("store.yaml, line 6, payments.{fault}\n"), "{rest}");
    }
    for rest in ["hold_minutes: 0", "hold_minutes: 30", "hold_minutes: 1400", "hold_units: 1"] {
        assert_eq!(faults("code: EUR", &format!("payments: {{methods: [Stripe], {rest}}}\n")), "", "{rest}");
    }
}

#[test]
fn buyers_need_an_address_to_return_to() {
    let (found, _) = told("format: 1\nname: T\ncurrency: {code: EUR}\npayments: {methods: [Stripe]}\n");
    let problem = "need storefront.url, to which buyers return from the payment page";
    assert_eq!(found, format!("store.yaml, line 4, payments.methods: {problem}\n"));
}

#[test]
fn amounts_have_the_digits_that_the_provider_charges() {
    let on = "payments: {methods: [Stripe]}\n";
    let found = faults("code: JPY", on);
    let must = |digits, code| format!("must be {digits} if buyers pay through Stripe: it charges {code} so");
    assert_eq!(found, format!("store.yaml, line 3, currency.digits: {}\n", must(0, "JPY")));
    let found = faults("code: EUR, digits: 4", on);
    assert_eq!(found, format!("store.yaml, line 3, currency.digits: {}\n", must(2, "EUR")));
    assert_eq!(faults("code: JPY, digits: 0", on), "");
    assert!(faults("code: KWD, digits: 3", on).contains("buyers cannot pay KWD through Stripe: currencies with three"));
    assert!(faults("code: ISK", on).contains("buyers cannot pay ISK through Stripe: Stripe charges only whole"));
    for currency in ["code: KWD, digits: 3", "code: ISK", "code: JPY", "code: EUR, digits: 4"] {
        assert_eq!(faults(currency, ""), "", "{currency} without payments");
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
fn a_minimum_below_the_providers_is_warned_of() {
    let (found, warned) = told(&yaml("code: EUR", "payments: {methods: [Stripe], least: 0.49}\n"));
    let problem = "is below 0.50, the least amount that Stripe charges in EUR";
    assert_eq!((found.as_str(), warned), ("", format!("store.yaml, line 5, payments.least: {problem}\n")));
}

#[test]
fn an_item_that_one_checkout_can_keep_from_all_others_is_warned_of() {
    let warned = |payments: &str, item: &str| {
        let category = format!("id: 1\nslug: a\nname: A\nitems:\n  - {{id: 7, name: I, price: 1, {item}}}\n");
        let dir = store(&[("store.yaml", &yaml("code: EUR", payments)), ("categories/a.yaml", &category)]);
        lines(&warnings(&read(dir.path()).unwrap()))
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

#[test]
fn what_is_left_out_is_left_out_of_an_export() {
    for (rest, least) in
        [("payments: {methods: [Stripe]}\n", None), ("payments: {methods: [Stripe], least: 3}\n", Some("3.00"))]
    {
        let dir = store(&[("store.yaml", &yaml("code: PLN", rest))]);
        let written = export(&compile(&read(dir.path()).unwrap()).unwrap()).store.content.payments;
        assert_eq!(written.least, least.map(|least| Decimal(least.to_owned().into())), "{rest}");
        assert_eq!((written.hold_minutes, written.hold_units), (None, None));
    }
}
