//! The referral code on a cart (rules.md, "Referral codes").

use crate::model::{CodeText, Money, Order, OrderEffects, OrderStatus, Referral, UserId};
use std::collections::BTreeMap;
use std::ops::Range;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetReferral {
    /// Unknown or disabled code, or referrals are switched off.
    NotValid,
    OwnCode,
    /// Another code is on the cart; it has to be removed first.
    AnotherIsSet,
    /// The same code is on the cart already; nothing is written.
    AlreadySet,
    /// The code is valid and is written.
    Apply,
}

/// Decides what setReferral does. `on_cart` is the code that is on the cart, `switched_on` the store's `is_ref`.
pub fn set(referral: Option<&Referral>, on_cart: Option<&CodeText>, caller: UserId, switched_on: bool) -> SetReferral {
    let Some(referral) = in_force(referral, switched_on) else { return SetReferral::NotValid };
    if referral.owner == caller {
        return SetReferral::OwnCode;
    }
    match on_cart {
        Some(code) if *code == referral.code => SetReferral::AlreadySet,
        Some(_) => SetReferral::AnotherIsSet,
        None => SetReferral::Apply,
    }
}

/// The referral if it is in force: known, active, and referrals are switched on. A code on a cart that is no longer in
/// force counts as not applied (rules.md, "Referral codes").
pub fn in_force(referral: Option<&Referral>, switched_on: bool) -> Option<&Referral> {
    referral.filter(|referral| switched_on && referral.active)
}

/// The sum of paid orders with one referral code.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Credit {
    pub orders: u64,
    /// The amount paid in money, less refunds, by currency and the digits of its amounts.
    pub sums: BTreeMap<(String, u8), Money>,
}

/// The sums of paid orders, by referral code and by the user who is credited.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Credits(pub BTreeMap<(CodeText, UserId), Credit>);

impl Credits {
    /// Adds an order, if it is paid, was made in `period` (seconds since 1970 UTC) and has a referral code.
    pub fn add(&mut self, order: &Order, effects: &OrderEffects, period: &Range<i64>) {
        let Some(referral) = &effects.referral else { return };
        if order.status != OrderStatus::Paid || !period.contains(&order.created_at) {
            return;
        }
        let credit = self.0.entry((referral.code.clone(), referral.owner)).or_default();
        credit.orders += 1;
        let sum = credit.sums.entry((order.currency.clone(), order.digits)).or_default();
        *sum = *sum + order.price.less(effects.refunded);
    }
}
