//! Whether counters, ledgers and patrons' sums are what the orders add up to, and correcting those that are not.
//!
//! Reading the whole table is the caller's work, item by item. Orders may be recorded meanwhile, so that one pass can
//! see an order without its effects. A difference therefore counts only if two passes, one after the other, find it
//! alike; and it is corrected on the condition that its row was not written since the first pass read it.
//!
//! The rows that a killed process left to the sweep are not a difference: units on their way into an order are in their
//! counter, and statistics show the orders that are marked as counted. [`Waiting`] names both.

use super::{Counter, Waiting};
use crate::model::{Donor, Goal, InternalId, Money, Order, OrderLine, OrderStatus, Place, User, UserId};
use crate::rules::limits::taken;
use crate::rules::order::{less_returned, without_refunded};
use crate::rules::ownership::Ownership;
use crate::rules::statistics::derive;
use crate::shop::accounts;
use crate::shop::orders::StoredOrder;
use crate::shop::statistics::VersionedDonations;
use crate::shop::stock::{SOLD, ledgers, reservations};
use crate::table::codec::{Item, Row, key_of};
use crate::table::keys::{self, Key, prefix};
use crate::table::transaction::{NumberChange, VERSION, Write, sent};
use crate::table::{Db, StoreError};
use std::collections::{BTreeMap, BTreeSet};

/// The attribute of a patron's row that holds the sum.
const AMOUNT: &str = "amount";
/// How many numbers of one row are corrected by one write: its expression stays below 4 KB.
const NUMBERS_AT_ONCE: usize = 50;

/// A number in the table that is not what the orders add up to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    pub key: Key,
    pub attribute: String,
    /// The number in the table; `None` if it is missing.
    pub found: Option<i64>,
    pub expected: i64,
    /// How often the row had been written when it was read; 0 of a row that does not count its writes.
    pub version: u64,
    /// Orders whose units are marked in the counter as on their way, although neither the order nor the row for the
    /// sweep exists: a backup that was made meanwhile may have lost them.
    pub stray: BTreeSet<InternalId>,
}

impl Difference {
    /// Whether both say the same of the same number.
    fn is_like(&self, other: &Self) -> bool {
        let of = |it: &Self| (it.key.clone(), it.attribute.clone(), it.found, it.expected, it.stray.clone());
        of(self) == of(other)
    }
}

/// The result of comparing the table with its orders.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Audit {
    /// Every number that differs, by row.
    pub differences: Vec<Difference>,
    /// Whether the item with goals and donators is missing although there are paid orders.
    pub no_donations: bool,
    pub digits: BTreeSet<u8>,
    pub waiting: Waiting,
}

impl Audit {
    /// Whether nothing differs.
    pub const fn is_clean(&self) -> bool {
        self.differences.is_empty() && !self.no_donations
    }

    /// Keeps what an earlier pass found as well, with the versions that it read: what happened since then was perhaps
    /// seen by one of the passes only.
    #[must_use]
    pub fn also_in(mut self, earlier: &Self) -> Self {
        let before =
            |difference: Difference| earlier.differences.iter().find(|before| before.is_like(&difference)).cloned();
        self.differences = self.differences.into_iter().filter_map(before).collect();
        self.no_donations &= earlier.no_donations;
        self
    }
}

/// Corrects every number of an audit, each row on the condition that it was not written since it was read. Returns how
/// many rows were changed by other writes in the meantime and not corrected. If the database does not respond, what was
/// corrected before stays.
pub async fn repair(db: &Db, audit: &Audit) -> Result<usize, StoreError> {
    let mut rows: BTreeMap<&Key, Vec<&Difference>> = BTreeMap::new();
    for difference in &audit.differences {
        rows.entry(&difference.key).or_default().push(difference);
    }
    let mut left = 0;
    for (key, differences) in rows {
        for (place, part) in (0..).zip(differences.chunks(NUMBERS_AT_ONCE)) {
            // The parts before this one were written.
            let writes =
                if key.pk == keys::patrons() { patron(db, part).await? } else { vec![numbers(key, part, place)] };
            if !writes.is_empty() && !sent(db, writes).await? {
                left += 1;
                break;
            }
        }
    }
    Ok(left)
}

/// Writes the item with goals and donators again, from all orders that are marked as counted: the others are counted
/// when they catch up. `goals` are those that every order then counts towards. `shown` was read before the orders.
/// Returns whether it was written; if not, another write changed it in the meantime.
pub async fn rewrite_donations(
    db: &Db,
    mut shown: VersionedDonations,
    orders: &[StoredOrder],
    users: &[User],
    goals: &[Goal],
) -> Result<bool, StoreError> {
    let by_id: BTreeMap<UserId, &User> = users.iter().map(|user| (user.id, user)).collect();
    // The name of an erased player must not be shown again.
    let is_known = |order: &Order| order.player().is_none_or(|player| by_id.contains_key(&player));
    let (known, erased): (Vec<Order>, Vec<Order>) = orders.iter().filter_map(as_counted).partition(is_known);
    let anonymous = erased.into_iter().map(|order| Order { owner: None, moved_to: None, ..order });
    let all: Vec<Order> = known.into_iter().chain(anonymous).collect();
    // The month that is shown is the newest with a paid order.
    let newest = all.iter().map(|order| order.created_at).max().unwrap_or_default();
    shown.donations = derive(&all, &by_id, goals, newest).donations;
    let write: Write = shown.write()?;
    sent(db, vec![write]).await
}

