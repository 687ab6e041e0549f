//! Whether every user is found by name. Index rows that are missing or wrong are written.

use super::finding::Finding;
use crate::target::Target;
use shared::shop::accounts::name_index::complete;

const CHECK: &str = "user names";
/// Advice about users who cannot be found by name.
const WITHOUT: &str = "only their ids find them (--id); make a new account under another name, then erase this one";

pub(super) async fn unique(target: &Target) -> Finding {
    match complete(&target.db, &|_| {}).await {
        Err(error) => Finding::failed(CHECK, error.into()),
        Ok((_, without)) if !without.is_empty() => Finding::bad(CHECK, without.join("; "), WITHOUT),
        Ok((0, _)) => Finding::ok(CHECK, "every user is found by name"),
        Ok((written, _)) => {
            Finding::repaired(CHECK, format!("{written} index rows were missing or wrong and are right now"))
        }
    }
}
