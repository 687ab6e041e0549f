//! `ban`, `ban list`, `unban` and `revoke`: who may log in, and which tokens are refused (rules.md, "Bans" and "Tokens").
//!
//! A ban belongs to a name, so that it also holds before a first login. If the name has an account, the account is marked
//! and its tokens are refused by the same transaction.

use super::common::shown_time;
use super::delivery;
use super::users::find_which;
use crate::answer::{Answer, GOOD, columns, paint};
use crate::cli::{OneUser, UnbanName};
use crate::error::{Exit, Failure};
use crate::table::each;
use crate::target::Target;
use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::{Value, json};
use shared::model::{AuthType, User, UserName};
use shared::store::codec::{decode_live, encode_live, key_of};
use shared::store::keys::{self, prefix};
use shared::store::names::{self, Ban};
use shared::store::published::read_active_version;
use shared::store::transaction::{Sent, Write, send};
use shared::store::{RETRIES, StoreError, backoff, read_live};
use std::collections::BTreeMap;

type Writes = Vec<Write>;

pub(super) async fn ban(target: &Target, name: &str, reason: Option<&String>) -> Result<Answer, Failure> {
    let name = parse(name)?;
    let now = target.seconds().await?;
    let key = keys::ban(&name);
    // A repeated ban goes on, with another reason only if one is given.
    let before: Option<Ban> = read_live(&target.db, &key).await?;
    let reason = reason.cloned().or_else(|| before.as_ref()?.reason.clone());
    let row = encode_live(&key, &Ban { since: before.map_or(now, |ban| ban.since), reason })?;
    let user = written(target, &name, |user| {
        let mut writes = vec![Write::put(key.clone(), row.clone())];
        match user {
            Some(user) => {
                let after = user.next_issue(now);
                let account = refuse_until(user, "SET tokens_valid_after = :after, banned = :banned", after);
                writes.push(account.value(":banned", AttributeValue::Bool(true)));
                writes.push(index(&name, after));
            }
            None => writes.push(names::must_be_unowned(&name)),
        }
        writes
    })
    .await?;
    let user = user.map(|user| user.id);
    let account = match user {
        Some(id) => format!("every token of user {id} is refused"),
        None => "it has no account".to_owned(),
    };
    let stopped = delivery::stop_banned(target, &name)
        .await
        .map_err(|failure| failure.done(format!("{name} is banned; what waits for game servers may still run.")))?;
    let commands = match stopped {
        0 => String::new(),
        count => {
            format!(" {count} commands for game servers are stopped; their sales stand, refund them if you mean to.")
        }
    };
    let text = format!("{} {name} is banned; {account}.{commands}", paint(GOOD, "ok"));
    let json = json!({ "name": name.to_string(), "banned": true, "user": user, "stopped_commands": stopped });
    Ok(Answer::new(text, json))
}

/// Every ban, by name.
pub(super) async fn list(target: &Target) -> Result<Answer, Failure> {
    let mut bans: BTreeMap<String, Ban> = BTreeMap::new();
    each(&target.db, prefix::BAN, |item| {
        let key = key_of(&item)?;
        let name = key.pk.strip_prefix(prefix::BAN).unwrap_or_default().to_owned();
        bans.insert(name, decode_live(&key, item)?);
        Ok::<(), StoreError>(())
    })
    .await?;
    let row = |(name, ban): (&String, &Ban)| {
        vec![name.clone(), shown_time(ban.since), ban.reason.clone().unwrap_or_default()]
    };
    let text = if bans.is_empty() {
        format!("No name is banned on {}.", target.name)
    } else {
        columns(&["NAME", "SINCE", "REASON"], &bans.iter().map(row).collect::<Vec<_>>())
    };
    let entry = |(name, ban): (&String, &Ban)| {
        let mut entry = facts(ban);
        entry["name"] = name.as_str().into();
        entry
    };
    Ok(Answer::new(text, json!({ "bans": bans.iter().map(entry).collect::<Vec<_>>() })))
}

/// A ban as JSON.
pub(super) fn facts(ban: &Ban) -> Value {
    json!({ "since": shown_time(ban.since), "reason": ban.reason })
}

