//! Why nothing was published.

use shared::store::StoreError;

/// Why nothing was published.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// Conflict: another version was published in the meantime.
    #[error("conflict: version {winner} was published in the meantime; nothing was switched")]
    Raced {
        /// The version that is published now.
        winner: String,
    },
    /// This version is being removed at this moment, or has just been.
    #[error("version {version} is being removed")]
    BeingRemoved { version: String },
    /// The currency would have other digits, and the table has live amounts.
    #[error("amounts in the table have {published} digits, not {wanted}")]
    Digits {
        /// The digits of the published store.
        published: u8,
        /// The digits of the version to be published.
        wanted: u8,
    },
    #[error(transparent)]
    Store(#[from] StoreError),
}
