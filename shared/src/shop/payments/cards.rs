//! Cards that are banned with a name (rules.md, "Bans"): each by a hash of the provider's fingerprint, with a key that is in the table.

use super::desk::{Desk, SettleError};
use super::provider::{Provider, ProviderError};
use crate::model::{UserId, UserName};
use crate::shop::accounts::bans;
use crate::shop::orders::{self, StoredOrder, lists};
use crate::table::published::card_salt;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use std::collections::BTreeSet;

/// The most cards that one command bans, so that they fit into one transaction. The newest orders come first.
const MOST_CARDS: usize = 50;

/// The hash of a card's fingerprint.
pub(in crate::shop) fn hash_of(salt: &str, fingerprint: &str) -> String {
    let mac = Hmac::<Sha256>::new_from_slice(salt.as_bytes());
    mac.map(|mac| hex::encode(mac.chain_update(fingerprint).finalize().into_bytes())).unwrap_or_default()
}

impl<P: Provider> Desk<'_, &P> {
    /// The fingerprint of the card that paid an order; `None` if it was not paid by card.
    pub(super) async fn card(&self, stored: &StoredOrder) -> Result<Option<String>, ProviderError> {
        let Some(intent) = stored.intent() else { return Ok(None) };
        match self.provider.card_of(intent).await {
            // It was paid in another account, or in the other mode.
            Err(ProviderError::NoCheckout(_)) => Ok(None),
            found => found,
        }
    }

    /// Bans the cards that the orders of an account were paid with, together with its name. Returns how many. After an error the
    /// same call may be repeated.
    pub async fn ban_cards(&self, name: &UserName, user: UserId) -> Result<usize, SettleError> {
        let salt = card_salt(self.db).await?;
        let (mut cards, mut cursor) = (BTreeSet::new(), None);
        loop {
            let page = lists::page(self.db, user, cursor.as_deref()).await?;
            for id in &page.orders {
                let stored = orders::get(self.db, id).await?;
                let Some(stored) = stored else { continue };
                cards.extend(self.card(&stored).await?.map(|card| hash_of(&salt, &card)));
            }
            cursor = page.next;
            if cursor.is_none() || cards.len() >= MOST_CARDS {
                break;
            }
        }
        let cards: Vec<String> = cards.into_iter().take(MOST_CARDS).collect();
        bans::ban(self.db, name, None, &cards, self.clock.seconds()).await?;
        Ok(cards.len())
    }
}
