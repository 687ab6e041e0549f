//! The reasons for which nothing is published.

use shared::store::StoreError;

#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// Conflict: another version was published in the meantime.
    #[error("conflict: version {winner} was published in the meantime; nothing was switched")]
    Raced { winner: String },
    /// This version is being removed at this moment, or has just been.
    #[error("version {version} is being removed")]
    BeingRemoved { version: String },
    /// The currency would have other digits, and the table has live amounts.
    #[error("amounts in the table have {published} digits, not {wanted}")]
    Digits { published: u8, wanted: u8 },
    #[error(transparent)]
    Store(#[from] StoreError),
}
