//! `payments` in store.yaml: what can be paid, what is refused, and what is warned of.

use crate::support::{compiled, found, lines, store};
use publish::{compile, read};
use shared::model::{Money, Payments, TaxMode, TaxPrices, ThreeDSecure};

/// A store with a currency, and with what follows in store.yaml.
fn yaml(currency: &str, rest: &str) -> String {
    format!("format: 1\nname: T\ncurrency: {{{currency}}}\nstorefront: {{url: 'https://shop.example'}}\n{rest}")
}

fn faults(currency: &str, rest: &str) -> String {
    found(&[("store.yaml", yaml(currency, rest))]).0
}

fn payments(currency: &str, rest: &str) -> Payments {
    compiled(&[("store.yaml", yaml(currency, rest))]).config.payments
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
