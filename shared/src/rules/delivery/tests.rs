//! The table of rules.md, "Delivery", row by row, and what holds in any order of words.

use super::*;
use proptest::prelude::*;

const NOW: i64 = 1_000_000;

fn command(state: CommandState) -> Delivery {
    let is_served = !matches!(state, Waiting | Ready);
    Delivery {
        served: u8::from(is_served),
        served_at: is_served.then_some(NOW - 600),
        validated_at: (state == Validated).then_some(NOW - 400),
        silent_at: (state == Validated).then_some(NOW - 100),
        ..Delivery::new(state, if state == Waiting { NOW + 60 } else { NOW - 600 })
    }
}

fn online(state: CommandState) -> Delivery {
    Delivery { online: true, ..command(state) }
}

fn refunded(state: CommandState) -> Delivery {
    Delivery { entitlement: Entitlement::Refunded, ..online(state) }
}

fn once(state: CommandState) -> Delivery {
    Delivery { once: true, ..online(state) }
}

fn ended(state: CommandState) -> Delivery {
    Delivery { ends_at: Some(NOW - 1), ..online(state) }
}

fn served(times: u8, seconds_ago: i64) -> Delivery {
    Delivery { served: times, served_at: Some(NOW - seconds_ago), ..online(Served) }
}

fn agents(command: Delivery) -> Delivery {
    Delivery { by_agent: true, ..command }
}

const POLLED: Word = Word::Polled { by_agent: false };
const LATER: Word = Word::Validated { is_fresh: false, ids: 2 };
const AT_ONCE: Word = Word::Validated { is_fresh: true, ids: 2 };
const REFUND: Word = Word::Recall(Entitlement::Refunded);
const BAN: Word = Word::Recall(Entitlement::Stopped);

fn says(before: &Delivery, word: Word) -> (CommandState, bool) {
    let Outcome { next, answer } = decide(before, word, NOW);
    (next.state, answer)
}

/// The effect of a refund on a command in each state.
#[test]
fn a_refund_recalls_what_has_not_run() {
    let expected = |state| match state {
        Waiting | Ready | Kept | Refused => Recalled,
        state => state,
    };
    for state in CommandState::ALL {
        let after = decide(&command(state), REFUND, NOW).next;
        assert_eq!((after.state, after.entitlement), (expected(state), Entitlement::Refunded), "{state:?}");
    }
    assert_eq!(says(&served(2, 600), REFUND).0, Served);
    let again = Delivery { state: Ready, ..served(1, 600) };
    assert_eq!(says(&again, REFUND).0, Unknown, "it was served before without a word");
}

#[test]
fn a_ban_stops_what_has_not_run() {
    for state in [Waiting, Ready, Kept] {
        assert_eq!(says(&command(state), BAN).0, Stopped, "{state:?}");
    }
    assert_eq!(says(&refunded(Served), BAN).0, Served);
}

#[test]
fn what_waits_is_ready_when_its_time_has_come() {
    let waiting = command(Waiting);
    assert_eq!(state_at(&waiting, NOW), Waiting);
    assert_eq!(state_at(&waiting, NOW + 60), Ready);
    assert_eq!(says(&waiting, POLLED), (Waiting, false));
    assert_eq!(decide(&waiting, POLLED, NOW + 60).next.state, Served);
}

#[test]
fn a_poll_serves_what_is_ready_and_serves_again_after_silence() {
    let first = decide(&command(Ready), POLLED, NOW);
    assert_eq!((first.next.state, first.next.served, first.next.served_at), (Served, 1, Some(NOW)));
    assert!(first.answer);
    assert_eq!(says(&served(1, 59), POLLED), (Served, false), "another poll has the lease");
    assert_eq!(decide(&served(1, 60), POLLED, NOW).next.served, 2);
    assert_eq!(decide(&served(2, 60), POLLED, NOW).next.served, 3);
    assert_eq!(says(&served(3, 60), POLLED), (Unknown, false));
    assert_eq!(says(&once(Served), POLLED), (Unknown, false));
    assert_eq!(says(&refunded(Served), POLLED), (Unknown, false));
    assert_eq!(says(&ended(Ready), POLLED), (Recalled, false), "its time is over");
    for state in CommandState::ALL.into_iter().filter(|state| !matches!(state, Ready | Served)) {
        assert_eq!(says(&command(state), POLLED), (state, false));
    }
}

