//! Orders: their rows, recording them, and changing their status.
//!
//! An order and everything it takes (counters, ledger, uses, balance) is one transaction. The statistics follow in a second one
//! ([`crate::shop::statistics`]).
//!
//! Everything that decides about an order is read strongly consistent, never from a cache.

pub(in crate::shop) mod change;
mod counted;
pub(in crate::shop) mod effects;
pub mod lists;
mod moves;
mod order_request;
mod record;
pub(in crate::shop) mod refunds;
pub(in crate::shop) mod refusal;
mod rows;
pub mod unfinished;

pub use change::{Changed, SetStatusError, set_status};
pub use moves::{MoveError, Moved, NewPlayer, check as check_move, move_order, moved_lines, player_of};
pub use order_request::{LineRequest, OrderRequest, RequestError, lines};
pub(in crate::shop) use record::is_recorded_late;
pub use record::{NewOrder, PaidCheckout, RecordError, Recorded, record};
pub use refusal::OrderRefusal;
pub use rows::*;

use crate::model::{ActiveVersion, InternalId, OrderNumber};
use crate::table::bulk::each;
use crate::table::codec::{Row, key_of};
use crate::table::keys::prefix;
use crate::table::{Db, StoreError, published, single};

/// A new random internal id; `None` if the system has no random numbers.
pub fn new_internal_id() -> Option<InternalId> {
    let mut bits = [0_u8; 10];
    getrandom::fill(&mut bits).ok()?;
    Some(InternalId::from_bits(bits))
}

/// Reserves the next running number of an order. A number that is then not used remains a gap.
pub(in crate::shop) async fn next_number(db: &Db) -> Result<OrderNumber, StoreError> {
    single::reserve(db, single::ORDERS, 1).await.map(OrderNumber::new)
}

/// The active version; an empty one in an empty table.
pub(in crate::shop) async fn active_version(db: &Db) -> Result<ActiveVersion, StoreError> {
    Ok(published::read_active_version(db).await?.unwrap_or_default())
}

/// Hands every order to `take`. Reads every item.
pub async fn each_order(db: &Db, mut take: impl FnMut(StoredOrder)) -> Result<(), StoreError> {
    each(db, prefix::ORDER, |item| {
        take(StoredOrder::decode(&key_of(&item)?, Row::from(item))?);
        Ok(())
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_two_ids_are_alike() {
        let ids: BTreeSet<String> = (0..1_000).map(|_| new_internal_id().unwrap().as_str().to_owned()).collect();
        assert_eq!(ids.len(), 1_000);
    }
}
