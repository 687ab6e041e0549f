//! Whether every user is found by name. Index rows that are missing or wrong are written.

use super::finding::Finding;
use crate::names::{Completed, complete};
use crate::target::Target;

const CHECK: &str = "user names";
/// Advice about users who cannot be found by name.
pub(in crate::commands) const WITHOUT: &str =
    "only their ids find them (--id); make a new account under another name, then erase this one";

pub(super) async fn unique(target: &Target) -> Finding {
    match complete(&target.db, &|_| {}).await {
        Err(error) => Finding::failed(CHECK, error.into()),
        Ok(Completed { without, .. }) if !without.is_empty() => Finding::bad(CHECK, without.join("; "), WITHOUT),
        Ok(Completed { written: 0, .. }) => Finding::ok(CHECK, "every user is found by name"),
        Ok(Completed { written, .. }) => {
            Finding::ok(CHECK, format!("{written} index rows were missing or wrong and are right now"))
        }
    }
}
