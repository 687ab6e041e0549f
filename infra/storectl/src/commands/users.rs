//! `user add`, `show` and `list`.

use super::common::{self, published, shown_time};
use super::find_user::{find_which, missing, read};
use super::{bans, codes};
use crate::answer::{Answer, GOOD, WARN, columns, paint};
use crate::cli::{AddUser, WhichUser};
use crate::error::{Exit, Failure};
use crate::target::Target;
use publish::files::Decimal;
use serde_json::{Value, json};
use shared::model::{Holding, ItemId, Money, User, UserId, UserName};
use shared::money::CurrencyFormat;
use shared::random;
use shared::rules::delivery::frozen::is_plain;
use shared::shop::accounts::names;
use shared::shop::accounts::names::{Ban, NameRow};
use shared::shop::accounts::{self, Added};
use shared::shop::carts;
use shared::shop::codes::{self as rows, Addition};
use shared::shop::stock::ledgers;
use shared::table::bulk::all;
use shared::table::keys::{self, prefix};

pub(super) async fn add(target: &Target, options: &AddUser) -> Result<Answer, Failure> {
    let name = UserName::parse_new(&options.username).map_err(|error| {
        let what = format!("The name {:?} cannot be used: {error}.", options.username);
        Failure::refused(what, "Give the name that the buyer has in the game.")
    })?;
    let digits = codes::digits(target).await?;
    let balance = Decimal(options.virtual_currency.clone().into()).money(digits);
    let balance = balance.map_err(|error| Failure::refused(format!("--virtual-currency {error}."), "Correct it."))?;
    if let Some(id) = names::owner(&target.db, &name).await? {
        return present(target, options, id, digits).await;
    }
    let uuid = options.uuid.clone().or_else(random::uuid).ok_or_else(|| {
        Failure::new(Exit::Local, "The system provides no random numbers.", "Pass --uuid, or fix the system.")
    })?;
    // By the clock that tokens are dated by: a token older than its account is refused.
    let now = target.seconds().await?;
    let mut user = User {
        id: UserId::new(0),
        username: options.username.trim().to_owned(),
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
    let added = accounts::add(&target.db, &mut user, &name).await.map_err(|error| {
        let next = "Run the same command again with --if-absent: it makes the account or prints it.";
        Failure::from(error).done("It is not known whether the account was made.").next(next)
    })?;
    match added {
        Added::Written => {}
        Added::NameTaken(NameRow { user, held_until: Some(until), .. }) => {
            let what =
                format!("The name {} is held for user {user} until {}.", options.username.trim(), shown_time(until));
            return Err(Failure::refused(what, "Choose another name: the account had it before it was renamed."));
        }
        Added::NameTaken(row) => return present(target, options, row.user, digits).await,
        Added::Banned => {
            let what = format!("The name {} is banned.", user.username);
            return Err(Failure::refused(what, format!("`storectl unban {}` lifts the ban.", user.username)));
        }
    }
    let id = user.id;
    let note = note_of_name(&user.username);
    let text = format!("{} {} is user {id}.{note}\nA token: storectl token {id}", paint(GOOD, "ok"), user.username);
    Ok(Answer::new(text, json!({ "user": facts(&user, CurrencyFormat::new(digits)), "created": true })))
}

/// A note for people about a name that commands cannot have; empty for others.
pub(super) fn note_of_name(name: &str) -> String {
    let note = if !is_plain(name) {
        "commands with this name are cancelled, because a console could read more than a name: only letters, digits, spaces and \
         _.,*+!- are safe, and a name needs a letter or a digit"
    } else if name.contains(' ') {
        "consoles split at spaces: commands with this name are cancelled, unless they have it in quotes (\"{player}\") and run on a \
         server with quotes: true"
    } else {
        return String::new();
    };
    format!("\n{} {note}.", paint(WARN, "note"))
}

/// Result of `user add` if the name has an account: that account, or a refusal.
async fn present(target: &Target, options: &AddUser, id: UserId, digits: u8) -> Result<Answer, Failure> {
    if !options.if_absent {
        let what = format!("The name {} is taken by user {id}.", options.username.trim());
        let next = "Choose another name, or add --if-absent to print that account.";
        return Err(Failure::refused(what, next));
    }
    let user = read(target, id).await?.ok_or_else(|| missing(&id.to_string()))?;
    let text = format!("{} {} is user {id} already.", paint(GOOD, "ok"), user.username);
    Ok(Answer::new(text, json!({ "user": facts(&user, CurrencyFormat::new(digits)), "created": false })))
}

pub(super) fn facts(user: &User, format: CurrencyFormat) -> Value {
    json!({
        "id": user.id, "username": user.username, "avatar": user.avatar, "system": user.system,
        "identificator": user.identificator, "uuid": user.uuid, "created_at": shown_time(user.created_at),
        "updated_at": shown_time(user.updated_at), "virtual_currency": format.money(user.virtual_currency),
        "tokens_valid_after": user.tokens_valid_after.map(shown_time),
    })
}

pub(super) fn amount(amount: Money, digits: u8) -> String {
    CurrencyFormat::new(digits).money(amount).to_string()
}

pub(super) async fn show(target: &Target, which: &WhichUser) -> Result<Answer, Failure> {
    let user = find_which(target, which).await?;
    let digits = published(target).await?.config.digits;
    let ban_key = UserName::parse(&user.username).ok().map(|name| keys::ban(&name));
    let wanted = [keys::ledger(user.id), keys::cart(user.id)].into_iter().chain(ban_key.clone());
    let mut rows = target.db.batch_get(wanted.collect()).await?;
    let ban = ban_key.and_then(|key| rows.take(&key).map(|row| row.live::<Ban>(&key))).transpose()?;
    let credits = rows::of(&target.db, &keys::credits(user.id)).await?;
    let ledger = ledgers::take(&mut rows, user.id)?;
    let cart = carts::take(&mut rows, user.id)?;
    let (held, now): (Vec<(ItemId, Holding)>, i64) = (ledger.iter().collect(), target.clock.seconds());
    let mut lines = vec![
        format!("{} (user {}), since {}", user.username, user.id, shown_time(user.created_at)),
        format!("uuid {}, virtual currency {}", user.uuid, amount(user.virtual_currency, digits)),
        format!("{} lines in the cart", cart.lines.len()),
    ];
    if let Some(after) = user.tokens_valid_after {
        lines.push(format!("Tokens issued until {} are refused", shown_time(after)));
    }
    if let Some(ban) = &ban {
        let reason = ban.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        lines.push(paint(WARN, &format!("Banned since {}{reason}", shown_time(ban.since))));
    }
    if !held.is_empty() {
        let row = |(item, held): &(ItemId, Holding)| {
            let ends = held.run.map_or_else(String::new, |run| shown_time(run.ends_at));
            let owned = held.at(now);
            vec![item.to_string(), owned.units.to_string(), amount(owned.paid, digits), ends]
        };
        lines.push(columns(&["ITEM", "UNITS", "PAID", "UNTIL"], &held.iter().map(row).collect::<Vec<_>>()));
    }
    if !credits.is_empty() {
        let row = |credit: &Addition| {
            vec![shown_time(credit.at), amount(credit.amount, digits), credit.note.clone(), credit.key.clone()]
        };
        lines.push(columns(&["CREDITED AT", "AMOUNT", "NOTE", "KEY"], &credits.iter().map(row).collect::<Vec<_>>()));
    }
    let format = CurrencyFormat::new(digits);
    let bought = held.iter().map(|(item, held)| {
        let (owned, ends) = (held.at(now), held.run.map(|run| shown_time(run.ends_at)));
        json!({ "item": item, "units": owned.units, "paid": format.money(owned.paid), "ends_at": ends })
    });
    let json = json!({
        "user": facts(&user, format), "bought": bought.collect::<Vec<_>>(), "cart_lines": cart.lines.len(),
        "ban": ban.as_ref().map(bans::facts), "credits": common::additions(&credits, format),
    });
    Ok(Answer::new(lines.join("\n"), json))
}

pub(super) async fn list(target: &Target) -> Result<Answer, Failure> {
    let users = all(&target.db, prefix::USER).await?;
    let mut users: Vec<User> = users.into_iter().map(|(_, user)| user).collect();
    users.sort_by_key(|user| user.id);
    let digits = codes::digits(target).await?;
    let row = |user: &User| vec![user.id.to_string(), user.username.clone(), shown_time(user.created_at)];
    let text = columns(&["ID", "NAME", "SINCE"], &users.iter().map(row).collect::<Vec<_>>());
    let format = CurrencyFormat::new(digits);
    Ok(Answer::new(text, json!({ "users": users.iter().map(|user| facts(user, format)).collect::<Vec<_>>() })))
}
