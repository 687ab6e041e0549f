//! What a caller with a token has bought and has in the cart.

use crate::State;
use shared::model::{Cart, ItemId, Ledger};
use shared::store::{StoreError, carts, keys, ledgers, users};
use shared::token::Claim;

/// A caller with a valid token.
pub struct Buyer {
    /// What they have bought.
    pub ledger: Ledger,
    cart: Cart,
}

impl Buyer {
    /// Whether an item is in their cart.
    pub fn has_in_cart(&self, item: ItemId) -> bool {
        self.cart.lines.iter().any(|line| line.item == item)
    }
}

impl State {
    /// Reads a caller in one round trip; `None` if the token is not valid for the account.
    ///
    /// # Errors
    /// [`StoreError`] if the rows can be neither read nor decoded.
    pub async fn buyer(&self, claim: Claim) -> Result<Option<Buyer>, StoreError> {
        let keys = vec![keys::user(claim.user), keys::ledger(claim.user), keys::cart(claim.user)];
        let mut rows = self.base.db.batch_get(keys).await?;
        let Some(user) = users::admit(&mut rows, claim)? else { return Ok(None) };
        Ok(Some(Buyer { ledger: ledgers::take(&mut rows, user.id)?, cart: carts::take(&mut rows, user.id)? }))
    }
}
