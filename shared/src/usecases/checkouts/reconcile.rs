//! Acting on the provider's notices again: one may have been lost.
//!
//! Every hour the notices since the last time are asked for, newest first. The row [`Notices`] has the window of time and the
//! place in it, so that a sweep continues where the one before had to stop. What the provider refuses to show, and
//! what is not ours, counts as done. What fails is kept in the row and acted on again later.

use super::batch::work_until;
use super::notice::act;
use super::provider::{Notice, NoticePage, Provider, ProviderError};
use super::settle::SettleError;
use super::sweep::{OVERDUE, again_in};
use crate::clock::Clock;
use crate::deadline::Stop;
use crate::store::Db;
use crate::store::notices::{FailedNotice, Notices, Window};
use crate::store::transaction::{Sent, Write, send};
use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};

/// How often the provider's notices are asked for, in seconds.
const EVERY: i64 = 3_600;
/// How many seconds before the last time are asked for again: the provider's clock is not ours.
const OVERLAP: i64 = 300;
/// The most notices that failed and are kept. If more fail, the provider has a problem, and the place stays as it is.
const MOST_FAILED: usize = 200;

/// Outcome of a reconciliation.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Reconciled {
    /// How many failed in this sweep.
    pub(super) failed: usize,
    /// How many failed first so long ago that they are overdue.
    pub(super) overdue: usize,
}

/// Acts on the provider's notices as far as the time allows. Begins nothing after `stop`.
pub(super) async fn reconcile<P: Provider>(db: &Db, clock: &dyn Clock, provider: &P, stop: Stop) -> Reconciled {
    let run = Run { db, clock, provider, stop, failed: AtomicUsize::new(0) };
    let mut mark = None;
    if let Err(error) = run.all(&mut mark).await {
        tracing::error!(%error, "the payment provider's notices could not be asked for");
        run.failed.fetch_add(1, Ordering::Relaxed);
    }
    let last = clock.seconds().saturating_sub(OVERDUE);
    let failed = mark.iter().flat_map(|mark: &Notices| &mark.failed);
    Reconciled { overdue: failed.filter(|notice| notice.since <= last).count(), failed: run.failed.into_inner() }
}

/// The outcome of acting on a notice.
enum Acted {
    Done,
    Failed(Notice),
    /// The time was up.
    Late(Notice),
}

struct Run<'a, P> {
    db: &'a Db,
    clock: &'a dyn Clock,
    provider: &'a P,
    stop: Stop,
    failed: AtomicUsize,
}

