//! The reasons for which nothing is published.

use shared::table::StoreError;

#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    #[error("conflict: version {winner} was published in the meantime; nothing was switched")]
    Raced { winner: String },
    #[error("version {version} is being removed")]
    BeingRemoved { version: String },
    /// The currency would have other digits, and the table has live amounts.
    #[error("amounts in the table have {published} digits, not {wanted}")]
    Digits { published: u8, wanted: u8 },
    #[error(transparent)]
    Store(#[from] StoreError),
}
