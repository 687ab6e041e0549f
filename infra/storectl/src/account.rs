//! `user credit`, `user rename` and `user erase`: what changes an account.

use crate::arguments::{key, positive, short_text};
use crate::order::end_order;
use crate::prelude::*;
use crate::subscription;
use crate::user::{
    self, AddedFacts, WhichUser, as_at_login, find, find_which, missing, must_be_called, note_of_name, read,
};
use sha2::{Digest as _, Sha256};
use shared::model::{Money, UserId, UserName};
use shared::money::CurrencyFormat;
use shared::rules::erase::ErasedPlayer;
use shared::shop::accounts::names::rename_referrals;
use shared::shop::accounts::{self, RenameError};
use shared::shop::codes::{self, Added, Addition};
use shared::shop::delivery::{Filter, matching, place_of};
use shared::shop::statistics::{erase_from_cart, erase_from_order, erase_names};
use shared::shop::upkeep::erase;
use shared::table::keys::prefix;
use std::fmt::Write as _;

#[derive(Debug, Clone, Args)]
pub struct CreditUser {
    /// The user's id if it consists of digits, else the user's name; case does not matter.
    pub user: String,
    /// Amount to add to the balance, in virtual currency.
    pub amount: String,
    /// The reason; `user show` shows it.
    #[arg(long, value_name = "TEXT", value_parser = short_text)]
    pub note: String,
    /// Unique among the account's credits, such as the number of a ticket; by default AMOUNT and
    /// TEXT.
    #[arg(long, value_parser = key)]
    pub key: Option<String>,
}

#[derive(Debug, Clone, Args)]
pub struct RenameUser {
    /// The user's id if it consists of digits, else the present name; case does not matter.
    pub user: String,
    /// The new name.
    pub name: String,
}

#[derive(Debug, Clone, Args)]
pub struct EraseUser {
    #[command(flatten)]
    pub user: WhichUser,
    /// Do not ask.
    #[arg(long, short)]
    pub yes: bool,
}

/// How many hexadecimal digits a key has that was not given.
const KEY_LENGTH: usize = 20;

