//! The items that a caller with a token has bought and has in the cart.

use crate::State;
use shared::model::{Cart, ItemId, Ledger};
use shared::store::{StoreError, carts, keys, ledgers, users};
use shared::token::Claim;

pub struct Buyer {
    pub ledger: Ledger,
    cart: Cart,
}

impl Buyer {
    pub fn has_in_cart(&self, item: ItemId) -> bool {
        self.cart.lines.iter().any(|line| line.item == item)
    }
}

impl State {
    /// Reads a caller in one round trip; `None` if the token is not valid for the account.
    pub async fn buyer(&self, claim: Claim) -> Result<Option<Buyer>, StoreError> {
        let keys = vec![keys::user(claim.user), keys::ledger(claim.user), keys::cart(claim.user)];
        let mut rows = self.base.db.batch_get(keys).await?;
        let Some(user) = users::admit(&mut rows, claim)? else { return Ok(None) };
        Ok(Some(Buyer { ledger: ledgers::take(&mut rows, user.id)?, cart: carts::take(&mut rows, user.id)? }))
    }
}
