//! The addresses of notices' targets and their keys: where they are read and written. They are never shown.

use super::secrets::{read_secret, variable, write_secret};
use crate::error::{Exit, Failure};
use archive::private::write_whole;
use aws_config::SdkConfig;
use shared::config::NoticeKeys;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The variable with the keys, as the function has it.
const NOTICE_KEYS: &str = "NOTICE_KEYS";

/// A file, the environment, or a deployed stack's secret.
#[derive(Debug, Clone, Default)]
pub struct NoticeSource {
    file: Option<PathBuf>,
    secret: Option<(SdkConfig, String)>,
    /// Whether a target may be on this machine, as the table is.
    pub allows_here: bool,
}

impl NoticeSource {
    pub fn new(file: Option<&Path>, secret: Option<(SdkConfig, String)>, allows_here: bool) -> Self {
        Self { file: file.map(Path::to_owned), secret, allows_here }
    }

    /// Whether keys could be known here.
    pub fn is_known(&self) -> bool {
        self.file.is_some() || self.secret.is_some() || variable(NOTICE_KEYS).is_some()
    }

    /// The keys: of the file, the environment or the stack's secret, in this order; none if there is no such place, or it is
    /// empty.
    pub async fn read(&self) -> Result<NoticeKeys, Failure> {
        let text = match (&self.file, variable(NOTICE_KEYS), &self.secret) {
            (Some(path), _, _) => match std::fs::read_to_string(path) {
                Ok(text) => Some((text, path.display().to_string())),
                Err(error) if error.kind() == ErrorKind::NotFound => None,
                Err(error) => return Err(Failure::file(path, &error)),
            },
            (None, Some(text), _) => Some((text, format!("the variable {NOTICE_KEYS}"))),
            (None, None, Some(secret)) => read_secret(secret).await?,
            (None, None, None) => None,
        };
        let Some((text, origin)) = text else { return Ok(NoticeKeys::default()) };
        NoticeKeys::parse(&text).map_err(|error| {
            let what = format!("The addresses of {origin} cannot be used: {error}.");
            Failure::new(Exit::Denied, what, "Correct them, or empty them (`{}`) and connect every target again.")
        })
    }

    pub async fn write(&self, keys: &NoticeKeys) -> Result<(), Failure> {
        if let Some(path) = &self.file {
            return write_whole(path, keys.expose().as_bytes()).map_err(|error| Failure::file(path, &error));
        }
        let Some((config, arn)) = &self.secret else {
            let next = "Name the deployed stack with --stack, the local server with --local, or add --notice-keys FILE. A \
                        stack of an earlier version is deployed with this one's template first.";
            return Err(Failure::new(Exit::Denied, "There is no place for the addresses of targets.", next));
        };
        write_secret(config, arn, &keys.expose()).await
    }
}