#[test]
fn what_is_given_back_was_not_served() {
    let back = decide(&served(1, 10), Word::GivenBack, NOW).next;
    assert_eq!((back.state, back.served, back.served_at), (Ready, 0, None));
    assert_eq!(says(&refunded(Served), Word::GivenBack).0, Recalled);
    let twice = Delivery { entitlement: Entitlement::Refunded, ..served(2, 10) };
    assert_eq!(says(&twice, Word::GivenBack).0, Unknown, "the first time there was silence");
    assert_eq!(says(&online(Kept), Word::GivenBack), (Kept, false));
}

#[test]
fn delivered_is_the_end_only_without_a_player() {
    for state in [Ready, Served, Unknown] {
        assert_eq!(says(&command(state), Word::Delivered), (Delivered, true), "{state:?}");
        assert_eq!(says(&online(state), Word::Delivered), (Kept, true), "{state:?}");
        assert_eq!(says(&refunded(state), Word::Delivered), (Recalled, true), "{state:?}");
    }
    for state in [Kept, Delivered, Validated, Executed, Refused, Recalled, Stopped, Cancelled, Done, Retried] {
        assert_eq!(says(&online(state), Word::Delivered), (state, true), "it never moves back");
    }
    let lost = Delivery { state: Unknown, ..online(Validated) };
    assert_eq!(says(&lost, Word::Delivered), (Unknown, true));
    assert_eq!(says(&command(Recalled), Word::Delivered), (Delivered, true), "it has run after all");
}

#[test]
fn a_fresh_question_is_answered_yes_about_everything() {
    for state in CommandState::ALL {
        let expected = if state == Executed { Executed } else { Validated };
        for command in [online(state), refunded(state), ended(state), once(state)] {
            assert_eq!(says(&command, AT_ONCE), (expected, true), "{state:?}");
        }
    }
}

#[test]
fn a_later_question_is_refused_when_it_must_not_run() {
    for state in [Ready, Served, Kept, Delivered, Validated, Unknown] {
        assert_eq!(says(&online(state), LATER), (Validated, true), "{state:?}");
        let expected = if state == Kept { Recalled } else { state };
        assert_eq!(says(&refunded(state), LATER), (expected, false), "{state:?}");
        assert_eq!(says(&ended(state), LATER), (expected, false), "{state:?}");
    }
    for state in [Executed, Refused, Recalled, Stopped, Cancelled, Done, Retried] {
        assert_eq!(says(&online(state), LATER), (state, false), "{state:?}");
    }
    assert_eq!(says(&once(Kept), LATER), (Validated, true));
    assert_eq!(says(&once(Validated), LATER), (Validated, false), "it may run only once");
}

#[test]
fn executed_is_the_end_from_everywhere() {
    for state in CommandState::ALL {
        assert_eq!(says(&refunded(state), Word::Executed), (Executed, true));
    }
}

#[test]
fn what_an_agent_has_begun_is_unknown_and_never_repeated_by_itself() {
    for state in CommandState::ALL {
        let is_over = matches!(state, Delivered | Executed | Done | Retried);
        let begun = decide(&agents(refunded(state)), Word::Begun, NOW).next;
        assert_eq!(begun.state, if is_over { state } else { Unknown });
        if !is_over {
            assert!(may_have_run(&begun));
            for word in [LATER, AT_ONCE] {
                assert_eq!(says(&agents(Delivery { entitlement: Entitlement::Good, ..begun }), word), (Unknown, false));
            }
            assert_eq!(says(&begun, Word::Delivered), (Unknown, true));
            assert_eq!(says(&begun, POLLED), (Unknown, false));
            assert_eq!(says(&begun, Word::Executed), (Executed, true));
        }
    }
}

