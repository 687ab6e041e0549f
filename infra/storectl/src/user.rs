//! `user …`: buyers' accounts. Here are `add`, `show` and `list`, and how a command finds the user that it names.

use crate::account::{self, CreditUser, EraseUser, RenameUser};
use crate::prelude::*;
use publish::files::Decimal as Written;
use serde::Serialize;
use shared::model::{BedrockPrefix, PlayerName, User, UserId, UserName};
use shared::money::{CurrencyFormat, Decimal};
use shared::random;
use shared::rules::delivery::frozen::is_plain;
use shared::shop::accounts::names::{Ban, NameRow};
use shared::shop::accounts::{self, Added, names};
use shared::shop::carts;
use shared::shop::codes::{self, Addition};
use shared::shop::stock::ledgers;
use shared::table::bulk::all;
use shared::table::keys::{self, prefix};
use shared::table::published::read_active_version;
use shared::table::read_live;

/// The user that is meant: an id or a name, or either with its option.
#[derive(Debug, Clone, Args)]
#[group(required = true, multiple = false)]
pub struct WhichUser {
    /// The user's id if it consists of digits, else the user's name; case does not matter.
    #[arg(value_name = "USER")]
    pub either: Option<String>,
    /// The user's id.
    #[arg(long, value_name = "ID")]
    pub id: Option<UserId>,
    /// The user's name; never taken for an id.
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
}

impl WhichUser {
    /// The name or id as it was typed; `None` of an id with its option.
    pub fn typed(&self) -> Option<&str> {
        self.name.as_deref().or(self.either.as_deref())
    }
}

#[derive(Debug, Clone, Subcommand)]
pub enum UserCommand {
    /// Make an account. Names are unique without regard to case.
    #[command(after_help = "Examples:\n  storectl user add Thornwick --local ./data\n  \
                            storectl user add Thornwick --if-absent --json --stack storefront\n  \
                            storectl user add Thornwick --uuid 5b0c2f4e-6d1a-4c07-9a53-1f7e8b2d4c60 --stack storefront")]
    Add(AddUser),
    /// Show an account: what it has bought, the credits that it got, and its ban.
    #[command(after_help = "Example:\n  storectl user show 7 --stack storefront")]
    Show(WhichUser),
    /// List every account; looks through the whole table.
    #[command(after_help = "Example:\n  storectl user list --stack storefront")]
    List,
    /// Add to an account's balance in virtual currency, once per key.
    #[command(
        after_help = "Examples:\n  storectl user credit Thornwick 5.00 --note 'lost crate of May 3' --stack storefront\n  \
                            storectl user credit 7 5.00 --note 'lost crate' --key ticket-118 --stack storefront\n\n\
                            Run again, also after it was interrupted, it credits nothing a second time: an account gets one \
                            credit per key. Without --key, the same AMOUNT with the same note is the same credit."
    )]
    Credit(CreditUser),
    /// Give an account another name; its tokens, purchases and orders stay.
    #[command(after_help = "Example:\n  storectl user rename Thornwick Thornwick2 --stack storefront\n\n\
                            The former name is free after 30 days. Until then no one can log in with it or get it, but \
                            this account can have it back. If it is interrupted, run it again: it completes what was \
                            begun.")]
    Rename(RenameUser),
    /// Erase an account, its cart, what it has bought, and its name in statistics; its orders stay without a name.
    #[command(after_help = "Example:\n  storectl user erase 7 --stack storefront")]
    Erase(EraseUser),
}

#[derive(Debug, Clone, Args)]
pub struct AddUser {
    /// Name in the game; not digits only, which would be taken for an id.
    pub username: String,
    /// Print the account that has the name already, instead of refusing.
    #[arg(long)]
    pub if_absent: bool,
    /// The account's UUID; a random one by default.
    #[arg(long, value_parser = uuid)]
    pub uuid: Option<String>,
    /// Image URL.
    #[arg(long, default_value = "")]
    pub avatar: String,
    /// The game system the account belongs to.
    #[arg(long, default_value = "")]
    pub system: String,
    /// The account's identifier in that system.
    #[arg(long, default_value = "")]
    pub identificator: String,
    /// Balance in virtual currency.
    #[arg(long, value_name = "A", default_value = "0")]
    pub virtual_currency: String,
}

