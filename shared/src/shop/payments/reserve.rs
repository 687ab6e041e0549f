//! Writing the order of a checkout: its units are reserved and its place among the open checkouts of its address is counted first,
//! and both are given back if the order is not written. Every step can be repeated, and [`settle_reservation`] finishes what was
//! interrupted.
//!
//! A buyer who begins a checkout may not exceed some limits: of checkouts and refused payments of the address, and of what new buyers
//! pay (rules.md, "First day").

use super::begin::{HoldError, Request};
use crate::clock::Clock;
use crate::model::{BuyerAddress, Cart, Code, Counted, Item, ItemId, Money, Patron, Sold, Spent, Units};
use crate::rules::cart::PricedLine;
use crate::rules::checkout::CheckoutRefusal;
use crate::rules::first_day::{is_first, refused};
use crate::rules::limits;
use crate::rules::order::by_item;
use crate::rules::pricing::Terms;
use crate::shop::carts::CartContext;
use crate::shop::orders::effects::OrderInputs;
use crate::shop::orders::refusal::{Guarded, Limit, OrderRefusal};
use crate::shop::orders::{self, StoredOrder};
use crate::shop::stock::addresses::Address;
use crate::shop::stock::open_limited::{self, Added, Entry};
use crate::shop::stock::reservations::{self, Reservation, Reserved};
use crate::table::keys::{self, Key};
use crate::table::limiter::{self, RateLimit, Window};
use crate::table::transaction::{Write, send, send_patiently, sent};
use crate::table::{Db, LostRace, Rows, StoreError, read_live};
use futures_util::future::join_all;

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

