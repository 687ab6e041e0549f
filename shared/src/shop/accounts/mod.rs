//! Accounts of players: their rows and names, logins, bans; and whether a verified token is valid for one (rules.md, "Tokens").

pub mod bans;
pub mod game_login;
pub mod logins;
pub mod names;

use crate::model::{Money, PlayerName, ProviderCustomer, StoreConfig, User, UserId, UserName, UserSubscription};
use crate::random;
use crate::shop::statistics;
use crate::table::bulk::all;
use crate::table::client::Rows;
use crate::table::codec::{Item, encode_value};
use crate::table::keys::{self, prefix};
use crate::table::transaction::{Write, send};
use crate::table::{Db, StoreError, TURNS, in_turns, read_all_live, read_live, single};
use crate::token::Claim;
use names::NameRow;
use std::collections::BTreeMap;

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

/// Takes the user of a token out of the rows; `None` if there is no such user, or if [`User::admits`] refuses the
/// token.
pub fn admit(rows: &mut Rows, claim: Claim) -> Result<Option<User>, StoreError> {
    let user: Option<User> = rows.take_live(&keys::user(claim.user))?;
    Ok(user.filter(|user| user.admits(claim.issued_at)))
}

/// Reads whether a token is still valid for its user, if nothing else has to be read: a refused body is reported only
/// to a caller whose token was checked first (rules.md, "Order of refusals").
pub async fn is_admitted(db: &Db, claim: Claim) -> Result<bool, StoreError> {
    let mut rows = db.batch_get(vec![keys::user(claim.user)]).await?;
    Ok(admit(&mut rows, claim)?.is_some())
}

/// Reads users by id, strongly consistent. Users who do not exist are missing.
pub async fn read(db: &Db, ids: impl Iterator<Item = UserId>) -> Result<BTreeMap<UserId, User>, StoreError> {
    let users: Vec<User> = read_all_live(db, ids.map(keys::user)).await?;
    Ok(users.into_iter().map(|user| (user.id, user)).collect())
}

/// The write that fails if the user was erased in the meantime, so that no data of an erased user is written again.
pub fn must_exist(user: UserId) -> Write {
    Write::check(keys::user(user)).only_if_present()
}

/// The condition that a user exists and is not banned.
pub fn must_not_be_banned(user: UserId) -> Write {
    must_exist(user).and_if("attribute_not_exists(banned)")
}

/// The write that stores a user's subscriptions, on the condition that they are still those that were read.
pub fn set_subscriptions(
    user: UserId,
    read: &[UserSubscription],
    next: &[UserSubscription],
    customer: Option<&ProviderCustomer>,
) -> Result<Write, StoreError> {
    let key = keys::user(user);
    let write = Write::update(
        key.clone(),
        match (next, customer) {
            ([], None) => "REMOVE subscriptions",
            ([], Some(_)) => "SET customer = :customer REMOVE subscriptions",
            (_, None) => "SET subscriptions = :subscriptions",
            (_, Some(_)) => "SET subscriptions = :subscriptions, customer = :customer",
        },
    );
    let write = if_subscribed_as_read(write, user, read)?;
    let write = if next.is_empty() { write } else { write.value(":subscriptions", encode_value(&key, &next)?) };
    Ok(match customer {
        Some(customer) => write.value(":customer", encode_value(&key, customer)?),
        None => write,
    })
}

/// The write that fails if the user was erased, or their subscriptions are not those that were read.
pub fn must_have_subscriptions(user: UserId, read: &[UserSubscription]) -> Result<Write, StoreError> {
    if_subscribed_as_read(Write::check(keys::user(user)), user, read)
}

fn if_subscribed_as_read(write: Write, user: UserId, read: &[UserSubscription]) -> Result<Write, StoreError> {
    let write = write.only_if_present();
    Ok(if read.is_empty() {
        write.and_if("attribute_not_exists(subscriptions)")
    } else {
        write.and_if("subscriptions = :subscribed").value(":subscribed", encode_value(&keys::user(user), &read)?)
    })
}

/// The attribute with a user's balance in virtual currency.
const BALANCE: &str = "virtual_currency";

/// The write that takes from a user's balance in virtual currency, on the condition that the balance allows it.
pub fn spend(user: UserId, amount: Money) -> Write {
    Write::add(keys::user(user), BALANCE, format!("-{}", amount.minor()))
        .only_if("#added >= :amount")
        .number(":amount", amount.minor())
}

/// The balance in virtual currency in an account's row that a failed condition returned.
pub fn balance(row: &Item) -> Option<Money> {
    let number = row.get(BALANCE).and_then(|value| value.as_n().ok())?;
    number.parse().ok().map(Money::from_minor)
}

/// The write that returns an amount to a user's balance in virtual currency, if the user was not erased.
pub fn return_spent(user: UserId, amount: Money) -> Write {
    Write::add(keys::user(user), BALANCE, amount.minor()).only_if_present()
}

/// The write that adds an amount to a user's balance in virtual currency, on the condition that the account exists and
/// that its balance is at most `most` minor units before.
pub fn credit_up_to(user: UserId, amount: Money, most: i64) -> Write {
    Write::add(keys::user(user), BALANCE, amount.minor())
        .only_if("attribute_exists(#pk) AND (attribute_not_exists(#added) OR #added <= :most)")
        .name("#pk", keys::PK)
        .number(":most", most)
}
