//! `order set-status`: the status and what follows from it, in one transaction.

use super::effects::{give_back, take};
use super::inputs::OrderInputs;
use super::statistics::{Statistics, follow};
use super::stored::{Stored, show};
use super::transact::{Change, Sent, Write, send};
use super::verdict::{Cancelled, Refusal, Role};
use super::{RETRIES, pause_before};
use aws_sdk_dynamodb::types::AttributeValue;
use shared::model::{InternalId, ItemId, OrderStatus};
use shared::rules::order::may_become;
use shared::store::{Db, StoreError};

/// What a change of status came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// The order as it stands in the table.
    pub stored: Stored,
    /// The status it had before; the same where nothing had to be done.
    pub from: OrderStatus,
    /// Items that are not published any more: counted, but guarded by no limit.
    pub unguarded: Vec<ItemId>,
    /// Whether the statistics have followed.
    pub statistics: Statistics,
}

/// Why a status was not changed.
#[derive(Debug, thiserror::Error)]
pub enum SetStatusError {
    /// There is no such order.
    #[error("there is no order {0}")]
    Unknown(InternalId),
    /// An order does not go this way.
    #[error("an order that is {} cannot become {}", from.as_str(), to.as_str())]
    Forbidden {
        /// Its status.
        from: OrderStatus,
        /// The status asked for.
        to: OrderStatus,
    },
    /// A limit, a code or a balance does not allow it.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Other writers kept colliding with this one.
    #[error("others kept writing to the same items; nothing was changed")]
    Busy,
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Changes an order's status. Becoming paid takes what the order takes, a refund gives it back, each once: the write
/// is conditional on the status that was read. A status that it has already is no error and no second effect.
///
/// # Errors
/// [`SetStatusError`]; nothing is changed then, unless the database did not answer.
pub async fn set_status(db: &Db, id: &InternalId, to: OrderStatus) -> Result<Changed, SetStatusError> {
    for round in 0..=RETRIES {
        pause_before(round).await;
        let before = show(db, id).await?.ok_or_else(|| SetStatusError::Unknown(id.clone()))?;
        let from = before.order.status;
        if from == to {
            let statistics = follow(db, id).await;
            return Ok(Changed { stored: before, from, unguarded: Vec::new(), statistics });
        }
        if !may_become(from, to) {
            return Err(SetStatusError::Forbidden { from, to });
        }
        let (writes, unguarded) = plan(db, &before, to).await?;
        match send(db, writes).await? {
            Sent::Written => {
                let statistics = follow(db, id).await;
                let stored = show(db, id).await?.ok_or_else(|| SetStatusError::Unknown(id.clone()))?;
                return Ok(Changed { stored, from, unguarded, statistics });
            }
            Sent::Cancelled(Cancelled::Refused(refusal)) => return Err(refusal.into()),
            Sent::Cancelled(_) => {}
        }
    }
    Err(SetStatusError::Busy)
}

/// The writes of a step, the order's own first, and the items whose limits are not known.
async fn plan(db: &Db, before: &Stored, to: OrderStatus) -> Result<(Vec<Write>, Vec<ItemId>), SetStatusError> {
    let from = before.order.status;
    // Whether the statistics counted it so far stands in the mark; where it is missing they agree with the status.
    let counted = AttributeValue::Bool(before.should_count());
    let (mut unguarded, mut writes) = (Vec::new(), Vec::new());
    if to == OrderStatus::Paid {
        let taken = take(before, &OrderInputs::read(db, before).await?)?;
        (writes, unguarded) = (taken.writes, taken.unguarded);
    } else if from == OrderStatus::Paid {
        writes = give_back(before, &OrderInputs::read(db, before).await?);
    }
    let update = "SET #status = :to, counted = if_not_exists(counted, :counted)".to_owned();
    let own = Write::new(Role::Basis, before.key(), Change::Update(update))
        .only_if("#status = :from")
        .name("#status", "status")
        .value(":from", AttributeValue::S(from.as_str().to_owned()))
        .value(":to", AttributeValue::S(to.as_str().to_owned()))
        .value(":counted", counted);
    writes.insert(0, own);
    Ok((writes, unguarded))
}
