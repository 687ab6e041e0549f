//! Commands about logins and tokens: `token`, `revoke`, `ban`, `ban list` and `unban`.

use crate::arguments::{seconds, short_text};
use crate::payments::no_keys;
use crate::prelude::*;
use crate::user::{WhichUser, as_at_login, banned, find_which, must_be_called, read};
use serde::Serialize;
use shared::model::{AuthType, CommandState, Subscription, User, UserId, UserName};
use shared::rules::subscription::access_until;
use shared::shop::accounts::bans;
use shared::shop::accounts::names::{self, Ban};
use shared::shop::delivery::{Filter, matching, stop_banned};
use shared::shop::payments::Desk;
use shared::table::bulk::all;
use shared::table::keys::prefix;
use shared::table::published::read_active_version;
use shared::token::LEEWAY;
use std::collections::BTreeMap;
use std::fmt::Write as _;

#[derive(Debug, Clone, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct BanName {
    /// Another thing to do with bans.
    #[command(subcommand)]
    pub command: Option<BanCommand>,
    /// The player's name.
    #[arg(value_name = "NAME", required = true)]
    pub name: Option<String>,
    /// The reason; `ban list` and `user show` show it, the player does not see it.
    #[arg(long, value_name = "TEXT", value_parser = short_text)]
    pub reason: Option<String>,
    /// Ban the cards too that the account's orders were paid with; asks the payment provider for each.
    #[arg(long)]
    pub card: bool,
}

#[derive(Debug, Clone, Subcommand)]
pub enum BanCommand {
    /// List every banned name with date and reason; looks through the whole table.
    #[command(after_help = "Example:\n  storectl ban list --stack storefront")]
    List,
}

#[derive(Debug, Clone, Args)]
pub struct UnbanName {
    /// The player's name.
    #[arg(value_name = "NAME")]
    pub name: String,
}

#[derive(Debug, Clone, Args)]
pub struct Token {
    #[command(flatten)]
    pub user: WhichUser,
    /// How long it is valid, such as 30m, 6h or 7d.
    #[arg(long, value_name = "TIME", default_value = "6h", value_parser = seconds)]
    pub ttl: i64,
}

/// Prints a token, issued by the database's clock and never within a revocation (rules.md, "Tokens").
pub async fn token(at: &Deployment, options: &Token) -> Outcome {
    let token_keys = at.keys.read().await?;
    let user = find_which(at, &options.user).await?;
    if let Some(typed) = options.user.typed() {
        must_be_called(at, typed, &user).await?;
    }
    if user.banned {
        return Err(banned(&user.username));
    }
    let now = at.seconds().await?;
    let issued = user.next_issue(now);
    // Only files can date a revocation ahead: it is meant to refuse tokens until then.
    if issued > now + LEEWAY {
        let what = format!("Tokens of user {} are refused until {}.", user.id, Time(issued));
        return Err(Failure::refused(what, "Wait until then, or look at the account with `storectl user show`."));
    }
    let token = token_keys.sign(user.id, issued, options.ttl).map_err(|_| {
        Failure::new(Exit::Local, "The token could not be signed.", "Look at the keys with `storectl doctor`.")
    })?;
    let expires_at = Time(issued + options.ttl);
    let facts = facts! { token, user: user.id, username: user.username, expires_at };
    Ok(Printed::new(facts.token.as_str(), &facts))
}

/// Refuses every token issued so far, by the database's clock.
pub async fn revoke(at: &Deployment, which: &WhichUser) -> Outcome {
    let user = find_which(at, which).await?;
    let revoked = bans::revoke(&at.db, &user, at.seconds().await?).await;
    let revoked = revoked.unsure("It is not known whether the tokens were revoked.", AGAIN)?;
    let after = revoked.ok_or_else(|| {
        let what = format!("The account of {} was changed by another request.", user.username);
        Failure::new(Exit::Raced, what, AGAIN)
    })?;
    let active = read_active_version(&at.db).await.after("The tokens are revoked.")?;
    let by_name = active.is_none_or(|active| active.config.auth_type == AuthType::Username);
    let mut text = ok!("Every token that {} (user {}) had is refused.", user.username, user.id);
    if by_name {
        text.push_str(&logs_in_again(&user.username));
    }
    let tokens_valid_after = Time(after);
    Ok(Printed::new(text, &facts! { user: user.id, tokens_valid_after, can_log_in_by_name: by_name }))
}

