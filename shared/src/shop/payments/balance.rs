//! The provider's changes of the store's balance, kept by month for reports (rules.md, "What was earned").
//!
//! Every quarter of an hour the changes since the last time are asked for, newest first, in the time that a sweep has left. The row
//! [`BalanceCursor`] has the window of time and the place in it, so that a sweep continues where the one before had to stop. A
//! change that is asked for again is the same row.

use super::desk::{Desk, SettleError};
use super::provider::{Provider, ProviderError};
use super::webhook_events::Window;
use crate::deadline::Stop;
use crate::model::BalanceChange;
use crate::table::transaction::{Write, send};
use crate::table::{Db, StoreError, keys, read_live};
use serde::{Deserialize, Serialize};

/// How often the changes are asked for, in seconds.
const EVERY: i64 = 900;
/// How many seconds before the last time are asked for again: the provider's clock is not ours, and its list may lag.
const OVERLAP: i64 = 3_600;
/// The most writes of one transaction.
const WRITES_AT_ONCE: usize = 100;

/// How far the provider's changes of the balance were asked for. Times are seconds since 1970 UTC.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BalanceCursor {
    /// All changes before this are kept.
    pub since: i64,
    /// The time that is being asked for; `None` between two times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<Window>,
    /// When a time was begun last, or refused.
    pub asked_at: i64,
    /// How often the row was written; the condition of the next write.
    version: u64,
}

impl BalanceCursor {
    /// Reads the row, strongly consistent; `None` before the first time.
    pub async fn read(db: &Db) -> Result<Option<Self>, StoreError> {
        read_live(db, &keys::balance_asked()).await
    }

    /// The write of the row, on the condition that no other has written it since it was read.
    fn put(&mut self) -> Result<Write, StoreError> {
        let (key, read) = (keys::balance_asked(), self.version);
        self.version += 1;
        Ok(Write::put_live(key, self)?.and_at(read))
    }
}

fn put_change(change: &BalanceChange) -> Result<Write, StoreError> {
    Write::put_live(keys::balance_change(change.created, &change.id), change)
}

impl<P: Provider> Desk<'_, &P> {
    /// Keeps the changes of the balance that are new, as far as the time allows. Begins nothing after `stop`.
    pub(super) async fn keep_balance(&self, stop: Stop) -> Result<(), SettleError> {
        let now = self.clock.seconds();
        let Some(mut cursor) = BalanceCursor::read(self.db).await? else {
            let mut beginning = BalanceCursor { asked_at: now, ..BalanceCursor::default() };
            return Ok(send(self.db, vec![beginning.put()?]).await?);
        };
        if cursor.window.is_none() && now.saturating_sub(cursor.asked_at) >= EVERY {
            (cursor.window, cursor.asked_at) = (Some(Window { until: now, after: None }), now);
        }
        while let Some(window) = cursor.window.clone().filter(|_| !stop.has_come()) {
            self.keep_page(&mut cursor, window).await?;
        }
        Ok(())
    }

    /// Keeps every change that the provider knows again, from the newest to the first. Returns how many there are. After an
    /// error the same call begins again.
    pub async fn keep_whole_balance(&self) -> Result<usize, SettleError> {
        let now = self.clock.seconds();
        let read = BalanceCursor::read(self.db).await?.unwrap_or_default();
        let window = Window { until: now, after: None };
        let mut cursor = BalanceCursor { since: 0, window: Some(window), asked_at: now, ..read };
        let mut kept = 0;
        while let Some(window) = cursor.window.clone() {
            kept += self.keep_page(&mut cursor, window).await?;
        }
        Ok(kept)
    }

    /// Keeps the next page of a window, and notes that in the cursor with the last write. Returns how many it has.
    async fn keep_page(&self, cursor: &mut BalanceCursor, window: Window) -> Result<usize, SettleError> {
        let times = (cursor.since.saturating_sub(OVERLAP).max(0), window.until);
        let page = match self.provider.balance_changes(times, window.after.as_deref()).await {
            Err(ProviderError::Refused(reason)) => {
                // The place is not known any more, or the key has no right to it: from the newest one again, later.
                tracing::error!(reason, "the payment provider refuses to list the changes of the balance");
                cursor.window = None;
                send(self.db, vec![cursor.put()?]).await?;
                return Ok(0);
            }
            page => page?,
        };
        cursor.window = page.next.map(|after| Window { until: window.until, after: Some(after) });
        if cursor.window.is_none() {
            cursor.since = window.until;
        }
        let changes = page.changes.iter().map(put_change);
        let mut writes = changes.chain([cursor.put()]).collect::<Result<Vec<_>, _>>()?;
        while !writes.is_empty() {
            let rest = writes.split_off(writes.len().min(WRITES_AT_ONCE));
            send(self.db, std::mem::replace(&mut writes, rest)).await?;
        }
        Ok(page.changes.len())
    }
}
