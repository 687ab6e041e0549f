//! Acting on the provider's webhook events again: one may have been lost.
//!
//! Every hour the webhook events since the last time are asked for, newest first. The row [`EventCursor`] has the
//! window of time and the place in it, so that a sweep continues where the one before had to stop. What the provider
//! refuses to show, and what is not ours, counts as done. What fails is kept in the row and acted on again later.

use super::desk::{Desk, SettleError};
use super::provider::{Provider, ProviderError, WebhookEvent, WebhookEventPage};
use super::sweep::{OVERDUE, again_in, work_until};
use super::webhook_events::{EventCursor, FailedEvent, Window};
use crate::deadline::Stop;
use crate::table::transaction::send;
use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};

/// How often the provider's webhook events are asked for, in seconds.
const EVERY: i64 = 3_600;
/// How many seconds before the last time are asked for again: the provider's clock is not ours.
const OVERLAP: i64 = 300;
/// The most webhook events that failed and are kept. If more fail, the provider has a problem, and the place is not
/// changed.
const MOST_FAILED: usize = 200;

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Reconciled {
    pub(super) failed: usize,
    /// How many failed first so long ago that they are overdue.
    pub(super) overdue: usize,
}

/// Acts on the provider's webhook events as far as the time allows. Begins nothing after `stop`.
pub(super) async fn reconcile<P: Provider>(desk: &Desk<'_, &P>, stop: Stop) -> Reconciled {
    let run = Run { desk, stop, failed: AtomicUsize::new(0) };
    let mut mark = None;
    if let Err(error) = run.all(&mut mark).await {
        tracing::error!(%error, "the payment provider's webhook events could not be asked for");
        run.failed.fetch_add(1, Ordering::Relaxed);
    }
    let last = desk.clock.seconds().saturating_sub(OVERDUE);
    let failed = mark.iter().flat_map(|mark: &EventCursor| &mark.failed);
    Reconciled { overdue: failed.filter(|event| event.since <= last).count(), failed: run.failed.into_inner() }
}

/// The outcome of acting on a webhook event.
enum Acted {
    Done,
    Failed(WebhookEvent),
    /// The time was up.
    Late(WebhookEvent),
}

struct Run<'a, P> {
    desk: &'a Desk<'a, &'a P>,
    stop: Stop,
    failed: AtomicUsize,
}

