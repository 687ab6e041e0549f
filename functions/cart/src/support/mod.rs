//! What several endpoints of this function use.

pub mod captured;
pub mod change;
pub mod context;
pub mod count;
pub mod remove_code;
pub mod servers;
pub mod unknown_codes;
pub mod write;