pub async fn credit(at: &Deployment, options: &CreditUser) -> Outcome {
    let config = at.published().await?.config;
    let (digits, format) = (config.digits, CurrencyFormat::new(config.digits));
    if !config.is_virtual_currency {
        let what = "The store has no virtual currency: no one could spend a credit.";
        let next = "Write virtual_currency: {enabled: true} in store.yaml and publish it, or give a card: `storectl gift add`.";
        return Err(Failure::refused(what, next));
    }
    let sum = positive("AMOUNT", &options.amount, digits)?;
    let user = find(at, &options.user).await?;
    must_be_called(at, &options.user, &user).await?;
    let key = options.key.clone().unwrap_or_else(|| default_key(sum, &options.note));
    let credit = Addition { key, amount: sum, note: options.note.clone(), at: at.seconds().await? };
    let given = codes::credit(&at.db, user.id, &credit).await;
    let given =
        given.unsure("It is not known whether it was credited.", "Run the same command again: it is credited once.")?;
    let who = format!("{} (user {})", user.username, user.id);
    let (credited, credit) = match given {
        Added::Written => (true, credit),
        Added::Before(before) if (before.amount, &before.note) == (credit.amount, &credit.note) => (false, before),
        Added::Before(before) => {
            let AddedFacts { key, amount, note, at } = AddedFacts::new(before, format);
            let what = format!("The key {key} was used for {who} at {at}: {amount}, {note:?}.");
            return Err(Failure::refused(what, "Give another --key for another credit."));
        }
        Added::NoOwner => return Err(missing(&options.user)),
        Added::TooMuch => {
            let what = format!("The balance of {who} would be above the largest amount.");
            return Err(Failure::refused(what, "Credit less."));
        }
    };
    let balance = format.money(read(at, user.id).await?.map_or(Money::ZERO, |user| user.virtual_currency));
    let credit = AddedFacts::new(credit, format);
    let AddedFacts { amount, at, .. } = &credit;
    let text = if credited {
        ok!("{who} is credited {amount}; the balance is {balance}.")
    } else {
        format!("Nothing to do: {who} was credited {amount} at {at}. For another such credit give another --key.")
    };
    Ok(Printed::new(text, &facts! { user: user.id, credited, balance, #[serde(flatten)] credit }))
}

/// The key of a credit or of a top-up that was given none.
pub fn default_key(sum: Money, note: &str) -> String {
    let mut key = hex::encode(Sha256::digest(format!("{} {note}", sum.minor())));
    key.truncate(KEY_LENGTH);
    key
}

pub async fn rename(at: &Deployment, options: &RenameUser) -> Outcome {
    let config = at.published().await?.config;
    let text = as_at_login(at, &options.name).await?;
    let name = UserName::parse_new(&text).map_err(|error| {
        Failure::refused(format!("The name {text:?} cannot be used: {error}."), "Give the player's new name.")
    })?;
    let user = find(at, &options.user).await?;
    let now = at.seconds().await?;
    let renamed = accounts::rename(&at.db, &config, user.id, (&text, &name), now).await;
    let (user, before) = renamed.map_err(|error| refused(error, options))?;
    let codes = rename_referrals(&at.db, &user).await.map_err(|error| unfinished(error.into()))?;
    let left = commands_for_former(at, user.id, &name).await.map_err(unfinished)?;
    let mut said = if before == user.username {
        ok!("User {} is called {before} already; what repeats the name is up to date.", user.id)
    } else {
        ok!("User {} was {before} and is {}.{}", user.id, user.username, note_of_name(&user.username))
    };
    for (former, count) in &left {
        let left = note!("{count} commands were made for {former} and stay as they are");
        _ = write!(said, "\n{left}: storectl delivery list --user {former}");
    }
    let (user, left) = (user::facts(&user, config.digits), left.iter().map(|(_, count)| count).sum::<usize>());
    Ok(Printed::new(said, &facts! { user, before, referral_codes: codes, commands_for_former_names: left }))
}

/// How many commands that have not ended name a player by a former name.
async fn commands_for_former(at: &Deployment, id: UserId, present: &UserName) -> Result<Vec<(UserName, usize)>> {
    let mut found = Vec::new();
    for former in accounts::former_names(&at.db, id).await?.into_iter().filter(|former| former != present) {
        let filter = Filter { player: Some(former.to_string()), ..Filter::default() };
        let commands = matching(&at.db, &filter, at.clock.seconds()).await?.unwrap_or_default();
        let count = commands.commands.iter().filter(|command| place_of(command).is_some()).count();
        found.extend((count > 0).then_some((former, count)));
    }
    Ok(found)
}

fn refused(error: RenameError, options: &RenameUser) -> Failure {
    let (user, name) = (&options.user, options.name.trim());
    match error {
        RenameError::NoAccount => missing(user),
        RenameError::NameTaken => {
            let what = format!("The name {name} belongs to another account, or did in the last 30 days.");
            Failure::refused(what, format!("`storectl user show {name}` shows it."))
        }
        RenameError::NameBanned => {
            Failure::refused(format!("The name {name} is banned."), format!("`storectl unban {name}` lifts the ban."))
        }
        RenameError::AccountBanned => {
            let what = format!("{user} is banned, and a ban is one of the name: renamed, the account could log in.");
            Failure::refused(what, format!("Lift the ban first (`storectl unban`), and ban {name} afterwards."))
        }
        RenameError::Store(error) => unfinished(error.into()),
    }
}

fn unfinished(failure: Failure) -> Failure {
    let next = format!("{} Then run the same command again: it completes the rest.", failure.next);
    failure.done("It is not known whether the account was renamed.").next(next)
}

/// Erases a user. An id whose account is gone already continues an earlier attempt that was interrupted.
pub async fn erase(at: &Deployment, console: &Console, options: &EraseUser) -> Outcome {
    let id = options.user.id.or_else(|| options.user.either.as_ref()?.parse::<UserId>().ok());
    let (id, name) = match id {
        Some(id) => (id, read(at, id).await?.map(|user| user.username)),
        None => {
            let user = find_which(at, &options.user).await?;
            (user.id, Some(user.username))
        }
    };
    let shown = match &name {
        Some(name) => format!("{name} (user {id}) on {}: account, cart, purchases, referral codes, name", at.name),
        None => format!("User {id} on {} has no account any more; what an earlier attempt left is removed", at.name),
    };
    console.confirm(&shown, "Erase permanently?", options.yes)?;
    let unknown = |failure: Failure| {
        let next = format!("{} Then run `storectl user erase {id}` again: it completes the rest.", failure.next);
        failure.done("Some of it may be erased and some not.").next(next)
    };
    // First of all: who is erased must not be charged again.
    let mut ended = subscription::end_all(at, id).await?;
    let own = name.as_deref().and_then(|name| UserName::parse(name).ok());
    let rows = erase::name_rows(&at.db, id).await?;
    let held = rows.iter().filter_map(|key| UserName::parse(key.pk.strip_prefix(prefix::NAME)?).ok());
    let player = ErasedPlayer { user: id, names: own.into_iter().chain(held).collect() };
    // While the account is there an attempt that was interrupted can be repeated by name.
    let mut removed = remove_traces(at, &player).await?;
    let (db, clock) = (&at.db, at.clock.as_ref());
    let mut stopped = erase::stop_commands(db, clock, &player).await?;
    erase::erase_notices(db, &player).await?;
    erase::erase_account(db, id, name.as_deref()).await.map_err(|error| unknown(error.into()))?;
    let codes = erase::erase_possessions(db, id, rows).await.map_err(|error| unknown(error.into()))?;
    // A checkout may have begun in between.
    removed += remove_traces(at, &player).await.map_err(unknown)?;
    stopped += erase::stop_commands(db, clock, &player).await.map_err(|error| unknown(error.into()))?;
    ended += subscription::end_all(at, id).await.map_err(unknown)?;
    let names = erase_names(db, id).await.map_err(|error| unknown(error.into()))?;
    erase::erase_notices(db, &player).await.map_err(|error| unknown(error.into()))?;
    let mut text = ok!("User {id} is erased; orders stay, without an account that could see them.");
    if ended > 0 {
        _ = write!(text, "\n{ended} subscriptions are ended at the payment provider.");
    }
    if stopped > 0 {
        _ = write!(text, "\n{stopped} commands for game servers are stopped.");
    }
    let facts = facts! {
        user: id, referral_codes: codes, was_shown: names.was_shown, was_patron: names.was_patron,
        orders_and_carts: removed, stopped_commands: stopped, ended_subscriptions: ended,
    };
    Ok(Printed::new(text, &facts))
}

/// Ends open orders of the player and with gifts for them, and removes what the player typed, and their name, from orders
/// and other buyers' carts. Returns from how many.
async fn remove_traces(at: &Deployment, player: &ErasedPlayer) -> Result<usize> {
    let found = erase::traces(&at.db, player).await?;
    let mut removed = 0;
    // First the carts: no checkout can begin with the name then.
    for owner in found.carts {
        removed += usize::from(erase_from_cart(&at.db, owner, player).await?);
    }
    for order in &found.open {
        end_order(at, order).await?;
    }
    for order in &found.orders {
        removed += usize::from(erase_from_order(&at.db, order, player).await?);
    }
    Ok(removed)
}
