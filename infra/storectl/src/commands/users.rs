//! `user add`, `show`, `list` and `erase`.

use super::{published, shown_time};
use crate::answer::{Answer, GOOD, columns, hex, paint};
use crate::cli::{AddUser, EraseUser};
use crate::console::Console;
use crate::error::{Exit, Failure};
use crate::orders::erase_names;
use crate::sequence::{self, USERS};
use crate::table::each;
use crate::target::Target;
use aws_sdk_dynamodb::types::{Delete, TransactWriteItem};
use publish::files::Decimal;
use serde_json::{Value, json};
use shared::http::wire::Wire;
use shared::model::{Holding, ItemId, Money, Referral, User, UserId};
use shared::store::codec::{decode_live, encode_live, key_attributes, key_of};
use shared::store::keys::{self, Key, prefix};
use shared::store::{StoreError, carts, ledgers};

/// Finds a user by id or, looking through the whole table, by name.
pub(super) async fn find(target: &Target, text: &str) -> Result<User, Failure> {
    let missing = || Failure::refused(format!("There is no user {text}."), "`storectl user list` shows everybody.");
    if let Ok(id) = text.parse::<UserId>() {
        return read(target, id).await?.ok_or_else(missing);
    }
    let mut found: Vec<User> = Vec::new();
    each(&target.db, prefix::USER, |item| {
        let user: User = decode_live(&key_of(&item)?, item)?;
        if user.username == text {
            found.push(user);
        }
        Ok::<(), StoreError>(())
    })
    .await?;
    let mut found = found.into_iter();
    match (found.next(), found.next()) {
        (Some(user), None) => Ok(user),
        (None, _) => Err(missing()),
        (Some(one), Some(other)) => {
            let what = format!("More than one user is called {text}: {}, {} …", one.id, other.id);
            Err(Failure::refused(what, "Name the one you mean by id."))
        }
    }
}

async fn read(target: &Target, id: UserId) -> Result<Option<User>, Failure> {
    let key = keys::user(id);
    let item = target.db.get(&key, true).await?;
    Ok(item.map(|item| decode_live(&key, item)).transpose()?)
}

pub(super) async fn add(target: &Target, options: &AddUser) -> Result<Answer, Failure> {
    let username = options.username.trim();
    if username.is_empty() {
        return Err(Failure::refused("The name is blank.", "Give the name that the buyer has in the game."));
    }
    let digits = publish::read_pointer(&target.db).await?.map_or(2, |pointer| pointer.config.digits);
    let balance = Decimal(options.virtual_currency.clone().into()).money(digits);
    let balance = balance.map_err(|error| Failure::refused(format!("--virtual-currency {error}."), "Mend it."))?;
    let uuid = match &options.uuid {
        Some(uuid) => uuid.clone(),
        None => random_uuid()?,
    };
    let id = UserId::new(sequence::reserve(&target.db, USERS, 1).await?);
    let now = target.clock.seconds();
    let user = User {
        id,
        username: username.to_owned(),
        avatar: options.avatar.clone(),
        system: options.system.clone(),
        identificator: options.identificator.clone(),
        uuid,
        created_at: now,
        updated_at: now,
        virtual_currency: balance,
        tokens_valid_after: None,
    };
    let item = encode_live(&keys::user(id), &user)?;
    let put = target.db.client().put_item().table_name(target.db.table()).set_item(Some(item));
    let put = put.condition_expression("attribute_not_exists(#pk)").expression_attribute_names("#pk", keys::PK);
    Box::pin(put.send()).await.map_err(|error| {
        let failure = Failure::from(StoreError::from_sdk("PutItem", error));
        failure.done(format!("It is not known whether user {id} was made; `storectl user show {id}` tells."))
    })?;
    let text = format!("{} {username} is user {id}.\nA token: storectl token {id}", paint(GOOD, "ok"));
    Ok(Answer::new(text, json!({ "user": facts(&user, Wire::new(digits)) })))
}

/// A random UUID of version 4.
fn random_uuid() -> Result<String, Failure> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).map_err(|_| {
        Failure::new(Exit::Local, "The system gives no random numbers.", "Pass --uuid, or mend the system.")
    })?;
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let hex = hex(bytes);
    Ok(format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]))
}

fn facts(user: &User, wire: Wire) -> Value {
    json!({
        "id": user.id, "username": user.username, "avatar": user.avatar, "system": user.system,
        "identificator": user.identificator, "uuid": user.uuid, "created_at": shown_time(user.created_at),
        "updated_at": shown_time(user.updated_at), "virtual_currency": wire.money(user.virtual_currency),
        "tokens_valid_after": user.tokens_valid_after.map(shown_time),
    })
}

fn amount(amount: Money, digits: u8) -> String {
    Decimal::from_money(amount, digits).0.value
}

