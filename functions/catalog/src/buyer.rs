//! The items that a caller with a token has bought and has in the cart.

use crate::State;
use shared::model::{Cart, ItemId, Ledger, UserSubscription};
use shared::rules::pricing;
use shared::shop::accounts::users;
use shared::shop::carts;
use shared::shop::stock::ledgers;
use shared::table::{Rows, StoreError, keys};
use shared::token::Claim;

/// The purchases of a caller with a token.
pub struct Purchases {
    ledger: Ledger,
    subscriptions: Vec<UserSubscription>,
}

impl Purchases {
    /// Takes them out of the rows of user and ledger; `None` if the token is not valid for the account.
    pub fn take(rows: &mut Rows, claim: Claim) -> Result<Option<Self>, StoreError> {
        let Some(user) = users::admit(rows, claim)? else { return Ok(None) };
        Ok(Some(Self { ledger: ledgers::take(rows, user.id)?, subscriptions: user.subscriptions }))
    }

    /// The caller, as prices and availability depend on them.
    pub fn at(&self, now: i64) -> pricing::Buyer<'_> {
        pricing::Buyer { ledger: &self.ledger, subscriptions: &self.subscriptions, now }
    }
}

pub struct Buyer {
    pub purchases: Purchases,
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
        let Some(purchases) = Purchases::take(&mut rows, claim)? else { return Ok(None) };
        Ok(Some(Buyer { purchases, cart: carts::take(&mut rows, claim.user)? }))
    }
}