/// The order as the statistics show it: paid, of the player for whom they count it, less what they have taken off; `None` if
/// they do not count it.
fn as_counted(stored: &StoredOrder) -> Option<Order> {
    let effects = &stored.effects;
    let order = if effects.counted.is_some() && effects.counted_refunded != stored.given_back() {
        // The statistics do not show yet what was refunded since.
        let whole = stored.order.lines.iter().map(|line| OrderLine { returned: 0, ..line.clone() });
        without_refunded(&Order { lines: whole.collect(), ..stored.order.clone() }, effects.counted_refunded)
    } else {
        without_refunded(&stored.order, effects.refunded)
    };
    let order = Order { status: OrderStatus::Paid, moved_to: effects.credited, ..order };
    effects.counted.unwrap_or_else(|| stored.should_count()).then_some(order)
}

/// One pass through the table: the numbers that were found, and what the orders add up to.
#[derive(Debug, Default)]
pub struct TableSums {
    found: BTreeMap<(Key, String), i64>,
    expected: BTreeMap<(Key, String), i64>,
    versions: BTreeMap<Key, u64>,
    users: BTreeSet<UserId>,
    /// Rows of users who may have been erased.
    of_users: BTreeMap<Key, UserId>,
    ownership: Ownership,
    has_donations: bool,
    has_counted: bool,
    digits: BTreeSet<u8>,
    orders: BTreeSet<InternalId>,
    counters: Vec<Counter>,
    waiting: Waiting,
}

impl TableSums {
    /// Takes one item of the table into account; the order of the items does not matter. Fails with
    /// [`StoreError::Unreadable`] if it is an order, or the row of units on their way, that does not decode.
    pub fn add(&mut self, item: Item) -> Result<(), StoreError> {
        let key = key_of(&item)?;
        if keys::is_order(&key) {
            self.add_order(&StoredOrder::decode(&key, Row::from(item))?);
        } else if key.pk.starts_with(prefix::COUNT) {
            // The units of rolling limits run out by themselves.
            self.find(&key, &item, |name| name == SOLD || Place::is_name(name) && !Place::is_rolling_name(name));
            self.counters.extend(Counter::of(&key, &item));
        } else if key.pk.starts_with(prefix::LEDGER) {
            self.find(&key, &item, ledgers::is_entry);
        } else if key.pk == keys::patrons() {
            self.find(&key, &item, |name| name == AMOUNT);
        } else if keys::is_unfinished_reservation(&key) {
            self.waiting.add_reservation(key, item)?;
        } else if key == keys::donations() {
            self.has_donations = true;
        } else if let Some(id) = key.pk.strip_prefix(prefix::USER) {
            self.users.extend(id.parse::<UserId>().ok());
        }
        Ok(())
    }

    fn find(&mut self, key: &Key, item: &Item, is_counted: impl Fn(&str) -> bool) {
        let number = |name: &String| item.get(name)?.as_n().ok()?.parse::<i64>().ok();
        for name in item.keys().filter(|name| is_counted(name)) {
            self.found.extend(number(name).map(|number| ((key.clone(), name.clone()), number)));
        }
        let version = item.get(VERSION).and_then(|value| value.as_n().ok()).and_then(|text| text.parse().ok());
        self.versions.extend(version.map(|version| (key.clone(), version)));
    }

    /// Adds what one order adds up to: the sums of single orders are the sums of all. What an open checkout holds
    /// counts as sold and belongs to no user yet.
    fn add_order(&mut self, stored: &StoredOrder) {
        let order = &stored.order;
        self.orders.insert(order.internal_id.clone());
        self.digits.insert(order.digits);
        self.waiting.add_order(stored);
        let sums = |order: Order| derive(&[order], &BTreeMap::new(), &[], 0);
        // Statistics follow in a transaction of their own.
        if let Some(counted) = as_counted(stored) {
            self.has_counted = true;
            for donor in sums(counted).patrons {
                self.of_users.insert(keys::patron(donor.user), donor.user);
                self.expect(keys::patron(donor.user), AMOUNT.to_owned(), donor.amount.minor());
            }
        }
        let is_paid = order.status == OrderStatus::Paid;
        if !is_paid && !stored.effects.held {
            self.ownership.add(order);
            return;
        }
        // A refund in part and a dispute are taken off what ledgers call paid.
        let paid = Order { status: OrderStatus::Paid, ..less_returned(order, &stored.effects) };
        if is_paid {
            self.ownership.add(&paid);
        }
        for Place { item, name, units } in taken(&paid.lines) {
            self.expect(keys::count(item), name, i64::try_from(units).unwrap_or(i64::MAX));
        }
        for (item, sold) in sums(paid).sold {
            self.expect(keys::count(item), SOLD.to_owned(), i64::try_from(sold).unwrap_or(i64::MAX));
        }
    }

