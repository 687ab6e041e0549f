//! Helpers of several endpoints of this function.

pub mod content;
pub mod ids;
pub mod key;
pub mod path;
pub mod reply;
