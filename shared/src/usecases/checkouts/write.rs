//! Writing the order of a checkout: its units are reserved and its place among the open checkouts of its address is
//! counted first, and both are given back if the order is not written.

use super::hold::HoldError;
use super::reservation::{ReserveOutcome, left_to_sweep, release, reserve_units, settle_reservation};
use crate::model::{Cart, Code, Money};
use crate::rules::cart::PricedLine;
use crate::store::open_limited::{self, Added, Entry};
use crate::store::orders::StoredOrder;
use crate::store::reservations::Reservation;
use crate::store::transaction::send_patiently;
use crate::store::{Db, LostRace, StoreError, keys, read_live};
use crate::usecases::orders::inputs::OrderInputs;
use crate::usecases::orders::refusal::{Guarded, OrderRefusal};

pub(super) enum Begun {
    /// It is written, with these units.
    Written(Option<Reservation>),
    /// A limit does not allow it.
    Refused(OrderRefusal),
    /// Its address has too many open checkouts with limited items.
    TooManyOpen {
        /// Seconds until one of them no longer counts.
        retry_seconds: u64,
    },
}

/// The place of a checkout among those of its address.
#[derive(Debug)]
pub(super) struct Place<'a> {
    address: &'a str,
    entry: Entry,
}

impl<'a> Place<'a> {
    /// The place that an order needs: one that can be paid later and holds what is limited. An operator's needs none.
    pub(super) fn of(order: &StoredOrder, is_limited: bool, address: Option<&'a str>) -> Option<Self> {
        let checkout = order.effects.provider.as_ref()?;
        let holds = order.effects.held && order.order.price > Money::ZERO && is_limited;
        let (begun, until) = (order.order.created_at, checkout.expires_at);
        let entry = Entry { order: order.order.internal_id.clone(), begun, until };
        address.filter(|_| holds).map(|address| Self { address, entry })
    }

    async fn free(&self, db: &Db) {
        if let Err(error) = open_limited::remove(db, self.address, std::slice::from_ref(&self.entry)).await {
            // It no longer counts after a minute, since there is no such order.
            tracing::warn!(%error, "the place of a checkout was not given back");
        }
    }
}

/// Whether a cart has an item with a global limit, or a coupon with a limited number of uses.
pub(super) fn has_limited(lines: &[PricedLine<'_>], coupon: Option<&Code>) -> bool {
    let has_uses = matches!(coupon, Some(Code::Coupon(coupon)) if coupon.max_uses.is_some());
    has_uses || lines.iter().any(|line| line.item().global_limit.is_some())
}

/// Counts what an order holds before it is written, and sends its writes.
pub(super) async fn write(
    db: &Db,
    order: &StoredOrder,
    cart: &Cart,
    inputs: &OrderInputs,
    place: Option<&Place<'_>>,
    writes: impl FnOnce(Option<&Reservation>) -> Result<Vec<Guarded>, HoldError>,
) -> Result<Begun, StoreError> {
    let (reserved, added) = tokio::join!(reserve(db, order, cart, inputs), add(db, place));
    let begun = match (reserved, added) {
        (Ok(Ok(reservation)), Ok(Added::Yes)) => send_order(db, writes, reservation).await,
        (Ok(Ok(reservation)), refused) => {
            if let Some(reservation) = &reservation {
                release(db, reservation).await?;
            }
            match refused? {
                Added::Full { retry_seconds } => return Ok(Begun::TooManyOpen { retry_seconds }),
                Added::Yes => Err(StoreError::Contended),
            }
        }
        (Ok(Err(refusal)), _) => Ok(Begun::Refused(refusal)),
        (Err(error), _) => Err(error),
    };
    let is_certainly_unwritten = matches!(begun, Ok(Begun::Refused(_)) | Err(StoreError::Contended));
    if let Some(place) = place.filter(|_| is_certainly_unwritten) {
        place.free(db).await;
    }
    begun
}

async fn add(db: &Db, place: Option<&Place<'_>>) -> Result<Added, StoreError> {
    match place {
        Some(place) => open_limited::add(db, place.address, &place.entry).await,
        None => Ok(Added::Yes),
    }
}

/// Reserves the units of an order that holds them.
async fn reserve(
    db: &Db,
    order: &StoredOrder,
    cart: &Cart,
    inputs: &OrderInputs,
) -> Result<Result<Option<Reservation>, OrderRefusal>, StoreError> {
    if !order.effects.held {
        return Ok(Ok(None));
    }
    match reserve_units(db, order, inputs, order.order.created_at).await? {
        ReserveOutcome::All(reservation) => Ok(Ok(Some(reservation))),
        ReserveOutcome::Refused(refusal) => {
            // Another request of the same buyer may have reserved them.
            let current: Option<Cart> = read_live(db, &keys::cart(cart.user)).await?;
            let is_same = current.is_none_or(|current| current.version == cart.version);
            if is_same { Ok(Err(refusal)) } else { Err(StoreError::Contended) }
        }
    }
}

/// Sends the writes of an order. If they are not written, the reservation is released.
async fn send_order(
    db: &Db,
    writes: impl FnOnce(Option<&Reservation>) -> Result<Vec<Guarded>, HoldError>,
    reservation: Option<Reservation>,
) -> Result<Begun, StoreError> {
    let begun = match writes(reservation.as_ref()) {
        Ok(writes) => send_patiently(db, writes).await,
        Err(HoldError::Refused(refusal)) => Ok(Err(refusal)),
        Err(HoldError::Store(error)) => return Err(error),
    };
    match (&reservation, begun) {
        (_, Ok(Ok(()))) => Ok(Begun::Written(reservation)),
        (Some(reservation), Err(error)) if !error.is_contended() => {
            // It is not known whether the order is written.
            left_to_sweep(reservation, settle_reservation(db, reservation).await);
            Err(error)
        }
        (reservation, unwritten) => {
            if let Some(reservation) = reservation {
                release(db, reservation).await?;
            }
            unwritten.map(|refused| refused.map_or_else(Begun::Refused, |()| Begun::Written(None)))
        }
    }
}
