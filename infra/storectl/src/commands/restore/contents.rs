//! The contents of a backup or a table in a form that can be compared, and the ids that are taken in it.

use sha2::{Digest, Sha256};
use shared::shop::delivery::ids_after_restore;
use shared::table::StoreError;
use shared::table::codec::{Item, key_of};
use shared::table::keys::{self, TTL, prefix};
use shared::table::single::{CODES, COMMANDS, NEXT, ORDERS, USERS};
use std::collections::BTreeMap;

const KINDS: [&str; 4] = [USERS, ORDERS, CODES, COMMANDS];

/// Everything but the active version and what expires by itself.
#[derive(Debug, Clone, Default)]
pub(super) struct Contents {
    items: u64,
    /// Sum of the items' hashes, which does not depend on their order.
    sum: u128,
    highest: BTreeMap<&'static str, u64>,
    /// The next free id by the sequence itself, by kind.
    next: BTreeMap<&'static str, u64>,
    /// Whether it has the place in the provider's webhook events.
    pub(super) has_webhook_events: bool,
}

impl Contents {
    pub(super) fn add(&mut self, item: &Item) -> Result<(), StoreError> {
        let key = key_of(item)?;
        if key == keys::active_version() || key.pk.starts_with(prefix::RATE) || item.contains_key(TTL) {
            return Ok(());
        }
        self.items += 1;
        self.has_webhook_events |= key == keys::webhook_events();
        let hash = Sha256::digest(archive::line(item));
        let hash = hash.iter().take(size_of::<u128>()).fold(0, |sum, byte| (sum << 8) | u128::from(*byte));
        self.sum = self.sum.wrapping_add(hash);
        self.see_ids(&key, item);
        Ok(())
    }

    fn see_ids(&mut self, key: &keys::Key, item: &Item) {
        let number = |name: &str| item.get(name)?.as_n().ok()?.parse::<u64>().ok();
        for kind in KINDS {
            if *key == keys::sequence(kind) {
                self.next.extend(number(NEXT).map(|next| (kind, next)));
            }
        }
        let after = |text: &str, prefix: &str| text.strip_prefix(prefix)?.parse::<u64>().ok();
        let by_key = [prefix::USER, prefix::LEDGER, prefix::CART].iter().find_map(|prefix| after(&key.pk, prefix));
        self.see(USERS, by_key.or_else(|| after(&key.sk, prefix::USER)));
        if key.pk.starts_with(prefix::ORDER) {
            self.see(ORDERS, number("id"));
            self.see(USERS, number("owner"));
        }
        if key.pk.starts_with(prefix::CODE) {
            self.see(CODES, number("id"));
        }
        self.see(COMMANDS, after(&key.pk, prefix::COMMAND));
    }

    fn see(&mut self, kind: &'static str, id: Option<u64>) {
        let highest = self.highest.entry(kind).or_default();
        *highest = id.unwrap_or_default().max(*highest);
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        (self.items, self.sum) == (other.items, other.sum)
    }

    /// The sequences that could hand out an id again, with the first id that is free after a restore at `at`, seconds since
    /// 1970 UTC.
    pub(super) fn behind(&self, at: i64) -> Vec<(&'static str, u64)> {
        let free = self.highest.iter().map(|(kind, highest)| (*kind, highest.saturating_add(1)));
        let next = |kind| self.next.get(kind).copied().unwrap_or(1);
        let moved = free.map(|(kind, free)| match kind {
            // Those of commands that were made after the backup are known to game servers.
            COMMANDS => (kind, free.max(next(kind)).saturating_add(ids_after_restore(at))),
            _ => (kind, free),
        });
        moved.filter(|(kind, free)| next(kind) < *free).collect()
    }
}