impl<P: Provider> Run<'_, P> {
    async fn all(&self, read: &mut Option<EventCursor>) -> Result<(), SettleError> {
        let now = self.desk.clock.seconds();
        *read = EventCursor::read(self.desk.db).await?;
        let Some(mark) = read else { return self.save(&mut EventCursor::beginning(now)).await };
        self.again(mark).await?;
        if mark.window.is_none() && now.saturating_sub(mark.since) >= EVERY {
            mark.window = Some(Window { until: now, after: None });
        }
        match mark.window.clone() {
            Some(window) => self.pages(mark, window).await,
            None => Ok(()),
        }
    }

    /// Acts on the webhook events that failed before.
    async fn again(&self, mark: &mut EventCursor) -> Result<(), SettleError> {
        let now = self.desk.clock.seconds();
        let (due, mut kept): (Vec<_>, Vec<_>) =
            std::mem::take(&mut mark.failed).into_iter().partition(|event| event.again_at <= now);
        // A kind that this version does not know is left to one that does.
        let known: BTreeSet<WebhookEvent> =
            due.iter().filter_map(|failed| WebhookEvent::of(&failed.kind, &failed.id)).collect();
        let has_due = !known.is_empty();
        let (acted, left) = self.act_on(known).await;
        for failed in due {
            let event = WebhookEvent::of(&failed.kind, &failed.id);
            if event.as_ref().is_none_or(|event| left.contains(event)) {
                kept.push(failed);
            } else if event.is_some_and(|event| acted.contains(&event)) {
                let again_at = now.saturating_add(again_in(failed.failed));
                kept.push(FailedEvent { failed: failed.failed.saturating_add(1), again_at, ..failed });
            }
        }
        mark.failed = kept;
        if has_due { self.save(mark).await } else { Ok(()) }
    }

    /// Asks for the pages of a window, and acts on them, until the last one or the end of the time.
    async fn pages(&self, mark: &mut EventCursor, window: Window) -> Result<(), SettleError> {
        let times = (mark.since.saturating_sub(OVERLAP), window.until);
        let mut page = match self.desk.provider.webhook_events(times, window.after.as_deref()).await {
            Err(ProviderError::Refused(reason)) if window.after.is_some() => {
                tracing::error!(
                    reason,
                    "the place in the webhook events is not known any more: from the newest one again"
                );
                mark.window = Some(Window { after: None, ..window });
                return self.save(mark).await;
            }
            page => page?,
        };
        loop {
            // The next page is asked for while this one is worked on.
            let (is_done, following) =
                tokio::join!(self.page(mark, page.events), self.following(times, page.next.as_deref()));
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

    async fn following(
        &self,
        times: (i64, i64),
        after: Option<&str>,
    ) -> Option<Result<WebhookEventPage, ProviderError>> {
        let after = after.filter(|_| !self.stop.has_come())?;
        Some(self.desk.provider.webhook_events(times, Some(after)).await)
    }

    /// Acts on a page of webhook events. Whether all were acted on, or are kept to be acted on again.
    async fn page(&self, mark: &mut EventCursor, events: Vec<WebhookEvent>) -> bool {
        let (failed, left) = self.act_on(events.into_iter().collect()).await;
        let now = self.desk.clock.seconds();
        for event in failed {
            let (kind, id) = event.parts();
            if mark.failed.iter().any(|known| known.kind == kind && known.id == id) {
                continue;
            }
            if mark.failed.len() >= MOST_FAILED {
                return false;
            }
            let (kind, id) = (kind.to_owned(), id.to_owned());
            let again_at = now.saturating_add(again_in(0));
            mark.failed.push(FailedEvent { kind, id, since: now, failed: 1, again_at });
        }
        left.is_empty()
    }

    /// Acts on webhook events. Returns those that failed, and those for which there was no time.
    async fn act_on(&self, events: BTreeSet<WebhookEvent>) -> (BTreeSet<WebhookEvent>, BTreeSet<WebhookEvent>) {
        let mut queue: VecDeque<WebhookEvent> = events.into_iter().collect();
        let work = |event| self.act(event);
        let acted = work_until(&mut queue, self.stop, &work).await;
        let (mut failed, mut left) = (BTreeSet::new(), BTreeSet::from_iter(queue));
        for acted in acted {
            match acted {
                Acted::Done => {}
                Acted::Failed(event) => drop(failed.insert(event)),
                Acted::Late(event) => drop(left.insert(event)),
            }
        }
        self.failed.fetch_add(failed.len(), Ordering::Relaxed);
        (failed, left)
    }

    async fn act(&self, event: WebhookEvent) -> Acted {
        match self.desk.act(&event).await {
            Ok(()) => Acted::Done,
            Err(SettleError::Provider(ProviderError::Refused(reason) | ProviderError::NoCheckout(reason))) => {
                tracing::warn!(event = ?event, reason, "a webhook event about something that the payment provider does not show");
                Acted::Done
            }
            Err(error) if self.stop.has_come() => {
                tracing::warn!(event = ?event, %error, "the time of the sweep was up");
                Acted::Late(event)
            }
            Err(error) => {
                tracing::error!(event = ?event, %error, "a webhook event of the payment provider failed");
                Acted::Failed(event)
            }
        }
    }

    /// Writes the row. It conflicts if another sweep has written it meanwhile, which then goes on.
    async fn save(&self, mark: &mut EventCursor) -> Result<(), SettleError> {
        Ok(send(self.desk.db, vec![mark.put()?]).await?)
    }
}
