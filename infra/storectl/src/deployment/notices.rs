//! The addresses of notices' targets and their keys: where they are read and written. They are never shown.

use super::secrets::Source;
use crate::error::{Exit, Failure};
use aws_config::SdkConfig;
use shared::config::NoticeKeys;
use std::path::Path;

/// A file, the environment, or a deployed stack's secret.
#[derive(Debug, Clone)]
pub struct NoticeSource {
    keys: Source,
    /// Whether a target may be on this machine, as the table is.
    pub allows_here: bool,
}

impl NoticeSource {
    pub fn new(file: Option<&Path>, secret: Option<(SdkConfig, String)>, allows_here: bool) -> Self {
        // The variable as the function has it.
        Self { keys: Source::new(file, "NOTICE_KEYS", secret), allows_here }
    }

    /// Whether keys could be known here.
    pub fn is_known(&self) -> bool {
        self.keys.is_known()
    }

    /// The keys; none if there is no place for them, or it is empty.
    pub async fn read(&self) -> Result<NoticeKeys, Failure> {
        let Some((text, origin)) = self.keys.read().await? else { return Ok(NoticeKeys::default()) };
        NoticeKeys::parse(&text).map_err(|error| {
            let what = format!("The addresses of {origin} cannot be used: {error}.");
            Failure::new(Exit::Denied, what, "Correct them, or empty them (`{}`) and connect every target again.")
        })
    }

    pub async fn write(&self, keys: &NoticeKeys) -> Result<(), Failure> {
        self.keys.write(&keys.expose()).await?.map(drop).ok_or_else(|| {
            let next = "Name the deployed stack with --stack, the local server with --local, or add --notice-keys FILE. A \
                        stack of an earlier version is deployed with this one's template first.";
            Failure::new(Exit::Denied, "There is no place for the addresses of targets.", next)
        })
    }
}
