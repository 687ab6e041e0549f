//! Bans of names, and revoked tokens (rules.md, "Bans" and "Tokens").
//!
//! A ban belongs to a name, so that it also holds before a first login. If the name has an account, the account is marked
//! and its tokens are refused by the same transaction. Cards are banned with a name, and a card as long as one such name is.

use super::logins;
use super::names::{self, Ban};
use crate::model::{Cancellation, Subscription, User, UserId, UserName};
use crate::rules::subscription::cancelled;
use crate::shop::subscriptions;
use crate::shop::subscriptions::of_orders::write;
use crate::table::transaction::{Write, send, sent};
use crate::table::{Db, StoreError, TURNS, in_turns, keys, read_live};
use aws_sdk_dynamodb::types::AttributeValue;

/// Bans a name at `now` (seconds since 1970 UTC), with the hashes of some `cards`. A name that is banned stays so since then, with its
/// cards, and with another reason only if one is given. Returns the account that has the name. Fails with `Unavailable` also if
/// other requests kept changing the account. Repeating it is safe.
pub async fn ban(
    db: &Db,
    name: &UserName,
    reason: Option<&str>,
    cards: &[String],
    now: i64,
) -> Result<Option<UserId>, StoreError> {
    let key = keys::ban(name);
    in_turns(TURNS, || async {
        let before: Option<Ban> = read_live(db, &key).await?;
        let mut ban = before.clone().unwrap_or(Ban { since: now, reason: None, cards: Vec::new() });
        ban.reason = reason.map(str::to_owned).or(ban.reason);
        let new: Vec<&String> = cards.iter().filter(|card| !ban.cards.contains(card)).collect();
        ban.cards.extend(new.iter().map(|card| (*card).clone()));
        let put = Write::put_live(key.clone(), &ban)?;
        let mut writes = vec![match &before {
            None => put.only_if_absent(),
            // Of two bans at the same time neither loses the cards of the other.
            Some(before) if before.cards.is_empty() => put.only_if("attribute_not_exists(cards)").and_if_present(),
            Some(before) => put.only_if("size(cards) = :cards").number(":cards", before.cards.len()),
        }];
        writes.extend(new.into_iter().map(|card| of_card(card, "ADD", name)));
        let user = account(db, name).await?;
        match &user {
            Some(user) => {
                let after = user.next_issue(now);
                writes.push(refuse_until(user, after).also(", banned = :true").flag(":true", true));
                writes.push(index(name, after));
            }
            None => writes.push(names::must_be_unowned(name)),
        }
        send(db, writes).await?;
        Ok(user.map(|user| user.id))
    })
    .await
}

/// The attribute of a card with the banned names that have paid with it.
const NAMES: &str = "names";

/// The write that adds a name to those of a card, or removes it.
fn of_card(card: &str, word: &str, name: &UserName) -> Write {
    let name = AttributeValue::Ss(vec![name.to_string()]);
    Write::update(keys::card(card), format!("{word} #names :name")).name("#names", NAMES).value(":name", name)
}

/// The condition that a card is not banned.
pub(in crate::shop) fn card_must_not_be_banned(card: &str) -> Write {
    Write::check(keys::card(card)).only_if("attribute_not_exists(#names)").name("#names", NAMES)
}

async fn account(db: &Db, name: &UserName) -> Result<Option<User>, StoreError> {
    match names::owner(db, name).await? {
        Some(id) => read_live(db, &keys::user(id)).await,
        None => Ok(None),
    }
}

/// Cancels the subscriptions of a banned account at the end of what is paid; the sweep asks the provider for it. Those that are
/// cancelled already are left as they are. Returns what it has cancelled now. After an error the same call may be repeated.
pub async fn cancel_subscriptions(db: &Db, user: UserId, now: i64) -> Result<Vec<Subscription>, StoreError> {
    let mut done = Vec::new();
    let Some(account) = read_live::<User>(db, &keys::user(user)).await? else { return Ok(done) };
    for entry in account.subscriptions {
        done.extend(cancel(db, &entry.id, now).await?);
    }
    Ok(done)
}

async fn cancel(db: &Db, id: &str, now: i64) -> Result<Option<Subscription>, StoreError> {
    in_turns(TURNS, || async {
        let read = subscriptions::get(db, id).await?.filter(|read| !read.cancelled && read.ended_at.is_none());
        let Some(read) = read else { return Ok(None) };
        let next = cancelled(&read, Cancellation::AtPeriodEnd, now);
        let writes: Vec<Write> = write(db, &read, &next, now).await?;
        send(db, writes).await?;
        Ok(Some(next))
    })
    .await
}

/// Lifts the ban of a name and of its cards, if it is banned. Tokens from before the ban stay refused, and no address is known to log
/// in in the game any more. Returns the account that has the name; `None` if the name is not banned.
pub async fn unban(db: &Db, name: &UserName) -> Result<Option<Option<UserId>>, StoreError> {
    let key = keys::ban(name);
    in_turns(TURNS, || async {
        let Some(ban) = read_live::<Ban>(db, &key).await? else { return Ok(None) };
        let user = account(db, name).await?;
        let of_account = match &user {
            Some(user) => Write::update(keys::user(user.id), "REMOVE banned").only_if_present(),
            None => names::must_be_unowned(name),
        };
        let same = if ban.cards.is_empty() { "attribute_not_exists(cards)" } else { "size(cards) = :cards" };
        let lifted = Write::delete(key.clone()).only_if(same);
        let lifted = if ban.cards.is_empty() { lifted } else { lifted.number(":cards", ban.cards.len()) };
        let mut writes = vec![lifted, of_account, logins::forget(name)];
        writes.extend(ban.cards.iter().map(|card| of_card(card, "DELETE", name)));
        send(db, writes).await?;
        for card in &ban.cards {
            // A row without names bans no one; this only tidies up.
            let row = Write::delete(keys::card(card)).only_if("attribute_not_exists(#names)").name("#names", NAMES);
            sent(db, vec![row]).await?;
        }
        Ok(Some(user.map(|user| user.id)))
    })
    .await
}

/// Refuses every token of a user that was issued until `now` (seconds since 1970 UTC), also one that was made in this
/// second, after an earlier revocation. Returns the second from which tokens are accepted; `None` if the account was
/// changed by another request. Fails if it is not known whether they are refused.
pub async fn revoke(db: &Db, user: &User, now: i64) -> Result<Option<i64>, StoreError> {
    let after = user.next_issue(now);
    let mut writes: Vec<Write> = vec![refuse_until(user, after)];
    if let Ok(name) = UserName::parse(&user.username)
        && names::owner(db, &name).await? == Some(user.id)
    {
        writes.extend([index(&name, after), logins::forget(&name)]);
    }
    Ok((sent(db, writes).await?).then_some(after))
}

/// The write that refuses the tokens of an account; never to an earlier time than another command has set.
fn refuse_until(user: &User, after: i64) -> Write {
    Write::update(keys::user(user.id), "SET tokens_valid_after = :after")
        .only_if("attribute_exists(#pk) AND (attribute_not_exists(tokens_valid_after) OR tokens_valid_after < :after)")
        .name("#pk", keys::PK)
        .number(":after", after)
}

/// The write by which a login by name knows of a revocation without reading the account.
fn index(name: &UserName, after: i64) -> Write {
    Write::update(keys::name(name), "SET valid_after = :after").only_if_present().number(":after", after)
}