/// A UUID of the command line.
fn uuid(text: &str) -> Result<String, &'static str> {
    let problem = "must be a UUID such as 5b0c2f4e-6d1a-4c07-9a53-1f7e8b2d4c60";
    if shared::random::is_uuid(text) { Ok(text.to_owned()) } else { Err(problem) }
}

impl UserCommand {
    pub async fn run(&self, at: &Deployment, console: &Console) -> Outcome {
        match self {
            Self::Add(options) => add(at, options).await,
            Self::Show(which) => show(at, which).await,
            Self::List => list(at).await,
            Self::Credit(options) => account::credit(at, options).await,
            Self::Rename(options) => account::rename(at, options).await,
            Self::Erase(options) => account::erase(at, console, options).await,
        }
    }
}

/// An account, as it is printed.
pub fn facts(user: &User, digits: u8) -> impl Serialize + use<'_> {
    facts! {
        id: user.id, username: &user.username, avatar: &user.avatar, system: &user.system,
        identificator: &user.identificator, uuid: &user.uuid, created_at: Time(user.created_at),
        updated_at: Time(user.updated_at),
        virtual_currency: CurrencyFormat::new(digits).money(user.virtual_currency),
        tokens_valid_after: user.tokens_valid_after.map(Time),
    }
}

/// An amount that was added to a balance.
#[derive(Serialize)]
pub struct AddedFacts {
    pub key: String,
    pub amount: Decimal,
    pub note: String,
    pub at: Time,
}

impl AddedFacts {
    pub fn new(added: Addition, format: CurrencyFormat) -> Self {
        Self { key: added.key, amount: format.money(added.amount), note: added.note, at: Time(added.at) }
    }
}

async fn add(at: &Deployment, options: &AddUser) -> Outcome {
    let username = as_at_login(at, &options.username).await?;
    let name = UserName::parse_new(&username).map_err(|error| {
        let what = format!("The name {:?} cannot be used: {error}.", options.username);
        Failure::refused(what, "Give the name that the buyer has in the game.")
    })?;
    let digits = at.digits().await?;
    let balance = Written(options.virtual_currency.clone().into()).money(digits);
    let balance = balance.map_err(|error| Failure::refused(format!("--virtual-currency {error}."), "Correct it."))?;
    if let Some(id) = names::owner(&at.db, &name).await? {
        return present(at, options, id, digits).await;
    }
    let uuid = options.uuid.clone().or_else(random::uuid).ok_or_else(|| {
        Failure::new(Exit::Local, "The system provides no random numbers.", "Pass --uuid, or fix the system.")
    })?;
    // By the clock that tokens are dated by: a token older than its account is refused.
    let now = at.seconds().await?;
    let mut user = User {
        id: UserId::new(0),
        username,
        avatar: options.avatar.clone(),
        system: options.system.clone(),
        identificator: options.identificator.clone(),
        uuid,
        created_at: now,
        updated_at: now,
        virtual_currency: balance,
        tokens_valid_after: None,
        banned: false,
        subscriptions: Vec::new(),
        customer: None,
    };
    let next = "Run the same command again with --if-absent: it makes the account or prints it.";
    let added = accounts::add(&at.db, &mut user, &name).await;
    match added.unsure("It is not known whether the account was made.", next)? {
        Added::Written => {
            let (id, name) = (user.id, &user.username);
            let text = ok!("{name} is user {id}.{}\nA token: storectl token {id}", note_of_name(name));
            Ok(Printed::new(text, &facts! { user: facts(&user, digits), created: true }))
        }
        Added::NameTaken(NameRow { user: holder, held_until: Some(until), .. }) => {
            let (name, until) = (&user.username, Time(until));
            let what = format!("The name {name} is held for user {holder} until {until}.");
            Err(Failure::refused(what, "Choose another name: the account had it before it was renamed."))
        }
        Added::NameTaken(row) => present(at, options, row.user, digits).await,
        Added::Banned => Err(banned(&user.username)),
    }
}

/// The refusal of a name that is banned.
pub fn banned(name: &str) -> Failure {
    Failure::refused(format!("The name {name} is banned."), format!("`storectl unban {name}` lifts the ban."))
}

