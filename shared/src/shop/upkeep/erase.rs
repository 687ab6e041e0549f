//! Erasing a user: the account with its cart, ledger, names, referral codes and credits. What statistics, carts and orders
//! repeat of the user is removed by [`crate::shop::orders`].

use crate::clock::Clock;
use crate::model::{About, Cart, Command, CommandId, InternalId, Notice, OwnerRun, Referral, UserId, UserName};
use crate::rules::erase::ErasedPlayer;
use crate::shop::accounts::names::{self, NameRow};
use crate::shop::codes;
use crate::shop::delivery::{StopReason, place_of, stop};
use crate::shop::notices::change_about;
use crate::shop::orders::StoredOrder;
use crate::table::bulk::{all, delete_each, each};
use crate::table::codec::{Row, decode_live, key_of};
use crate::table::keys::{self, Key, prefix};
use crate::table::single::{apply, apply_all};
use crate::table::transaction::Write;
use crate::table::{Db, StoreError, TURNS, in_turns};
use std::collections::BTreeSet;

/// Orders and carts with a player who is to be erased.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Traces {
    /// Orders that can still be paid: the player's, and those with a gift for them.
    pub open: Vec<InternalId>,
    /// Orders with the player's name, or with what they typed.
    pub orders: Vec<InternalId>,
    /// Other buyers whose carts have the player's name.
    pub carts: Vec<UserId>,
}

/// Looks for a player in orders and carts. Reads every item.
pub async fn traces(db: &Db, player: &ErasedPlayer) -> Result<Traces, StoreError> {
    let mut traces = Traces::default();
    each(db, "", |item| {
        let key = key_of(&item)?;
        if keys::is_order(&key) {
            let StoredOrder { order, effects } = StoredOrder::decode(&key, Row::from(item))?;
            traces.open.extend(player.has_open(&order).then(|| order.internal_id.clone()));
            traces.orders.extend(player.without_in_order(&order, &effects).map(|_| order.internal_id));
        } else if key.pk.starts_with(prefix::CART) {
            let cart: Cart = decode_live(&key, item)?;
            let is_other = cart.user != player.user;
            traces.carts.extend(player.without_in_cart(&cart).filter(|_| is_other).map(|_| cart.user));
        }
        Ok::<(), StoreError>(())
    })
    .await?;
    Ok(traces)
}

/// The lines of orders, by the order and their places in it.
type Lines = BTreeSet<(InternalId, u16)>;

/// Stops every command for an erased player and removes their names, also from commands for the players of their gifts, and
/// what the player's orders hold: nothing runs any more. What is known of logins in the game goes, too. Returns how
/// many it stopped.
pub async fn stop_commands(db: &Db, clock: &dyn Clock, player: &ErasedPlayer) -> Result<usize, StoreError> {
    let names: BTreeSet<String> = player.names.iter().map(|name| name.to_string().to_lowercase()).collect();
    let held = keys::held_by(player.user);
    let (mut commands, mut own): (Vec<Command>, BTreeSet<InternalId>) = Default::default();
    // A name may have been another player's before, or since.
    let (mut theirs, mut of_others): (Lines, Lines) = Default::default();
    let mut gone: BTreeSet<Key> = player.names.iter().map(keys::game_login).collect();
    each(db, "", |item| {
        let key = key_of(&item)?;
        if key.pk.starts_with(prefix::COMMAND) {
            commands.push(decode_live(&key, item)?);
        } else if key.pk.starts_with(prefix::RUN) {
            // Of a try that is not over, the name; its commands are found by it.
            let run: OwnerRun = decode_live(&key, item)?;
            let is_theirs = matches!(&run, OwnerRun::Try(own) if names.contains(&own.player.to_lowercase()));
            gone.extend(is_theirs.then_some(key));
        } else if key.pk == held {
            gone.insert(key);
        } else if keys::is_order(&key) {
            let order = StoredOrder::decode(&key, Row::from(item))?.order;
            for (place, line) in (0..).zip(&order.lines) {
                let line_of = match line.beneficiary(order.player()) {
                    Some(user) if user == player.user => &mut theirs,
                    Some(_) => &mut of_others,
                    None => continue,
                };
                line_of.insert((order.internal_id.clone(), place));
            }
            own.extend((order.owner == Some(player.user)).then_some(order.internal_id));
        }
        Ok::<(), StoreError>(())
    })
    .await?;
    // What can still run is stopped only if it surely names the player; of what has ended any likeness is removed.
    let is_named = |command: &Command| {
        let (text, has_ended) = (command.text.to_lowercase(), place_of(command).is_none());
        names.iter().any(|name| if has_ended { text.contains(name.as_str()) } else { has_name(&text, name) })
    };
    let is_about = |command: &Command| {
        let line = (command.order.clone(), command.line);
        let has_player = names.contains(&command.player.to_lowercase()) && !of_others.contains(&line);
        theirs.contains(&line) || has_player || (own.contains(&command.order) && is_named(command))
    };
    let ids: Vec<CommandId> = commands.iter().filter(|command| is_about(command)).map(|command| command.id).collect();
    delete_each(db, gone.into_iter(), &|_| {}).await?;
    stop(db, clock, &ids, StopReason::Erased).await
}

