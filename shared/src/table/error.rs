//! Errors of the store, by what the caller can do about them.

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use std::error::Error;

type Source = Box<dyn Error + Send + Sync + 'static>;

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Throttled, timed out or not reachable: the same request may succeed in a moment.
    #[error("the database is unavailable ({operation})")]
    Unavailable {
        operation: &'static str,
        #[source]
        source: Option<Source>,
    },
    /// Other writes kept changing the same items: the same request may succeed in a moment.
    #[error("other writes kept changing the same items")]
    Contended,
    /// The database understood the request and refused it: a bug, a missing table or a missing permission.
    #[error("the database refused {operation}")]
    Refused {
        operation: &'static str,
        #[source]
        source: Source,
    },
    #[error("the database does not accept the credentials ({operation})")]
    Credentials {
        operation: &'static str,
        #[source]
        source: Source,
    },
    /// A failure in this process: of its random numbers, for example.
    #[error(transparent)]
    Internal(Source),
    #[error("the data in the table have the schema number {found}, but {needed} is needed: run `storectl upgrade`")]
    Outdated { found: u32, needed: u32 },
    #[error("the {kind} item is unreadable at {attribute}")]
    Unreadable {
        /// The kind of item, see [`super::keys::Key`]'s display.
        kind: String,
        /// The attribute, or what is wrong with the item.
        attribute: String,
        /// The cause, if a decoder gave one.
        #[source]
        source: Option<Source>,
    },
}

/// An error that may be a lost race: other writes changed the same items in between, and nothing was written.
pub trait LostRace {
    fn is_contended(&self) -> bool;
}

/// [`LostRace`] of errors that pass one of the store on as `Store`.
macro_rules! lost_race {
    ($($error:ty),+) => {
        $(impl $crate::table::LostRace for $error {
            fn is_contended(&self) -> bool {
                matches!(self, Self::Store($crate::table::StoreError::Contended))
            }
        })+
    };
}
pub(crate) use lost_race;

impl LostRace for StoreError {
    fn is_contended(&self) -> bool {
        matches!(self, Self::Contended)
    }
}

impl StoreError {
    /// Whether the same request may succeed in a moment, here or in another process. Otherwise it is a fault that somebody has to
    /// mend: a bug, a missing permission, or a row that cannot be read.
    pub const fn may_pass(&self) -> bool {
        match self {
            Self::Unavailable { .. } | Self::Contended | Self::Outdated { .. } | Self::Credentials { .. } => true,
            Self::Refused { .. } | Self::Internal(_) | Self::Unreadable { .. } => false,
        }
    }

    /// The operation got no response that counts; the same request may pass in a moment.
    pub fn unavailable(operation: &'static str) -> Self {
        Self::Unavailable { operation, source: None }
    }

    /// The system gives no random numbers.
    pub fn no_entropy() -> Self {
        Self::Internal("the system has no random numbers".into())
    }

    pub(crate) fn no_more_ids() -> Self {
        Self::Internal("there are no more ids".into())
    }

    pub(crate) fn unreadable(key: &super::keys::Key, attribute: &str) -> Self {
        Self::Unreadable { kind: key.to_string(), attribute: attribute.to_owned(), source: None }
    }

    /// Classifies an error of the SDK that is not a failed condition.
    pub fn from_sdk<E, R>(operation: &'static str, error: SdkError<E, R>) -> Self
    where
        E: ProvideErrorMetadata + Error + Send + Sync + 'static,
        R: std::fmt::Debug + Send + Sync + 'static,
    {
        let passing = match &error {
            SdkError::TimeoutError(_) | SdkError::DispatchFailure(_) | SdkError::ResponseError(_) => true,
            SdkError::ServiceError(service) => service.err().code().is_none_or(is_passing),
            _ => false,
        };
        if passing {
            Self::Unavailable { operation, source: Some(Box::new(error)) }
        } else if error.code().is_some_and(is_about_credentials) {
            Self::Credentials { operation, source: Box::new(error) }
        } else {
            Self::Refused { operation, source: Box::new(error) }
        }
    }
}

/// Whether an error code means that other credentials are needed. A wrong clock causes the last one too, but is
/// corrected by then.
fn is_about_credentials(code: &str) -> bool {
    matches!(code, "ExpiredTokenException" | "UnrecognizedClientException" | "InvalidSignatureException")
}

/// Whether an error code means that the same request may succeed later.
fn is_passing(code: &str) -> bool {
    matches!(
        code,
        "ProvisionedThroughputExceededException"
            | "ThrottlingException"
            | "Throttling"
            | "RequestLimitExceeded"
            | "InternalServerError"
            | "InternalFailure"
            | "ServiceUnavailable"
            | "TransactionConflictException"
            | "TransactionInProgressException"
    )
}
