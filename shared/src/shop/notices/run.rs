//! A run of the sender: what is due is sent to every target that wants it, and it is noted how far each is.
//!
//! Targets are worked on at once, each at its own pace, so that none waits for another. A notice is written when the last of its
//! targets is done with it. A sender that is killed before has noted nothing, and the next one sends it again, with the same id.

use super::NoticeRow;
use crate::clock::Clock;
use crate::deadline::Stop;
use crate::model::{Notice, NoticeTarget, Sending, TargetKind};
use crate::notify::{Answer, Message, Targets};
use crate::rules::sending::{self, GIVES_UP, Outcome};
use crate::shop::notices;
use crate::table::{Db, StoreError};
use futures_util::future::join_all;
use serde::Serialize;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::sleep;

/// The most notices that a run works on.
const MOST_NOTICES: usize = 2_000;
/// How many messages a target of the owner's own is sent at once.
const MESSAGES_AT_ONCE: usize = 8;
/// The longest time that a run waits for a target that takes nothing for a time, in seconds.
const WAITS: i64 = 5;
/// When a notice is looked at again for which there was no time, in seconds.
const LATER: i64 = 60;

/// The result of a run, in notices and targets: a notice for two targets counts twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, schemars::JsonSchema)]
pub struct Sent {
    /// Those that were due.
    pub due: usize,
    /// Those that the target took.
    pub sent: usize,
    /// Those that failed or were postponed. They are tried again later.
    pub failed: usize,
    /// Those for which there was no time.
    pub left: usize,
}

struct Entry {
    row: NoticeRow,
    notice: Notice,
    /// The number of targets that are not done with it in this run.
    open: usize,
}

struct Run<'a> {
    db: &'a Db,
    clock: &'a dyn Clock,
    sender: &'a Targets,
    targets: &'a [NoticeTarget],
    entries: Mutex<Vec<Entry>>,
    tally: Mutex<Sent>,
    /// Whether more may be due than this run reads.
    is_full: bool,
    stop: Stop,
}

