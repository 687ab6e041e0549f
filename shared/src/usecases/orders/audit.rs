//! Whether counters, ledgers and patrons' sums are what the orders add up to, and correcting those that are not.
//!
//! Reading the whole table is the caller's work, item by item. Orders may be recorded meanwhile, so that one pass can see
//! an order without its effects. A difference therefore counts only if two passes, one after the other, find it alike;
//! and it is corrected on the condition that the number is still the one that was found.

use super::refusal::Write;
use crate::model::{Donor, Goal, Money, Order, OrderStatus, User, UserId};
use crate::rules::order::without_refunded;
use crate::rules::statistics::derive;
use crate::store::codec::{Item, Row, encode_live, key_of};
use crate::store::counters::SOLD;
use crate::store::keys::{self, Key, prefix};
use crate::store::orders::StoredOrder;
use crate::store::statistics::VersionedDonations;
use crate::store::transaction::{NumberChange, Sent, send};
use crate::store::{Db, StoreError, ledgers, users};
use std::collections::{BTreeMap, BTreeSet};

/// The attribute of a patron's row that holds the sum.
const AMOUNT: &str = "amount";
/// How many numbers of one row are corrected by one write: its expression stays below 4 KB.
const AT_ONCE: usize = 50;

/// A number in the table that is not what the orders add up to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The row.
    pub key: Key,
    /// The attribute.
    pub attribute: String,
    /// The number in the table; `None` if it is missing.
    pub found: Option<i64>,
    /// What the orders add up to.
    pub expected: i64,
}

/// The result of comparing the table with its orders.
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
    /// Whether nothing differs.
    #[must_use]
    pub const fn is_clean(&self) -> bool {
        self.differences.is_empty() && !self.no_donations
    }

    /// Keeps what an earlier pass found as well.
    #[must_use]
    pub fn also_in(mut self, earlier: &Self) -> Self {
        self.differences.retain(|difference| earlier.differences.contains(difference));
        self.no_donations &= earlier.no_donations;
        self
    }
}

/// Corrects every number of an audit, each row on the condition that it is as it was found. Returns how many rows were
/// changed by other writes in the meantime and not corrected.
///
/// # Errors
/// [`StoreError`] if the database does not respond; what was corrected before stays.
pub async fn repair(db: &Db, audit: &Audit) -> Result<usize, StoreError> {
    let mut rows: BTreeMap<&Key, Vec<&Difference>> = BTreeMap::new();
    for difference in &audit.differences {
        rows.entry(&difference.key).or_default().push(difference);
    }
    let mut left = 0;
    for (key, differences) in rows {
        for part in differences.chunks(AT_ONCE) {
            let write = if key.pk == keys::patrons() { patron(db, part).await? } else { Some(numbers(key, part)) };
            let Some(write) = write else { continue };
            left += usize::from(send(db, vec![write]).await? != Sent::Written);
        }
    }
    Ok(left)
}

/// Writes the item with goals and donators again, from all orders. `goals` are those that every paid order then counts
/// towards. Returns whether it was written; if not, another write changed it in the meantime.
///
/// # Errors
/// [`StoreError`] if the database does not respond.
pub async fn rewrite_donations(
    db: &Db,
    orders: Vec<StoredOrder>,
    users: &[User],
    goals: &[Goal],
) -> Result<bool, StoreError> {
    let by_id: BTreeMap<UserId, &User> = users.iter().map(|user| (user.id, user)).collect();
    // The name of an erased owner must not be shown again.
    let orders = orders.iter().map(|stored| without_refunded(&stored.order, stored.effects.refunded));
    let (known, erased): (Vec<Order>, Vec<Order>) =
        orders.partition(|order| order.owner.is_none_or(|owner| by_id.contains_key(&owner)));
    let anonymous = erased.into_iter().map(|order| Order { owner: None, ..order });
    let all: Vec<Order> = known.into_iter().chain(anonymous).collect();
    let mut shown = VersionedDonations::read(db).await?;
    // The month that is shown is the newest with a paid order.
    let paid = all.iter().filter(|order| order.status == OrderStatus::Paid);
    let newest = paid.map(|order| order.created_at).max().unwrap_or_default();
    shown.donations = derive(&all, &by_id, goals, newest).donations;
    let write: Write = shown.write()?;
    Ok(send(db, vec![write]).await? == Sent::Written)
}