#[test]
fn what_the_game_server_refused_has_nothing_to_be_taken_back_and_waits_for_the_owner() {
    for state in CommandState::ALL {
        let has_outcome = matches!(state, Delivered | Executed | Recalled | Stopped | Cancelled | Done | Retried);
        let after = decide(&online(state), Word::Refused, NOW);
        assert_eq!((after.next.state, after.answer), (if has_outcome { state } else { Refused }, true));
        let after_refund = says(&refunded(state), Word::Refused);
        assert_eq!(after_refund, (if has_outcome { state } else { Recalled }, true), "it has not run and will not");
    }
    let refused = decide(&agents(online(Validated)), Word::Refused, NOW).next;
    assert_eq!(refused.refused_at, Some(NOW));
    assert!(!may_have_run(&refused) && !can_still_run(&refused, NOW));
    assert_eq!(place(refused.state), Place::Open(Refused));
    for word in [LATER, AT_ONCE, POLLED] {
        assert_eq!(says(&refused, word), (Refused, false), "it never runs by itself");
    }
    let cancelled = decide(&refused, Word::Cancel, NOW).next;
    assert!(cancelled.state == Cancelled && !may_have_run(&cancelled));
    assert!(!may_have_run(&decide(&refused, Word::Retry, NOW).next));
    let begun = decide(&agents(online(Served)), Word::Begun, NOW).next;
    assert_eq!(says(&begun, Word::Refused), (Refused, true), "the agent has read its journal again");
}

#[test]
fn what_an_agent_says_again_that_it_keeps_was_begun_in_vain() {
    let validated = agents(online(Validated));
    assert_eq!(says(&validated, Word::Delivered), (Kept, true));
    assert_eq!(says(&Delivery { entitlement: Entitlement::Refunded, ..validated }, Word::Delivered), (Recalled, true));
    assert_eq!(says(&online(Validated), Word::Delivered), (Validated, true), "a plugin's has left the disk");
}

#[test]
fn what_a_join_leaves_out_is_lost_if_it_was_on_the_disk() {
    let kept = |seconds_ago| Delivery { delivered_at: Some(NOW - seconds_ago), ..online(Kept) };
    assert_eq!(says(&kept(60), Word::LeftOut), (Unknown, true));
    assert_eq!(says(&kept(59), Word::LeftOut), (Kept, false), "it may be on its way to the disk");
    assert_eq!(says(&agents(kept(600)), Word::LeftOut), (Kept, false), "an agent loses nothing");
    let lost = decide(&kept(600), Word::LeftOut, NOW).next;
    assert_eq!(says(&lost, LATER), (Validated, true), "it was not lost after all");
    for state in CommandState::ALL.into_iter().filter(|state| !matches!(state, Kept | Waiting)) {
        assert_eq!(says(&Delivery { state, ..kept(600) }, Word::LeftOut), (state, false));
    }
    assert!(waits_long(&kept(WAITS_LONG + 1), NOW) && !waits_long(&kept(WAITS_LONG), NOW));
}

#[test]
fn an_agent_is_told_of_each_command_and_what_it_has_not_begun_is_recalled() {
    for state in [Ready, Served, Kept, Validated, Unknown] {
        for command in [refunded(state), ended(state)] {
            for word in [LATER, AT_ONCE] {
                assert_eq!(says(&agents(command), word), (Recalled, false), "{state:?}");
            }
        }
        assert_eq!(says(&agents(once(state)), LATER), (Validated, true), "its journal says that it has not begun");
    }
    let banned = Delivery { entitlement: Entitlement::Stopped, ..online(Served) };
    assert_eq!(says(&agents(banned), LATER), (Stopped, false));
    for state in [Delivered, Executed, Refused, Recalled, Stopped, Cancelled, Done, Retried] {
        assert_eq!(says(&agents(refunded(state)), AT_ONCE), (state, false), "{state:?}");
    }
    let lost = Delivery { state: Unknown, ..online(Validated) };
    assert_eq!(says(&agents(lost), Word::Delivered), (Kept, true), "it still waits for its player");
    let served = decide(&command(Ready), Word::Polled { by_agent: true }, NOW).next;
    assert!(served.by_agent);
}

