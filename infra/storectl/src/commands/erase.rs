//! `user erase`.

use super::find_user::{find_which, read};
use super::orders::end_order;
use super::subscriptions;
use crate::answer::{Answer, GOOD, paint};
use crate::cli::EraseUser;
use crate::console::Console;
use crate::error::Failure;
use crate::target::Target;
use serde_json::json;
use shared::model::{UserId, UserName};
use shared::rules::erase::ErasedPlayer;
use shared::shop::statistics::{erase_from_cart, erase_from_order, erase_names};
use shared::shop::upkeep::erase;
use shared::table::keys::prefix;
use std::fmt::Write as _;

/// Erases a user. An id whose account is gone already continues an earlier attempt that was interrupted.
pub(super) async fn erase(target: &Target, console: &Console, options: &EraseUser) -> Result<Answer, Failure> {
    let id = match (&options.user.either, options.user.id) {
        (_, Some(id)) => Some(id),
        (Some(text), None) => text.parse::<UserId>().ok(),
        (None, None) => None,
    };
    let (id, name) = match id {
        Some(id) => (id, read(target, id).await?.map(|user| user.username)),
        None => {
            let user = find_which(target, &options.user).await?;
            (user.id, Some(user.username))
        }
    };
    let shown = match &name {
        Some(name) => format!("{name} (user {id}) on {}: account, cart, purchases, referral codes, name", target.name),
        None => {
            format!("User {id} on {} has no account any more; what an earlier attempt left is removed", target.name)
        }
    };
    console.confirm(&shown, "Erase permanently?", options.yes)?;
    let unknown = |failure: Failure| {
        let next = format!("{} Then run `storectl user erase {id}` again: it completes the rest.", failure.next);
        failure.done("Some of it may be erased and some not.").next(next)
    };
    // First of all: who is erased must not be charged again.
    let mut ended = subscriptions::end_all(target, id).await?;
    let own = name.as_deref().and_then(|name| UserName::parse(name).ok());
    let rows = erase::name_rows(&target.db, id).await?;
    let held = rows.iter().filter_map(|key| UserName::parse(key.pk.strip_prefix(prefix::NAME)?).ok());
    let player = ErasedPlayer { user: id, names: own.into_iter().chain(held).collect() };
    // While the account is there an attempt that was interrupted can be repeated by name.
    let mut removed = remove_traces(target, &player).await?;
    let (db, clock) = (&target.db, target.clock.as_ref());
    let mut stopped = erase::stop_commands(db, clock, &player).await?;
    erase::erase_account(&target.db, id, name.as_deref()).await.map_err(|error| unknown(error.into()))?;
    let codes = erase::erase_possessions(&target.db, id, rows).await.map_err(|error| unknown(error.into()))?;
    // A checkout may have begun in between.
    removed += remove_traces(target, &player).await.map_err(unknown)?;
    stopped += erase::stop_commands(db, clock, &player).await.map_err(|error| unknown(error.into()))?;
    ended += subscriptions::end_all(target, id).await.map_err(unknown)?;
    let names = erase_names(&target.db, id).await.map_err(|error| unknown(error.into()))?;
    let mut text =
        format!("{} User {id} is erased; orders stay, without an account that could see them.", paint(GOOD, "ok"));
    if ended > 0 {
        _ = write!(text, "\n{ended} subscriptions are ended at the payment provider.");
    }
    if stopped > 0 {
        _ = write!(text, "\n{stopped} commands for game servers are stopped.");
    }
    let json = json!({
        "user": id, "referral_codes": codes, "was_shown": names.was_shown, "was_patron": names.was_patron,
        "orders_and_carts": removed, "stopped_commands": stopped,
        "ended_subscriptions": ended,
    });
    Ok(Answer::new(text, json))
}

/// Ends open orders of the player and with gifts for them, and removes what the player typed, and their name, from orders
/// and other buyers' carts. Returns from how many.
async fn remove_traces(target: &Target, player: &ErasedPlayer) -> Result<usize, Failure> {
    let found = erase::traces(&target.db, player).await?;
    let mut removed = 0;
    // First the carts: no checkout can begin with the name then.
    for owner in found.carts {
        removed += usize::from(erase_from_cart(&target.db, owner, player).await?);
    }
    for order in &found.open {
        end_order(target, order).await?;
    }
    for order in &found.orders {
        removed += usize::from(erase_from_order(&target.db, order, player).await?);
    }
    Ok(removed)
}