/// Removes an erased player's names from what owners are notified of, whether it waits or is kept; a name may have been another player's,
/// who is not named any more then either. Notices that the sender moves at the same time are looked at again. Returns how many
/// had one.
pub async fn erase_notices(db: &Db, player: &ErasedPlayer) -> Result<usize, StoreError> {
    let names: BTreeSet<String> = player.names.iter().map(|name| name.to_string().to_lowercase()).collect();
    in_turns(TURNS, || async {
        let mut erased = 0;
        for row in db.query(&keys::notices()).await? {
            let key = row.key()?;
            // The marks of what was told have no name.
            let Ok(notice) = row.live::<Notice>(&key) else { continue };
            let mut without = notice.clone();
            without_names(&mut without.about, &names);
            if without == notice {
                continue;
            }
            if !apply(db, change_about(key, &without)?).await? {
                return Err(StoreError::Contended);
            }
            erased += 1;
        }
        Ok(erased)
    })
    .await
}

/// Removes names, in lower case, from the subject of a notice.
fn without_names(about: &mut About, names: &BTreeSet<String>) {
    let is_named = |name: &str| names.contains(&name.to_lowercase());
    let clear = |name: &mut String| {
        if is_named(name) {
            name.clear();
        }
    };
    match about {
        About::Order(order) => {
            clear(&mut order.player);
            for line in &mut order.lines {
                line.gift_to.take_if(|name| is_named(name));
            }
        }
        About::Subscription { player, .. } => clear(player),
        About::Command { text, answer, .. } => {
            for text in [text, answer] {
                if names.iter().any(|name| has_name(&text.to_lowercase(), name)) {
                    text.clear();
                }
            }
        }
        About::Item { .. } | About::Goal { .. } | About::Server { .. } | About::Day(_) => {}
    }
}

/// Whether a text has a name, and not only as a part of a word. The code of a colour, such as `&6`, may be before it.
fn has_name(text: &str, name: &str) -> bool {
    let is_part = |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
    text.match_indices(name).any(|(at, _)| {
        let mut before = text[..at].chars().rev();
        let begins = !is_part(before.next()) || matches!(before.next(), Some('&' | '§'));
        begins && !is_part(text[at + name.len()..].chars().next())
    })
}

/// Removes account, cart, ledger and present name in one transaction, so that no token is left for half a user. The
/// account is never half removed.
pub async fn erase_account(db: &Db, id: UserId, username: Option<&str>) -> Result<(), StoreError> {
    let mut writes: Vec<Write> = [keys::user(id), keys::cart(id), keys::ledger(id)].map(Write::delete).into();
    if let Some(name) = username.and_then(|username| UserName::parse(username).ok())
        && names::owner(db, &name).await? == Some(id)
    {
        writes.push(names::release(keys::name(&name), id));
    }
    if apply_all(db, writes).await? { Ok(()) } else { Err(StoreError::Contended) }
}

/// The rows of the names that are the user's: the present one, and former ones that are held.
pub async fn name_rows(db: &Db, id: UserId) -> Result<Vec<Key>, StoreError> {
    let rows = all::<NameRow>(db, prefix::NAME).await?;
    Ok(rows.into_iter().filter(|(_, row)| row.user == id).map(|(key, _)| key).collect())
}

/// Removes the user's referral codes, these rows of names that are still the user's, and the credits, whose notes may name
/// the user. The account must be removed before: none is written after that. Returns how many referral codes there
/// were. After an error the same call can be made again.
pub async fn erase_possessions(db: &Db, id: UserId, names: Vec<Key>) -> Result<usize, StoreError> {
    let referrals = all::<Referral>(db, prefix::REFERRAL).await?;
    let own: Vec<Key> =
        referrals.into_iter().filter(|(_, referral)| referral.owner == id).map(|(key, _)| key).collect();
    let count = own.len();
    delete_each(db, own.into_iter(), &|_| {}).await?;
    for name in names {
        apply(db, names::release(name, id)).await?;
    }
    let credits = codes::of(db, &keys::credits(id)).await?;
    delete_each(db, credits.into_iter().map(|credit| keys::credit(id, &credit.key)), &|_| {}).await?;
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::has_name;

    #[test]
    fn a_part_of_a_word_is_no_name() {
        for (text, expected) in
            [("say &6ron gave", true), ("give ron, 5", true), ("give iron", false), ("ron_2 ronja", false)]
        {
            assert_eq!(has_name(text, "ron"), expected, "{text}");
        }
    }
}
