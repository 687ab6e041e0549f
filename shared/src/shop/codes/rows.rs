//! Coupons, gift cards, uses and referral codes. Uses and balances are taken in the transaction in which an order is
//! paid (rules.md, "Coupons and gift cards").

use crate::model::{Code, CodeText, Coupon, GiftCardPayment, Referral, UserId};
use crate::table::StoreError;
use crate::table::client::Rows;
use crate::table::codec::Item;
use crate::table::keys::{self, Key};
use crate::table::transaction::Write;
use aws_sdk_dynamodb::types::AttributeValue;
use serde::Deserialize;

/// The attribute that counts how often a user used a coupon.
pub const USES: &str = "uses";

/// A row of uses, see [`USES`].
#[derive(Deserialize)]
struct Used {
    uses: i64,
}

/// The write of the name that carts show of a referral code's owner, on the condition that the code is still theirs.
pub fn set_referral_owner_name(code: &CodeText, owner: UserId, name: &str) -> Write {
    let write = Write::update(keys::referral(code), "SET owner_name = :name").text(":name", name);
    write.only_if_equal("owner", owner)
}

/// Takes a coupon or gift card out of the rows.
pub fn take(rows: &mut Rows, code: &CodeText) -> Result<Option<Code>, StoreError> {
    let key = keys::code(code);
    rows.take(&key).map(|row| row.live(&key)).transpose()
}

/// Takes out of the rows how often a user used a coupon.
pub fn take_uses(rows: &mut Rows, code: &CodeText, user: UserId) -> Result<u32, StoreError> {
    let key = keys::code_use(code, user);
    let Some(row) = rows.take(&key) else { return Ok(0) };
    let Used { uses } = row.live(&key)?;
    Ok(u32::try_from(uses.max(0)).unwrap_or(u32::MAX))
}

/// Takes a referral code out of the rows.
pub fn take_referral(rows: &mut Rows, code: &CodeText) -> Result<Option<Referral>, StoreError> {
    let key = keys::referral(code);
    rows.take(&key).map(|row| row.live(&key)).transpose()
}

/// The code in a row that a failed condition returned; `None` if there is none or it does not decode.
pub fn decode_old(old: Option<&Item>) -> Option<Code> {
    let mut item = old?.clone();
    // A coupon that was never used may have been written without its counter.
    item.entry(USES.to_owned()).or_insert_with(|| AttributeValue::N("0".to_owned()));
    dynamodb::from_item(item).ok()
}

/// The write that counts a use of a coupon, on the condition that it has uses left and that its limit per user and the user
/// whom it is for are those that were read: [`use_by_user`] relies on that limit.
pub fn use_coupon(coupon: &Coupon) -> Write {
    let each = coupon.max_uses_per_user;
    let unchanged = if each.is_some() { "#each = :each" } else { "attribute_not_exists(#each)" };
    let same_user = if coupon.user.is_some() { "#user = :user" } else { "attribute_not_exists(#user)" };
    let write = Write::add(keys::code(&coupon.code), USES, 1)
        .only_if(format!(
            "#kind = :coupon AND {unchanged} AND {same_user} AND \
             (attribute_not_exists(#most) OR attribute_not_exists(#added) OR #added < #most)"
        ))
        .name("#kind", "kind")
        .name("#each", "max_uses_per_user")
        .name("#user", "user")
        .name("#most", "max_uses")
        .text(":coupon", "coupon");
    let write = coupon.user.into_iter().fold(write, |write, user| write.number(":user", user));
    each.into_iter().fold(write, |write, each| write.number(":each", each))
}

/// The write that counts a user's use of a coupon, on the condition that the user has uses left.
pub fn use_by_user(coupon: &Coupon, user: UserId) -> Write {
    let write = Write::add(keys::code_use(&coupon.code, user), USES, 1);
    let Some(each) = coupon.max_uses_per_user else { return write };
    write.only_if("attribute_not_exists(#added) OR #added < :each").number(":each", each)
}

/// The write that gives a use back, of a coupon or of a user of it.
pub fn return_use(key: Key) -> Write {
    Write::add(key, USES, "-1").only_if("#added > :zero").number(":zero", 0)
}

/// The write that takes a payment from a gift card, on the condition that the balance allows it.
pub fn charge_gift_card(payment: &GiftCardPayment) -> Write {
    Write::update(keys::code(&payment.code), "SET balance = balance - :amount")
        .only_if("#kind = :gift AND balance >= :amount")
        .name("#kind", "kind")
        .text(":gift", "gift")
        .number(":amount", payment.amount.minor())
}

/// The write that returns a payment to a gift card.
pub fn refund_gift_card(payment: &GiftCardPayment) -> Write {
    Write::add(keys::code(&payment.code), "balance", payment.amount.minor()).only_if_present()
}
