//! Chat accounts that completed the chat login (rules.md, "Chat login").

use super::client::Db;
use super::codec::encode_live;
use super::{StoreError, keys};
use crate::model::{ChatAccount, ChatId, ChatName};

/// How long the row of an account is kept, in seconds.
pub const KEPT_SECONDS: i64 = 6 * 3_600;

/// Writes that an account completed the login at `now`, in seconds since 1970 UTC.
///
/// # Errors
/// [`StoreError`] if the database does not respond; the row may then have been written or not.
pub async fn completed(db: &Db, id: &ChatId, name: ChatName, now: i64) -> Result<(), StoreError> {
    let account = ChatAccount { name, logged_in_at: now, expires_at: now.saturating_add(KEPT_SECONDS) };
    db.put(encode_live(&keys::chat(id), &account)?).await
}
