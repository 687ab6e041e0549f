//! The reasons for which a command fails.

use crate::config::ConfigError;
use crate::journal::JournalError;
use crate::run::RoundError;
use crate::store::StoreError;
use std::io;

/// The reason why a command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Round(#[from] RoundError),
    #[error(transparent)]
    Rcon(#[from] rcon::RconError),
    #[error("{0}")]
    Output(#[from] io::Error),
    #[error("{0}")]
    Text(String),
}