/// The advice for a store in which a name is enough to log in.
fn logs_in_again(name: &str) -> String {
    format!(
        "\nThis store logs players in by name: anyone who enters {name} gets a new token at once. What does help:\n\
         - `storectl ban {name}` refuses every login of that name, the player's own too, until `storectl unban {name}`.\n\
         - `auth_type: ingame` in store.yaml ends logins by name for the whole store; publish it, then revoke again."
    )
}

async fn parse(at: &Deployment, text: &str) -> Result<UserName> {
    UserName::parse(&as_at_login(at, text).await?).map_err(|error| {
        Failure::refused(format!("The name {text:?} cannot be used: {error}."), "Give the player's name.")
    })
}

impl BanName {
    pub async fn run(&self, at: &Deployment) -> Outcome {
        match (&self.command, &self.name) {
            (None, Some(name)) => ban(at, name, self.reason.as_deref(), self.card).await,
            (Some(BanCommand::List), _) | (None, None) => list(at).await,
        }
    }
}

/// Every ban, by name.
async fn list(at: &Deployment) -> Outcome {
    let bans = all::<Ban>(&at.db, prefix::BAN).await?.into_iter();
    let bans = bans.map(|(key, ban)| (key.pk.strip_prefix(prefix::BAN).unwrap_or_default().to_owned(), ban));
    let bans: BTreeMap<String, Ban> = bans.collect();
    let text = if bans.is_empty() {
        format!("No name is banned on {}.", at.name)
    } else {
        let row = |(name, ban): (&String, &Ban)| {
            [name.clone(), Time(ban.since).to_string(), ban.reason.clone().unwrap_or_default()]
        };
        columns(["NAME", "SINCE", "REASON"], bans.iter().map(row))
    };
    let bans = bans.into_iter().map(|(name, ban)| facts! { since: Time(ban.since), reason: ban.reason, name });
    Ok(Printed::new(text, &facts! { bans: bans.collect::<Vec<_>>() }))
}

/// The answer of `ban` and `unban`.
fn changed(
    name: &UserName,
    banned: bool,
    user: Option<UserId>,
    stopped_commands: usize,
    cancelled: &[Subscription],
) -> impl Serialize {
    let cancelled_subscriptions: Vec<String> = cancelled.iter().map(|one| one.id.clone()).collect();
    facts! { name: name.to_string(), banned, user, stopped_commands, cancelled_subscriptions }
}

const UNKNOWN: &str = "It is not known whether it was written.";

