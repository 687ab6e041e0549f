//! Chat accounts that completed the chat login (rules.md, "Chat login").

use super::client::Db;
use super::codec::encode_live;
use super::transaction::{Sent, Unguarded, Write, send};
use super::{RETRIES, StoreError, backoff, keys};
use crate::model::{ChatAccount, ChatId, ChatName};

/// How long the row of an account is kept, in seconds.
pub const KEPT_SECONDS: i64 = 6 * 3_600;

/// Writes that an account completed the login at `now`, in seconds since 1970 UTC. It is a transaction of one write: the
/// auth function has transactions already, and PutItem would make it larger.
///
/// # Errors
/// [`StoreError`] if the database does not respond; the row may then have been written or not.
pub async fn completed(db: &Db, id: &ChatId, name: ChatName, now: i64) -> Result<(), StoreError> {
    let account = ChatAccount { name, logged_in_at: now, expires_at: now.saturating_add(KEPT_SECONDS) };
    let key = keys::chat(id);
    let write = Write::<Unguarded>::put(key.clone(), encode_live(&key, &account)?);
    for round in 0..=RETRIES {
        match send(db, vec![write.clone()]).await? {
            Sent::Written => return Ok(()),
            // The same account logs in twice at the same time.
            Sent::Conflict => tokio::time::sleep(backoff(round)).await,
        }
    }
    Err(StoreError::unavailable("TransactWriteItems"))
}
