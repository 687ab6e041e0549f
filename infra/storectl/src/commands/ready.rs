//! Whether a command may work on the table's version of the data.

use super::restore;
use crate::cli::Command;
use crate::error::Failure;
use crate::target::Target;
use shared::model::{ActiveVersion, SCHEMA};
use shared::store::published::read_active_version;

/// Refuses a table that is half restored, and data of an earlier format: what is written there would lack rows or find
/// the wrong ones.
pub(super) async fn must_be_ready(target: &Target, command: &Command) -> Result<(), Failure> {
    if matches!(command, Command::Restore(_) | Command::Doctor(_) | Command::Chat(_)) {
        return Ok(());
    }
    restore::must_not_be_running(target).await?;
    if matches!(command, Command::Upgrade(_) | Command::Backup(_) | Command::Export(_) | Command::Versions) {
        return Ok(());
    }
    match read_active_version(&target.db).await? {
        Some(active) if !active.is_current() => Err(outdated(target, &active)),
        _ => Ok(()),
    }
}

/// The data are of an earlier format.
fn outdated(target: &Target, active: &ActiveVersion) -> Failure {
    let what = format!(
        "The data in {} have the schema number {}, and this version of storectl needs {SCHEMA}.",
        target.name, active.schema
    );
    Failure::refused(what, "Take a backup, then run `storectl upgrade`.")
}
