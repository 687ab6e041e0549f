//! Whether a referral code can be set on a cart (rules.md, "Referral codes").

use crate::State;
use shared::model::{Cart, Referral};
use shared::rules::referral::{self, SetReferral};
use shared::store::{StoreError, codes, keys};

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
