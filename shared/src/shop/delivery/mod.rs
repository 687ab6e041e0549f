//! Delivery: what is paid runs on game servers, and what is refunded is recalled or taken back (rules.md, "Delivery").
//!
//! Game servers speak in [`poll`], [`paynow`], [`delivered`], [`executed`] and [`validated`], each with its [`ServerKey`].
//! The consequences of a payment, a refund or a dispute are carried out by [`follow`], in steps that are marked on the order.
//! The consequences for a command are decided in [`crate::rules::delivery`].

mod audit;
pub mod commands;
pub mod deliveries;
mod ends;
mod follow;
mod give;
mod holders;
mod holding;
mod making;
pub mod measures;
mod moving;
mod owner;
mod poll;
mod restored;
pub mod run;
mod season;
pub mod servers;
mod take_back;
mod take_units;
pub mod trying;
mod words;

pub use audit::{DeliveryAudit, Silent, audit, remove_stray, requeue};
pub(in crate::shop) use commands::in_transactions;
pub use commands::place_of;
pub(in crate::shop) use deliveries::freeze;
pub use ends::{TimedEnd, extend_end, timed_ends};
pub(in crate::shop) use ends::{move_end, withdraw};
pub use follow::{follow, follow_or_leave};
pub use holders::{HoldersAudit, audit_holders, hold_again};
pub use measures::{READY_TOO_LONG, SILENT_TOO_LONG, ServerHealth, measure, sweep_servers};
pub use moving::{Given, given_of};
pub use owner::{
    Filter, LineDelivery, Listed, OwnerOutcome, StopReason, cancel, commands_of, done, lines_of, listed_of, matching,
    retry, stop, stop_banned,
};
pub use poll::{MOST_ROWS, PollError, paynow, poll};
pub use restored::{Doubts, Restored, RestoredTable, restored};
pub use run::{LeftOut, OrderRun, RunOrders, orders_of, preview, run_again};
pub use season::{SeasonOrder, give_season, preview_season, season_orders};
pub use servers::{ServerKey, add_key, revoke_key, server_of};
pub use take_back::{RedeliverError, redeliver};
pub use words::{Answer, Report, ReportedOutcome, delivered, executed, validated};

use crate::table::{Rows, StoreError};
use servers::StoredKey;

/// The reason for which a call of a game server has no result.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The key is unknown or revoked.
    #[error("the key is unknown or revoked")]
    UnknownKey,
    #[error(transparent)]
    Store(#[from] StoreError),
}

crate::table::lost_race!(CallError);

/// The stored key of a call, out of the rows.
fn known(rows: &mut Rows, key: &ServerKey) -> Result<StoredKey, CallError> {
    let stored = servers::take(rows, key.hash())?;
    stored.filter(|stored| stored.server == key.server()).ok_or(CallError::UnknownKey)
}