    fn expect(&mut self, key: Key, attribute: String, more: i64) {
        let sum = self.expected.entry((key, attribute)).or_default();
        *sum = sum.saturating_add(more);
    }

    /// The differences. A missing number counts as zero, and an erased user has no rows.
    pub fn into_audit(mut self) -> Audit {
        for (user, ledger) in self.ownership.ledgers() {
            self.of_users.insert(keys::ledger(user), user);
            for (attribute, number) in ledger.iter().flat_map(|(item, holding)| ledgers::entries(item, holding)) {
                self.expect(keys::ledger(user), attribute, number);
            }
        }
        let erased = |key: &Key| self.of_users.get(key).is_some_and(|user| !self.users.contains(user));
        self.expected.retain(|(key, _), _| !erased(key));
        let mut stray: BTreeMap<Key, BTreeSet<InternalId>> = BTreeMap::new();
        for counter in std::mem::take(&mut self.counters) {
            let (units, lost) = self.waiting.count(&counter, &self.orders);
            self.expect(keys::count(counter.item), SOLD.to_owned(), i64::try_from(units).unwrap_or(i64::MAX));
            stray.insert(keys::count(counter.item), lost);
            for Place { name, units, .. } in self.waiting.places(&counter, &self.orders) {
                self.expect(keys::count(counter.item), name, i64::try_from(units).unwrap_or(i64::MAX));
            }
        }
        // Windows that are over are removed, and units of rolling limits run out.
        let found = &self.found;
        self.expected.retain(|place, _| {
            let (key, attribute) = place;
            !key.pk.starts_with(prefix::COUNT) || attribute == SOLD || found.contains_key(place)
        });
        let places: BTreeSet<&(Key, String)> = self.found.keys().chain(self.expected.keys()).collect();
        let difference = |place: &(Key, String)| {
            let (found, expected) = (self.found.get(place).copied(), self.expected.get(place).copied());
            let expected = expected.unwrap_or_default();
            let (key, attribute) = place.clone();
            let version = self.versions.get(&key).copied().unwrap_or_default();
            let stray = stray.get(&key).cloned().unwrap_or_default();
            (found.unwrap_or_default() != expected).then_some(Difference {
                key,
                attribute,
                found,
                expected,
                version,
                stray,
            })
        };
        let differences = places.into_iter().filter_map(difference).collect();
        Audit {
            differences,
            no_donations: self.has_counted && !self.has_donations,
            digits: self.digits,
            waiting: self.waiting,
        }
    }
}

/// The write that corrects numbers of one row, after `before` other writes of the same audit.
fn numbers(key: &Key, differences: &[&Difference], before: u64) -> Write {
    let number = |difference: &&Difference| NumberChange {
        attribute: difference.attribute.clone(),
        found: difference.found,
        expected: difference.expected,
    };
    let numbers: Vec<NumberChange> = differences.iter().map(number).collect();
    let version = differences.first().map_or(0, |difference| difference.version).saturating_add(before);
    let write = Write::set_numbers(key.clone(), &numbers, version);
    let stray: BTreeSet<&InternalId> = differences.iter().flat_map(|difference| &difference.stray).collect();
    reservations::also_confirm(write, stray.into_iter())
}

/// The writes that correct a patron's sum. The row has a name too, and a user with a sum of zero is not among the
/// patrons.
async fn patron(db: &Db, differences: &[&Difference]) -> Result<Vec<Write>, StoreError> {
    let [difference] = differences else { return Ok(Vec::new()) };
    // Statistics that are written meanwhile have read the sum before.
    let shown = VersionedDonations::read(db).await?;
    let (key, expected) = (&difference.key, Money::from_minor(difference.expected));
    let user = key.sk.strip_prefix(prefix::USER).and_then(|id| id.parse::<UserId>().ok());
    let user = match user {
        Some(id) => accounts::read(db, std::iter::once(id)).await?.remove(&id),
        None => None,
    };
    let write = match user.filter(|_| difference.expected > 0) {
        Some(user) => Write::put_live(key.clone(), &Donor::new(&user, expected))?,
        None => Write::delete(key.clone()),
    };
    let write = match difference.found {
        Some(found) => write.only_if_equal(AMOUNT, found),
        None => write.only_if_absent(),
    };
    Ok(vec![write, shown.write()?])
}
