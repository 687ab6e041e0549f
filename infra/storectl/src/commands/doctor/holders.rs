//! Whether paid orders hold the texts that take them back, and no others do (rules.md, "Delivery").

use super::finding::{Finding, named};
use crate::error::Failure;
use crate::target::Target;
use shared::shop::delivery::{HoldersAudit, audit_holders, hold_again};

const CHECK: &str = "texts of orders";

pub(super) async fn check(target: &Target, repairs: bool) -> Finding {
    compared(target, repairs).await.unwrap_or_else(|failure| Finding::failed(CHECK, failure))
}

async fn compared(target: &Target, repairs: bool) -> Result<Finding, Failure> {
    let now = target.clock.seconds();
    let found = audit_holders(&target.db, now).await?;
    if !repairs || found.missing.is_empty() {
        return Ok(described(&found));
    }
    for order in &found.missing {
        hold_again(&target.db, now, order).await?;
    }
    let left = audit_holders(&target.db, now).await?;
    if left.is_clean() {
        let said = format!("{} hold again what takes them back", named(found.missing.iter()));
        return Ok(Finding::repaired(CHECK, said));
    }
    Ok(described(&left))
}

fn described(found: &HoldersAudit) -> Finding {
    let HoldersAudit { missing, stray } = found;
    match (missing.is_empty(), stray.is_empty()) {
        (true, true) => Finding::ok(CHECK, "each paid order that lasts holds what takes it back, and no other does"),
        (false, _) => {
            let said = format!(
                "these are paid and do not hold what takes them back, so that a refund of another order takes what they \
                 gave: {}",
                named(missing.iter())
            );
            Finding::bad(CHECK, said, "run `storectl doctor --repair`")
        }
        (true, false) => {
            let said = format!(
                "these were taken back, or are gone, and still keep refunds of other orders from taking the same: {}",
                named(stray.iter())
            );
            let next = "`storectl order show ID`; when another order with that item is refunded, take it back by hand";
            Finding::bad(CHECK, said, next)
        }
    }
}
