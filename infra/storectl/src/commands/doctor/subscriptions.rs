//! Whether what users are subscribed to is what the subscriptions say.

use super::finding::Finding;
use crate::error::Failure;
use crate::target::Target;
use shared::model::{Subscription, User, UserId, UserSubscription};
use shared::rules::subscription::with_entry;
use shared::store::bulk::all;
use shared::store::keys::prefix;
use shared::store::transaction::{Sent, Write, send};
use shared::store::users;
use std::collections::BTreeMap;

const CHECK: &str = "subscriptions";
const NAMED: usize = 5;

/// Compares the users' lists with the subscriptions. With `repairs` they are written again, unless they have changed since.
pub(super) async fn check(target: &Target, repairs: bool) -> Finding {
    compared(target, repairs).await.unwrap_or_else(|failure| Finding::failed(CHECK, failure))
}

async fn compared(target: &Target, repairs: bool) -> Result<Finding, Failure> {
    let differing = differing(target).await?;
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
        let write: Write = users::set_subscriptions(user.id, &user.subscriptions, expected, None)?;
        left += usize::from(send(&target.db, vec![write]).await? != Sent::Written);
    }
    Ok(match left {
        0 => Finding::ok(CHECK, format!("{said}; written again")),
        left => Finding::bad(CHECK, format!("{said}; {left} were changed by other writes"), "run it again"),
    })
}

/// The users whose lists differ, with what they should be. Users are read first: a subscription that begins meanwhile makes a
/// difference that the condition of the write finds.
async fn differing(target: &Target) -> Result<Vec<(User, Vec<UserSubscription>)>, Failure> {
    let users = all::<User>(&target.db, prefix::USER).await?;
    let mut subscriptions: BTreeMap<UserId, Vec<Subscription>> = BTreeMap::new();
    for (_, one) in all::<Subscription>(&target.db, prefix::SUBSCRIPTION).await? {
        subscriptions.entry(one.user).or_default().push(one);
    }
    let now = target.clock.seconds();
    let of = |user: &User| {
        let own = subscriptions.get(&user.id).into_iter().flatten();
        own.fold(Vec::new(), |entries, one| with_entry(&entries, one, now))
    };
    let sorted = |entries: &[UserSubscription]| {
        let mut current: Vec<UserSubscription> = entries.iter().filter(|entry| !entry.is_over(now)).cloned().collect();
        current.sort_by(|one, other| one.id.cmp(&other.id));
        current
    };
    let pairs = users.into_iter().map(|(_, user)| (of(&user), user));
    let differing = pairs.filter(|(expected, user)| sorted(expected) != sorted(&user.subscriptions));
    Ok(differing.map(|(expected, user)| (user, expected)).collect())
}
