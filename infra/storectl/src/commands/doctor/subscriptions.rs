//! Whether what users are subscribed to, and what the sweep is to look at, is what the subscriptions say.

use super::finding::Finding;
use crate::error::Failure;
use crate::target::Target;
use shared::shop::upkeep::subscription_lists::{DueRows, differing, rewrite};

const CHECK: &str = "subscriptions";
const NAMED: usize = 5;

/// Compares the rows by which the sweep finds subscriptions with these. With `repairs` they are made to agree.
pub(super) async fn rows(target: &Target, repairs: bool) -> Finding {
    const CHECK: &str = "open subscriptions";
    let compared = async {
        let differing = DueRows::differing(&target.db).await?;
        if differing.is_empty() {
            return Ok(Finding::ok(CHECK, "the sweep finds each that has something left to do"));
        }
        let ids: Vec<&str> = differing.ids().into_iter().collect();
        let more = if ids.len() > NAMED { ", …" } else { "" };
        let named = ids.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
        let said = format!("the sweep's rows of {} do not agree with them: {named}{more}", ids.len());
        if !repairs {
            return Ok(Finding::bad(CHECK, said, "run `storectl doctor --repair`: it writes the rows again"));
        }
        Ok(match differing.repair(&target.db).await? {
            0 => Finding::repaired(CHECK, format!("{said}; written again")),
            left => Finding::bad(CHECK, format!("{said}; {left} were changed by other writes"), "run it again"),
        })
    };
    compared.await.unwrap_or_else(|failure: Failure| Finding::failed(CHECK, failure))
}

/// Compares the users' lists with the subscriptions. With `repairs` they are written again, unless they have changed since.
pub(super) async fn check(target: &Target, repairs: bool) -> Finding {
    compared(target, repairs).await.unwrap_or_else(|failure| Finding::failed(CHECK, failure))
}

async fn compared(target: &Target, repairs: bool) -> Result<Finding, Failure> {
    let differing = differing(&target.db, target.clock.seconds()).await?;
    if differing.is_empty() {
        return Ok(Finding::ok(CHECK, "the users' lists agree with them"));
    }
    let named: Vec<String> = differing.iter().take(NAMED).map(|(user, _)| format!("user {}", user.id)).collect();
    let more = if differing.len() > NAMED { ", …" } else { "" };
    let said = format!("the lists of {} do not agree with them: {}{more}", differing.len(), named.join(", "));
    if !repairs {
        return Ok(Finding::bad(CHECK, said, "run `storectl doctor --repair`: it writes the lists again"));
    }
    let mut left = 0;
    for (user, expected) in &differing {
        left += usize::from(!rewrite(&target.db, user, expected).await?);
    }
    Ok(match left {
        0 => Finding::repaired(CHECK, format!("{said}; written again")),
        left => Finding::bad(CHECK, format!("{said}; {left} were changed by other writes"), "run it again"),
    })
}
