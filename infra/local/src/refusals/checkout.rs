//! Carts that cannot be paid (rules.md, "Checkout"). What depends on the provider or on another buyer at the same moment
//! cannot be promised.

use super::{Shop, TryCall, TryRefusal, Who, has_no_choices, is_cumulative, is_simple, number_of};
use serde_json::{Value, json};
use shared::model::{Cart, Code, Discount, Item, Line, LineId, Money, PaymentType};
use shared::rules::checkout::{CheckoutRefusal, LARGEST_CHARGE};
use shared::rules::code::usable;
use shared::rules::missing::missing;
use std::fmt::Display;

pub(super) fn all(shop: &Shop<'_>) -> Vec<TryRefusal> {
    let Some(method) = shop.compiled.config.payments.methods.first() else { return Vec::new() };
    let pay = Pay { shop, method };
    let kinds = [requests(&pay), lines(&pay), units(&pay), amounts(&pay), saved_carts(&pay)];
    kinds.into_iter().flatten().flatten().collect()
}

type Found = Vec<Option<TryRefusal>>;
/// Whether an item can lack something.
type Lacks = fn(&Item) -> bool;

struct Pay<'a> {
    shop: &'a Shop<'a>,
    method: &'a str,
}

impl Pay<'_> {
    fn create(&self) -> TryCall {
        let body = json!({"paymentMethod": self.method, "termsAndConditions": true, "privacyPolicy": true});
        TryCall::new("/payments/create", body)
    }

    /// A visitor adds an item and pays.
    fn refused(&self, name: &'static str, item: Option<&Item>, body: Value, why: impl Display) -> Option<TryRefusal> {
        let calls = vec![TryCall::add(item?, body), self.create()];
        Some(self.shop.visitor().refused(name, calls, 200, why))
    }
}

fn requests(pay: &Pay<'_>) -> Found {
    let shop = pay.shop;
    let changed = |name: &'static str, field: &str, value: Value, message: &str| {
        let mut call = pay.create();
        call.body[field] = value;
        Some(shop.visitor().refused(name, vec![call], 200, message))
    };
    let terms = "Please accept the terms and conditions and the privacy policy.";
    vec![
        changed("terms that are not accepted", "termsAndConditions", json!(false), terms),
        changed("a privacy policy that is not accepted", "privacyPolicy", json!(false), terms),
        changed(
            "a payment method that does not exist",
            "paymentMethod",
            json!("Barter"),
            "This payment method is not available.",
        ),
        Some(shop.visitor().refused("an empty cart", vec![pay.create()], 200, CheckoutRefusal::Empty)),
    ]
}

