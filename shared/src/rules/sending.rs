//! When a notice is sent to a target again, and what becomes of it (rules.md, "Notices").

use crate::model::{Notice, NoticeTarget, Sending};

/// After how many seconds a notice that was not taken is sent again: after each of the first attempts, and then every hour.
const SENT_AGAIN: [i64; 3] = [60, 300, 1_800];
/// The time between later attempts, and for which a target is left alone that takes no more and says no time, in seconds.
pub const HOUR: i64 = 3_600;
/// For how many seconds a notice is tried.
pub const TRIED_FOR: i64 = 24 * HOUR;
/// After how many attempts in a row that failed a target is left alone until the next time of each notice.
pub const GIVES_UP: u32 = 3;
/// The longest answer that is kept, in characters.
const ANSWER: usize = 200;

/// What became of sending a notice to a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The target has it.
    Taken(String),
    /// The target did not take this one; others may fare better.
    Refused(String),
    /// The target does not work: nothing else would fare better.
    Failed(String),
    /// The target takes nothing for a time, in seconds; an hour if it says none.
    Paused(Option<i64>, String),
}

/// How long a target that takes nothing is left alone, in seconds.
pub fn pause(asked: Option<i64>) -> i64 {
    asked.unwrap_or(HOUR).clamp(1, TRIED_FOR)
}

/// How far a notice that happened at `at` is with a target after an attempt at `now` (seconds since 1970 UTC).
pub fn after(before: &Sending, at: i64, outcome: &Outcome, now: i64) -> Sending {
    let attempts = before.attempts.saturating_add(1);
    let tried = Sending { attempts, tried_at: Some(now), again_at: None, ..before.clone() };
    let (wait, answer) = match outcome {
        Outcome::Taken(answer) => return Sending { sent_at: Some(now), answer: short(answer), ..tried },
        Outcome::Refused(answer) => (wait(before.attempts), format!("{REFUSED}{answer}")),
        Outcome::Failed(answer) => (wait(before.attempts), answer.clone()),
        Outcome::Paused(asked, answer) => (pause(*asked), answer.clone()),
    };
    Sending { answer: short(&answer), ..tried }.tried_again(at, now.saturating_add(wait))
}

/// After how many seconds it is tried again, after so many attempts before this one.
fn wait(before: u32) -> i64 {
    usize::try_from(before).ok().and_then(|place| SENT_AGAIN.get(place)).copied().unwrap_or(HOUR)
}

/// How an answer begins that is about the message.
const REFUSED: &str = "refused: ";

/// Whether a target refused the message that a notice was in: the next one has no other notice in it.
pub fn was_refused(sending: &Sending) -> bool {
    sending.answer.starts_with(REFUSED)
}

/// The same without an attempt: the target is left alone until `until`.
pub fn postponed(before: &Sending, at: i64, until: i64, why: &str) -> Sending {
    Sending { answer: short(why), again_at: None, ..before.clone() }.tried_again(at, until)
}

impl Sending {
    fn tried_again(self, at: i64, again: i64) -> Self {
        let is_in_time = again <= self.since.unwrap_or(at).saturating_add(TRIED_FOR);
        Self { again_at: is_in_time.then_some(again), ..self }
    }

    /// Whether it is given up.
    fn waits(&self) -> bool {
        self.sent_at.is_none() && self.again_at.is_none()
    }
}

/// One line of an answer, as long as it is kept.
pub fn short(answer: &str) -> String {
    answer
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .chars()
        .filter(|one| !one.is_control())
        .take(ANSWER)
        .collect()
}

/// Whether a target is to be sent a notice at `now` (seconds since 1970 UTC).
pub fn is_due(notice: &Notice, target: &NoticeTarget, now: i64) -> bool {
    target.events.contains(&notice.event)
        && notice.targets.get(&target.name).is_none_or(|sending| sending.again_at.is_some_and(|again| again <= now))
}

/// Where the row of a notice belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// It is looked at in this second.
    Due(i64),
    /// It is given up until the owner says so.
    Waiting,
    /// Every target has it.
    Sent,
}

/// Where a notice belongs at `now` (seconds since 1970 UTC), if it is for these targets. What is noted of others is dropped.
pub fn settle(notice: &mut Notice, targets: &[NoticeTarget], now: i64) -> Place {
    let event = notice.event;
    let wanted = |name: &String| targets.iter().any(|target| target.name == *name && target.events.contains(&event));
    notice.targets.retain(|name, _| wanted(name));
    let all = targets.iter().filter(|target| target.events.contains(&event));
    let next = all.filter_map(|target| match notice.targets.get(&target.name) {
        Some(sending) => sending.again_at,
        None => Some(now),
    });
    match next.min() {
        Some(next) => Place::Due(next),
        None if notice.targets.values().any(Sending::waits) => Place::Waiting,
        None => Place::Sent,
    }
}

