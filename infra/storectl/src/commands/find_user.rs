//! Finds the user that a command names.

use crate::cli::WhichUser;
use crate::error::Failure;
use crate::target::Target;
use shared::model::{User, UserId, UserName};
use shared::shop::accounts::names;
use shared::table::bulk::all;
use shared::table::keys::{self, prefix};
use shared::table::read_live;

/// Finds a user by id if the text consists of digits, else by name.
pub(super) async fn find(target: &Target, text: &str) -> Result<User, Failure> {
    let user = match text.parse::<UserId>() {
        Ok(id) => read(target, id).await?,
        Err(_) => named(target, text).await?,
    };
    user.ok_or_else(|| missing(text))
}

pub(super) async fn find_which(target: &Target, which: &WhichUser) -> Result<User, Failure> {
    match (which.id, &which.name) {
        (Some(id), _) => read(target, id).await?.ok_or_else(|| missing(&id.to_string())),
        (None, Some(name)) => named(target, name).await?.ok_or_else(|| missing(name)),
        (None, None) => find(target, which.either.as_deref().unwrap_or_default()).await,
    }
}

/// The name of the user that a misspelt one most likely means, as a question; empty if no name is near. Reads every account.
pub(super) async fn near_user(target: &Target, text: &str) -> Result<String, Failure> {
    let users = all::<User>(&target.db, prefix::USER).await?;
    let names = users.iter().map(|(_, user)| user.username.as_str());
    Ok(publish::nearest(text, names).map_or_else(String::new, |near| format!(" Did you mean {near}?")))
}

pub(super) fn missing(text: &str) -> Failure {
    let next =
        "`storectl user list` shows all; `storectl doctor` indexes names of accounts that an older version made.";
    Failure::refused(format!("There is no user {text}."), next)
}

async fn named(target: &Target, text: &str) -> Result<Option<User>, Failure> {
    let Ok(name) = UserName::parse(text) else { return Ok(None) };
    // A former name finds its account while it is reserved for it.
    match names::find(&target.db, &name).await? {
        Some(row) if row.owner().is_some() || !row.is_free(target.seconds().await?) => read(target, row.user).await,
        _ => Ok(None),
    }
}

pub(super) async fn read(target: &Target, id: UserId) -> Result<Option<User>, Failure> {
    Ok(read_live(&target.db, &keys::user(id)).await?)
}
