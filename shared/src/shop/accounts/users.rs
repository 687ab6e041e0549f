//! Users, and whether a verified token is valid for one (rules.md, "Tokens").

use crate::model::{Money, ProviderCustomer, User, UserId, UserSubscription};
use crate::table::client::{Db, Rows};
use crate::table::codec::{Item, encode_live};
use crate::table::transaction::Write;
use crate::table::{StoreError, keys, read_all_live};
use crate::token::Claim;
use serde::Serialize;
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
    let mut attributes = encode_live(&keys::user(user), &Subscribed { subscriptions: next, customer })?;
    let (mut set, mut removed) = (Vec::new(), Vec::new());
    let mut values = Item::new();
    for name in ["subscriptions", "customer"] {
        match attributes.remove(name) {
            Some(value) => {
                set.push(format!("{name} = :{name}"));
                values.insert(format!(":{name}"), value);
            }
            None if name == "subscriptions" => removed.push(name),
            None => {}
        }
    }
    let clause = |word: &str, parts: &str| if parts.is_empty() { String::new() } else { format!("{word} {parts} ") };
    let expression = clause("SET", &set.join(", ")) + &clause("REMOVE", &removed.join(", "));
    let write = subscribed_as_read(Write::update(keys::user(user), expression.trim_end()), user, read)?;
    Ok(write.values(values))
}

/// The write that fails if the user was erased, or their subscriptions are not those that were read.
pub fn must_have_subscriptions(user: UserId, read: &[UserSubscription]) -> Result<Write, StoreError> {
    subscribed_as_read(Write::check(keys::user(user)), user, read)
}

fn subscribed_as_read(write: Write, user: UserId, read: &[UserSubscription]) -> Result<Write, StoreError> {
    let read = Subscribed { subscriptions: read, customer: None };
    Ok(match encode_live(&keys::user(user), &read)?.remove("subscriptions") {
        Some(read) => write.only_if_present().and_if("subscriptions = :subscribed").value(":subscribed", read),
        None => write.only_if_present().and_if("attribute_not_exists(subscriptions)"),
    })
}

#[derive(Serialize)]
struct Subscribed<'a> {
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    subscriptions: &'a [UserSubscription],
    #[serde(skip_serializing_if = "Option::is_none")]
    customer: Option<&'a ProviderCustomer>,
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
