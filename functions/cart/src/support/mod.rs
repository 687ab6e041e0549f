//! Helpers of several endpoints of this function.

pub mod captured;
pub mod change;
pub mod context;
pub mod count;
pub mod unknown_codes;
pub mod write;
