//! Coupons, gift cards, uses and referral codes. None of them is written here: uses and balances are taken when an order
//! is paid (rules.md, "Coupons and gift cards").

use super::StoreError;
use super::client::Rows;
use super::keys;
use crate::model::{Code, CodeText, Referral, UserId};
use serde::Deserialize;

/// The attribute that counts how often a user used a coupon.
pub const USES: &str = "uses";

/// A row of uses, see [`USES`].
#[derive(Deserialize)]
struct Used {
    uses: i64,
}

/// Takes a coupon or gift card out of the rows.
///
/// # Errors
/// [`StoreError::Unreadable`] if it does not decode.
pub fn take(rows: &mut Rows, code: &CodeText) -> Result<Option<Code>, StoreError> {
    let key = keys::code(code);
    rows.take(&key).map(|row| row.live(&key)).transpose()
}

/// Takes out of the rows how often a user used a coupon.
///
/// # Errors
/// [`StoreError::Unreadable`] if [`USES`] is not a number.
pub fn take_uses(rows: &mut Rows, code: &CodeText, user: UserId) -> Result<u32, StoreError> {
    let key = keys::code_use(code, user);
    let Some(row) = rows.take(&key) else { return Ok(0) };
    let Used { uses } = row.live(&key)?;
    Ok(u32::try_from(uses.max(0)).unwrap_or(u32::MAX))
}

/// Takes a referral code out of the rows.
///
/// # Errors
/// [`StoreError::Unreadable`] if it does not decode.
pub fn take_referral(rows: &mut Rows, code: &CodeText) -> Result<Option<Referral>, StoreError> {
    let key = keys::referral(code);
    rows.take(&key).map(|row| row.live(&key)).transpose()
}
