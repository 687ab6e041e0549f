//! Chat accounts that completed the chat login (rules.md, "Chat login").

use crate::model::{ChatAccount, ChatId, ChatName, UserId};
use crate::table::client::Db;
use crate::table::codec::encode_live;
use crate::table::transaction::{Write, send};
use crate::table::{StoreError, TURNS, in_turns, keys};

/// How long the row of an account is kept, in seconds.
pub const KEPT_SECONDS: i64 = 6 * 3_600;

/// Writes that an account completed the login at `now`, in seconds since 1970 UTC. No account of the store uses it
/// then. It is a transaction of one write: the auth function has transactions already, and PutItem would make it
/// larger. If the database does not respond, the row may have been written or not.
pub async fn completed(db: &Db, id: &ChatId, name: ChatName, now: i64) -> Result<(), StoreError> {
    let account = ChatAccount { name, logged_in_at: now, expires_at: now.saturating_add(KEPT_SECONDS), user: None };
    let key = keys::chat(id);
    let write = Write::put(key.clone(), encode_live(&key, &account)?);
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
