//! Renaming an account in the statistics, which repeat its name.

use super::{STATISTICS_ROUNDS, patrons};
use crate::model::User;
use crate::rules::donations::rename;
use crate::store::statistics::VersionedDonations;
use crate::store::transaction::send;
use crate::store::{Db, StoreError, in_turns};

/// Shows a user's present name and image among the donators and patrons. Done again, it changes only the version of the
/// statistics. The names are never half changed.
pub async fn rename_in_statistics(db: &Db, user: &User) -> Result<(), StoreError> {
    in_turns(STATISTICS_ROUNDS, || async {
        let mut shown = VersionedDonations::read(db).await?;
        let mut writes = patrons::rename(db, user).await?;
        rename(&mut shown.donations, user);
        // Also if the name is shown nowhere yet: an order that is being counted under the former name then conflicts.
        writes.push(shown.write()?);
        send(db, writes).await?;
        Ok(())
    })
    .await
}