/// One pass through the table: the numbers that were found, and what the orders add up to.
#[derive(Debug, Default)]
pub struct TableSums {
    found: BTreeMap<(Key, String), i64>,
    expected: BTreeMap<(Key, String), i64>,
    users: BTreeSet<UserId>,
    /// Rows of users who may have been erased.
    of_users: BTreeMap<Key, UserId>,
    has_donations: bool,
    has_paid: bool,
    digits: BTreeSet<u8>,
}

impl TableSums {
    /// Takes one item of the table into account; the order of the items does not matter.
    ///
    /// # Errors
    /// [`StoreError::Unreadable`] if it is an order that does not decode.
    pub fn add(&mut self, item: Item) -> Result<(), StoreError> {
        let key = key_of(&item)?;
        if key.pk.starts_with(prefix::ORDER) {
            self.add_order(&StoredOrder::decode(&key, Row::from(item))?);
        } else if key.pk.starts_with(prefix::COUNT) {
            self.find(&key, &item, |name| name == SOLD);
        } else if key.pk.starts_with(prefix::LEDGER) {
            self.find(&key, &item, ledgers::is_entry);
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
        for (name, value) in item.iter().filter(|(name, _)| is_counted(name)) {
            let number = value.as_n().ok().and_then(|text| text.parse::<i64>().ok());
            self.found.extend(number.map(|number| ((key.clone(), name.clone()), number)));
        }
    }

    /// Adds what one order adds up to: the sums of single orders are the sums of all. What an open checkout holds counts as
    /// sold and belongs to no user yet.
    fn add_order(&mut self, stored: &StoredOrder) {
        let order = &stored.order;
        self.digits.extend(order.digits);
        let is_paid = order.status == OrderStatus::Paid;
        if !is_paid && !stored.effects.held {
            return;
        }
        let sums = |order: Order| derive(&[Order { status: OrderStatus::Paid, ..order }], &BTreeMap::new(), &[], 0);
        // A refund in part is taken off what ledgers and statistics call paid.
        let derived = sums(without_refunded(order, stored.effects.refunded));
        for (item, sold) in derived.sold {
            self.expect(keys::count(item), SOLD.to_owned(), i64::try_from(sold).unwrap_or(i64::MAX));
        }
        if !is_paid {
            return;
        }
        self.has_paid = true;
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

    /// The differences. A missing number counts as zero, and an erased user has no rows.
    #[must_use]
    pub fn into_audit(mut self) -> Audit {
        let erased = |key: &Key| self.of_users.get(key).is_some_and(|user| !self.users.contains(user));
        self.expected.retain(|(key, _), _| !erased(key));
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

/// The write that corrects numbers of one row.
fn numbers(key: &Key, differences: &[&Difference]) -> Write {
    let number = |difference: &&Difference| NumberChange {
        attribute: difference.attribute.clone(),
        found: difference.found,
        expected: difference.expected,
    };
    let numbers: Vec<NumberChange> = differences.iter().map(number).collect();
    Write::set_numbers(key.clone(), &numbers)
}

/// The write that corrects a patron's sum. The row has a name too, and a user with a sum of zero is not a patron.
async fn patron(db: &Db, differences: &[&Difference]) -> Result<Option<Write>, StoreError> {
    let [difference] = differences else { return Ok(None) };
    let (key, expected) = (&difference.key, Money::from_minor(difference.expected));
    let user = key.sk.strip_prefix(prefix::USER).and_then(|id| id.parse::<UserId>().ok());
    let user = match user {
        Some(id) => users::read(db, std::iter::once(id)).await?.remove(&id),
        None => None,
    };
    let write = match user.filter(|_| difference.expected > 0) {
        Some(user) => Write::put(key.clone(), encode_live(key, &Donor::new(&user, expected))?),
        None => Write::delete(key.clone()),
    };
    Ok(Some(match difference.found {
        Some(found) => write.only_if_equal(AMOUNT, found),
        None => write.only_if_absent(),
    }))
}
