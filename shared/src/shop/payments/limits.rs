//! What a buyer who begins a checkout may not exceed: checkouts and refused payments of the address, and what new buyers pay
//! (rules.md, "First day").
//! Cards that are banned with a name (rules.md, "Bans"): each by a hash of the provider's fingerprint, with a key that is in the table.

use super::begin::Request;
use super::desk::{Desk, SettleError};
use super::provider::{Provider, ProviderError};
use super::reserve::BeginLimit;
use crate::clock::Clock;
use crate::model::{BuyerAddress, Money, Patron, Spent, UserId, UserName};
use crate::rules::checkout::CheckoutRefusal;
use crate::rules::limits::{is_first, refused};
use crate::shop::accounts::bans;
use crate::shop::carts::CartContext;
use crate::shop::orders::refusal::Guarded;
use crate::shop::orders::{self, StoredOrder, owned_orders};
use crate::shop::stock::addresses::Address;
use crate::table::keys::{self, Key};
use crate::table::published::card_salt;
use crate::table::{Rows, StoreError};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use std::collections::BTreeSet;

pub(super) struct BuyerLimits<'a> {
    begun: Option<BeginLimit<'a>>,
    address: Option<Address<'a>>,
    /// Whether what is paid from the address counts.
    counts: bool,
    /// The most that new buyers pay on their first day.
    most: Option<Money>,
    spent: Spent,
    /// The key of the sum that the buyer has ever paid, if it is needed.
    patron: Option<Key>,
    now: i64,
}

impl<'a> BuyerLimits<'a> {
    /// Takes what was read with the cart.
    pub(super) fn take(context: &mut CartContext, request: Request<'a>, clock: &dyn Clock) -> Result<Self, StoreError> {
        let (now, most, spent) = (clock.seconds(), context.active.config.payments.first_day, context.ledger.spent);
        let begun = request.address.map(|address| BeginLimit::take(&mut context.rows, address, clock)).transpose()?;
        let counts = most.is_some() && !request.login.is_proven();
        let address = request.address_hash.map(|hash| Address::take(&mut context.rows, hash, now)).transpose()?;
        let patron = most.filter(|_| is_first(spent, now)).map(|_| keys::patron(context.user));
        Ok(Self { begun, address, counts, most, spent, patron, now })
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = Key> {
        self.patron.clone().into_iter()
    }

    /// Reads out of the rows whether the buyer has paid before first payments were stored: then more is known to be paid than since.
    pub(super) fn recognize(&mut self, rows: &mut Rows) -> Result<(), StoreError> {
        let Some(key) = self.patron.take() else { return Ok(()) };
        let patron: Option<Patron> = rows.take(&key).map(|row| row.live(&key)).transpose()?;
        if patron.is_some_and(|patron| patron.amount > self.spent.sum) {
            self.spent.since = Some(0);
        }
        Ok(())
    }

    /// Refuses a price that is too much, or a checkout too many.
    pub(super) fn check(&self, price: Money) -> Result<(), CheckoutRefusal> {
        if let Some(retry_seconds) = self.begun.as_ref().and_then(BeginLimit::wait) {
            return Err(CheckoutRefusal::TooManyAttempts { retry_seconds });
        }
        if let Some(retry_seconds) = self.address.as_ref().and_then(Address::wait) {
            return Err(CheckoutRefusal::RefusedPayments { retry_seconds });
        }
        let Some(most) = self.most else { return Ok(()) };
        let of_address = || self.address.as_ref().filter(|_| self.counts)?.refused(most, price);
        let found = refused(most, self.spent, price, self.now).or_else(of_address);
        found.map_or(Ok(()), |first| Err(CheckoutRefusal::FirstDay(first)))
    }

    /// The address as the order keeps it.
    pub(super) fn of_order(&self, price: Money) -> Option<BuyerAddress> {
        let address = self.address.as_ref().filter(|_| price > Money::ZERO);
        address.map(|address| address.of_order(price, self.counts))
    }

    /// The writes that count a checkout. `kept` is the address as its order keeps it.
    pub(super) fn writes(&self, kept: Option<&BuyerAddress>) -> Result<impl Iterator<Item = Guarded>, StoreError> {
        let counted = kept.and_then(|kept| kept.counted).filter(|price| *price > Money::ZERO).zip(self.most);
        let address =
            self.address.as_ref().filter(|_| kept.is_some()).map(|address| address.begin(counted)).transpose()?;
        Ok(self.begun.as_ref().map(BeginLimit::count).into_iter().chain(address))
    }
}

/// The most cards that one command bans, so that they fit into one transaction. The newest orders come first.
const MOST: usize = 50;

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
            let page = owned_orders::page(self.db, user, cursor.as_deref()).await?;
            for id in &page.orders {
                let stored = orders::get(self.db, id).await?;
                let Some(stored) = stored else { continue };
                cards.extend(self.card(&stored).await?.map(|card| hash_of(&salt, &card)));
            }
            cursor = page.next;
            if cursor.is_none() || cards.len() >= MOST {
                break;
            }
        }
        let cards: Vec<String> = cards.into_iter().take(MOST).collect();
        bans::ban(self.db, name, None, &cards, self.clock.seconds()).await?;
        Ok(cards.len())
    }
}
