//! The ways to pay that a checkout offers (rules.md, "Checkout").

use crate::model::Payments;

/// The way that every account has, with the wallets that pay by card.
pub const CARD: &str = "card";

/// A way to pay at Stripe, by Stripe's word for it. Source of each line is its page below
/// `https://docs.stripe.com/payments/`, of the words those of `Session.create` in Stripe's package for Python.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Method {
    pub word: &'static str,
    /// Whether the money may be there only days later.
    pub is_late: bool,
    pub refund: Refundable,
    /// Whether a subscription can be paid with it, and its renewals without the buyer.
    pub recurs: bool,
    /// Currencies that it can be paid in; empty for those that depend on the account, of which Stripe knows.
    pub currencies: &'static [&'static str],
}

/// How long a payment can be given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refundable {
    Never,
    /// So many days after it.
    Days(u16),
    /// No limit is known.
    Always,
    /// The buyer is asked for an account by e-mail.
    ByMail,
}

use Refundable::{Always, ByMail, Days, Never};

const fn at_once(word: &'static str, refund: Refundable, currencies: &'static [&'static str]) -> Method {
    Method { word, is_late: false, refund, recurs: false, currencies }
}

const fn recurring(word: &'static str, refund: Refundable, currencies: &'static [&'static str]) -> Method {
    Method { recurs: true, ..at_once(word, refund, currencies) }
}

const fn late(word: &'static str, refund: Refundable, currencies: &'static [&'static str]) -> Method {
    Method { is_late: true, ..at_once(word, refund, currencies) }
}

const fn debit(word: &'static str, refund: Refundable, currencies: &'static [&'static str]) -> Method {
    Method { recurs: true, ..late(word, refund, currencies) }
}

/// All that a checkout may offer. What Stripe has beyond them is not offered before it has a line here.
#[rustfmt::skip]
pub const METHODS: &[Method] = &[
    recurring(CARD, Always, &[]),
    recurring("link", Always, &[]),
    recurring("paypal", Days(180), &["EUR", "GBP", "USD", "CHF", "CZK", "DKK", "NOK", "PLN", "SEK", "AUD", "CAD", "HKD", "NZD", "SGD"]),
    recurring("klarna", Days(180), &[]),
    recurring("twint", Days(180), &["CHF"]),
    recurring("revolut_pay", Always, &["GBP", "EUR", "RON", "HUF", "PLN", "DKK"]),
    recurring("amazon_pay", Always, &[]),
    at_once("ideal", Days(180), &["EUR"]),
    at_once("bancontact", Days(180), &["EUR"]),
    at_once("eps", Days(180), &["EUR"]),
    at_once("p24", Days(180), &["EUR", "PLN"]),
    at_once("blik", Always, &["PLN"]),
    at_once("swish", Days(365), &["SEK"]),
    at_once("mb_way", Days(365), &["EUR"]),
    at_once("mobilepay", Always, &["DKK", "EUR", "NOK", "SEK"]),
    at_once("bizum", Always, &["EUR"]),
    at_once("satispay", Always, &["EUR"]),
    at_once("pay_by_bank", Days(730), &["GBP", "EUR"]),
    at_once("pix", Days(90), &["BRL"]),
    at_once("alipay", Days(90), &[]),
    at_once("wechat_pay", Always, &[]),
    at_once("cashapp", Days(90), &["USD"]),
    at_once("affirm", Days(120), &["USD", "CAD"]),
    at_once("afterpay_clearpay", Days(120), &[]),
    at_once("grabpay", Days(90), &["SGD", "MYR"]),
    at_once("paynow", Days(90), &["SGD"]),
    at_once("promptpay", ByMail, &["THB"]),
    debit("sepa_debit", Days(180), &["EUR"]),
    debit("bacs_debit", Days(180), &["GBP"]),
    late("acss_debit", Days(180), &["CAD", "USD"]),
    debit("au_becs_debit", Days(90), &["AUD"]),
    debit("nz_bank_account", Always, &["NZD"]),
    debit("us_bank_account", Days(180), &["USD"]),
    late("multibanco", Days(365), &["EUR"]),
    late("konbini", ByMail, &["JPY"]),
    late("boleto", Never, &["BRL"]),
    late("oxxo", Never, &["MXN"]),
];

/// Words of Stripe's that have no line in [`METHODS`], with the reason.
#[rustfmt::skip]
pub const NOT_OFFERED: &[(&str, &str)] = &[
    ("customer_balance", "a bank transfer that may be of any amount"),
    ("giropay", "it has ended"),
    ("sofort", "it has ended"),
];

impl Method {
    /// The method of a word.
    pub fn of(word: &str) -> Option<&'static Self> {
        METHODS.iter().find(|method| method.word == word)
    }

    /// Whether the provider can never give the money back.
    pub const fn is_final(&self) -> bool {
        matches!(self.refund, Never)
    }

    /// Whether it is sure at once, and what is sold can be taken back for the money: what is limited waits for nothing else.
    pub const fn is_prompt(&self) -> bool {
        !self.is_late && !self.is_final()
    }

    /// Whether it can be paid with in a currency, as far as that does not depend on the account.
    pub fn takes(&self, currency: &str) -> bool {
        self.currencies.is_empty() || self.currencies.contains(&currency)
    }
}

/// What a checkout offers, of what the owner's account offers. Methods that confirm a payment days later, or that cannot be
/// refunded, are for stores that want them, and not for what is limited: it would be held as long. Cards if nothing is left.
pub fn offered(payments: &Payments, is_limited: bool, is_subscription: bool) -> Vec<String> {
    let can = |method: &&Method| {
        (method.is_prompt() || payments.delayed && !is_limited) && (method.recurs || !is_subscription)
    };
    let wants = |method: &&Method| {
        let is_in = |list: &[String]| list.iter().any(|word| word == method.word);
        (payments.only.is_empty() || is_in(&payments.only)) && !is_in(&payments.except)
    };
    let words: Vec<String> = METHODS.iter().filter(can).filter(wants).map(|method| method.word.to_owned()).collect();
    if words.is_empty() { vec![CARD.to_owned()] } else { words }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(list: &[&str]) -> Vec<String> {
        list.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_is_late_or_final_is_offered_where_it_is_wanted_and_nothing_is_limited() {
        let usual = Payments::default();
        let delayed = Payments { delayed: true, ..Payments::default() };
        let has = |list: &[String], word: &str| list.iter().any(|one| one == word);
        for (payments, is_limited, sepa, oxxo) in [
            (&usual, false, false, false),
            (&usual, true, false, false),
            (&delayed, false, true, true),
            (&delayed, true, false, false),
        ] {
            let list = offered(payments, is_limited, false);
            assert_eq!((has(&list, "sepa_debit"), has(&list, "oxxo")), (sepa, oxxo), "{list:?}");
            assert!(["card", "paypal", "ideal", "blik", "bancontact", "klarna"].iter().all(|word| has(&list, word)));
        }
    }

    #[test]
    fn a_subscription_is_paid_by_what_can_be_charged_again_and_by_debit_where_delayed_methods_are_wanted() {
        let delayed = Payments { delayed: true, ..Payments::default() };
        let at_once = words(&["card", "link", "paypal", "klarna", "twint", "revolut_pay", "amazon_pay"]);
        let debits = words(&["sepa_debit", "bacs_debit", "au_becs_debit", "nz_bank_account", "us_bank_account"]);
        assert_eq!(offered(&Payments::default(), false, true), at_once);
        assert_eq!(offered(&delayed, true, true), at_once);
        assert_eq!(offered(&delayed, false, true), [at_once, debits].concat());
    }

    #[test]
    fn an_owner_chooses_among_them_and_a_checkout_always_has_one() {
        let only = Payments { only: words(&["paypal", "sepa_debit"]), ..Payments::default() };
        assert_eq!(offered(&only, true, false), words(&["paypal"]));
        let none = Payments { only: words(&["ideal"]), ..Payments::default() };
        assert_eq!(offered(&none, false, true), words(&["card"]));
        let except = Payments { except: words(&["klarna", "card"]), ..Payments::default() };
        let list = offered(&except, false, false);
        assert!(!list.contains(&"klarna".to_owned()) && !list.contains(&"card".to_owned()) && list.len() > 10);
    }

    #[test]
    fn each_word_has_one_line() {
        let all: Vec<&str> = METHODS.iter().map(|one| one.word).chain(NOT_OFFERED.iter().map(|one| one.0)).collect();
        let unique: std::collections::BTreeSet<&&str> = all.iter().collect();
        assert_eq!(unique.len(), all.len());
    }
}