/// A notice that is sent again by hand at `now` (seconds since 1970 UTC), to those who do not have it.
pub fn again(notice: &Notice, now: i64) -> Notice {
    let mut again = notice.clone();
    for sending in again.targets.values_mut().filter(|sending| sending.sent_at.is_none()) {
        *sending = Sending {
            since: Some(now),
            again_at: Some(now),
            answer: std::mem::take(&mut sending.answer),
            ..Sending::default()
        };
    }
    again
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{About, NoticeEvent, TargetKind};

    const AT: i64 = 1_800_000_000;

    fn target(name: &str, events: &[NoticeEvent]) -> NoticeTarget {
        NoticeTarget::new(name, TargetKind::Webhook, events)
    }

    /// The seconds after the notice at which a target that always answers so is tried.
    fn attempts(outcome: &Outcome) -> Vec<i64> {
        let (mut sending, mut now, mut all) = (Sending::default(), AT, Vec::new());
        loop {
            all.push(now - AT);
            sending = after(&sending, AT, outcome, now);
            match sending.again_at {
                Some(again) => now = again,
                None => return all,
            }
        }
    }

    #[test]
    fn it_is_tried_at_once_and_after_1_5_and_30_minutes_and_then_hourly_for_a_day() {
        let minutes: Vec<i64> = attempts(&Outcome::Failed(String::new())).iter().map(|second| second / 60).collect();
        assert_eq!(minutes[..6], [0, 1, 6, 36, 96, 156]);
        assert_eq!((minutes.len(), minutes.last()), (27, Some(&1_416)));
        assert_eq!(attempts(&Outcome::Paused(None, String::new())).len(), 25);
        assert_eq!(attempts(&Outcome::Paused(Some(900), String::new()))[..3], [0, 900, 1_800]);
        assert_eq!(attempts(&Outcome::Taken(String::new())), [0]);
        // A clock that is behind, and a time without end.
        assert_eq!((pause(Some(-5)), pause(Some(i64::MAX)), pause(None)), (1, TRIED_FOR, HOUR));
    }

    #[test]
    fn it_is_sent_when_every_target_has_it_and_waits_when_one_was_given_up() {
        let both = [target("a", &[NoticeEvent::SoldOut]), target("b", &[NoticeEvent::SoldOut, NoticeEvent::Paid])];
        let (about, failed) =
            (About::Item { id: 1, name: String::new() }, Outcome::Failed("HTTP 500: no\n\nluck".to_owned()));
        let mut notice = Notice::new(NoticeEvent::SoldOut, "sold_out-1".to_owned(), AT, about);
        assert_eq!(settle(&mut notice, &both, AT), Place::Due(AT));
        assert_eq!(settle(&mut notice, &[], AT), Place::Sent);
        notice.targets.insert("a".to_owned(), after(&Sending::default(), AT, &Outcome::Taken(String::new()), AT));
        notice.targets.insert("b".to_owned(), after(&Sending::default(), AT, &failed, AT));
        assert_eq!(notice.targets["b"].answer, "HTTP 500: no luck");
        assert_eq!(settle(&mut notice, &both, AT), Place::Due(AT + 60));
        assert!(!is_due(&notice, &both[1], AT + 59) && is_due(&notice, &both[1], AT + 60));
        assert!(!is_due(&notice, &both[0], AT + 99));
        let late = after(&notice.targets["b"], AT, &failed, AT + TRIED_FOR);
        notice.targets.insert("b".to_owned(), late);
        assert_eq!(settle(&mut notice, &both, AT + TRIED_FOR), Place::Waiting);
        let mut by_hand = again(&notice, AT + 2 * TRIED_FOR);
        assert_eq!(settle(&mut by_hand, &both, AT + 2 * TRIED_FOR), Place::Due(AT + 2 * TRIED_FOR));
        assert!(by_hand.targets["a"].sent_at.is_some() && by_hand.targets["b"].attempts == 0);
        let tried = after(&by_hand.targets["b"], AT, &failed, AT + 2 * TRIED_FOR);
        assert_eq!(tried.again_at, Some(AT + 2 * TRIED_FOR + 60), "its day begins again");
        // A target that is gone keeps nothing waiting.
        assert_eq!(settle(&mut notice, &both[..1], AT), Place::Sent);
        assert_eq!(notice.targets.len(), 1);
    }
}
