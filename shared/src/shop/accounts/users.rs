//! Users, and whether a verified token is valid for one (rules.md, "Tokens").

use crate::model::{Money, ProviderCustomer, User, UserId, UserSubscription};
use crate::table::client::{Db, Rows};
use crate::table::codec::{Item, encode_value};
use crate::table::transaction::Write;
use crate::table::{StoreError, keys, read_all_live};
use crate::token::Claim;
use std::collections::BTreeMap;

/// Takes the user of a token out of the rows; `None` if there is no such user, or if [`User::admits`] refuses the
/// token.
pub fn admit(rows: &mut Rows, claim: Claim) -> Result<Option<User>, StoreError> {
    let user: Option<User> = rows.take_live(&keys::user(claim.user))?;
    Ok(user.filter(|user| user.admits(claim.issued_at)))
}

/// Reads whether a token is still valid for its user, if nothing else has to be read: a refused body is reported only
/// to a caller whose token was checked first (rules.md, "Order of refusals").
pub async fn is_admitted(db: &Db, claim: Claim) -> Result<bool, StoreError> {
    let mut rows = db.batch_get(vec![keys::user(claim.user)]).await?;
    Ok(admit(&mut rows, claim)?.is_some())
}

/// Reads users by id, strongly consistent. Users who do not exist are missing.
pub async fn read(db: &Db, ids: impl Iterator<Item = UserId>) -> Result<BTreeMap<UserId, User>, StoreError> {
    let users: Vec<User> = read_all_live(db, ids.map(keys::user)).await?;
    Ok(users.into_iter().map(|user| (user.id, user)).collect())
}

/// The write that fails if the user was erased in the meantime, so that no data of an erased user is written again.
pub fn must_exist(user: UserId) -> Write {
    Write::check(keys::user(user)).only_if_present()
}

/// The condition that a user exists and is not banned.
pub fn must_not_be_banned(user: UserId) -> Write {
    must_exist(user).and_if("attribute_not_exists(banned)")
}

/// The write that stores a user's subscriptions, on the condition that they are still those that were read.
pub fn set_subscriptions(
    user: UserId,
    read: &[UserSubscription],
    next: &[UserSubscription],
    customer: Option<&ProviderCustomer>,
) -> Result<Write, StoreError> {
    let key = keys::user(user);
    let write = Write::update(
        key.clone(),
        match (next, customer) {
            ([], None) => "REMOVE subscriptions",
            ([], Some(_)) => "SET customer = :customer REMOVE subscriptions",
            (_, None) => "SET subscriptions = :subscriptions",
            (_, Some(_)) => "SET subscriptions = :subscriptions, customer = :customer",
        },
    );
    let write = if_subscribed_as_read(write, user, read)?;
    let write = if next.is_empty() { write } else { write.value(":subscriptions", encode_value(&key, &next)?) };
    Ok(match customer {
        Some(customer) => write.value(":customer", encode_value(&key, customer)?),
        None => write,
    })
}

/// The write that fails if the user was erased, or their subscriptions are not those that were read.
pub fn must_have_subscriptions(user: UserId, read: &[UserSubscription]) -> Result<Write, StoreError> {
    if_subscribed_as_read(Write::check(keys::user(user)), user, read)
}

fn if_subscribed_as_read(write: Write, user: UserId, read: &[UserSubscription]) -> Result<Write, StoreError> {
    let write = write.only_if_present();
    Ok(if read.is_empty() {
        write.and_if("attribute_not_exists(subscriptions)")
    } else {
        write.and_if("subscriptions = :subscribed").value(":subscribed", encode_value(&keys::user(user), &read)?)
    })
}

/// The attribute with a user's balance in virtual currency.
const BALANCE: &str = "virtual_currency";

/// The write that takes from a user's balance in virtual currency, on the condition that the balance allows it.
pub fn spend(user: UserId, amount: Money) -> Write {
    Write::add(keys::user(user), BALANCE, format!("-{}", amount.minor()))
        .only_if("#added >= :amount")
        .number(":amount", amount.minor())
}

/// The balance in virtual currency in an account's row that a failed condition returned.
pub fn balance(row: &Item) -> Option<Money> {
    let number = row.get(BALANCE).and_then(|value| value.as_n().ok())?;
    number.parse().ok().map(Money::from_minor)
}

/// The write that returns an amount to a user's balance in virtual currency, if the user was not erased.
pub fn return_spent(user: UserId, amount: Money) -> Write {
    Write::add(keys::user(user), BALANCE, amount.minor()).only_if_present()
}

/// The write that adds an amount to a user's balance in virtual currency, on the condition that the account exists and
/// that its balance is at most `most` minor units before.
pub fn credit_up_to(user: UserId, amount: Money, most: i64) -> Write {
    Write::add(keys::user(user), BALANCE, amount.minor())
        .only_if("attribute_exists(#pk) AND (attribute_not_exists(#added) OR #added <= :most)")
        .name("#pk", keys::PK)
        .number(":most", most)
}
