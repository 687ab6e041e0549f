//! Accounts of players, made at their first login or when a gift for them is paid.

use crate::model::{PlayerName, StoreConfig, User, UserId};
use crate::random;
use crate::store::names::{self, Created, NameRow};
use crate::store::{Db, StoreError, sequences};

/// How many ids are tried, if accounts have them already.
const ROUNDS: u32 = 3;

/// Makes the account of a player at `now` (seconds since 1970 UTC). If another request made it in the meantime, that one
/// is used. `None` if the name is banned.
///
/// # Errors
/// [`StoreError`]; nothing is written then, unless the database did not respond.
pub async fn create(
    db: &Db,
    config: &StoreConfig,
    player: &PlayerName,
    now: i64,
) -> Result<Option<NameRow>, StoreError> {
    let uuid = random::uuid().ok_or_else(|| StoreError::unavailable("getrandom"))?;
    let mut id = next_id(db).await?;
    for _ in 0..ROUNDS {
        let user = User::of_player(id, player, config.avatar_of(player.as_str()), uuid.clone(), now);
        match names::create(db, &user, player.key()).await? {
            Created::Written => return Ok(Some(NameRow { user: id, valid_after: None })),
            Created::NameTaken(row) => return Ok(Some(row)),
            Created::Banned => return Ok(None),
            // A restored table may hold accounts above its own counter.
            Created::IdTaken => id = next_id(db).await?,
        }
    }
    Err(StoreError::unavailable("TransactWriteItems"))
}

async fn next_id(db: &Db) -> Result<UserId, StoreError> {
    sequences::reserve(db, sequences::USERS, 1).await.map(UserId::new)
}
