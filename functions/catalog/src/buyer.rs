//! The items that a caller with a token has bought and has in the cart.

use crate::State;
use shared::model::{Cart, ItemId, Ledger, UserSubscription};
use shared::rules::pricing;
use shared::store::{StoreError, carts, keys, ledgers, users};
use shared::token::Claim;

pub struct Buyer {
    ledger: Ledger,
    subscriptions: Vec<UserSubscription>,
    cart: Cart,
}

impl Buyer {
    /// The caller, as prices and availability depend on them.
    pub fn at(&self, now: i64) -> pricing::Buyer<'_> {
        pricing::Buyer { ledger: &self.ledger, subscriptions: &self.subscriptions, now }
    }

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
        let (ledger, cart) = (ledgers::take(&mut rows, user.id)?, carts::take(&mut rows, user.id)?);
        Ok(Some(Buyer { ledger, subscriptions: user.subscriptions, cart }))
    }
}
