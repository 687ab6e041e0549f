//! `ban`, `ban list`, `unban` and `revoke`: who may log in, and which tokens are refused.

use super::common::shown_time;
use super::find_user::{find_which, read};
use crate::answer::{Answer, GOOD, columns, paint};
use crate::cli::{OneUser, UnbanName};
use crate::error::{Exit, Failure};
use crate::target::Target;
use serde_json::{Value, json};
use shared::model::{AuthType, CommandState, Subscription, UserId, UserName};
use shared::rules::subscription::access_until;
use shared::shop::accounts::bans;
use shared::shop::accounts::names::Ban;
use shared::shop::delivery::{Filter, matching, stop_banned};
use shared::table::StoreError;
use shared::table::bulk::all;
use shared::table::keys::{Key, prefix};
use shared::table::published::read_active_version;
use std::collections::BTreeMap;
use std::fmt::Write as _;

pub(super) async fn ban(target: &Target, name: &str, reason: Option<&String>) -> Result<Answer, Failure> {
    let name = parse(name)?;
    let now = target.seconds().await?;
    let user = bans::ban(&target.db, &name, reason.map(String::as_str), now).await.map_err(unknown)?;
    let account = match user {
        Some(id) => format!("every token of user {id} is refused"),
        None => "it has no account".to_owned(),
    };
    let stopped = stop_banned(&target.db, target.clock.as_ref(), &name).await.map_err(|error| {
        Failure::from(error).done(format!("{name} is banned; what waits for game servers may still run."))
    })?;
    let commands = match stopped {
        0 => String::new(),
        count => {
            format!(" {count} commands for game servers are stopped; their orders are not refunded.")
        }
    };
    let cancelled = match user {
        Some(id) => bans::cancel_subscriptions(&target.db, id, now).await.map_err(|error| {
            let done = format!("{name} is banned; not every subscription is cancelled.");
            Failure::from(error).done(done).next("Run the same command again.")
        })?,
        None => Vec::new(),
    };
    let until = |one: &Subscription| format!(" {} ({}) ends {}", one.name, one.id, shown_time(access_until(one)));
    let subscriptions = match &cancelled[..] {
        [] => String::new(),
        some => {
            let named: Vec<String> = some.iter().map(until).collect();
            format!("\nNot renewed any more:{}. The sweep asks the payment provider for it.", named.join(","))
        }
    };
    let text = format!("{} {name} is banned; {account}.{commands}{subscriptions}", paint(GOOD, "ok"));
    let cancelled: Vec<&str> = cancelled.iter().map(|one| one.id.as_str()).collect();
    let json = json!({
        "name": name.to_string(), "banned": true, "user": user, "stopped_commands": stopped,
        "cancelled_subscriptions": cancelled,
    });
    Ok(Answer::new(text, json))
}

fn unknown(error: StoreError) -> Failure {
    Failure::from(error).done("It is not known whether it was written.").next("Run the same command again.")
}

/// Every ban, by name.
pub(super) async fn list(target: &Target) -> Result<Answer, Failure> {
    let name = |key: Key| key.pk.strip_prefix(prefix::BAN).unwrap_or_default().to_owned();
    let bans = all::<Ban>(&target.db, prefix::BAN).await?.into_iter();
    let bans: BTreeMap<String, Ban> = bans.map(|(key, ban)| (name(key), ban)).collect();
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

pub(super) fn facts(ban: &Ban) -> Value {
    json!({ "since": shown_time(ban.since), "reason": ban.reason })
}

pub(super) async fn unban(target: &Target, options: &UnbanName) -> Result<Answer, Failure> {
    let name = parse(&options.name)?;
    let user = bans::unban(&target.db, &name)
        .await
        .map_err(unknown)?
        .ok_or_else(|| Failure::refused(format!("The name {name} is not banned."), "Check how it is written."))?;
    let stays =
        stays(target, &name, user).await.map_err(|failure| failure.done(format!("{name} may log in again.")))?;
    let text = format!("{} {name} may log in again, with a new token.", paint(GOOD, "ok"));
    let json = json!({
        "name": name.to_string(), "banned": false, "user": user, "stopped_commands": stays.commands,
        "cancelled_subscriptions": stays.subscriptions.iter().map(|one| &one.id).collect::<Vec<_>>(),
    });
    Ok(Answer::new(format!("{text}{}", stays.told(&name)), json))
}

/// What a ban ended, and its end does not bring back.
struct Stays {
    commands: usize,
    subscriptions: Vec<Subscription>,
}

async fn stays(target: &Target, name: &UserName, user: Option<UserId>) -> Result<Stays, Failure> {
    let filter = Filter { player: Some(name.to_string()), state: Some(CommandState::Stopped), ..Filter::default() };
    let commands = matching(&target.db, &filter, target.clock.seconds()).await?.unwrap_or_default().commands.len();
    let mut subscriptions = Vec::new();
    let account = match user {
        Some(id) => read(target, id).await?,
        None => None,
    };
    for entry in account.map(|user| user.subscriptions).unwrap_or_default() {
        let found = shared::shop::subscriptions::get(&target.db, &entry.id).await?;
        subscriptions.extend(found.filter(|one| one.cancelled));
    }
    Ok(Stays { commands, subscriptions })
}

impl Stays {
    fn told(&self, name: &UserName) -> String {
        let mut text = String::new();
        if self.commands > 0 {
            let count = self.commands;
            _ = write!(
                text,
                "\n{count} commands for game servers stay stopped: `storectl delivery list --user {name} --state stopped` shows \
                 them, `storectl delivery retry ID` sends one."
            );
        }
        for one in &self.subscriptions {
            let ends = shown_time(access_until(one));
            _ = write!(
                text,
                "\nThe subscription {} ({}) stays cancelled and ends {ends}; {name} can buy it again.",
                one.name, one.id
            );
        }
        text
    }
}

/// Refuses every token issued so far, by the database's clock.
pub(super) async fn revoke(target: &Target, options: &OneUser) -> Result<Answer, Failure> {
    let user = find_which(target, &options.user).await?;
    let revoked = bans::revoke(&target.db, &user, target.seconds().await?).await.map_err(|error| {
        Failure::from(error)
            .done("It is not known whether the tokens were revoked.")
            .next("Run the same command again.")
    })?;
    let after = revoked.ok_or_else(|| {
        let what = format!("The account of {} was changed by another request.", user.username);
        Failure::new(Exit::Raced, what, "Run the same command again.")
    })?;
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

/// The advice for a store in which a name is enough to log in.
fn logs_in_again(name: &str) -> String {
    format!(
        "\nThis store logs players in by name: anybody who enters {name} gets a new token at once. What does help:\n\
         - `storectl ban {name}` refuses every login of that name, the player's own too, until `storectl unban {name}`.\n\
         - `auth_type: ingame` in store.yaml ends logins by name for the whole store; publish it, then revoke again."
    )
}

fn parse(text: &str) -> Result<UserName, Failure> {
    UserName::parse(text).map_err(|error| {
        Failure::refused(format!("The name {text:?} cannot be used: {error}."), "Give the player's name.")
    })
}