impl<P: Provider> Run<'_, P> {
    async fn all(&self, read: &mut Option<Notices>) -> Result<(), SettleError> {
        let now = self.clock.seconds();
        *read = Notices::read(self.db).await?;
        let Some(mark) = read else { return self.save(&mut Notices::beginning(now)).await };
        self.again(mark).await?;
        if mark.window.is_none() && now.saturating_sub(mark.since) >= EVERY {
            mark.window = Some(Window { until: now, after: None });
        }
        match mark.window.clone() {
            Some(window) => self.pages(mark, window).await,
            None => Ok(()),
        }
    }

    /// Acts on the notices that failed before.
    async fn again(&self, mark: &mut Notices) -> Result<(), SettleError> {
        let now = self.clock.seconds();
        let (due, mut kept): (Vec<_>, Vec<_>) =
            std::mem::take(&mut mark.failed).into_iter().partition(|notice| notice.again_at <= now);
        // A kind that this version does not know is left to one that does.
        let known: BTreeSet<Notice> = due.iter().filter_map(|failed| Notice::of(&failed.kind, &failed.id)).collect();
        let has_due = !known.is_empty();
        let (acted, left) = self.act_on(known).await;
        for failed in due {
            let notice = Notice::of(&failed.kind, &failed.id);
            if notice.as_ref().is_none_or(|notice| left.contains(notice)) {
                kept.push(failed);
            } else if notice.is_some_and(|notice| acted.contains(&notice)) {
                let again_at = now.saturating_add(again_in(failed.failed));
                kept.push(FailedNotice { failed: failed.failed.saturating_add(1), again_at, ..failed });
            }
        }
        mark.failed = kept;
        if has_due { self.save(mark).await } else { Ok(()) }
    }

    /// Asks for the pages of a window, and acts on them, until the last one or the end of the time.
    async fn pages(&self, mark: &mut Notices, window: Window) -> Result<(), SettleError> {
        let times = (mark.since.saturating_sub(OVERLAP), window.until);
        let mut page = match self.provider.notices(times, window.after.as_deref()).await {
            Err(ProviderError::Refused(reason)) if window.after.is_some() => {
                tracing::error!(reason, "the place in the notices is not known any more: from the newest one again");
                mark.window = Some(Window { after: None, ..window });
                return self.save(mark).await;
            }
            page => page?,
        };
        loop {
            // The next page is asked for while this one is worked on.
            let (is_done, following) =
                tokio::join!(self.page(mark, page.notices), self.following(times, page.next.as_deref()));
            if is_done {
                mark.window = page.next.map(|after| Window { until: window.until, after: Some(after) });
                if mark.window.is_none() {
                    mark.since = window.until;
                }
            }
            self.save(mark).await?;
            match following {
                Some(following) if is_done => page = following?,
                _ => return Ok(()),
            }
        }
    }

    async fn following(&self, times: (i64, i64), after: Option<&str>) -> Option<Result<NoticePage, ProviderError>> {
        let after = after.filter(|_| !self.stop.has_come())?;
        Some(self.provider.notices(times, Some(after)).await)
    }

    /// Acts on a page of notices. Whether all were acted on, or are kept to be acted on again.
    async fn page(&self, mark: &mut Notices, notices: Vec<Notice>) -> bool {
        let (failed, left) = self.act_on(notices.into_iter().collect()).await;
        let now = self.clock.seconds();
        for notice in failed {
            let (kind, id) = notice.parts();
            if mark.failed.iter().any(|known| known.kind == kind && known.id == id) {
                continue;
            }
            if mark.failed.len() >= MOST_FAILED {
                return false;
            }
            let (kind, id) = (kind.to_owned(), id.to_owned());
            let again_at = now.saturating_add(again_in(0));
            mark.failed.push(FailedNotice { kind, id, since: now, failed: 1, again_at });
        }
        left.is_empty()
    }

    /// Acts on notices. Returns those that failed, and those for which there was no time.
    async fn act_on(&self, notices: BTreeSet<Notice>) -> (BTreeSet<Notice>, BTreeSet<Notice>) {
        let mut queue: VecDeque<Notice> = notices.into_iter().collect();
        let work = |notice| self.act(notice);
        let acted = work_until(&mut queue, self.stop, &work).await;
        let (mut failed, mut left) = (BTreeSet::new(), BTreeSet::from_iter(queue));
        for acted in acted {
            match acted {
                Acted::Done => {}
                Acted::Failed(notice) => drop(failed.insert(notice)),
                Acted::Late(notice) => drop(left.insert(notice)),
            }
        }
        self.failed.fetch_add(failed.len(), Ordering::Relaxed);
        (failed, left)
    }

    async fn act(&self, notice: Notice) -> Acted {
        match act(self.db, self.clock, self.provider, &notice).await {
            Ok(()) => Acted::Done,
            Err(SettleError::Provider(ProviderError::Refused(reason) | ProviderError::NoCheckout(reason))) => {
                tracing::warn!(notice = ?notice, reason, "a notice about something that the payment provider does not show");
                Acted::Done
            }
            Err(error) if self.stop.has_come() => {
                tracing::warn!(notice = ?notice, %error, "the time of the sweep was up");
                Acted::Late(notice)
            }
            Err(error) => {
                tracing::error!(notice = ?notice, %error, "a notice of the payment provider failed");
                Acted::Failed(notice)
            }
        }
    }

    /// Writes the row. It conflicts if another sweep has written it meanwhile, which then goes on.
    async fn save(&self, mark: &mut Notices) -> Result<(), SettleError> {
        let write: Write = mark.put()?;
        match send(self.db, vec![write]).await? {
            Sent::Written => Ok(()),
            Sent::Conflict | Sent::Refused(_) => Err(SettleError::Conflict),
        }
    }
}