fn lines(pay: &Pay<'_>) -> Found {
    let shop = pay.shop;
    let subscription = shop.find(|published| published.item.active && published.item.is_subscription);
    let body = json!({"payment_type": number_of(PaymentType::Subscription)});
    let mut found = vec![pay.refused("a subscription", subscription, body, CheckoutRefusal::Subscription)];
    // One item for each thing that a line can lack.
    let lacks: [(&'static str, Lacks); 2] = [
        ("a line without its variable", |item| !item.variables.is_empty() && !item.virtual_only),
        ("a line without its server", |item| item.allow_select_server && item.variables.is_empty()),
    ];
    for (name, lacks) in lacks {
        let item =
            shop.find(|published| published.item.active && !published.item.is_subscription && lacks(&published.item));
        let why = item.map(|item| {
            let lacking = missing(&Line::new(LineId::new(1), item.id, 1), item);
            let missing = lacking.first().map(ToString::to_string).unwrap_or_default();
            CheckoutRefusal::Incomplete { name: item.name.clone(), missing }
        });
        found.push(why.and_then(|why| pay.refused(name, item, json!({}), why)));
    }
    let chat = shop
        .find(|published| published.item.active && published.item.needs_chat && published.item.variables.is_empty());
    found.push(chat.and_then(|item| {
        let server = item.servers.first().filter(|_| item.allow_select_server).map(|server| server.id);
        let why = CheckoutRefusal::NoChat { name: item.name.clone() };
        pay.refused("an item that needs a chat account", chat, json!({"server_id": server}), why)
    }));
    found
}

fn units(pay: &Pay<'_>) -> Found {
    let shop = pay.shop;
    let most = shop.compiled.config.payments.hold_units;
    let limited = shop.find(|published| {
        let item = &published.item;
        let is_enough = shop.left(item).is_some_and(|left| left > u64::from(most));
        is_simple(item) && !is_cumulative(published) && is_enough && item.user_limit.is_none_or(|limit| limit > most)
    });
    let at_once = limited.and_then(|item| {
        let why = CheckoutRefusal::AtOnce { name: item.name.clone(), most };
        pay.refused("more units than one checkout may hold", limited, json!({"count": most + 1}), why)
    });
    let owned = shop.bought().find_map(|(user, id, count)| {
        let is_given =
            |item: &Item| is_simple(item) && item.gifting && item.user_limit.is_some_and(|limit| count >= limit);
        let item = shop.item(id).filter(|item| is_given(item))?;
        let recipient = &shop.user(user)?.username;
        let body = json!({"payment_type": number_of(PaymentType::Gift), "gift_to": recipient});
        let why = CheckoutRefusal::Recipient { name: item.name.clone() };
        pay.refused("a gift for a player who has as many as allowed", Some(item), body, why)
    });
    vec![at_once, owned]
}

fn amounts(pay: &Pay<'_>) -> Found {
    let shop = pay.shop;
    let any = shop.find(|published| {
        let item = &published.item;
        item.active && item.any_price && has_no_choices(item)
    });
    let price = |amount: Money| json!({"price": shop.money(amount)});
    let above = Money::from_minor(LARGEST_CHARGE.minor() + 1);
    let virtually = shop.find(|published| {
        let item = &published.item;
        item.active && item.virtual_only && has_no_choices(item)
    });
    let poor = virtually.and_then(|item| {
        let has_cart = |user| shop.live.carts.iter().any(|cart| cart.user == user);
        let mut poor =
            shop.live.users.iter().filter(|user| user.virtual_currency < item.virtual_price && !has_cart(user.id));
        let who = poor.find_map(|user| shop.player(user.id))?;
        let calls = vec![TryCall::add(item, json!({})), pay.create()];
        Some(who.refused("more virtual currency than the player has", calls, 200, CheckoutRefusal::VirtualCurrency))
    });
    let least = shop.compiled.config.payments.least;
    let rest = any.and_then(|item| {
        let coupon = shop.live.codes.iter().find_map(|code| match code {
            Code::Coupon(coupon) if usable(Some(code), 0, shop.now).is_ok() => {
                let Discount::Amount(amount) = coupon.discount else { return None };
                let price = Money::from_minor(amount.minor() + 1).max(item.min_price);
                let applies = coupon.scope.is_everything() && coupon.minimum <= price;
                (applies && price.less(amount) < least).then_some((&coupon.code, price))
            }
            _ => None,
        });
        let (code, amount) = coupon?;
        let accept = TryCall::new("/cart/acceptCoupon", json!({"coupon": code.as_str()}));
        let calls = vec![TryCall::add(item, price(amount)), accept, pay.create()];
        let message = format!("At least {} must be paid.", shop.money(least));
        Some(shop.visitor().refused("less than the least amount", calls, 200, message))
    });
    vec![
        pay.refused("more money than can be paid at once", any, price(above), CheckoutRefusal::TooLarge),
        pay.refused("virtual currency after a login by name", virtually, json!({}), CheckoutRefusal::NotProven),
        poor,
        rest,
    ]
}

/// Refusals of carts that were filled earlier.
fn saved_carts(pay: &Pay<'_>) -> Found {
    let shop = pay.shop;
    let first = |cart: &Cart| cart.lines.first().and_then(|line| shop.item(line.item).map(|item| (line.clone(), item)));
    let of_first = |name: &'static str, why: fn(String) -> CheckoutRefusal, wanted: &dyn Fn(&Line, &Item) -> bool| {
        shop.live.carts.iter().find_map(|cart| {
            let (line, item) = first(cart)?;
            let is_wanted = missing(&line, item).is_empty() && wanted(&line, item);
            let who = shop.player(cart.user).filter(|_| is_wanted)?;
            Some(who.refused(name, vec![pay.create()], 200, why(item.name.clone())))
        })
    };
    let sold_out = |name| CheckoutRefusal::SoldOut { name };
    let unavailable = |name| CheckoutRefusal::Unavailable { name };
    let no_code = shop.live.carts.iter().find_map(|cart| {
        let on_cart = &cart.coupon.as_ref()?.code;
        let code = shop.live.codes.iter().find(|code| code.text() == on_cart);
        let (line, item) = first(cart).filter(|_| cart.lines.len() == 1)?;
        let price = line.price.filter(|_| item.any_price && item.active && missing(&line, item).is_empty())?;
        let who: Who = shop.player(cart.user).filter(|_| usable(code, 0, shop.now).is_err())?;
        let total = shop.money(price.times(line.count));
        let message = format!("The code on your cart no longer applies and was removed. The new total is {total}.");
        Some(who.refused("a code that no longer applies", vec![pay.create()], 200, message))
    });
    vec![
        of_first("a cart with an item that is sold out", sold_out, &|_, item| {
            item.active && shop.left(item) == Some(0)
        }),
        of_first("a cart with an item that is no longer on sale", unavailable, &|_, item| !item.active),
        no_code,
    ]
}