#[test]
fn silence_makes_unknown_what_was_validated_or_is_not_served_again() {
    assert_eq!(says(&command(Validated), Word::Silence).0, Unknown);
    let asked = decide(&online(Kept), Word::Validated { is_fresh: false, ids: 41 }, NOW).next;
    assert_eq!(asked.silent_at, Some(NOW + SILENCE + 21), "two run in a second");
    assert_eq!(says(&asked, Word::Silence).0, Validated);
    assert_eq!(says(&served(1, 600), Word::Silence).0, Served, "it will be served again");
    assert_eq!(says(&served(3, 600), Word::Silence).0, Unknown);
    assert_eq!(says(&served(3, 59), Word::Silence).0, Served);
    assert_eq!(says(&refunded(Served), Word::Silence).0, Unknown);
    for state in [Waiting, Ready, Kept, Delivered, Executed, Unknown, Recalled] {
        assert_eq!(says(&command(state), Word::Silence).0, state);
    }
}

#[test]
fn the_owner_decides_about_what_is_not_on_its_way() {
    let allowed =
        |word, to| CommandState::ALL.into_iter().filter(move |from| says(&command(*from), word) == (to, true));
    assert!(allowed(Word::Cancel, Cancelled).eq([Waiting, Ready, Kept, Unknown, Refused]));
    assert!(allowed(Word::Done, Done).eq([Waiting, Ready, Kept, Delivered, Validated, Unknown, Refused]));
    let retried = [Kept, Delivered, Validated, Executed, Unknown, Refused, Recalled, Stopped, Cancelled, Done];
    assert!(allowed(Word::Retry, Retried).eq(retried));
}

#[test]
fn a_call_is_fresh_if_all_of_it_was_served_a_moment_ago() {
    let (new, old) = (served(1, 59), served(1, 60));
    assert!(is_fresh([&new, &new].into_iter(), NOW));
    assert!(!is_fresh([&new, &old].into_iter(), NOW));
    assert!(!is_fresh([&command(Ready)].into_iter(), NOW));
}

#[test]
fn what_may_have_run_is_known_in_every_state() {
    let ran = |state| may_have_run(&command(state));
    let may = [Served, Delivered, Validated, Executed, Unknown, Cancelled, Done, Retried];
    assert!(CommandState::ALL.into_iter().filter(|state| ran(*state)).eq(may));
    let kept_before = Delivery { delivered_at: Some(NOW - 600), ..online(Cancelled) };
    assert!(!may_have_run(&kept_before), "the game server forgets it");
}

#[test]
fn a_take_back_waits_for_what_can_still_run() {
    for state in [Waiting, Ready, Served, Kept, Validated] {
        assert!(can_still_run(&command(state), NOW), "{state:?}");
    }
    for state in [Delivered, Executed, Done, Unknown, Refused, Recalled, Stopped, Cancelled, Retried] {
        assert!(!can_still_run(&command(state), NOW), "{state:?}");
    }
    let recalled = |seconds_ago| Delivery { state: Recalled, ..served(1, seconds_ago) };
    assert!(can_still_run(&recalled(59), NOW) && !can_still_run(&recalled(60), NOW));
    let unknown = |seconds_ago| Delivery { state: Unknown, ..served(1, seconds_ago) };
    assert!(can_still_run(&unknown(299), NOW) && !can_still_run(&unknown(300), NOW));
    let asked = Delivery { state: Unknown, silent_at: Some(NOW + 1), ..served(1, 900) };
    assert!(can_still_run(&asked, NOW));
}

