//! Whether counters, ledgers and patrons' sums are what the orders add up to, and setting those that are not.
//!
//! Orders may be recorded meanwhile, so that one look can meet an order without its effects. Only what two looks, one
//! after the other, find alike counts as a difference; and it is set on the condition that it still is what was found.

use super::shown::{Shown, users};
use super::stored::Stored;
use super::tally::donor;
use super::transact::{Change, Sent, Write, send};
use super::verdict::Role;
use crate::table::each;
use publish::live::derive;
use shared::model::{Goal, Order, OrderStatus, UserId};
use shared::store::codec::{Item, Row, encode_live, key_of};
use shared::store::counters::SOLD;
use shared::store::keys::{self, Key, prefix};
use shared::store::{Db, StoreError};
use std::collections::{BTreeMap, BTreeSet};

/// The attribute of a patron's row that holds the sum.
const AMOUNT: &str = "amount";
/// How many numbers of one row are set by one write: its expression stays below 4 KB.
const AT_ONCE: usize = 50;

/// A number in the table that is not what the orders add up to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The row.
    pub key: Key,
    /// The attribute.
    pub attribute: String,
    /// What is there; `None` if it is missing.
    pub found: Option<i64>,
    /// What the orders add up to.
    pub expected: i64,
}

/// What an audit found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Audit {
    /// Every number that differs, by row.
    pub differences: Vec<Difference>,
    /// Whether the item with goals and donators is missing although there are paid orders.
    pub no_donations: bool,
    /// The digits that orders were recorded with.
    pub digits: BTreeSet<u8>,
}

impl Audit {
    /// Whether everything is as the orders say.
    #[must_use]
    pub const fn is_clean(&self) -> bool {
        self.differences.is_empty() && !self.no_donations
    }
}

/// Compares the table with its orders. Reads every item, twice if something differs.
///
/// # Errors
/// [`StoreError`] if the table cannot be read.
pub async fn audit(db: &Db) -> Result<Audit, StoreError> {
    let first = Look::take(db).await?.into_audit();
    if first.is_clean() {
        return Ok(first);
    }
    let mut second = Look::take(db).await?.into_audit();
    second.differences.retain(|difference| first.differences.contains(difference));
    second.no_donations &= first.no_donations;
    Ok(second)
}

/// Sets every number of an audit to what the orders add up to, each row on the condition that it is as it was found.
/// Returns how many rows were changed by others meanwhile and left alone. A missing item with goals and donators is
/// made again: `goals` are those that every paid order then counts towards.
///
/// # Errors
/// [`StoreError`] if the database does not answer; what was set before stays.
pub async fn repair(db: &Db, audit: &Audit, goals: &[Goal]) -> Result<usize, StoreError> {
    let mut rows: BTreeMap<&Key, Vec<&Difference>> = BTreeMap::new();
    for difference in &audit.differences {
        rows.entry(&difference.key).or_default().push(difference);
    }
    let mut left = 0;
    for (key, differences) in rows {
        for part in differences.chunks(AT_ONCE) {
            let write = if key.pk == keys::patrons() { patron(db, part).await? } else { Some(numbers(key, part)) };
            let Some(write) = write else { continue };
            left += usize::from(!matches!(send(db, vec![write]).await?, Sent::Written));
        }
    }
    if audit.no_donations {
        let (orders, users) = (orders(db).await?, all_users(db).await?);
        let by_id = users.iter().map(|user| (user.id, user)).collect();
        // The name of an owner who is gone must not come back.
        let known = |order: &Order| order.owner.is_none_or(|owner| users.iter().any(|user| user.id == owner));
        let (known, gone): (Vec<Order>, Vec<Order>) = orders.into_iter().partition(known);
        let nameless = gone.into_iter().map(|order| Order { owner: None, ..order });
        let all: Vec<Order> = known.into_iter().chain(nameless).collect();
        let mut shown = Shown::read(db).await?;
        // The month shown is the newest with a paid order.
        let paid = all.iter().filter(|order| order.status == OrderStatus::Paid);
        let newest = paid.map(|order| order.created_at).max().unwrap_or_default();
        shown.donations = derive(&all, &by_id, goals, newest).donations;
        left += usize::from(!matches!(send(db, vec![shown.write()?]).await?, Sent::Written));
    }
    Ok(left)
}

/// One look through the table.
#[derive(Debug, Default)]
struct Look {
    found: BTreeMap<(Key, String), i64>,
    expected: BTreeMap<(Key, String), i64>,
    users: BTreeSet<UserId>,
    /// Rows of users, who may be gone.
    of_users: BTreeMap<Key, UserId>,
    has_donations: bool,
    has_paid: bool,
    digits: BTreeSet<u8>,
}

impl Look {
    async fn take(db: &Db) -> Result<Self, StoreError> {
        let mut look = Self::default();
        each(db, "", |item| look.meet(item)).await?;
        Ok(look)
    }

