//! Published versions: their records, and what was published when.

pub mod history;
pub mod version_files;
pub mod versions;
