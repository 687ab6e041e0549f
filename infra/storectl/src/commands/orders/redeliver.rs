//! `order redeliver`: an order that was taken back because of a dispute is delivered again.

use super::unknown;
use crate::answer::{Answer, GOOD, paint};
use crate::error::Failure;
use crate::target::Target;
use serde_json::json;
use shared::model::InternalId;
use shared::shop::delivery::{self, RedeliverError};

pub(in crate::commands) async fn redeliver(target: &Target, id: &str) -> Result<Answer, Failure> {
    let id = InternalId::new(id);
    delivery::redeliver(&target.db, target.clock.as_ref(), &id).await.map_err(|error| {
        let what = format!("Nothing is delivered again: {error}.");
        match error {
            RedeliverError::Store(error) => unknown(error, &id, "the order is delivered again"),
            RedeliverError::Unknown => Failure::refused(what, "It is matched exactly, case included."),
            RedeliverError::Disputed(_) => Failure::refused(what, "Wait until it is decided."),
            RedeliverError::OnItsWay => Failure::refused(what, "Run the same command again in a few minutes."),
            RedeliverError::NotPaid(_) | RedeliverError::NotTakenBack => {
                Failure::refused(what, format!("`storectl order show {id}` shows its commands."))
            }
        }
    })?;
    let text =
        format!("{} Order {id} is delivered again. `storectl order show {id}` shows its commands.", paint(GOOD, "ok"));
    Ok(Answer::new(text, json!({ "internal_id": id, "delivered_anew": true })))
}