/// Lifts the ban of a name. Tokens from before the ban stay refused.
pub(super) async fn unban(target: &Target, options: &UnbanName) -> Result<Answer, Failure> {
    let name = parse(&options.name)?;
    if target.db.get(&keys::ban(&name), true).await?.is_none() {
        return Err(Failure::refused(format!("The name {name} is not banned."), "Check how it is written."));
    }
    let user = written(target, &name, |user| {
        let account = match user {
            Some(user) => Write::update(keys::user(user.id), "REMOVE banned").only_if_present(),
            None => names::must_be_unowned(&name),
        };
        vec![Write::delete(keys::ban(&name)), account]
    })
    .await?;
    let text = format!("{} {name} may log in again.", paint(GOOD, "ok"));
    Ok(Answer::new(text, json!({ "name": name.to_string(), "banned": false, "user": user.map(|user| user.id) })))
}

/// Refuses every token issued so far, by the database's clock: also one that was made in this second, after an earlier
/// revocation.
pub(super) async fn revoke(target: &Target, options: &OneUser) -> Result<Answer, Failure> {
    let user = find_which(target, &options.user).await?;
    let after = user.next_issue(target.seconds().await?);
    let mut writes: Writes = vec![refuse_until(&user, "SET tokens_valid_after = :after", after)];
    if let Ok(name) = UserName::parse(&user.username)
        && names::owner(&target.db, &name).await? == Some(user.id)
    {
        writes.push(index(&name, after));
    }
    let unknown = |failure: Failure| {
        failure.done("It is not known whether the tokens were revoked.").next("Run the same command again.")
    };
    if send(&target.db, writes).await.map_err(|error| unknown(error.into()))? != Sent::Written {
        return Err(conflict(&user.username));
    }
    let mut text =
        format!("{} Every token that {} (user {}) had is refused.", paint(GOOD, "ok"), user.username, user.id);
    let active =
        read_active_version(&target.db).await.map_err(|error| Failure::from(error).done("The tokens are revoked."))?;
    let by_name = active.is_none_or(|active| active.config.auth_type == AuthType::Username);
    if by_name {
        text.push_str(&logs_in_again(&user.username));
    }
    Ok(Answer::new(
        text,
        json!({ "user": user.id, "tokens_valid_after": shown_time(after), "can_log_in_by_name": by_name }),
    ))
}

/// What to do if logins need no more than a name.
fn logs_in_again(name: &str) -> String {
    format!(
        "\nThis store logs players in by name: anybody who enters {name} gets a new token at once. What does help:\n\
         - `storectl ban {name}` refuses every login of that name, the player's own too, until `storectl unban {name}`.\n\
         - `auth_type: ingame` in store.yaml ends logins by name for the whole store; publish it, then revoke again."
    )
}

/// The write that refuses the tokens of an account; never to an earlier time than another command has set.
fn refuse_until(user: &User, expression: &str, after: i64) -> Write {
    let condition =
        "attribute_exists(#pk) AND (attribute_not_exists(tokens_valid_after) OR tokens_valid_after < :after)";
    let write = Write::update(keys::user(user.id), expression).only_if(condition);
    write.name("#pk", keys::PK).number(":after", after)
}

/// The write that lets a login by name know of a revocation without reading the account.
fn index(name: &UserName, after: i64) -> Write {
    Write::update(keys::name(name), "SET valid_after = :after").only_if_present().number(":after", after)
}

fn parse(text: &str) -> Result<UserName, Failure> {
    UserName::parse(text).map_err(|error| {
        Failure::refused(format!("The name {text:?} cannot be used: {error}."), "Give the player's name.")
    })
}

fn conflict(name: &str) -> Failure {
    let what = format!("The account of {name} was changed by another request.");
    Failure::new(Exit::Raced, what, "Run the same command again.")
}

/// Sends the writes that `writes` makes for the account of a name, again if the account changed in between. Returns the
/// account.
async fn written(
    target: &Target,
    name: &UserName,
    writes: impl Fn(Option<&User>) -> Writes,
) -> Result<Option<User>, Failure> {
    for round in 0..=RETRIES {
        let user: Option<User> = match names::owner(&target.db, name).await? {
            Some(id) => read_live(&target.db, &keys::user(id)).await?,
            None => None,
        };
        let sent = send(&target.db, writes(user.as_ref())).await.map_err(|error| {
            Failure::from(error).done("It is not known whether it was written.").next("Run the same command again.")
        })?;
        if sent == Sent::Written {
            return Ok(user);
        }
        tokio::time::sleep(backoff(round)).await;
    }
    Err(conflict(&name.to_string()))
}
