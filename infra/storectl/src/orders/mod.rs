//! Orders: recording them, changing their status, and the statistics that follow from them.
//!
//! An order and everything it takes (counters, ledger, uses, balance) is one transaction. The statistics follow in
//! a second one, guarded by a mark on the order, so that they happen once and a busy statistics item never stands in
//! an order's way; [`finish_statistics`] does those that are missing.
//!
//! Knows nothing of the command line. What it reads to decide is read anew, strongly consistent, every time.

mod audit;
mod effects;
mod erase;
mod ids;
mod inputs;
mod patrons;
mod price;
mod record;
mod set_status;
mod shown;
mod statistics;
mod stored;
mod tally;
mod transact;
mod verdict;

pub use audit::{Audit, Difference, audit, repair};
pub use erase::{Erased, erase_names};
pub use ids::internal_id;
pub use price::{LineRequest, PriceError, price};
pub use record::{NewLine, NewOrder, RecordError, Recorded, record};
pub use set_status::{Changed, SetStatusError, set_status};
pub use statistics::{Finished, Statistics, finish_statistics};
pub use stored::{GiftPart, OrderEffects, Stored, show};
pub use verdict::Refusal;

use shared::store::backoff;

/// How often a transaction that collided is tried again (rules.md, "Writing a cart").
const RETRIES: u32 = 3;

/// Waits before a round, except for the first.
async fn pause_before(round: u32) {
    if let Some(earlier) = round.checked_sub(1) {
        tokio::time::sleep(backoff(earlier)).await;
    }
}
