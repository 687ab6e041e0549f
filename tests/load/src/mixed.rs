//! Mixed traffic: requests at a fixed rate, whether or not earlier ones have a response.

use crate::client::Client;
use crate::error::LoadError;
use crate::record::Record;
use crate::report::{Promise, Summary, progress};
use crate::stage::{Stage, Usage};
use crate::visit::{Doing, Visitor};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

/// How many visitors are there at the same time, at least.
const VISITORS: usize = 200;
/// How often progress is printed.
const PROGRESS: Duration = Duration::from_secs(5);
/// Memory is judged in runs that are at least this long: before, caches still fill.
const JUDGED: Duration = Duration::from_mins(12);
/// How many connections more than at the first look are still called flat.
const MORE_CONNECTIONS: usize = 16;

/// The visitors who wait for their next step, and how many there are in all.
#[derive(Debug, Default)]
struct Visitors {
    ready: Mutex<VecDeque<Visitor>>,
    present: AtomicUsize,
    number: AtomicU64,
}

impl Visitors {
    /// The visitor whose turn it is; a new one if there are too few.
    fn next(&self) -> Visitor {
        let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        let is_full = self.present.load(Ordering::Relaxed) >= VISITORS;
        let waiting = if is_full { ready.pop_front() } else { None };
        waiting.unwrap_or_else(|| {
            self.present.fetch_add(1, Ordering::Relaxed);
            Visitor::new(self.number.fetch_add(1, Ordering::Relaxed))
        })
    }

    /// Lets a visitor go on, or leave.
    fn wait(&self, visitor: Visitor) {
        if visitor.doing().is_none() {
            self.leave();
            return;
        }
        self.ready.lock().unwrap_or_else(PoisonError::into_inner).push_back(visitor);
    }

    fn leave(&self) {
        self.present.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Sends `rate` requests per second for so long.
///
/// # Errors
/// [`LoadError`] if the run cannot be made.
pub async fn run(lasts: Duration, rate: u32) -> Result<Summary, LoadError> {
    let stage = Stage::open(None).await?;
    let (record, visitors) = (Arc::new(Record::default()), Arc::new(Visitors::default()));
    let (began, every) = (Instant::now(), Duration::from_secs(1) / rate);
    let (mut next_note, mut first) = (PROGRESS, None);
    let mut tasks = JoinSet::new();
    for number in 0.. {
        let at = every * number;
        if at >= lasts {
            break;
        }
        sleep_until(began + at).await;
        tasks.spawn(step(stage.client.clone(), Arc::clone(&record), Arc::clone(&visitors), began + at));
        while tasks.try_join_next().is_some() {}
        // A sixth of the run: after 5 of 30 minutes.
        if first.is_none() && at >= lasts / 6 {
            first = Some(stage.usage()?);
        }
        if at >= next_note {
            next_note += PROGRESS;
            note(at, lasts, &record, tasks.len(), stage.usage()?);
        }
    }
    while tasks.join_next().await.is_some() {}
    let (first, last) = (first.unwrap_or_default(), stage.usage()?);
    let orders = visitors.number.load(Ordering::Relaxed);
    let summary = Summary::new("mixed", &record, lasts).with_usage(first, last).fact("visitors", orders);
    Ok(promises(summary, lasts, first, last).fact("requests_per_second", u64::from(rate)))
}

fn note(at: Duration, lasts: Duration, record: &Record, open: usize, usage: Usage) {
    let (requests, errors) = record.counts();
    progress(&format!(
        "{} of {} s: {requests} requests, {errors} errors, {open} open; functions: {} MiB, {} connections",
        at.as_secs(),
        lasts.as_secs(),
        usage.memory_kib / 1_024,
        usage.connections,
    ));
}

fn promises(summary: Summary, lasts: Duration, first: Usage, last: Usage) -> Summary {
    let connections = Promise {
        text: format!("connections stay flat: {} after a sixth, {} at the end", first.connections, last.connections),
        is_kept: last.connections <= first.connections + MORE_CONNECTIONS,
    };
    let memory = Promise {
        text: format!(
            "memory stays within 10 %: {} KiB after a sixth, {} at the end",
            first.memory_kib, last.memory_kib
        ),
        is_kept: last.memory_kib * 10 <= first.memory_kib * 11,
    };
    let summary = summary.promise(connections);
    if lasts >= JUDGED { summary.promise(memory) } else { summary }
}

/// Takes a visitor's next step, which was to start at `scheduled`.
async fn step(client: Client, record: Arc<Record>, visitors: Arc<Visitors>, scheduled: Instant) {
    let mut visitor = visitors.next();
    // Paying is not a request to the API: the one after it counts as this turn.
    while let Some(doing) = visitor.doing() {
        match doing {
            Doing::Pay(session) => match client.pay(&session).await {
                Ok(()) => visitor.paid(),
                Err(reason) => {
                    record.failed("paying at the stand-in", &reason);
                    return visitors.leave();
                }
            },
            Doing::Call(call) => {
                let response = client.call(&call, visitor.caller()).await;
                record.took(call.kind, scheduled.elapsed());
                match response.and_then(|(status, body)| visitor.took(status, &body)) {
                    Ok(()) => return visitors.wait(visitor),
                    Err(reason) => {
                        record.failed(call.kind, &reason);
                        return visitors.leave();
                    }
                }
            }
        }
    }
}
