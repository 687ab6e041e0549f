//! `user erase`.

use super::delivery;
use super::orders::end_order;
use super::users::{find_which, read};
use crate::answer::{Answer, GOOD, paint};
use crate::cli::EraseUser;
use crate::console::Console;
use crate::error::Failure;
use crate::orders::traces;
use crate::table::each;
use crate::target::Target;
use aws_sdk_dynamodb::types::builders::DeleteBuilder;
use aws_sdk_dynamodb::types::{AttributeValue, Delete, TransactWriteItem};
use serde_json::json;
use shared::model::{Referral, UserId, UserName};
use shared::rules::erase::ErasedPlayer;
use shared::store::codec::{decode_live, key_attributes, key_of};
use shared::store::keys::{self, Key, prefix};
use shared::store::names::NameRow;
use shared::store::transaction::send;
use shared::store::{StoreError, credits, names};
use shared::usecases::orders::{erase_from_cart, erase_from_order, erase_names};
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
    let own = name.as_deref().and_then(|name| UserName::parse(name).ok());
    let rows = name_rows(target, id).await?;
    let held = rows.iter().filter_map(|key| UserName::parse(key.pk.strip_prefix(prefix::NAME)?).ok());
    let player = ErasedPlayer { user: id, names: own.into_iter().chain(held).collect() };
    // While the account is there an attempt that was interrupted can be repeated by name.
    let mut removed = remove_traces(target, &player).await?;
    let mut stopped = delivery::stop_erased(target, &player).await?;
    erase_account(target, id, name.as_deref()).await.map_err(unknown)?;
    let codes = erase_referrals(target, id).await.map_err(unknown)?;
    for key in rows {
        // If another account has it by now, it is not the user's.
        _ = send(&target.db, vec![names::release(key, id)]).await.map_err(|error| unknown(error.into()))?;
    }
    erase_credits(target, id).await.map_err(unknown)?;
    // A checkout may have begun in between.
    removed += remove_traces(target, &player).await.map_err(unknown)?;
    stopped += delivery::stop_erased(target, &player).await.map_err(unknown)?;
    let names = erase_names(&target.db, id).await.map_err(|error| unknown(error.into()))?;
    let mut text =
        format!("{} User {id} is erased; orders stay, without an account that could see them.", paint(GOOD, "ok"));
    if stopped > 0 {
        _ = write!(text, "\n{stopped} commands for game servers are stopped.");
    }
    let json = json!({
        "user": id, "referral_codes": codes, "was_shown": names.was_shown, "was_patron": names.was_patron,
        "orders_and_carts": removed, "stopped_commands": stopped,
    });
    Ok(Answer::new(text, json))
}

/// Ends open orders of the player and with gifts for them, and removes what the player typed, and their name, from orders
/// and other buyers' carts. Returns from how many.
async fn remove_traces(target: &Target, player: &ErasedPlayer) -> Result<usize, Failure> {
    let found = traces(&target.db, player).await?;
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

/// Removes account, name, cart and ledger in one transaction, so that no token is left for half a user.
async fn erase_account(target: &Target, id: UserId, username: Option<&str>) -> Result<(), Failure> {
    const OPERATION: &str = "TransactWriteItems";
    let build = |delete: DeleteBuilder| -> Result<TransactWriteItem, StoreError> {
        let delete = delete.table_name(target.db.table()).build();
        let delete = delete.map_err(|error| StoreError::Refused { operation: OPERATION, source: Box::new(error) })?;
        Ok(TransactWriteItem::builder().delete(delete).build())
    };
    let delete = |key: &Key| Delete::builder().set_key(Some(key_attributes(key)));
    let mut items = Vec::with_capacity(4);
    for key in [keys::user(id), keys::cart(id), keys::ledger(id)] {
        items.push(build(delete(&key))?);
    }
    let name = username.and_then(|username| UserName::parse(username).ok());
    if let Some(name) = name
        && names::owner(&target.db, &name).await? == Some(id)
    {
        let own = delete(&keys::name(&name)).condition_expression("#user = :id");
        let own = own.expression_attribute_names("#user", names::USER);
        items.push(build(own.expression_attribute_values(":id", AttributeValue::N(id.to_string())))?);
    }
    let request = target.db.client().transact_write_items().set_transact_items(Some(items));
    Box::pin(request.send()).await.map_err(|error| StoreError::from_sdk(OPERATION, error))?;
    Ok(())
}

/// The user's referral codes carry their name; they are removed as well.
async fn erase_referrals(target: &Target, id: UserId) -> Result<usize, Failure> {
    let mut found: Vec<Key> = Vec::new();
    each(&target.db, prefix::REFERRAL, |item| {
        let key = key_of(&item)?;
        let referral: Referral = decode_live(&key, item)?;
        if referral.owner == id {
            found.push(key);
        }
        Ok::<(), StoreError>(())
    })
    .await?;
    let count = found.len();
    publish::delete_each(&target.db, found.into_iter(), &|_| {}).await?;
    Ok(count)
}

/// The rows of the names that are the user's: the present one, and former ones that are held.
async fn name_rows(target: &Target, id: UserId) -> Result<Vec<Key>, Failure> {
    let mut found: Vec<Key> = Vec::new();
    each(&target.db, prefix::NAME, |item| {
        let key = key_of(&item)?;
        let row: NameRow = decode_live(&key, item)?;
        if row.user == id {
            found.push(key);
        }
        Ok::<(), StoreError>(())
    })
    .await?;
    Ok(found)
}

/// Credits have notes, which may name the user. None is written after the account is gone.
async fn erase_credits(target: &Target, id: UserId) -> Result<(), Failure> {
    let credits = credits::of(&target.db, id).await?;
    let found = credits.into_iter().map(|credit| keys::credit(id, &credit.key));
    publish::delete_each(&target.db, found, &|_| {}).await?;
    Ok(())
}
