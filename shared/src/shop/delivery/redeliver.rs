//! Delivering an order again that was taken back because of a dispute.

use super::commands;
use super::follow::{back_ids, blocks, follow};
use super::write::{Decided, write_all};
use crate::clock::Clock;
use crate::model::{CommandId, CommandState, DeliveryStep, Entitlement, InternalId, OrderDelivery, OrderStatus};
use crate::rules::delivery::Word;
use crate::rules::dispute::takes_back;
use crate::shop::orders;
use crate::shop::subscriptions::of_orders::resume;
use crate::table::transaction::send;
use crate::table::{Db, StoreError};

/// The reason for which an order is not delivered again.
#[derive(Debug, thiserror::Error)]
pub enum RedeliverError {
    #[error("there is no order with this internal id")]
    Unknown,
    #[error("the order is {}", .0.as_str())]
    NotPaid(OrderStatus),
    #[error("its payment is disputed ({0})")]
    Disputed(String),
    #[error("it was not taken back")]
    NotTakenBack,
    #[error("a command that takes it back is on its way to a game server")]
    OnItsWay,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Delivers a paid order again, under new ids, after it was taken back because of a dispute that has ended. What is left to do
/// when the call fails is done by the sweep. After an error of the database, [`RedeliverError::NotTakenBack`] says that
/// the call before was written.
pub async fn redeliver(db: &Db, clock: &dyn Clock, id: &InternalId) -> Result<(), RedeliverError> {
    let stored = orders::get(db, id).await?.ok_or(RedeliverError::Unknown)?;
    if stored.order.status != OrderStatus::Paid {
        return Err(RedeliverError::NotPaid(stored.order.status));
    }
    if let Some(dispute) = stored.effects.dispute.as_ref().filter(|dispute| takes_back(dispute)) {
        return Err(RedeliverError::Disputed(dispute.clone()));
    }
    let over = stored.effects.delivery.as_ref().filter(|delivery| delivery.step == DeliveryStep::Over);
    let delivery = over.ok_or(RedeliverError::NotTakenBack)?;
    let now = clock.seconds();
    // A command that the owner sent again is among the further ones.
    recall(db, back_ids(delivery).chain(delivery.further.iter().copied()), now).await?;
    let (version, earlier, runs) = (delivery.version, blocks(delivery), delivery.runs.clone());
    let next = OrderDelivery { version, earlier, runs, ..OrderDelivery::default() };
    let (mut own, others) = stored.begin_delivery(next, now)?;
    if stored.effects.subscription.is_some() {
        // What a subscription gives at its beginning was taken back with it.
        own = own.also(", subscription.#restart = :restart").name("#restart", "restart").flag(":restart", true);
    }
    let resumed = resume(db, &stored, now).await?;
    send(db, [own].into_iter().chain(others).chain(resumed).collect()).await?;
    follow(db, clock, &stored).await?;
    Ok(())
}

/// Recalls what takes an order back and has not run: it would run after what is delivered again.
async fn recall(db: &Db, ids: impl Iterator<Item = CommandId>, now: i64) -> Result<(), RedeliverError> {
    let decide = |command| Decided::new(command, Word::Recall(Entitlement::Superseded), now);
    let all: Vec<Decided> = commands::read(db, ids).await?.into_values().map(decide).collect();
    let is_on_its_way =
        |decided: &Decided| matches!(decided.after.delivery.state, CommandState::Served | CommandState::Validated);
    if all.iter().any(is_on_its_way) {
        return Err(RedeliverError::OnItsWay);
    }
    Ok(write_all(db, all).await?)
}