pub(super) async fn show(target: &Target, text: &str) -> Result<Answer, Failure> {
    let user = find(target, text).await?;
    let digits = published(target).await?.config.digits;
    let mut rows = target.db.batch_get(vec![keys::ledger(user.id), keys::cart(user.id)]).await?;
    let ledger = ledgers::take(&mut rows, user.id)?;
    let cart = carts::take(&mut rows, user.id)?;
    let held: Vec<(ItemId, Holding)> = ledger.iter().collect();
    let mut lines = vec![
        format!("{} (user {}), since {}", user.username, user.id, shown_time(user.created_at)),
        format!("uuid {}, virtual currency {}", user.uuid, amount(user.virtual_currency, digits)),
        format!("{} lines in the cart", cart.lines.len()),
    ];
    if let Some(after) = user.tokens_valid_after {
        lines.push(format!("Tokens from before {} are refused", shown_time(after)));
    }
    if !held.is_empty() {
        let row = |(item, held): &(ItemId, Holding)| {
            vec![item.to_string(), held.units.to_string(), amount(held.paid, digits)]
        };
        lines.push(columns(&["ITEM", "UNITS", "PAID"], &held.iter().map(row).collect::<Vec<_>>()));
    }
    let wire = Wire::new(digits);
    let bought = held.iter();
    let bought = bought.map(|(item, held)| json!({ "item": item, "units": held.units, "paid": wire.money(held.paid) }));
    let json = json!({
        "user": facts(&user, wire), "bought": bought.collect::<Vec<_>>(), "cart_lines": cart.lines.len(),
    });
    Ok(Answer::new(lines.join("\n"), json))
}

pub(super) async fn list(target: &Target) -> Result<Answer, Failure> {
    let mut users: Vec<User> = Vec::new();
    each(&target.db, prefix::USER, |item| {
        users.push(decode_live(&key_of(&item)?, item)?);
        Ok::<(), StoreError>(())
    })
    .await?;
    users.sort_by_key(|user| user.id);
    let digits = publish::read_pointer(&target.db).await?.map_or(2, |pointer| pointer.config.digits);
    let row = |user: &User| vec![user.id.to_string(), user.username.clone(), shown_time(user.created_at)];
    let text = columns(&["ID", "NAME", "SINCE"], &users.iter().map(row).collect::<Vec<_>>());
    let wire = Wire::new(digits);
    Ok(Answer::new(text, json!({ "users": users.iter().map(|user| facts(user, wire)).collect::<Vec<_>>() })))
}

/// Erases a user. An id whose account is gone already goes on where an earlier attempt was cut off.
pub(super) async fn erase(target: &Target, console: &Console, options: &EraseUser) -> Result<Answer, Failure> {
    let (id, name) = match options.user.parse::<UserId>() {
        Ok(id) => (id, read(target, id).await?.map(|user| user.username)),
        Err(_) => {
            let user = find(target, &options.user).await?;
            (user.id, Some(user.username))
        }
    };
    let shown = match &name {
        Some(name) => format!("{name} (user {id}) on {}: account, cart, purchases, referral codes, name", target.name),
        None => format!("User {id} on {} has no account any more; what an earlier attempt left goes", target.name),
    };
    console.confirm(&shown, "Erase for good?", options.yes)?;
    let unknown = |failure: Failure| {
        let next = format!("{} Then run `storectl user erase {id}` again: it goes on.", failure.next);
        failure.done("Some of it may be erased and some not.").next(next)
    };
    erase_account(target, id).await.map_err(unknown)?;
    let codes = erase_referrals(target, id).await.map_err(unknown)?;
    let names = erase_names(&target.db, id).await.map_err(|error| unknown(error.into()))?;
    let text =
        format!("{} User {id} is erased; orders stay, and nobody's token matches their owner.", paint(GOOD, "ok"));
    let json =
        json!({ "user": id, "referral_codes": codes, "was_shown": names.was_shown, "was_patron": names.was_patron });
    Ok(Answer::new(text, json))
}

/// Account, cart and ledger go in one write, so that no token is left for half a user.
async fn erase_account(target: &Target, id: UserId) -> Result<(), Failure> {
    const OPERATION: &str = "TransactWriteItems";
    let delete = |key: Key| -> Result<TransactWriteItem, StoreError> {
        let delete = Delete::builder().table_name(target.db.table()).set_key(Some(key_attributes(&key))).build();
        let delete = delete.map_err(|error| StoreError::Refused { operation: OPERATION, source: Box::new(error) })?;
        Ok(TransactWriteItem::builder().delete(delete).build())
    };
    let items = vec![delete(keys::user(id))?, delete(keys::cart(id))?, delete(keys::ledger(id))?];
    let request = target.db.client().transact_write_items().set_transact_items(Some(items));
    Box::pin(request.send()).await.map_err(|error| StoreError::from_sdk(OPERATION, error))?;
    Ok(())
}

/// The user's referral codes carry their name; they go as well.
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
