//! The largest patrons (rules.md, "Patrons"): compiled from all patrons, or updated one change at a time.

use crate::model::{Money, Patron, TopPatrons, UserId};
use std::cmp::Reverse;

/// The size of a list. An item may have 400 KB; a patron takes at most 70 bytes in addition to the name.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    patrons: usize,
    name_bytes: usize,
}

/// At most 1,000 for each threshold, which are the first of the list (rules.md, "Patrons").
const BOUNDS: Bounds = Bounds { patrons: 1_000, name_bytes: 256 * 1024 };

pub fn largest(all: impl Iterator<Item = Patron>) -> TopPatrons {
    largest_within(BOUNDS, all)
}

/// Gives a patron a new sum, or takes them out if it is zero. Returns `false` if a patron who is not in the list may
/// belong in it now, so that the list has to be compiled again from all patrons.
pub fn set(top: &mut TopPatrons, changed: Patron) -> bool {
    set_within(BOUNDS, top, changed)
}

fn largest_within(bounds: Bounds, all: impl Iterator<Item = Patron>) -> TopPatrons {
    let mut patrons: Vec<Patron> = all.filter(|patron| patron.amount > Money::ZERO).collect();
    patrons.sort_unstable_by(|one, other| rank(one).cmp(&rank(other)));
    let mut top = TopPatrons { patrons, has_more: false };
    cut(bounds, &mut top);
    top
}

fn set_within(bounds: Bounds, top: &mut TopPatrons, changed: Patron) -> bool {
    let before = top.patrons.iter().position(|patron| patron.user == changed.user);
    let before = before.map(|place| top.patrons.remove(place));
    if changed.amount <= Money::ZERO {
        return before.is_none() || !top.has_more;
    }
    let place = top.patrons.partition_point(|patron| rank(patron) < rank(&changed));
    let is_last = place == top.patrons.len();
    // Patrons outside of the list rank after everyone who was in it, and in no known order among themselves.
    let is_known = match &before {
        Some(before) => !is_last || rank(&changed) <= rank(before) || !top.has_more,
        None if is_last && top.has_more => return true,
        None => true,
    };
    top.patrons.insert(place, changed);
    cut(bounds, top);
    is_known
}

/// Largest sum first, then by name; the id makes the order total.
fn rank(patron: &Patron) -> (Reverse<Money>, &str, UserId) {
    (Reverse(patron.amount), &patron.username, patron.user)
}

fn cut(bounds: Bounds, top: &mut TopPatrons) {
    let mut name_bytes = 0;
    let fit = top.patrons.iter().take(bounds.patrons).take_while(|patron| {
        name_bytes += patron.username.len();
        name_bytes <= bounds.name_bytes
    });
    let fit = fit.count();
    top.has_more |= fit < top.patrons.len();
    top.patrons.truncate(fit);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn patron(user: u64, name_length: usize, amount: i64) -> Patron {
        let username = char::from(b'a' + u8::try_from(user % 26).unwrap_or_default()).to_string().repeat(name_length);
        Patron { user: UserId::new(user), username, amount: Money::from_minor(amount) }
    }

    proptest! {
        #[test]
        fn one_change_at_a_time_agrees_with_compiling_all(
            changes in prop::collection::vec((1_u64..12, 1_usize..4, 0_i64..8), 0..60),
            patrons in 1_usize..8,
            name_bytes in 4_usize..20,
        ) {
            let bounds = Bounds { patrons, name_bytes };
            let mut all: BTreeMap<u64, Patron> = BTreeMap::new();
            let mut top = TopPatrons::default();
            for (user, name_length, amount) in changes {
                let changed = patron(user, name_length, amount);
                all.insert(user, changed.clone());
                let compiled = largest_within(bounds, all.values().cloned());
                if set_within(bounds, &mut top, changed) {
                    // With names of different lengths a list that was cut may have room for more.
                    prop_assert!(compiled.patrons.starts_with(&top.patrons), "{top:?} {compiled:?}");
                    prop_assert!(top.has_more || top == compiled);
                    prop_assert!(name_bytes < 3 * patrons || top.patrons == compiled.patrons);
                } else {
                    top = compiled;
                }
            }
        }
    }

    #[test]
    fn a_full_list_of_long_names_fits_into_one_item() {
        let all = (0..2_000).map(|user| patron(user, 400, i64::MAX - 2_000 + i64::try_from(user).unwrap_or_default()));
        let top = largest(all);
        assert!(top.has_more && top.patrons.len() > 600);
        let json = serde_json::to_string(&top).unwrap_or_default();
        assert!(json.len() < 350 * 1024, "{}", json.len());
        assert_eq!(largest((0..2_000).map(|user| patron(user, 16, 1))).patrons.len(), 1_000);
    }
}
