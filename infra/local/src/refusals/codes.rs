//! Codes that are not applied to a cart (rules.md, "Coupons and gift cards" and "Referral codes").

use super::{Shop, TryCall, TryRefusal, Who};
use serde_json::json;
use shared::model::{Code, Coupon, Money};
use shared::rules::code::{CodeRefusal, usable};

pub(super) fn all(shop: &Shop<'_>) -> Vec<TryRefusal> {
    [coupons(shop), carts(shop), referrals(shop)].concat()
}

fn accept(code: &str) -> TryCall {
    TryCall::new("/cart/acceptCoupon", json!({"coupon": code}))
}

/// The text of a code that no cart could use.
const fn reason(refusal: &CodeRefusal) -> Option<(&'static str, &'static str)> {
    match refusal {
        CodeRefusal::NotValidNow => Some(("a code that is not valid now", "This code is not valid at the moment.")),
        CodeRefusal::UsedUp => Some(("a code that is used up", "This code has been used up.")),
        CodeRefusal::NoBalance => Some(("a gift card with nothing left", "There is nothing left on this gift card.")),
        _ => None,
    }
}

/// Refusals of codes with any cart.
fn coupons(shop: &Shop<'_>) -> Vec<TryRefusal> {
    let unknown = accept("no-such-code");
    let mut found =
        vec![shop.visitor().refused("a code that does not exist", vec![unknown], 200, "This code does not exist.")];
    for code in &shop.live.codes {
        let Err(refusal) = usable(Some(code), 0, shop.now) else { continue };
        let Some((name, message)) = reason(&refusal) else { continue };
        if !found.iter().any(|one| one.name == name) {
            found.push(shop.visitor().refused(name, vec![accept(code.text().as_str())], 200, message));
        }
    }
    let by_player = shop.live.code_uses.iter().find_map(|used| {
        let code = shop.live.codes.iter().find(|code| *code.text() == used.code)?;
        let is_last = usable(Some(code), 0, shop.now).is_ok() && usable(Some(code), used.uses, shop.now).is_err();
        let player = shop.player(used.user).filter(|_| is_last)?;
        let call = accept(used.code.as_str());
        Some(player.refused("a code that the player has used up", vec![call], 200, "This code has been used up."))
    });
    found.extend(by_player);
    found
}

fn usable_coupons<'a>(shop: &'a Shop<'_>) -> impl Iterator<Item = &'a Coupon> {
    shop.live.codes.iter().filter_map(|code| match code {
        Code::Coupon(coupon) if usable(Some(code), 0, shop.now).is_ok() => Some(coupon),
        _ => None,
    })
}

/// Refusals that depend on the cart.
fn carts(shop: &Shop<'_>) -> Vec<TryRefusal> {
    let empty = usable_coupons(shop).next().map(|coupon| {
        shop.visitor().refused(
            "a code on an empty cart",
            vec![accept(coupon.code.as_str())],
            200,
            "Your cart is empty.",
        )
    });
    let low = usable_coupons(shop).find_map(|coupon| {
        let item = shop.plain().filter(|item| item.price < coupon.minimum && coupon.minimum > Money::ZERO)?;
        let calls = vec![TryCall::add(item, json!({})), accept(coupon.code.as_str())];
        let message = format!("This coupon applies to carts of {} or more.", shop.money(coupon.minimum));
        Some(shop.visitor().refused("a coupon below its minimum", calls, 200, message))
    });
    let other = usable_coupons(shop).find_map(|coupon| {
        let scope = &coupon.scope;
        let item = shop.plain().filter(|item| !scope.items.contains(&item.id))?;
        if scope.is_everything() || !scope.categories.is_empty() {
            return None;
        }
        let calls = vec![TryCall::add(item, json!({})), accept(coupon.code.as_str())];
        Some(shop.visitor().refused(
            "a coupon for other items",
            calls,
            200,
            "This code applies to nothing in your cart.",
        ))
    });
    let none = |name: &'static str, path: &str, message: &str| {
        Some(shop.visitor().refused(name, vec![TryCall::new(path, json!({}))], 200, message))
    };
    let removals = [
        none("no coupon to remove", "/cart/removeCoupon", "No coupon is on your cart."),
        none("no gift card to remove", "/cart/removeGiftcard", "No gift card is on your cart."),
    ];
    [empty, low, other].into_iter().chain(removals).flatten().collect()
}

fn referrals(shop: &Shop<'_>) -> Vec<TryRefusal> {
    let set = |code: &str| TryCall::new("/cart/setReferral", json!({"ref_code": code}));
    let invalid = "This referral code does not exist or is not valid.";
    let refused =
        |name: &'static str, who: Who, calls: Vec<TryCall>, message: &str| who.refused(name, calls, 200, message);
    let all = &shop.live.referrals;
    let active: Vec<_> = all.iter().filter(|referral| referral.active).collect();
    let own = active.iter().find_map(|referral| {
        let call = set(referral.code.as_str());
        let message = "You cannot use your own referral code.";
        Some(refused("the player's own referral code", shop.player(referral.owner)?, vec![call], message))
    });
    let another = match active.as_slice() {
        [one, other, ..] => {
            let calls = vec![set(one.code.as_str()), set(other.code.as_str())];
            let message = "Another referral code is set. Please remove it first.";
            Some(refused("a second referral code", shop.visitor(), calls, message))
        }
        _ => None,
    };
    let disabled = all.iter().find(|referral| !referral.active).map(|referral| {
        refused("a referral code that is switched off", shop.visitor(), vec![set(referral.code.as_str())], invalid)
    });
    let unknown = refused("a referral code that does not exist", shop.visitor(), vec![set("no-such-code")], invalid);
    let remove = TryCall::new("/cart/removeReferral", json!({}));
    let none = refused("no referral code to remove", shop.visitor(), vec![remove], "No referral code is set.");
    [Some(unknown), disabled, own, another, Some(none)].into_iter().flatten().collect()
}
