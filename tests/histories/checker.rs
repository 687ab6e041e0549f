//! A linearizability checker: whether some order of the operations, in which none comes before another that had ended
//! when it began, is one that the model allows. And the checker against histories of a register that are known to be
//! good or bad.
//!
//! The algorithm is Wing and Gong's search with Lowe's memory of what was tried: a pair of *operations that are placed*
//! and *state* is looked at once. A step of the model may have several outcomes, and an operation without a response
//! may be placed anywhere after its call, or not at all. The crates that were looked at (`stateright`, `todc-utils`)
//! allow neither.

use std::collections::HashSet;
use std::hash::Hash;

/// A sequential model of operations.
pub trait Model {
    /// The state between two operations.
    type State: Clone + Eq + Hash;
    /// An operation with what it responded.
    type Op;

    /// Every state in which `state` may be after an operation that responded like this; none if it cannot have.
    fn step(&self, state: &Self::State, op: &Self::Op) -> Vec<Self::State>;
}

/// An operation in a history.
#[derive(Debug, Clone)]
pub struct Event<O> {
    /// The operation with its response.
    pub op: O,
    /// The moment of its call.
    pub call: u64,
    /// The moment of its response. Without one it may have been done, at any time after its call, or not.
    pub ret: Option<u64>,
}

/// The most operations of a history.
pub const MOST: usize = 128;
/// The most pairs of placed operations and state that are looked at.
const BUDGET: usize = 200_000;

/// The result of a check.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The operations are explained in this order, by their places in the history.
    Explained(Vec<usize>),
    /// No order explains them. This one explains the most, and one of `stuck` would have to be next.
    Unexplained {
        /// The longest order that the model allows.
        longest: Vec<usize>,
        /// The operations that could be next, and that the model does not allow there.
        stuck: Vec<usize>,
    },
    /// Too many orders to try.
    Undecided,
}

/// Looks for an order of the operations that the model allows.
///
/// # Panics
/// If there are more than [`MOST`] operations.
pub fn check<M: Model>(model: &M, start: &M::State, events: &[Event<M::Op>]) -> Verdict {
    assert!(events.len() <= MOST, "{} operations are too many to check", events.len());
    let mut by_end: Vec<usize> = (0..events.len()).collect();
    by_end.sort_by_key(|place| events[*place].ret.unwrap_or(u64::MAX));
    let search = Search { model, events, by_end, tried: HashSet::new(), order: Vec::new(), longest: (Vec::new(), 0) };
    search.run(start)
}

struct Search<'a, M: Model> {
    model: &'a M,
    events: &'a [Event<M::Op>],
    /// The operations, the one that ended first first: an order that explains the history is mostly near to this one.
    by_end: Vec<usize>,
    tried: HashSet<(u128, M::State)>,
    order: Vec<usize>,
    /// The longest order so far, and the operations that are placed in it.
    longest: (Vec<usize>, u128),
}

impl<M: Model> Search<'_, M> {
    fn run(mut self, start: &M::State) -> Verdict {
        if self.explains(0, start) {
            return Verdict::Explained(self.order);
        }
        if self.tried.len() >= BUDGET {
            return Verdict::Undecided;
        }
        let (longest, placed) = std::mem::take(&mut self.longest);
        Verdict::Unexplained { longest, stuck: self.next(placed) }
    }

    /// The operations that may be next: those that were called before any that is not placed had ended.
    fn next(&self, placed: u128) -> Vec<usize> {
        let is_open = |place: &usize| placed & (1 << place) == 0;
        let open = || self.by_end.iter().copied().filter(is_open);
        let first_end = open().filter_map(|place| self.events[place].ret).min().unwrap_or(u64::MAX);
        open().filter(|place| self.events[*place].call < first_end).collect()
    }

    fn explains(&mut self, placed: u128, state: &M::State) -> bool {
        let is_left = |(place, event): (usize, &Event<M::Op>)| event.ret.is_some() && placed & (1 << place) == 0;
        if !self.events.iter().enumerate().any(is_left) {
            return true;
        }
        if self.tried.len() >= BUDGET || !self.tried.insert((placed, state.clone())) {
            return false;
        }
        if self.order.len() > self.longest.0.len() {
            self.longest = (self.order.clone(), placed);
        }
        for place in self.next(placed) {
            let event = &self.events[place];
            for after in self.model.step(state, &event.op) {
                // What may not have been done and changes nothing is left out.
                if event.ret.is_none() && after == *state {
                    continue;
                }
                self.order.push(place);
                if self.explains(placed | 1 << place, &after) {
                    return true;
                }
                self.order.pop();
            }
        }
        false
    }
}

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
