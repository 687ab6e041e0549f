//! Orders: recording them, changing their status, and the statistics that follow from them.
//!
//! An order and everything it takes (counters, ledger, uses, balance) is one transaction. The statistics follow in a
//! second one, guarded by a mark on the order, so that each order is counted once and a busy statistics item never
//! blocks an order. Tools write it at once ([`catch_up`]); for the orders of functions the sweep does
//! ([`catch_up_all`]).
//!
//! Everything that decides about an order is read strongly consistent, never from a cache.

pub(in crate::usecases) mod after;
mod as_checkout;
mod audit;
pub(in crate::usecases) mod effects;
pub(in crate::usecases) mod inputs;
mod moves;
mod order_request;
mod patrons;
mod record;
pub(in crate::usecases) mod refusal;
mod set_status;
mod statistics;
pub(in crate::usecases) mod subscription;
pub(in crate::usecases) mod transition;
mod waiting;
mod whole_table;

pub use audit::{Audit, Difference, TableSums, repair, rewrite_donations};
pub use moves::{MoveError, Moved, NewPlayer, check as check_move, move_order, moved_lines, player_of};
pub use order_request::{LineRequest, OrderRequest, RequestError, lines};
pub use patrons::{Erased, erase_from_cart, erase_from_order, erase_names};
pub use patrons::{differs as patrons_differ, repair as repair_patrons};
pub use record::{NewOrder, PaidCheckout, RecordError, Recorded, record};
pub use refusal::OrderRefusal;
pub use set_status::{Changed, set_status};
pub(in crate::usecases) use statistics::follow;
pub use statistics::rename_in_statistics;
pub use statistics::{AT_ONCE, Statistics, catch_up, catch_up_all};
pub use transition::SetStatusError;
pub use waiting::Waiting;
pub use whole_table::{Finished, audit, behind, credits, each_order, finish_statistics, repair_table};

use crate::model::{ActiveVersion, InternalId, OrderNumber};
use crate::store::{Db, StoreError, published, sequences};

/// How often a transaction of the statistics is tried: all orders write the same item, and in each round one of them
/// succeeds. If all rounds fail, the order's mark shows that the statistics are behind.
const STATISTICS_ROUNDS: u32 = 8;

/// A new random internal id; `None` if the system has no random numbers.
pub fn new_internal_id() -> Option<InternalId> {
    let mut bits = [0_u8; 10];
    getrandom::fill(&mut bits).ok()?;
    Some(InternalId::from_bits(bits))
}

/// Reserves the next running number of an order. A number that is then not used remains a gap.
pub(in crate::usecases) async fn next_number(db: &Db) -> Result<OrderNumber, StoreError> {
    sequences::reserve(db, sequences::ORDERS, 1).await.map(OrderNumber::new)
}

/// The active version; an empty one in an empty table.
async fn active_version(db: &Db) -> Result<ActiveVersion, StoreError> {
    Ok(published::read_active_version(db).await?.unwrap_or_default())
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