/// Whether a cart has an item with a limit of all players together, or a coupon with a limited number of uses.
pub(super) fn has_limited(lines: &[PricedLine<'_>], coupon: Option<&Code>) -> bool {
    let has_uses = matches!(coupon, Some(Code::Coupon(coupon)) if coupon.max_uses.is_some());
    has_uses || lines.iter().flat_map(PricedLine::given).any(|(given, _)| given.item.is_counted())
}

/// Counts what an order holds before it is written, and sends its writes.
pub(super) async fn write(
    db: &Db,
    order: &StoredOrder,
    cart: &Cart,
    inputs: &OrderInputs,
    place: Option<&Place<'_>>,
    writes: impl FnOnce(Option<&Reservation>) -> Result<Vec<Guarded>, HoldError>,
) -> Result<Option<Reservation>, HoldError> {
    let begun = match tokio::join!(reserve(db, order, cart, inputs), add(db, place)) {
        (Ok(reservation), Ok(())) => send_order(db, writes, reservation).await,
        (Ok(reservation), Err(error)) => {
            if let Some(reservation) = &reservation {
                release(db, reservation).await?;
            }
            return Err(error);
        }
        (Err(error), _) => Err(error),
    };
    let is_certainly_unwritten = matches!(begun, Err(HoldError::Refused(_) | HoldError::Store(StoreError::Contended)));
    if let Some(place) = place.filter(|_| is_certainly_unwritten) {
        place.free(db).await;
    }
    begun
}

async fn add(db: &Db, place: Option<&Place<'_>>) -> Result<(), HoldError> {
    let Some(place) = place else { return Ok(()) };
    match open_limited::add(db, place.address, &place.entry).await? {
        Added::Yes => Ok(()),
        Added::Full { retry_seconds } => Err(OrderRefusal::TooManyOpen { retry_seconds }.into()),
    }
}

/// Reserves the units of an order that holds them.
async fn reserve(
    db: &Db,
    order: &StoredOrder,
    cart: &Cart,
    inputs: &OrderInputs,
) -> Result<Option<Reservation>, HoldError> {
    if !order.effects.held {
        return Ok(None);
    }
    match reserve_units(db, order, inputs, order.order.created_at).await {
        Err(HoldError::Refused(refusal)) => {
            // Another request of the same buyer may have reserved them.
            let current: Option<Cart> = read_live(db, &keys::cart(cart.user)).await?;
            let is_same = current.is_none_or(|current| current.version == cart.version);
            Err(if is_same { refusal.into() } else { StoreError::Contended.into() })
        }
        reserved => reserved.map(Some),
    }
}

/// Sends the writes of an order. If they are not written, the reservation is released.
async fn send_order(
    db: &Db,
    writes: impl FnOnce(Option<&Reservation>) -> Result<Vec<Guarded>, HoldError>,
    reservation: Option<Reservation>,
) -> Result<Option<Reservation>, HoldError> {
    let sent = match writes(reservation.as_ref()) {
        Ok(writes) => send_patiently(db, writes).await,
        Err(HoldError::Refused(refusal)) => Ok(Err(refusal)),
        Err(error) => return Err(error),
    };
    let unwritten: HoldError = match sent {
        Ok(Ok(())) => return Ok(reservation),
        Ok(Err(refusal)) => refusal.into(),
        Err(error) => error.into(),
    };
    if let Some(reservation) = &reservation {
        if matches!(&unwritten, HoldError::Store(error) if !error.is_contended()) {
            // It is not known whether the order is written.
            left_to_sweep(reservation, settle_reservation(db, reservation).await);
        } else {
            release(db, reservation).await?;
        }
    }
    Err(unwritten)
}

/// How many seconds after it began an interrupted checkout is cleaned up. A function ends before that.
const INTERRUPTED: i64 = 60;

/// Reserves the units of an order that is about to be written. If other writes kept changing a counter, nothing is reserved; if the
/// database does not respond, [`settle_reservation`] releases what was reserved.
async fn reserve_units(db: &Db, order: &StoredOrder, inputs: &OrderInputs, now: i64) -> Result<Reservation, HoldError> {
    let units = by_item(&order.order).into_iter().map(|(item, (count, _))| Units { item, count });
    let mut reservation = Reservation::new(&order.order, units.collect(), now.saturating_add(INTERRUPTED));
    let put: Write = reservation.put()?;
    send(db, vec![put]).await?;
    let item = |item: ItemId| inputs.items.get(&item).map(|published| &published.item);
    let counted =
        reservation.units.iter().map(|units| reservations::reserve(db, &reservation, *units, item(units.item)));
    let counted = join_all(counted).await;
    let sold_out = reservation.units.iter().zip(&counted).find_map(|(units, counted)| match counted {
        Ok(Reserved::SoldOut(counted)) => Some((units.item, counted)),
        Ok(Reserved::Yes(_)) | Err(_) => None,
    });
    if let Some(refusal) = sold_out.map(|(id, counted)| refusal(id, item(id), counted, now)) {
        release(db, &reservation).await?;
        return Err(refusal.into());
    }
    let of_units = reservation.units.clone();
    for (units, counted) in of_units.into_iter().zip(counted) {
        match counted {
            Ok(Reserved::Yes(run_out)) => reservation.note_run_out(units.item, run_out),
            Ok(Reserved::SoldOut(_)) => {}
            Err(error) => {
                left_to_sweep(&reservation, release(db, &reservation).await);
                return Err(error.into());
            }
        }
    }
    Ok(reservation)
}

/// The reason why a counter has no room for the units of an item.
fn refusal(id: ItemId, item: Option<&Item>, counted: &Counted, now: i64) -> OrderRefusal {
    let sold = Sold::from([(id, counted.clone())]);
    let terms = Terms { sold: &sold, sales: &[], least: Money::ZERO, now };
    match item.and_then(|item| limits::full(item, terms, None)).flatten() {
        Some(at) => OrderRefusal::Later { item: id, at },
        None => {
            OrderRefusal::GlobalLimit { item: id, limit: item.and_then(|item| item.global_limit).unwrap_or_default() }
        }
    }
}

/// Releases the reservation of an order that is not written and never will be. After an error the same call may be
/// repeated.
pub(super) async fn release(db: &Db, reservation: &Reservation) -> Result<(), StoreError> {
    let all = join_all(reservation.units.iter().map(|units| reservations::release(db, reservation, *units))).await;
    all.into_iter().collect::<Result<(), StoreError>>()?;
    delete(db, reservation).await
}

/// Confirms the reservation of an order that is written: it has its units. After an error the same call may be
/// repeated.
pub(super) async fn confirm(db: &Db, reservation: &Reservation) -> Result<(), StoreError> {
    let all =
        join_all(reservation.units.iter().map(|units| reservations::confirm(db, &reservation.order, *units))).await;
    all.into_iter().collect::<Result<(), StoreError>>()?;
    reservation.forget(db).await?;
    delete(db, reservation).await
}

/// Notes that a step failed; the sweep repeats it.
pub(super) fn left_to_sweep(reservation: &Reservation, step: Result<(), StoreError>) {
    if let Err(error) = step {
        tracing::warn!(order = %reservation.order, %error, "left to the sweep");
    }
}

async fn delete(db: &Db, reservation: &Reservation) -> Result<(), StoreError> {
    let write: Write = reservation.delete();
    // On a conflict the sweep finds the row, and that nothing is left to do.
    sent(db, vec![write]).await?;
    Ok(())
}

/// Finishes a checkout that was interrupted while it reserved its units. After the row is closed the order can no
/// longer be written, so that it is known whether the units are its own. After an error the same call may be repeated.
pub(super) async fn settle_reservation(db: &Db, reservation: &Reservation) -> Result<(), StoreError> {
    let close: Write = reservation.close();
    if !sent(db, vec![close]).await? {
        // Its own request has finished it meanwhile, or is about to.
        return Ok(());
    }
    match orders::get(db, &reservation.order).await? {
        Some(_) => confirm(db, reservation).await,
        None => release(db, reservation).await,
    }
}

/// How many checkouts an address may begin. The window is read with the cart, by its key.
pub const CHECKOUTS: RateLimit = RateLimit { kind: "checkout", requests: 10, seconds: 600 };

/// Forgets how many checkouts an address has begun, and what was paid or refused: on one's own machine all buyers have one address,
/// and its owner is not to be locked out. `hash` is that of the address.
pub async fn forget_begun(db: &Db, address: &str, hash: &str) -> Result<(), StoreError> {
    sent(db, vec![Write::delete(keys::rate(CHECKOUTS.kind, address)), Write::delete(keys::address(hash))]).await?;
    Ok(())
}

/// The limit of one address, with its window as it was read.
pub(super) struct BeginLimit<'a> {
    address: &'a str,
    /// Milliseconds since 1970 UTC.
    now: u64,
    window: Option<Window>,
}

impl<'a> BeginLimit<'a> {
    /// Takes the window of an address out of what was read with the cart.
    pub(super) fn take(rows: &mut Rows, address: &'a str, clock: &dyn Clock) -> Result<Self, StoreError> {
        Ok(Self { address, now: clock.millis(), window: limiter::take(rows, CHECKOUTS, address)? })
    }

    /// Seconds until the address may begin another checkout; `None` if it may now.
    pub(super) fn wait(&self) -> Option<u64> {
        self.window.and_then(|window| window.full(CHECKOUTS, self.now))
    }

    pub(super) fn count(&self) -> Guarded {
        let write = limiter::count_in(CHECKOUTS, self.address, self.now, self.window);
        write.guarded_by(Limit::Rate { limit: CHECKOUTS, now: self.now })
    }
}

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
