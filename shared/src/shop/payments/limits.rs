//! What a buyer who begins a checkout may not exceed: checkouts and refused payments of the address, and what new buyers pay
//! (rules.md, "First day").

use super::begin::Request;
use super::reserve::BeginLimit;
use crate::clock::Clock;
use crate::model::{BuyerAddress, Money, Patron, Spent};
use crate::rules::checkout::CheckoutRefusal;
use crate::rules::first_day::{is_first, refused};
use crate::shop::carts::CartContext;
use crate::shop::orders::refusal::Guarded;
use crate::shop::stock::addresses::Address;
use crate::table::keys::{self, Key};
use crate::table::{Rows, StoreError};

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
        let patron: Option<Patron> = rows.take_live(&key)?;
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