/// A note for people about a name that commands cannot have; empty for others.
pub fn note_of_name(name: &str) -> String {
    let note = if !is_plain(name) {
        "commands with this name are cancelled, because a console could read more than a name: only letters, digits, spaces and \
         _.,*+!- are safe, and a name needs a letter or a digit"
    } else if name.contains(' ') {
        "consoles split at spaces: commands with this name are cancelled, unless they have it in quotes (\"{player}\") and run on a \
         server with quotes: true"
    } else {
        return String::new();
    };
    format!("\n{}", note!("{note}."))
}

/// Result of `user add` if the name has an account: that account, or a refusal.
async fn present(at: &Deployment, options: &AddUser, id: UserId, digits: u8) -> Outcome {
    if !options.if_absent {
        let what = format!("The name {} is taken by user {id}.", options.username.trim());
        let next = "Choose another name, or add --if-absent to print that account.";
        return Err(Failure::refused(what, next));
    }
    let user = read(at, id).await?.ok_or_else(|| missing(&id.to_string()))?;
    let text = ok!("{} is user {id} already.", user.username);
    Ok(Printed::new(text, &facts! { user: facts(&user, digits), created: false }))
}

async fn show(at: &Deployment, which: &WhichUser) -> Outcome {
    let user = find_which(at, which).await?;
    let digits = at.published().await?.config.digits;
    let ban_key = UserName::parse(&user.username).ok().map(|name| keys::ban(&name));
    let wanted = [keys::ledger(user.id), keys::cart(user.id)].into_iter().chain(ban_key.clone());
    let mut rows = at.db.batch_get(wanted.collect()).await?;
    let ban = ban_key.and_then(|key| rows.take(&key).map(|row| row.live::<Ban>(&key))).transpose()?;
    let credits = codes::of(&at.db, &keys::credits(user.id)).await?;
    let (format, now) = (CurrencyFormat::new(digits), at.clock.seconds());
    let cart_lines = carts::take(&mut rows, user.id)?.lines.len();
    let bought = ledgers::take(&mut rows, user.id)?;
    let bought = bought.iter().map(|(item, held)| {
        let (owned, ends_at) = (held.at(now), held.run.map(|run| Time(run.ends_at)));
        facts! { item, units: owned.units, paid: format.money(owned.paid), ends_at }
    });
    let bought: Vec<_> = bought.collect();
    let credits: Vec<_> = credits.into_iter().map(|credit| AddedFacts::new(credit, format)).collect();
    let ban = ban.map(|ban| facts! { since: Time(ban.since), reason: ban.reason, cards: ban.cards.len() });
    let mut lines = vec![
        format!("{} (user {}), since {}", user.username, user.id, Time(user.created_at)),
        format!("uuid {}, virtual currency {}", user.uuid, format.money(user.virtual_currency)),
        format!("{cart_lines} lines in the cart"),
    ];
    lines.extend(user.tokens_valid_after.map(|after| format!("Tokens issued until {} are refused", Time(after))));
    lines.extend(ban.as_ref().map(|ban| {
        let reason = ban.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        let cards = if ban.cards > 0 { format!(", with {} cards", ban.cards) } else { String::new() };
        paint(WARN, &format!("Banned since {}{cards}{reason}", ban.since))
    }));
    if !bought.is_empty() {
        let rows = bought.iter().map(|one| {
            let ends = one.ends_at.map(|at| at.to_string()).unwrap_or_default();
            [one.item.to_string(), one.units.to_string(), one.paid.to_string(), ends]
        });
        lines.push(columns(["ITEM", "UNITS", "PAID", "UNTIL"], rows));
    }
    if !credits.is_empty() {
        let row = |one: &AddedFacts| [one.at.to_string(), one.amount.to_string(), one.note.clone(), one.key.clone()];
        lines.push(columns(["CREDITED AT", "AMOUNT", "NOTE", "KEY"], credits.iter().map(row)));
    }
    Ok(Printed::new(lines.join("\n"), &facts! { user: facts(&user, digits), bought, cart_lines, ban, credits }))
}

