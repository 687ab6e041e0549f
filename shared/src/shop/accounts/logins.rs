//! Logins in the game, a row for each name and one for each login that game servers are notified of; and chat accounts that completed the
//! chat login (rules.md, "Chat login").

#![expect(
    clippy::disallowed_types,
    reason = "serde reads flattened fields through a type that could be a number of any kind"
)]

use crate::model::{AuthId, ChatAccount, ChatId, ChatName, GameLogin, PendingLogin, ServerId, UserId, UserName};
use crate::random;
use crate::table::client::Db;
use crate::table::codec::{key_attributes, readable};
use crate::table::keys;
use crate::table::transaction::{Write, send, send_or_read};
use crate::table::{StoreError, TURNS, in_turns, read_live};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// How many pending logins a poll reads at once, and how often: of 2,500 it sees each one.
const PENDING_AT_ONCE: i32 = 500;
const PAGES: usize = 6;
/// How many of those that have ended it removes at once.
const MOST_REMOVED: usize = 100;

/// The stored row of a name, and the number of its writes.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct StoredLogin {
    #[serde(flatten)]
    pub login: GameLogin,
    #[serde(default)]
    version: u64,
}

/// The row of a name, strongly consistent; an empty one if there is none.
pub async fn of_name(db: &Db, name: &UserName) -> Result<StoredLogin, StoreError> {
    Ok(read_live(db, &keys::game_login(name)).await?.unwrap_or_default())
}

/// The write after which no caller is known to log in under a name, and no login waits to be confirmed. A known caller is
/// believed before others, and one that is to be locked out may be known.
pub fn forget(name: &UserName) -> Write {
    Write::delete(keys::game_login(name))
}

/// A login that game servers are notified of, strongly consistent.
pub async fn pending(db: &Db, auth_id: &AuthId) -> Result<Option<PendingLogin>, StoreError> {
    read_live(db, &keys::pending_login(auth_id)).await
}

/// The effect of a write of a name's row on the row that game servers are told.
#[derive(Debug)]
pub enum Told {
    Begins(PendingLogin),
    Ends(Option<AuthId>),
}

/// Writes a name's row, kept until `expires_at`, on the condition that nothing has changed since it was read. Returns whether
/// it was written.
pub async fn save(
    db: &Db,
    name: &UserName,
    read: &StoredLogin,
    next: &GameLogin,
    expires_at: i64,
    told: &Told,
) -> Result<(), StoreError> {
    let next = StoredLogin { login: next.clone(), version: read.version + 1 };
    let write = Write::put_live(keys::game_login(name), &next)?.kept_until(expires_at);
    let mut writes = vec![write.and_at(read.version)];
    match told {
        Told::Begins(login) => {
            writes.push(Write::put_live(keys::pending_login(&login.auth_id), login)?);
        }
        Told::Ends(former) => writes.extend(former.as_ref().map(|id| Write::delete(keys::pending_login(id)))),
    }
    send(db, writes).await
}

/// The logins that game servers are notified of and that have not ended at `now`, in no order. If there are more than the most that
/// are read, the last page begins anywhere, so that none stays unseen. If there is more than one page, some of those that have
/// ended are removed: the table's own expiry can take days.
pub async fn all_pending(db: &Db, now: i64) -> Result<Vec<PendingLogin>, StoreError> {
    let mut found: BTreeMap<String, PendingLogin> = BTreeMap::new();
    let (mut start, mut pages) = (None, 0);
    loop {
        let (rows, next) = db.query_descending(&keys::pending_logins(), PENDING_AT_ONCE, start).await?;
        pages += 1;
        found.extend(readable::<PendingLogin>(rows).map(|login| (login.auth_id.as_str().to_owned(), login)));
        let anywhere = || random::bits().map(|bits| key_attributes(&keys::pending_login(&AuthId::new(bits))));
        start = match next {
            Some(_) if pages + 1 == PAGES => anywhere(),
            Some(next) if pages < PAGES => Some(next),
            _ => None,
        };
        if start.is_none() {
            break;
        }
    }
    let (live, ended): (Vec<PendingLogin>, Vec<PendingLogin>) =
        found.into_values().partition(|login| now < login.until);
    if pages > 1 && !ended.is_empty() {
        let remove = |login: &PendingLogin| {
            Write::delete(keys::pending_login(&login.auth_id)).only_if_equal("until", login.until)
        };
        // If one of them begins again or is removed meanwhile, none is; the next poll removes them.
        if let Err(error) = send(db, ended.iter().take(MOST_REMOVED).map(remove).collect::<Vec<Write>>()).await {
            tracing::warn!(%error, "logins that have ended were not removed");
        }
    }
    Ok(live)
}

/// Marks that logins are reported to a server at `now`, on the condition that none has ended or was reported since `before`. If it is
/// not written, returns those for which that is so; there is none if another transaction held one of them.
pub async fn mark_served(
    db: &Db,
    server: ServerId,
    logins: &[PendingLogin],
    now: i64,
    before: i64,
) -> Result<Result<(), BTreeSet<AuthId>>, StoreError> {
    let mark = |login: &PendingLogin| {
        Write::update(keys::pending_login(&login.auth_id), "SET served.#server = :now")
            .only_if("attribute_exists(#pk) AND (attribute_not_exists(served.#server) OR served.#server <= :before)")
            .name("#pk", keys::PK)
            .name("#server", server.to_string())
            .number(":now", now)
            .number(":before", before)
    };
    let sent = send_or_read(db, logins.iter().map(mark).collect()).await?;
    Ok(sent.map_err(|failed| failed.into_iter().map(|(place, _)| logins[place].auth_id.clone()).collect()))
}

/// How long the row of an account is kept, in seconds.
pub const KEPT_SECONDS: i64 = 6 * 3_600;

/// Writes that an account completed the login at `now`, in seconds since 1970 UTC. No account of the store uses it
/// then. It is a transaction of one write: the auth function has transactions already, and PutItem would make it
/// larger. If the database does not respond, the row may have been written or not.
pub async fn completed(db: &Db, id: &ChatId, name: ChatName, now: i64) -> Result<(), StoreError> {
    let account = ChatAccount { name, logged_in_at: now, expires_at: now.saturating_add(KEPT_SECONDS), user: None };
    let write = Write::put_live(keys::chat(id), &account)?;
    // The same account may log in twice at the same time.
    in_turns(TURNS, || send(db, vec![write.clone()])).await
}

/// The write that makes a login the user's, on the condition that at `now` (seconds since 1970 UTC) it has not ended
/// and no other user has it.
pub fn claim(id: &ChatId, user: UserId, now: i64) -> Write {
    Write::update(keys::chat(id), "SET #user = :user")
        .only_if("expires_at > :now AND (attribute_not_exists(#user) OR #user = :user)")
        .name("#user", "user")
        .number(":user", user)
        .number(":now", now)
}
