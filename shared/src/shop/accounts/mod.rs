//! Accounts of players: their rows and names, logins, bans.

pub mod bans;
pub mod game_login;
pub mod logins;
pub mod name_index;
pub mod names;
pub mod users;

use crate::model::{PlayerName, StoreConfig, User, UserId, UserName};
use crate::random;
use crate::shop::statistics;
use crate::table::bulk::all;
use crate::table::keys::{self, prefix};
use crate::table::transaction::send;
use crate::table::{Db, StoreError, TURNS, in_turns, read_live, single};
use names::NameRow;

/// How many ids are tried, if accounts have them already.
const IDS_TRIED: u32 = 3;

/// Makes the account of a player at `now` (seconds since 1970 UTC). If another request made it in the meantime, that
/// one is used; so is the account that a former name is held for. `None` if the name is banned. After an error nothing
/// is written, unless the database did not respond.
pub async fn create(
    db: &Db,
    config: &StoreConfig,
    player: &PlayerName,
    now: i64,
) -> Result<Option<NameRow>, StoreError> {
    let uuid = random::uuid().ok_or_else(StoreError::no_entropy)?;
    let mut user = User::of_player(UserId::new(0), player, config.avatar_of(player.as_str()), uuid, now);
    Ok(match add(db, &mut user, player.key()).await? {
        Added::Written => Some(NameRow { user: user.id, valid_after: None, held_until: None }),
        Added::NameTaken(row) => Some(row),
        Added::Banned => None,
    })
}

/// The outcome of adding an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Added {
    Written,
    /// The name is another account's; nothing was written.
    NameTaken(NameRow),
    /// The name is banned; nothing was written.
    Banned,
}

/// Stores a new account of this name under the next free id, which it gets. After an error, if the database did not
/// respond, it may have been stored.
pub async fn add(db: &Db, user: &mut User, name: &UserName) -> Result<Added, StoreError> {
    for _ in 0..IDS_TRIED {
        user.id = single::reserve(db, single::USERS, 1).await.map(UserId::new)?;
        // A restored table may hold accounts above its own counter.
        if let Some(added) = names::create(db, user, name).await? {
            return Ok(added);
        }
    }
    Err(StoreError::Contended)
}

/// The reason for which an account is not renamed.
#[derive(Debug, thiserror::Error)]
pub enum RenameError {
    #[error("there is no such account")]
    NoAccount,
    /// Another account has the name, or had it in the last 30 days.
    #[error("the name is taken")]
    NameTaken,
    #[error("the name is banned")]
    NameBanned,
    #[error("the account is banned")]
    AccountBanned,
    #[error(transparent)]
    Store(#[from] StoreError),
}

crate::table::lost_race!(RenameError);

/// Gives an account another name at `now` (seconds since 1970 UTC), also in the statistics. Its former name is held for it for [`names::HELD_SECONDS`]; its tokens stay valid. Called again with the
/// same name, it finishes what an attempt that was interrupted has begun. Returns the account, and the name that it
/// had. If the database did not respond, it may be renamed.
pub async fn rename(
    db: &Db,
    config: &StoreConfig,
    id: UserId,
    (text, name): (&str, &UserName),
    now: i64,
) -> Result<(User, String), RenameError> {
    in_turns(TURNS, || async {
        let before: User = read_live(db, &keys::user(id)).await?.ok_or(RenameError::NoAccount)?;
        let mut after = before.clone();
        if before.username != text {
            if before.banned {
                return Err(RenameError::AccountBanned);
            }
            if before.avatar == config.avatar_of(&before.username) {
                after.avatar = config.avatar_of(text);
            }
            (after.username, after.updated_at) = (text.to_owned(), now);
            names::rename(db, &before, &after, name).await?;
        }
        for former in former_names(db, id).await?.iter().filter(|former| *former != name) {
            // Whoever has the name next is not to share it with addresses of this player.
            send(db, vec![logins::forget(former)]).await?;
        }
        statistics::rename_in_statistics(db, &after).await?;
        Ok((after, before.username))
    })
    .await
}

/// The former names that are held for an account. Reads every item.
pub async fn former_names(db: &Db, id: UserId) -> Result<Vec<UserName>, StoreError> {
    let rows = all::<NameRow>(db, prefix::NAME).await?.into_iter();
    let held = rows.filter(|(_, row)| row.user == id && row.held_until.is_some());
    Ok(held.filter_map(|(key, _)| UserName::parse(key.pk.strip_prefix(prefix::NAME)?).ok()).collect())
}