async fn list(at: &Deployment) -> Outcome {
    let users = all(&at.db, prefix::USER).await?;
    let mut users: Vec<User> = users.into_iter().map(|(_, user)| user).collect();
    users.sort_by_key(|user| user.id);
    let digits = at.digits().await?;
    let row = |user: &User| [user.id.to_string(), user.username.clone(), Time(user.created_at).to_string()];
    let text = columns(["ID", "NAME", "SINCE"], users.iter().map(row));
    Ok(Printed::new(text, &facts! { users: users.iter().map(|user| facts(user, digits)).collect::<Vec<_>>() }))
}

/// Finds a user by id if the text consists of digits, else by name.
pub async fn find(at: &Deployment, text: &str) -> Result<User> {
    let user = match text.parse::<UserId>() {
        Ok(id) => read(at, id).await?,
        Err(_) => named(at, text).await?,
    };
    user.ok_or_else(|| missing(text))
}

pub async fn find_which(at: &Deployment, which: &WhichUser) -> Result<User> {
    match (which.id, &which.name) {
        (Some(id), _) => read(at, id).await?.ok_or_else(|| missing(&id.to_string())),
        (None, Some(name)) => named(at, name).await?.ok_or_else(|| missing(name)),
        (None, None) => find(at, which.either.as_deref().unwrap_or_default()).await,
    }
}

/// Refuses a former name: another player may have it in the game by now.
pub async fn must_be_called(at: &Deployment, typed: &str, user: &User) -> Result<()> {
    let is_id = typed.parse::<UserId>().is_ok();
    let is_called = async || -> Result<bool> {
        Ok(UserName::parse(&as_at_login(at, typed).await?) == UserName::parse(&user.username))
    };
    if is_id || is_called().await? {
        return Ok(());
    }
    let (name, id) = (&user.username, user.id);
    let what = format!("{typed} is a former name of {name} (user {id}).");
    Err(Failure::refused(what, format!("If {name} is meant, give that name.")))
}

/// The name of the user that a misspelt one most likely means, as a question; empty if no name is near. Reads every account.
pub async fn near_user(at: &Deployment, text: &str) -> Result<String> {
    let users = all::<User>(&at.db, prefix::USER).await?;
    let names = users.iter().map(|(_, user)| user.username.as_str());
    Ok(publish::nearest(text, names).map_or_else(String::new, |near| format!(" Did you mean {near}?")))
}

pub fn missing(text: &str) -> Failure {
    let next =
        "`storectl user list` shows all; `storectl doctor` indexes names of accounts that an older version made.";
    Failure::refused(format!("There is no user {text}."), next)
}

async fn named(at: &Deployment, text: &str) -> Result<Option<User>> {
    let Ok(name) = UserName::parse(&as_at_login(at, text).await?) else { return Ok(None) };
    // A former name finds its account while it is reserved for it.
    match names::find(&at.db, &name).await? {
        Some(row) if row.owner().is_some() || !row.is_free(at.seconds().await?) => read(at, row.user).await,
        _ => Ok(None),
    }
}

/// A name as a login reads it: a Bedrock player's is the one that game servers have (rules.md, "Login by name"). It stays as it is typed
/// if an account is called so, or no player can be.
pub async fn as_at_login(at: &Deployment, typed: &str) -> Result<String> {
    let typed = typed.trim().to_owned();
    let player = PlayerName::parse(&typed).ok().filter(|_| typed.starts_with(BedrockPrefix::SIGNS));
    let (Some(player), Ok(name)) = (player, UserName::parse(&typed)) else { return Ok(typed) };
    if names::find(&at.db, &name).await?.is_some() {
        return Ok(typed);
    }
    Ok(on_servers(at, player).await?.map_or(typed, String::from))
}

/// The name that a player has on the store's game servers; `None` if no player can be called so.
pub async fn on_servers(at: &Deployment, player: PlayerName) -> Result<Option<PlayerName>> {
    let bedrock = read_active_version(&at.db).await?.and_then(|active| active.config.bedrock);
    Ok(player.on_servers(bedrock))
}

/// [`as_at_login`] of a name that may be left out.
pub async fn if_any_as_at_login(at: &Deployment, typed: Option<&str>) -> Result<Option<String>> {
    match typed {
        Some(typed) => as_at_login(at, typed).await.map(Some),
        None => Ok(None),
    }
}

pub async fn read(at: &Deployment, id: UserId) -> Result<Option<User>> {
    Ok(read_live(&at.db, &keys::user(id)).await?)
}