/// Sends what is due to targets. Begins nothing new after `time`.
pub async fn run(
    db: &Db,
    clock: &dyn Clock,
    sender: &Targets,
    targets: &[NoticeTarget],
    time: Duration,
) -> Result<Sent, StoreError> {
    let (stop, now) = (Stop::after(time), clock.seconds());
    let (rows, paused) = tokio::try_join!(notices::due(db, now, MOST_NOTICES), notices::paused(db))?;
    let is_full = rows.len() == MOST_NOTICES;
    let entries = rows.into_iter().map(|row| Entry { notice: row.notice.clone(), row, open: 1 });
    let run = Run {
        db,
        clock,
        sender,
        targets,
        entries: Mutex::new(entries.collect()),
        tally: Mutex::default(),
        is_full,
        stop,
    };
    let queues: Vec<VecDeque<usize>> = targets.iter().map(|target| run.queue(target, now)).collect();
    // What no target has to be sent, or no longer.
    let all = 0..locked(&run.entries).len();
    let settled = async { join_in_parts(all, |place| run.done(place, None)).await };
    let work = targets.iter().zip(queues).map(|(target, queue)| run.work(target, queue, paused.get(&target.name)));
    tokio::join!(settled, join_all(work));
    Ok(*locked(&run.tally))
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does work on many things, some at once.
async fn join_in_parts<F: Future<Output = ()>>(all: impl IntoIterator<Item = usize>, work: impl Fn(usize) -> F) {
    let queue = Mutex::new(all.into_iter());
    let worker = || async {
        loop {
            let Some(place) = locked(&queue).next() else { return };
            work(place).await;
        }
    };
    join_all((0..MESSAGES_AT_ONCE).map(|_| worker())).await;
}

/// How the work on a target goes on.
#[derive(Debug, Clone)]
enum State {
    Working {
        failures: u32,
    },
    /// It takes nothing until this second.
    Paused(i64, String),
    Failing(String),
}

impl Run<'_> {
    /// The notices that a target has to be sent.
    fn queue(&self, target: &NoticeTarget, now: i64) -> VecDeque<usize> {
        let (mut entries, mut queue) = (locked(&self.entries), VecDeque::new());
        for (place, entry) in entries.iter_mut().enumerate() {
            if sending::is_due(&entry.notice, target, now) {
                entry.open += 1;
                queue.push_back(place);
            }
        }
        locked(&self.tally).due += queue.len();
        queue
    }

    /// Works on a target until its queue is empty or the time is up.
    async fn work(&self, target: &NoticeTarget, queue: VecDeque<usize>, paused: Option<&i64>) {
        let now = self.clock.seconds();
        let state = match paused {
            Some(until) if *until > now => State::Paused(*until, "the target takes nothing until then".to_owned()),
            _ => State::Working { failures: 0 },
        };
        let (queue, state) = (Mutex::new(queue), Mutex::new(state));
        let workers = match target.kind {
            // Its messages have many notices each, and its limits are for one sender.
            TargetKind::Discord => 1,
            TargetKind::Webhook => MESSAGES_AT_ONCE,
        };
        join_all((0..workers).map(|_| self.worker(target, &queue, &state))).await;
        let left: Vec<usize> = locked(&queue).drain(..).collect();
        let state = locked(&state).clone();
        join_in_parts(left, |place| self.leave(place, target, &state)).await;
    }

    async fn worker(&self, target: &NoticeTarget, queue: &Mutex<VecDeque<usize>>, state: &Mutex<State>) {
        loop {
            let is_working = matches!(*locked(state), State::Working { .. });
            let next = (is_working && !self.stop.has_come()).then(|| self.next(target, &mut locked(queue))).flatten();
            let Some((message, places)) = next else { return };
            let answer = self.answer(target, &message).await;
            self.note(target, state, &answer.outcome).await;
            for place in places {
                self.done(place, Some((target, &answer.outcome))).await;
            }
            if !locked(queue).is_empty() {
                sleep(answer.pause.min(self.stop.left())).await;
            }
        }
    }

    /// The next message to a target, and the notices in it.
    fn next(&self, target: &NoticeTarget, queue: &mut VecDeque<usize>) -> Option<(Message, Vec<usize>)> {
        let entries = locked(&self.entries);
        let first = queue.front()?;
        let is_alone =
            |place: &usize| entries[*place].notice.targets.get(&target.name).is_some_and(sending::was_refused);
        // What was refused may have been so for a reason of its own, and keeps nothing else from being sent.
        let most = if is_alone(first) { 1 } else { queue.iter().take_while(|place| !is_alone(place)).count() };
        let notices: Vec<&Notice> = queue.iter().take(most).map(|place| &entries[*place].notice).collect();
        let message = self.sender.message(target, &notices);
        let count = message.count.clamp(1, most);
        Some((message, queue.drain(..count).collect()))
    }

    /// Sends a message, again after a short time if the target asks for it.
    async fn answer(&self, target: &NoticeTarget, message: &Message) -> Answer {
        loop {
            let answer = self.sender.send(target, message).await;
            match answer.outcome {
                Outcome::Paused(Some(seconds), _) if (0..=WAITS).contains(&seconds) => {
                    let wait = Duration::from_secs(u64::try_from(seconds.max(1)).unwrap_or(1));
                    if wait >= self.stop.left() {
                        return answer;
                    }
                    sleep(wait).await;
                }
                _ => return answer,
            }
        }
    }

    /// Notes what an answer means for the other notices of the target.
    async fn note(&self, target: &NoticeTarget, state: &Mutex<State>, outcome: &Outcome) {
        let before = locked(state).clone();
        let after = match (outcome, before) {
            (Outcome::Paused(asked, answer), _) => {
                State::Paused(self.clock.seconds().saturating_add(sending::pause(*asked)), answer.clone())
            }
            (Outcome::Failed(answer), State::Working { failures }) if failures + 1 >= GIVES_UP => {
                State::Failing(answer.clone())
            }
            (Outcome::Failed(_), State::Working { failures }) => State::Working { failures: failures + 1 },
            (Outcome::Taken(_) | Outcome::Refused(_), State::Working { .. }) => State::Working { failures: 0 },
            (_, before) => before,
        };
        locked(state).clone_from(&after);
        if let (Outcome::Paused(..), State::Paused(until, _)) = (outcome, after)
            && let Err(error) = notices::pause(self.db, &target.name, until).await
        {
            tracing::warn!(target = target.name, %error, "the pause of a target was not noted");
        }
    }

    /// Ends this run's work on a notice that the target was not sent.
    async fn leave(&self, place: usize, target: &NoticeTarget, state: &State) {
        match state {
            State::Failing(answer) => {
                let failed = Outcome::Failed(format!("not tried, others failed: {answer}"));
                return self.done(place, Some((target, &failed))).await;
            }
            State::Paused(until, why) => {
                locked(&self.tally).failed += 1;
                self.postpone(place, target, *until, why);
            }
            State::Working { .. } => {
                locked(&self.tally).left += 1;
                // If more is due than is read, what no one had time for must not keep the rest from being read.
                if self.is_full {
                    self.postpone(place, target, self.clock.seconds().saturating_add(LATER), "there was no time");
                }
            }
        }
        self.done(place, None).await;
    }

    fn postpone(&self, place: usize, target: &NoticeTarget, until: i64, why: &str) {
        self.change(place, target, |before, at| sending::postponed(before, at, until, why));
    }

    /// Changes how far a notice is with a target.
    fn change(&self, place: usize, target: &NoticeTarget, after: impl FnOnce(&Sending, i64) -> Sending) {
        let mut entries = locked(&self.entries);
        let Notice { at, targets, .. } = &mut entries[place].notice;
        let own = targets.entry(target.name.clone()).or_default();
        *own = after(own, *at);
    }

    /// Ends this run's work on a notice for a target, or its own if there is none, and writes the notice after the last one.
    async fn done(&self, place: usize, outcome: Option<(&NoticeTarget, &Outcome)>) {
        let now = self.clock.seconds();
        if let Some((target, outcome)) = outcome {
            self.change(place, target, |before, at| sending::after(before, at, outcome, now));
            match outcome {
                Outcome::Taken(_) => locked(&self.tally).sent += 1,
                Outcome::Refused(_) | Outcome::Failed(_) | Outcome::Paused(..) => locked(&self.tally).failed += 1,
            }
        }
        let (row, mut notice) = {
            let mut entries = locked(&self.entries);
            let entry = &mut entries[place];
            entry.open -= 1;
            if entry.open > 0 {
                return;
            }
            (entry.row.clone(), entry.notice.clone())
        };
        let place = sending::settle(&mut notice, self.targets, now);
        let is_same = notice == row.notice && matches!(place, sending::Place::Due(due) if due <= now);
        if is_same {
            return;
        }
        // If it has changed since it was read, another sender was faster.
        if let Err(error) = notices::move_to(self.db, &row, &notice, place, now).await {
            tracing::warn!(notice = notice.id, %error, "it was not noted how far a notice is: it may be sent again");
        }
    }
}
