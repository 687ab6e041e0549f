//! Coupons, gift cards, uses and referral codes. None of them is written here: uses and balances are taken when an
//! order is paid (ruling 9).

use super::StoreError;
use super::client::Rows;
use super::codec::decode_live;
use super::keys;
use crate::model::{Code, CodeText, Referral, UserId};

/// The attribute that counts how often a user used a coupon.
pub const USES: &str = "uses";

/// Takes a coupon or gift card out of what was read.
///
/// # Errors
/// [`StoreError::Unreadable`] where it does not decode.
pub fn take(rows: &mut Rows, code: &CodeText) -> Result<Option<Code>, StoreError> {
    let key = keys::code(code);
    rows.take(&key).map(|item| decode_live(&key, item)).transpose()
}

/// Takes how often a user used a coupon out of what was read.
///
/// # Errors
/// [`StoreError::Unreadable`] where [`USES`] is no number.
pub fn take_uses(rows: &mut Rows, code: &CodeText, user: UserId) -> Result<u32, StoreError> {
    let key = keys::code_use(code, user);
    let Some(item) = rows.take(&key) else { return Ok(0) };
    let number = item.get(USES).and_then(|value| value.as_n().ok()).and_then(|text| text.parse::<i64>().ok());
    let number = number.ok_or_else(|| StoreError::unreadable(&key, USES))?;
    Ok(u32::try_from(number.max(0)).unwrap_or(u32::MAX))
}

/// Takes a referral code out of what was read.
///
/// # Errors
/// [`StoreError::Unreadable`] where it does not decode.
pub fn take_referral(rows: &mut Rows, code: &CodeText) -> Result<Option<Referral>, StoreError> {
    let key = keys::referral(code);
    rows.take(&key).map(|item| decode_live(&key, item)).transpose()
}
