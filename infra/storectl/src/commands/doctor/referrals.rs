//! Whether every user that an order credits for a referral still has an account.

use super::finding::Finding;
use crate::commands::find_user::read;
use crate::error::Failure;
use crate::target::Target;
use shared::shop::upkeep::credits;
use std::collections::BTreeSet;

const CHECK: &str = "referrals";

pub(super) async fn check(target: &Target) -> Finding {
    credited(target).await.unwrap_or_else(|failure| Finding::failed(CHECK, failure))
}

async fn credited(target: &Target) -> Result<Finding, Failure> {
    let credits = credits(&target.db, &(i64::MIN..i64::MAX)).await?;
    let orders: u64 = credits.0.values().map(|credit| credit.orders).sum();
    let owners: BTreeSet<_> = credits.0.keys().map(|(_, owner)| *owner).collect();
    let mut erased = Vec::new();
    for owner in &owners {
        if read(target, *owner).await?.is_none() {
            erased.push(format!("user {owner}"));
        }
    }
    Ok(if erased.is_empty() {
        Finding::ok(CHECK, format!("{orders} paid orders credit {} users", owners.len()))
    } else {
        let said = format!("paid orders credit users who have no account any more: {}", erased.join(", "));
        Finding::note(CHECK, said, "`storectl referral report` has what they brought")
    })
}
