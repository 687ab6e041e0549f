//! Disputes, by their states in the provider's words (rules.md, "Disputes").

use crate::model::OrderEffects;

/// The state of an order whose payment the bank warns of: a person other than the owner of the card may have paid.
pub const FRAUD_WARNING: &str = "early_fraud_warning";

/// The state of a dispute that the store has lost: the buyer keeps the money.
pub const LOST: &str = "lost";

/// Whether an order in this state is taken back. An inquiry is not a dispute, and one that is won was none.
pub fn takes_back(state: &str) -> bool {
    state != FRAUD_WARNING && !state.starts_with("warning_") && !matches!(state, "won" | "prevented")
}

/// Whether a dispute takes an order back, or has.
pub fn is_taken_back(effects: &OrderEffects) -> bool {
    effects.dispute.as_deref().is_some_and(takes_back)
}

/// The state that decides of those of all disputes of a payment: what is open before what is lost, that before an inquiry,
/// and what is won or warned of last.
pub fn decisive<'a>(states: impl Iterator<Item = &'a str>) -> &'a str {
    states.max_by_key(|state| (takes_back(state), *state != FRAUD_WARNING, !is_over(state))).unwrap_or_default()
}

/// Whether the bank waits for the store's response.
pub fn needs_response(state: &str) -> bool {
    matches!(state, "needs_response" | "warning_needs_response")
}

/// Whether it is decided: it never changes again.
pub fn is_over(state: &str) -> bool {
    matches!(state, "won" | LOST | "warning_closed" | "prevented")
}

/// Whether a state is older than the one that is noted: reads of the provider may overtake each other. An inquiry becomes a
/// dispute, and no dispute an inquiry.
pub fn is_older(state: &str, noted: &str) -> bool {
    is_over(noted) && !is_over(state) || takes_back(noted) && state.starts_with("warning_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inquiry_becomes_a_dispute_and_that_is_decided() {
        for (noted, next) in [
            ("warning_under_review", "warning_closed"),
            ("warning_under_review", "needs_response"),
            ("needs_response", LOST),
            ("under_review", "won"),
            ("warning_needs_response", "won"),
        ] {
            assert_eq!((is_older(next, noted), is_older(noted, next)), (false, true), "{noted} {next}");
        }
        assert!(!is_older("under_review", "needs_response") && !is_older("won", LOST));
    }

    #[test]
    fn only_a_dispute_that_is_not_won_takes_an_order_back() {
        assert!(["needs_response", "under_review", "lost"].into_iter().all(takes_back));
        let marks = ["warning_needs_response", "warning_closed", "won", "prevented", FRAUD_WARNING];
        assert!(!marks.into_iter().any(takes_back));
        let by_weight = ["under_review", LOST, "warning_under_review", "won", FRAUD_WARNING];
        for (place, state) in by_weight.into_iter().enumerate() {
            assert_eq!(decisive(by_weight.into_iter().skip(place)), state);
            assert_eq!(decisive(by_weight.into_iter().rev().take(by_weight.len() - place)), state);
        }
    }
}
