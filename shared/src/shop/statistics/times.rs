//! How long commands took, as the shop's pages show it: beside the sums that they read anyway.

use super::{STATISTICS_TURNS, VersionedDonations};
use crate::clock::Clock;
use crate::model::{ActiveVersion, Settings, ShownTimes};
use crate::rules::delivery_times::DeliveryTimes;
use crate::shop::delivery::times::times;
use crate::table::transaction::send;
use crate::table::{Db, StoreError, in_turns};

/// Fewer commands than this in 24 hours say nothing.
const LEAST_COMMANDS: u64 = 10;

/// Notes the times of the last 24 hours, if the shop shows them and they have changed.
pub async fn note_times(
    db: &Db,
    clock: &dyn Clock,
    (active, settings): (&ActiveVersion, &Settings),
) -> Result<(), StoreError> {
    if settings.shop.as_ref().is_none_or(|shop| !shop.delivery_times) {
        return Ok(());
    }
    let (mut all, now) = (DeliveryTimes::default(), clock.seconds());
    for server in &active.config.delivery.servers {
        all.add_all(&times(db, server.id, now - 86_400, now + 1).await?.own);
    }
    let shown = all.within(50).zip(all.within(95)).filter(|_| all.commands() >= LEAST_COMMANDS);
    let delivery = shown.map(|(half, most)| ShownTimes { half, most });
    in_turns(STATISTICS_TURNS, || async {
        let mut read = VersionedDonations::read(db).await?;
        if read.donations.delivery == delivery {
            return Ok(());
        }
        read.donations.delivery = delivery;
        send(db, vec![read.write()?]).await
    })
    .await
}
