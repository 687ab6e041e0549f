//! The checker against histories of a register that are known to be good or bad.

use super::checker::{Event, MOST, Model, Verdict, check};

/// A register that is written and read, and a lottery with an unpredictable result.
#[derive(Debug, Clone, Copy)]
enum Op {
    Write(u8),
    Read(u8),
    /// Adds one or two.
    Draw,
}

struct Register;

impl Model for Register {
    type State = u8;
    type Op = Op;

    fn step(&self, state: &u8, op: &Op) -> Vec<u8> {
        match op {
            Op::Write(value) => vec![*value],
            Op::Read(value) if value == state => vec![*state],
            Op::Read(_) => Vec::new(),
            Op::Draw => vec![state + 1, state + 2],
        }
    }
}

/// A history: operations with call and response; 0 is none.
fn verdict(history: &[(Op, u64, u64)]) -> Verdict {
    let event = |(op, call, ret): &(Op, u64, u64)| Event { op: *op, call: *call, ret: (*ret > 0).then_some(*ret) };
    check(&Register, &0, &history.iter().map(event).collect::<Vec<_>>())
}

fn is_good(history: &[(Op, u64, u64)]) -> bool {
    matches!(verdict(history), Verdict::Explained(_))
}

#[test]
fn operations_that_overlap_may_be_in_any_order() {
    for seen in [0, 1] {
        assert!(is_good(&[(Op::Write(1), 1, 4), (Op::Read(seen), 2, 3)]), "{seen}");
    }
    assert_eq!(
        verdict(&[(Op::Write(1), 1, 6), (Op::Read(1), 2, 3), (Op::Write(2), 4, 5), (Op::Read(2), 7, 8)]),
        Verdict::Explained(vec![0, 1, 2, 3])
    );
}

#[test]
fn what_is_seen_is_not_unseen() {
    assert!(!is_good(&[(Op::Write(1), 1, 8), (Op::Read(1), 2, 3), (Op::Read(0), 4, 5)]));
    assert!(!is_good(&[(Op::Write(1), 1, 2), (Op::Read(0), 3, 4)]), "a lost write");
    assert!(!is_good(&[(Op::Read(1), 1, 2), (Op::Write(1), 3, 4)]), "read before it was written");
}

#[test]
fn the_longest_order_and_what_stops_it_are_named() {
    let stale = [(Op::Write(1), 1, 2), (Op::Write(2), 3, 4), (Op::Read(1), 5, 6)];
    assert_eq!(verdict(&stale), Verdict::Unexplained { longest: vec![0, 1], stuck: vec![2] });
}

#[test]
fn an_operation_without_a_response_is_done_late_or_never() {
    for seen in [0, 1] {
        assert!(is_good(&[(Op::Write(1), 1, 0), (Op::Read(0), 2, 3), (Op::Read(seen), 4, 5)]), "{seen}");
    }
    let never_back = [(Op::Write(1), 1, 0), (Op::Read(1), 2, 3), (Op::Read(0), 4, 5)];
    assert!(!is_good(&never_back));
    assert!(!is_good(&[(Op::Read(1), 1, 2), (Op::Write(1), 3, 0)]), "it is not done before its call");
}

#[test]
fn a_step_with_two_outcomes_is_followed_into_both() {
    for sum in 2..=4 {
        assert!(is_good(&[(Op::Draw, 1, 4), (Op::Draw, 2, 3), (Op::Read(sum), 5, 6)]), "{sum}");
    }
    assert!(!is_good(&[(Op::Draw, 1, 4), (Op::Draw, 2, 3), (Op::Read(5), 5, 6)]));
}

#[test]
fn many_writes_at_once_are_checked_by_what_was_tried_before() {
    let writes = (0..16_u8).map(|value| (Op::Write(value % 3), 1, 100));
    let good: Vec<_> = writes.clone().chain([(Op::Read(1), 101, 102)]).collect();
    assert!(is_good(&good));
    let bad: Vec<_> = writes.chain([(Op::Read(7), 101, 102)]).collect();
    assert!(!is_good(&bad));
}

#[test]
#[should_panic(expected = "too many")]
fn a_history_that_is_too_long_is_refused() {
    verdict(&vec![(Op::Write(1), 1, 2); MOST + 1]);
}
