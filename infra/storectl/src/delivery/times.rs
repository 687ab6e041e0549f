//! How long the commands of game servers took.

use crate::prelude::*;
use serde::Serialize;
use shared::model::ServerId;
use shared::rules::delivery_times::DeliveryTimes;
use shared::shop::delivery::times::{ServerTimes, times};

/// The time that is shown, in seconds.
const LAST: i64 = 86_400;

/// The times of the last 24 hours of a game server: in milliseconds, and as people read it; `None` if nothing ran.
pub async fn last_day(at: &Deployment, server: ServerId) -> Result<(impl Serialize, Option<String>)> {
    let now = at.clock.seconds();
    let ServerTimes { own, waited } = times(&at.db, server, now - LAST, now + 1).await?;
    let said = |times: &DeliveryTimes, kind: &str| {
        (times.commands() > 0).then(|| format!("{}{kind}: {times}", times.commands()))
    };
    let parts = [said(&own, " commands"), said(&waited, " that wait for players or have a delay")];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let text = (!parts.is_empty()).then(|| format!("last 24 hours, from paid to run: {}", parts.join("; ")));
    let facts = |times: &DeliveryTimes| {
        facts! { commands: times.commands(), half_within: times.within(50), ninety_five_within: times.within(95),
        slowest: times.slowest() }
    };
    Ok((facts! { #[serde(flatten)] own: facts(&own), waited: facts(&waited) }, text))
}