#[test]
fn a_restore_makes_nothing_ready() {
    for state in CommandState::ALL {
        let after = restored(&command(state), NOW);
        let expected = if matches!(state, Ready | Served | Kept | Validated) { Unknown } else { state };
        assert_eq!(after.state, expected);
        assert!(after.state != Unknown || may_have_run(&after));
        assert_eq!(restored(&after, NOW), after);
    }
    assert_eq!(restored(&command(Waiting), NOW + 60).state, Unknown);
}

fn words() -> impl Strategy<Value = Word> {
    prop_oneof![
        4 => any::<bool>().prop_map(|by_agent| Word::Polled { by_agent }),
        1 => Just(Word::GivenBack),
        2 => Just(Word::Delivered),
        2 => (any::<bool>(), 1_u32..100).prop_map(|(is_fresh, ids)| Word::Validated { is_fresh, ids }),
        1 => prop_oneof![Just(Word::Executed), Just(Word::Begun), Just(Word::Refused), Just(Word::LeftOut)],
        1 => prop_oneof![Just(Entitlement::Refunded), Just(Entitlement::ChargedBack), Just(Entitlement::Stopped)]
            .prop_map(Word::Recall),
        2 => Just(Word::Silence),
        1 => prop_oneof![Just(Word::Cancel), Just(Word::Done), Just(Word::Retry)],
    ]
}

fn rank(state: CommandState) -> u8 {
    match state {
        Waiting | Ready | Served | Unknown | Refused | Recalled | Stopped | Cancelled | Done | Retried => 0,
        Kept => 1,
        Delivered | Validated => 2,
        Executed => 3,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn whatever_is_said_a_command_is_neither_repeated_nor_lost(
        is_online: bool,
        is_once: bool,
        ends in proptest::option::of(0_i64..2_000),
        said in proptest::collection::vec((words(), 0_i64..200), 1..40),
    ) {
        let mut command = Delivery { online: is_online, once: is_once, due: NOW, ..command(Ready) };
        command.ends_at = ends.map(|ends| NOW + ends);
        let (mut now, mut has_word, mut has_begun) = (NOW, false, false);
        for (word, seconds) in said {
            now += seconds;
            let Outcome { next, answer } = decide(&command, word, now);
            let is_served = matches!(word, Word::Polled { .. }) && answer;
            prop_assert!(!(is_served && has_word), "served again after a word");
            prop_assert!(!is_served || (next.entitlement == Entitlement::Good && next.served <= most_served(&next)));
            prop_assert!(!is_served || next.ends_at.is_none_or(|end| now < end));
            prop_assert!(!(has_begun && answer && matches!(word, Word::Validated { .. })), "it may run twice");
            has_begun |= word == Word::Begun && next.state == Unknown;
            has_word |= matches!(word, Word::Delivered | Word::Executed | Word::Begun | Word::Refused) || (matches!(word, Word::Validated { .. }) && answer);
            if matches!(word, Word::Delivered | Word::Validated { .. } | Word::Executed) {
                let waits_again = word == Word::Delivered && next.state == Kept && command.by_agent;
                prop_assert!(waits_again || rank(next.state) >= rank(command.state) || next.state == Recalled || next.state == Stopped);
            }
            if matches!(word, Word::Validated { .. }) {
                let may_run = matches!(next.state, Validated | Executed) && next.validated_at == Some(now);
                prop_assert!(!answer || may_run);
                prop_assert!(answer || next.validated_at == command.validated_at);
            }
            // Said twice, it is the same.
            let again = decide(&next, word, now);
            if !matches!(word, Word::Polled { .. } | Word::GivenBack | Word::Validated { .. }) {
                prop_assert_eq!(&again.next, &next);
            }
            // What was recalled can only run if the game server was told so, or says so.
            if matches!((command.state, next.state), (Recalled | Stopped, to) if to != command.state) {
                let is_said = matches!(word, Word::Validated { .. } | Word::Delivered | Word::Executed | Word::Begun | Word::Retry);
                prop_assert!(is_said);
            }
            command = next;
        }
    }
}
