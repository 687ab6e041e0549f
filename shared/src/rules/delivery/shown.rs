//! The delivery of an order's line, as its buyer is shown it.

use crate::model::{CommandState, Entitlement};
use serde::Serialize;

/// The delivery of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LineState {
    /// Nothing of it runs on a game server, or the order is not paid.
    None,
    /// It is on its way.
    Waiting,
    /// It waits for the player to join.
    Join,
    /// All of it was delivered.
    Delivered,
    /// A game server refused some of it; the owner looks at it. Only an agent knows what a game server responds.
    Refused,
    /// Not all of it was delivered, or that is not known; the owner looks at it.
    Unknown,
    /// It will not be delivered, or is taken back because the payment was.
    Withdrawn,
}

/// The state of a line of an order with this entitlement, whose commands are in these states. `is_on_its_way` says
/// whether there will be some.
pub fn line_state(
    states: impl Iterator<Item = CommandState>,
    entitlement: Entitlement,
    is_on_its_way: bool,
) -> LineState {
    let ran = if entitlement == Entitlement::Good { LineState::Delivered } else { LineState::Withdrawn };
    let of_command = |state| match state {
        CommandState::Waiting | CommandState::Ready | CommandState::Served => LineState::Waiting,
        CommandState::Kept => LineState::Join,
        CommandState::Delivered | CommandState::Validated | CommandState::Executed | CommandState::Done => ran,
        CommandState::Unknown => LineState::Unknown,
        CommandState::Refused => LineState::Refused,
        CommandState::Recalled | CommandState::Stopped | CommandState::Cancelled | CommandState::Retried => {
            LineState::Withdrawn
        }
    };
    // The command that was sent in place of a retried one is among them.
    let found: Vec<LineState> = states.filter(|state| *state != CommandState::Retried).map(of_command).collect();
    // The first that any command is in.
    let order = [
        LineState::Unknown,
        LineState::Refused,
        LineState::Waiting,
        LineState::Join,
        LineState::Withdrawn,
        LineState::Delivered,
    ];
    let none = if is_on_its_way { LineState::Waiting } else { LineState::None };
    match order.into_iter().find(|state| found.contains(state)).unwrap_or(none) {
        // A part of it never comes.
        LineState::Withdrawn if found.contains(&LineState::Delivered) => LineState::Unknown,
        state => state,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use CommandState::{Executed, Kept, Ready, Recalled, Refused, Retried, Unknown};

    #[test]
    fn a_line_shows_what_is_left_to_do() {
        let shown = |states: &[CommandState]| line_state(states.iter().copied(), Entitlement::Good, false);
        assert_eq!(shown(&[Executed, Ready, Kept]), LineState::Waiting);
        assert_eq!(shown(&[Executed, Kept]), LineState::Join);
        assert_eq!(shown(&[Executed, Retried, Executed]), LineState::Delivered);
        assert_eq!(shown(&[Executed, Recalled]), LineState::Unknown);
        assert_eq!(shown(&[Executed, Unknown]), LineState::Unknown);
        assert_eq!(shown(&[Executed, Refused, Kept]), LineState::Refused);
        assert_eq!(shown(&[Refused, Unknown]), LineState::Unknown);
        assert_eq!(shown(&[Recalled]), LineState::Withdrawn);
        assert_eq!(shown(&[]), LineState::None);
        assert_eq!(line_state([].into_iter(), Entitlement::Good, true), LineState::Waiting);
    }

    #[test]
    fn what_ran_for_a_payment_that_was_taken_back_is_withdrawn() {
        for entitlement in [Entitlement::Refunded, Entitlement::ChargedBack] {
            let shown = |states: &[CommandState]| line_state(states.iter().copied(), entitlement, false);
            assert_eq!(shown(&[Executed, Recalled]), LineState::Withdrawn);
            assert_eq!(shown(&[Unknown, Executed]), LineState::Unknown);
        }
    }
}
