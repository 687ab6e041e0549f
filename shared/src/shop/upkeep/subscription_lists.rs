//! Whether what is written elsewhere about subscriptions is what they say: the users' lists, and the rows by which the sweep
//! finds them. Rows of one backup are of different seconds, so that a restored table may disagree.

use crate::model::{Subscription, User, UserId, UserSubscription};
use crate::rules::subscription::with_entry;
use crate::shop::orders::unfinished;
use crate::shop::orders::unfinished::Due;
use crate::shop::{accounts, subscriptions};
use crate::table::bulk::all;
use crate::table::keys::{Key, prefix};
use crate::table::transaction::{Write, sent};
use crate::table::{Db, StoreError};
use std::collections::{BTreeMap, BTreeSet};

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
    let differing = pairs.filter(|(expected, user)| {
        let (expected, stored) = (sorted(expected), sorted(&user.subscriptions));
        let are_same = expected.iter().zip(&stored).all(|(expected, stored)| is_same(expected, stored));
        expected.len() != stored.len() || !are_same
    });
    Ok(differing.map(|(expected, user)| (user, expected)).collect())
}

/// Whether a stored entry says what it should, or what a version said that knew less of it: that is replaced with its next change.
fn is_same(expected: &UserSubscription, stored: &UserSubscription) -> bool {
    let before =
        || UserSubscription { detail: None, access_until: None, ends_at: None, rank_of: None, ..expected.clone() };
    stored == expected || (stored.access_until.is_none() && *stored == before())
}

/// Writes a user's list. `false` if it has changed since it was read.
pub async fn rewrite(db: &Db, user: &User, expected: &[UserSubscription]) -> Result<bool, StoreError> {
    let write: Write = accounts::set_subscriptions(user.id, &user.subscriptions, expected, None)?;
    sent(db, vec![write]).await
}

/// The rows by which the sweep finds subscriptions, as far as they disagree with these.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DueRows {
    /// Subscriptions with something left to do, and without a row.
    missing: Vec<Subscription>,
    /// Rows that are not those of their subscriptions, with what the row names and, unless it is gone, the subscription.
    stale: Vec<(Key, String, Option<Subscription>)>,
}

impl DueRows {
    /// Compares them. Rows are read first: a subscription that is written meanwhile makes a difference that the conditions of
    /// [`Self::repair`] find.
    pub async fn differing(db: &Db) -> Result<Self, StoreError> {
        let rows = unfinished::due(db, i64::from(u32::MAX)).await?;
        let rows = rows.into_iter().filter_map(|row| match row.due {
            Ok(Due::Subscription(id)) => Some((row.key, id)),
            _ => None,
        });
        let rows: Vec<(Key, String)> = rows.collect();
        let all = all::<Subscription>(db, prefix::SUBSCRIPTION).await?.into_iter().map(|(_, one)| one);
        let all: BTreeMap<String, Subscription> = all.map(|one| (one.id.clone(), one)).collect();
        let is_own = |key: &Key, id: &str| all.get(id).and_then(subscriptions::due_key).as_ref() == Some(key);
        let stale = rows.iter().filter(|(key, id)| !is_own(key, id));
        let stale = stale.map(|(key, id)| (key.clone(), id.clone(), all.get(id).cloned())).collect();
        let found: BTreeSet<&Key> = rows.iter().map(|(key, _)| key).collect();
        let lacks = |one: &&Subscription| subscriptions::due_key(one).is_some_and(|key| !found.contains(&key));
        Ok(Self { missing: all.values().filter(lacks).cloned().collect(), stale })
    }

    pub const fn is_empty(&self) -> bool {
        self.missing.is_empty() && self.stale.is_empty()
    }

    /// The ids of the subscriptions that the rows concern, each once.
    pub fn ids(&self) -> BTreeSet<&str> {
        let stale = self.stale.iter().map(|(_, id, _)| id.as_str());
        self.missing.iter().map(|one| one.id.as_str()).chain(stale).collect()
    }

    /// Makes them agree, and returns how many rows were left because a subscription has changed since it was read.
    pub async fn repair(&self, db: &Db) -> Result<usize, StoreError> {
        let mut left = 0;
        for one in &self.missing {
            let writes: Vec<Write> = subscriptions::with_row(one)?;
            left += usize::from(!sent(db, writes).await?);
        }
        for (key, id, read) in &self.stale {
            let writes: Vec<Write> = subscriptions::without_row(read.as_ref(), id, key);
            left += usize::from(!sent(db, writes).await?);
        }
        Ok(left)
    }
}
