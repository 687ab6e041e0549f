//! Pure decisions. Nothing here knows the table, HTTP, tokio or what time it is: whoever calls hands in what
//! was read and, where it matters, the second it is.

pub mod cart;
pub mod code;
pub mod order;
pub mod patrons;
pub mod pricing;
pub mod promotion;
pub mod referral;
pub mod visibility;
