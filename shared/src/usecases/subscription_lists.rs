//! Whether the users' lists of their subscriptions are what the subscriptions say.

use crate::model::{Subscription, User, UserId, UserSubscription};
use crate::rules::subscription::with_entry;
use crate::store::bulk::all;
use crate::store::keys::prefix;
use crate::store::transaction::{Sent, Write, send};
use crate::store::{Db, StoreError, users};
use std::collections::BTreeMap;

/// The users whose lists differ at `now` (seconds since 1970 UTC), with what they should be. Users are read first: a
/// subscription that begins meanwhile makes a difference that the condition of the write finds.
pub async fn differing(db: &Db, now: i64) -> Result<Vec<(User, Vec<UserSubscription>)>, StoreError> {
    let users = all::<User>(db, prefix::USER).await?;
    let mut subscriptions: BTreeMap<UserId, Vec<Subscription>> = BTreeMap::new();
    for (_, one) in all::<Subscription>(db, prefix::SUBSCRIPTION).await? {
        subscriptions.entry(one.user).or_default().push(one);
    }
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

/// Writes a user's list. `false` if it has changed since it was read.
pub async fn rewrite(db: &Db, user: &User, expected: &[UserSubscription]) -> Result<bool, StoreError> {
    let write: Write = users::set_subscriptions(user.id, &user.subscriptions, expected, None)?;
    Ok(send(db, vec![write]).await? == Sent::Written)
}
