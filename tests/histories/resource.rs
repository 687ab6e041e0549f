//! The model of something of which there is only so much: units, uses of a coupon, a balance, requests in a window.

use super::checker::Model;

/// An amount that is taken and given back by a deal, by the deal's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    Take { deal: usize, amount: i64 },
    GiveBack { deal: usize, amount: i64 },
}

/// The amount that is left, and the deals that have taken something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Left {
    pub amount: i64,
    pub taken: u128,
}

/// Something of which no more is taken than there is, and which every deal gives back once at most.
#[derive(Debug)]
pub struct Resource;

impl Resource {
    pub const fn with(amount: i64) -> Left {
        Left { amount, taken: 0 }
    }
}

impl Model for Resource {
    type State = Left;
    type Op = Use;

    fn step(&self, state: &Left, op: &Use) -> Vec<Left> {
        let (amount, deal, is_possible) = match *op {
            Use::Take { deal, amount } => (-amount, deal, state.amount >= amount && state.taken & (1 << deal) == 0),
            Use::GiveBack { deal, amount } => (amount, deal, state.taken & (1 << deal) != 0),
        };
        let after = Left { amount: state.amount + amount, taken: state.taken ^ (1 << deal) };
        if is_possible { vec![after] } else { Vec::new() }
    }
}