async fn ban(at: &Deployment, name: &str, reason: Option<&str>, with_cards: bool) -> Outcome {
    let name = parse(at, name).await?;
    let now = at.seconds().await?;
    let user = bans::ban(&at.db, &name, reason, &[], now).await.unsure(UNKNOWN, AGAIN)?;
    let stopped = stop_banned(&at.db, at.clock.as_ref(), &name, user).await;
    let stopped = stopped.after(format!("{name} is banned; what waits for game servers may still run."))?;
    let cancelled = match user {
        Some(id) => bans::cancel_subscriptions(&at.db, id, now)
            .await
            .unsure(format!("{name} is banned; not every subscription is cancelled."), AGAIN)?,
        None => Vec::new(),
    };
    let cards = match user.filter(|_| with_cards) {
        Some(id) => ban_cards(at, &name, id).await.after(format!("{name} is banned; not every card is."))?,
        None => 0,
    };
    let account =
        user.map_or_else(|| "it has no account".to_owned(), |id| format!("every token of user {id} is refused"));
    let mut text = ok!("{name} is banned; {account}.");
    if with_cards {
        _ = write!(text, " Cards that paid its orders and are banned: {cards}.");
    }
    if stopped > 0 {
        _ = write!(text, " {stopped} commands for game servers are stopped; their orders are not refunded.");
    }
    if !cancelled.is_empty() {
        let until = |one: &Subscription| format!(" {} ({}) ends {}", one.name, one.id, Time(access_until(one)));
        let named = cancelled.iter().map(until).collect::<Vec<_>>().join(",");
        _ = write!(text, "\nNot renewed any more:{named}. The sweep asks the payment provider for it.");
    }
    if user.is_none()
        && let Some(holder) = holder(at, &name, now).await.after(format!("{name} is banned."))?
    {
        let (present, id) = (&holder.username, holder.id);
        let state = if holder.banned { "is banned too" } else { "is not banned" };
        _ = write!(text, "\n{}", note!("{name} is a former name of {present} (user {id}), who {state}."));
    }
    Ok(Printed::new(text, &changed(&name, true, user, stopped, &cancelled)))
}

/// The account for which a former name is held at `now`, seconds since 1970 UTC.
async fn holder(at: &Deployment, name: &UserName, now: i64) -> Result<Option<User>> {
    match names::find(&at.db, name).await?.filter(|row| row.owner().is_none() && !row.is_free(now)) {
        Some(row) => read(at, row.user).await,
        None => Ok(None),
    }
}

/// Bans the cards of an account's orders.
async fn ban_cards(at: &Deployment, name: &UserName, user: UserId) -> Result<usize> {
    let provider = at.payments.stripe().await?.ok_or_else(no_keys)?.for_many_calls();
    Ok(Desk::new(&at.db, at.clock.as_ref(), &provider).ban_cards(name, user).await?)
}

/// Lifts a ban, and says what it ended and its end does not bring back.
pub async fn unban(at: &Deployment, options: &UnbanName) -> Outcome {
    let name = parse(at, &options.name).await?;
    let user = bans::unban(&at.db, &name).await.unsure(UNKNOWN, AGAIN)?;
    let user =
        user.ok_or_else(|| Failure::refused(format!("The name {name} is not banned."), "Check how it is written."))?;
    let (commands, cancelled) = stays(at, &name, user).await.after(format!("{name} may log in again."))?;
    let mut text = ok!("{name} may log in again, with a new token.");
    if commands > 0 {
        _ = write!(
            text,
            "\n{commands} commands for game servers stay stopped: `storectl delivery list --user {name} --state stopped` shows \
             them, `storectl delivery retry ID` sends one."
        );
    }
    for one in &cancelled {
        let (item, id, ends) = (&one.name, &one.id, Time(access_until(one)));
        _ = write!(text, "\nThe subscription {item} ({id}) stays cancelled and ends {ends}; {name} can buy it again.");
    }
    Ok(Printed::new(text, &changed(&name, false, user, commands, &cancelled)))
}

/// The commands that stay stopped, and the subscriptions that stay cancelled.
async fn stays(at: &Deployment, name: &UserName, user: Option<UserId>) -> Result<(usize, Vec<Subscription>)> {
    let filter = Filter { player: Some(name.to_string()), state: Some(CommandState::Stopped), ..Filter::default() };
    let commands = matching(&at.db, &filter, at.clock.seconds()).await?.unwrap_or_default().commands.len();
    let mut subscriptions = Vec::new();
    let account = match user {
        Some(id) => read(at, id).await?,
        None => None,
    };
    for entry in account.map(|user| user.subscriptions).unwrap_or_default() {
        let found = shared::shop::subscriptions::get(&at.db, &entry.id).await?;
        subscriptions.extend(found.filter(|one| one.cancelled));
    }
    Ok((commands, subscriptions))
}