    fn meet(&mut self, item: Item) -> Result<(), StoreError> {
        let key = key_of(&item)?;
        if key.pk.starts_with(prefix::ORDER) {
            let order = Stored::decode(&key, Row::from(item))?.order;
            self.add(&order);
        } else if key.pk.starts_with(prefix::COUNT) {
            self.find(&key, &item, |name| name == SOLD);
        } else if key.pk.starts_with(prefix::LEDGER) {
            self.find(&key, &item, |name| {
                let id = name.strip_prefix(['u', 'p']).unwrap_or_default();
                !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit())
            });
        } else if key.pk == keys::patrons() {
            self.find(&key, &item, |name| name == AMOUNT);
        } else if key == keys::donations() {
            self.has_donations = true;
        } else if let Some(id) = key.pk.strip_prefix(prefix::USER) {
            self.users.extend(id.parse::<UserId>().ok());
        }
        Ok(())
    }

    fn find(&mut self, key: &Key, item: &Item, is_counted: impl Fn(&str) -> bool) {
        let number = |value: &aws_sdk_dynamodb::types::AttributeValue| value.as_n().ok()?.parse::<i64>().ok();
        for (name, value) in item.iter().filter(|(name, _)| is_counted(name)) {
            self.found.extend(number(value).map(|number| ((key.clone(), name.clone()), number)));
        }
    }

    /// Adds what one order adds up to: sums of single orders are sums of all.
    fn add(&mut self, order: &Order) {
        self.digits.extend(order.digits);
        if order.status != OrderStatus::Paid {
            return;
        }
        self.has_paid = true;
        let derived = derive(std::slice::from_ref(order), &BTreeMap::new(), &[], 0);
        for (item, sold) in derived.sold {
            self.expect(keys::count(item), SOLD.to_owned(), i64::try_from(sold).unwrap_or(i64::MAX));
        }
        for (user, ledger) in derived.ledgers {
            self.of_users.insert(keys::ledger(user), user);
            for (item, held) in ledger.iter() {
                self.expect(keys::ledger(user), format!("u{item}"), i64::from(held.units));
                self.expect(keys::ledger(user), format!("p{item}"), held.paid.minor());
            }
        }
        for donor in derived.patrons {
            self.of_users.insert(keys::patron(donor.user), donor.user);
            self.expect(keys::patron(donor.user), AMOUNT.to_owned(), donor.amount.minor());
        }
    }

    fn expect(&mut self, key: Key, attribute: String, more: i64) {
        let sum = self.expected.entry((key, attribute)).or_default();
        *sum = sum.saturating_add(more);
    }

    /// What is missing is nothing, and nobody's rows are missed.
    fn into_audit(mut self) -> Audit {
        let gone = |key: &Key| self.of_users.get(key).is_some_and(|user| !self.users.contains(user));
        self.expected.retain(|(key, _), _| !gone(key));
        let places: BTreeSet<&(Key, String)> = self.found.keys().chain(self.expected.keys()).collect();
        let difference = |place: &(Key, String)| {
            let (found, expected) = (self.found.get(place).copied(), self.expected.get(place).copied());
            let expected = expected.unwrap_or_default();
            let (key, attribute) = place.clone();
            (found.unwrap_or_default() != expected).then_some(Difference { key, attribute, found, expected })
        };
        let differences = places.into_iter().filter_map(difference).collect();
        Audit { differences, no_donations: self.has_paid && !self.has_donations, digits: self.digits }
    }
}

/// The write that sets numbers of one row.
fn numbers(key: &Key, differences: &[&Difference]) -> Write {
    let (mut sets, mut conditions) = (Vec::new(), Vec::new());
    for (place, difference) in differences.iter().enumerate() {
        sets.push(format!("#a{place} = :e{place}"));
        conditions.push(match difference.found {
            Some(_) => format!("#a{place} = :f{place}"),
            None => format!("attribute_not_exists(#a{place})"),
        });
    }
    let write = Write::new(Role::Basis, key.clone(), Change::Update(format!("SET {}", sets.join(", "))));
    let write = write.only_if(conditions.join(" AND "));
    differences.iter().enumerate().fold(write, |write, (place, difference)| {
        let write = write.name(format!("#a{place}"), &difference.attribute);
        let write = write.number(format!(":e{place}"), difference.expected);
        match difference.found {
            Some(found) => write.number(format!(":f{place}"), found),
            None => write,
        }
    })
}

/// The write that sets a patron's sum: the row holds a name too, and a sum of nothing is not a patron.
async fn patron(db: &Db, differences: &[&Difference]) -> Result<Option<Write>, StoreError> {
    let [difference] = differences else { return Ok(None) };
    let (key, expected) = (&difference.key, shared::model::Money::from_minor(difference.expected));
    let user = key.sk.strip_prefix(prefix::USER).and_then(|id| id.parse::<UserId>().ok());
    let user = match user {
        Some(id) => users(db, std::iter::once(id)).await?.remove(&id),
        None => None,
    };
    let change = match user.filter(|_| difference.expected > 0) {
        Some(user) => Change::Put(encode_live(key, &donor(&user, expected))?),
        None => Change::Delete,
    };
    let write = Write::new(Role::Basis, key.clone(), change);
    Ok(Some(match difference.found {
        Some(found) => write.only_if("#amount = :found").name("#amount", AMOUNT).number(":found", found),
        None => write.only_if("attribute_not_exists(pk)"),
    }))
}

async fn orders(db: &Db) -> Result<Vec<Order>, StoreError> {
    let mut orders = Vec::new();
    each(db, prefix::ORDER, |item| {
        orders.push(Stored::decode(&key_of(&item)?, Row::from(item))?.order);
        Ok::<(), StoreError>(())
    })
    .await?;
    Ok(orders)
}

async fn all_users(db: &Db) -> Result<Vec<shared::model::User>, StoreError> {
    let mut users = Vec::new();
    each(db, prefix::USER, |item| {
        users.push(shared::store::codec::decode_live(&key_of(&item)?, item)?);
        Ok::<(), StoreError>(())
    })
    .await?;
    Ok(users)
}
