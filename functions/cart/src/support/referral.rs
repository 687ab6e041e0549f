//! Whether a referral code can be set on a cart (rules.md, "Referral codes").

use crate::State;
use shared::model::{Cart, CodeText, Referral};
use shared::rules::referral::{self, SetReferral};
use shared::shop::codes;
use shared::table::{StoreError, keys};

/// Reads the referral of a code; `None` if it is not in force.
pub async fn in_force(state: &State, code: &CodeText) -> Result<Option<Referral>, StoreError> {
    let rows = state.base.db.batch_get(vec![keys::referral(code)]);
    let (active, rows) = tokio::join!(state.base.published.active_version(), rows);
    let (active, found) = (active?, codes::take_referral(&mut rows?, code)?);
    Ok(referral::in_force(found.as_ref(), active.config.is_ref).cloned())
}

/// Decides about `found` for a cart as it was read. Another code on the cart is read: one that is disabled or no longer
/// exists does not block `found`.
pub async fn decide(
    state: &State,
    found: Option<&Referral>,
    cart: &Cart,
    switched_on: bool,
) -> Result<SetReferral, StoreError> {
    let decide = |on_cart| referral::set(found, on_cart, cart.user, switched_on);
    match (decide(cart.referral.as_ref()), &cart.referral) {
        (SetReferral::AnotherIsSet, Some(on_cart)) => {
            let mut rows = state.base.db.batch_get(vec![keys::referral(on_cart)]).await?;
            let other = codes::take_referral(&mut rows, on_cart)?;
            Ok(decide(referral::in_force(other.as_ref(), switched_on).map(|_| on_cart)))
        }
        (decision, _) => Ok(decision),
    }
}
