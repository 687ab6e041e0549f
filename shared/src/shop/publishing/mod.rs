//! Published versions: their records, and what was published when.

pub mod history;
pub mod versions;
