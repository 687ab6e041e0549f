//! Coupons, gift cards and referral codes: their rows, making them, and what their owner changes.

pub mod additions;
pub mod issued_codes;
mod making;
mod rows;

pub use making::*;
pub use rows::*;
