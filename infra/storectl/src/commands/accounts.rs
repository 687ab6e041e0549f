//! `user credit` and `user rename`.

use super::common::{published, shown_time};
use super::find_user::{find, missing, read};
use super::items;
use super::users::{amount, facts, note_of_name};
use crate::answer::{Answer, GOOD, WARN, paint};
use crate::cli::{CreditUser, RenameUser};
use crate::error::Failure;
use crate::target::Target;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use shared::model::{Money, UserId, UserName};
use shared::money::CurrencyFormat;
use shared::shop::accounts::name_index::rename_referrals;
use shared::shop::accounts::{self, RenameError};
use shared::shop::codes::{self, Added, Addition};
use shared::shop::delivery::{Filter, matching, place_of};
use std::fmt::Write as _;

/// How many hexadecimal digits a key has that was not given.
const KEY_LENGTH: usize = 20;

pub(super) async fn credit(target: &Target, options: &CreditUser) -> Result<Answer, Failure> {
    let config = published(target).await?.config;
    let digits = config.digits;
    if !config.is_virtual_currency {
        let what = "The store has no virtual currency: nobody could spend a credit.";
        let next = "Write virtual_currency: {enabled: true} in store.yaml and publish it, or give a card: `storectl gift add`.";
        return Err(Failure::refused(what, next));
    }
    let sum = items::positive("AMOUNT", &options.amount, digits)?;
    let user = find(target, &options.user).await?;
    let key = options.key.clone().unwrap_or_else(|| default_key(sum, &options.note));
    let credit = Addition { key, amount: sum, note: options.note.clone(), at: target.seconds().await? };
    let given = codes::credit(&target.db, user.id, &credit).await.map_err(|error| {
        let next = "Run the same command again: it is credited once.";
        Failure::from(error).done("It is not known whether it was credited.").next(next)
    })?;
    let (who, shown) = (format!("{} (user {})", user.username, user.id), amount(sum, digits));
    let (credited, credit) = match given {
        Added::Written => (true, credit),
        Added::Before(before) if (before.amount, &before.note) == (credit.amount, &credit.note) => (false, before),
        Added::Before(before) => {
            let (at, sum) = (shown_time(before.at), amount(before.amount, digits));
            let what = format!("The key {} was used for {who} at {at}: {sum}, {:?}.", before.key, before.note);
            return Err(Failure::refused(what, "Give another --key for another credit."));
        }
        Added::NoOwner => return Err(missing(&options.user)),
        Added::TooMuch => {
            let what = format!("The balance of {who} would be above the largest amount.");
            return Err(Failure::refused(what, "Credit less."));
        }
    };
    let balance = read(target, user.id).await?.map_or(Money::ZERO, |user| user.virtual_currency);
    let text = if credited {
        format!("{} {who} is credited {shown}; the balance is {}.", paint(GOOD, "ok"), amount(balance, digits))
    } else {
        let at = shown_time(credit.at);
        format!("Nothing to do: {who} was credited {shown} at {at}. For another such credit give another --key.")
    };
    let format = CurrencyFormat::new(digits);
    let json = json!({
        "user": user.id, "credited": credited, "amount": format.money(sum), "balance": format.money(balance),
        "key": credit.key, "note": credit.note, "at": shown_time(credit.at),
    });
    Ok(Answer::new(text, json))
}

/// The key of a credit or of a top-up that was given none.
pub(super) fn default_key(sum: Money, note: &str) -> String {
    let mut key = hex::encode(Sha256::digest(format!("{} {note}", sum.minor())));
    key.truncate(KEY_LENGTH);
    key
}

pub(super) async fn rename(target: &Target, options: &RenameUser) -> Result<Answer, Failure> {
    let config = published(target).await?.config;
    let text = options.name.trim();
    let name = UserName::parse_new(text).map_err(|error| {
        Failure::refused(format!("The name {text:?} cannot be used: {error}."), "Give the player's new name.")
    })?;
    let user = find(target, &options.user).await?;
    let now = target.seconds().await?;
    let renamed = accounts::rename(&target.db, &config, user.id, (text, &name), now).await;
    let (user, before) = renamed.map_err(|error| refused(error, options))?;
    let codes = rename_referrals(&target.db, &user).await.map_err(|error| unfinished(error.into()))?;
    let left = commands_for_former(target, user.id, &name).await.map_err(unfinished)?;
    let mut said = if before == user.username {
        format!(
            "{} User {} is called {before} already; what repeats the name is up to date.",
            paint(GOOD, "ok"),
            user.id
        )
    } else {
        let note = note_of_name(&user.username);
        format!("{} User {} was {before} and is {}.{note}", paint(GOOD, "ok"), user.id, user.username)
    };
    for (former, count) in &left {
        let note = format!("{count} commands were made for {former} and stay as they are");
        _ = write!(said, "\n{} {note}: storectl delivery list --user {former}", paint(WARN, "note"));
    }
    let left: usize = left.iter().map(|(_, count)| count).sum();
    let json = json!({
        "user": facts(&user, CurrencyFormat::new(config.digits)), "before": before, "referral_codes": codes,
        "commands_for_former_names": left,
    });
    Ok(Answer::new(said, json))
}

/// How many commands that have not ended name a player by a former name.
async fn commands_for_former(
    target: &Target,
    id: UserId,
    present: &UserName,
) -> Result<Vec<(UserName, usize)>, Failure> {
    let mut found = Vec::new();
    for former in accounts::former_names(&target.db, id).await?.into_iter().filter(|former| former != present) {
        let filter = Filter { player: Some(former.to_string()), ..Filter::default() };
        let commands = matching(&target.db, &filter, target.clock.seconds()).await?.unwrap_or_default();
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
