//! Parts that all rows of the table share: keys, encodings, transactions, errors, limits, caches, and the active version. How the
//! table is reached is the crate `dynamodb`. Knows nothing of HTTP, and of no row what it is for.

pub mod bulk;
pub mod caches;
pub mod client;
pub mod codec;
pub mod keys;
pub mod limiter;
pub mod published;
pub mod restoring;
pub mod single;
pub mod transaction;

pub use client::{Db, Rows};
pub use codec::Row;
pub use dynamodb::{Access, Turns, connector};

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use codec::{decode_live, decode_published};
use keys::Key;
use serde::de::DeserializeOwned;
use std::collections::BTreeSet;
use std::error::Error;

/// How often a write that conflicts with another is tried: it is tried again three times (rules.md, "Writing a cart").
pub const TURNS: u32 = 4;

/// Changes what others change too: `turn` reads, decides and writes, and is repeated while what it has read changes in between.
/// Fails with that after so many turns. What is kept from one turn to the next needs [`Turns`].
pub async fn in_turns<T, E: LostRace, F>(most: u32, mut turn: impl FnMut() -> F) -> Result<T, E>
where
    F: Future<Output = Result<T, E>>,
{
    let mut turns = Turns::of(most);
    loop {
        turns.next().await;
        match turn().await {
            Err(error) if error.is_contended() && !turns.is_last() => {}
            ended => return ended,
        }
    }
}

/// Reads a live item, strongly consistent; `None` if there is none.
pub async fn read_live<T: DeserializeOwned>(db: &Db, key: &Key) -> Result<Option<T>, StoreError> {
    db.get(key, true).await?.map(|item| decode_live(key, item)).transpose()
}

/// Reads live items together, strongly consistent. Those that do not exist are missing.
pub async fn read_all_live<T: DeserializeOwned>(
    db: &Db,
    keys: impl Iterator<Item = Key>,
) -> Result<Vec<T>, StoreError> {
    let keys: BTreeSet<Key> = keys.collect();
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    let mut rows = db.batch_get(keys.iter().cloned().collect()).await?;
    keys.iter().filter_map(|key| rows.take_live(key).transpose()).collect()
}

/// Reads a published item, strongly consistent and without a cache; `None` if there is none.
pub async fn read_published<T: DeserializeOwned>(db: &Db, key: &Key) -> Result<Option<T>, StoreError> {
    let read = db.get(key, true).await?.map(|item| decode_published(key, &item)).transpose()?;
    Ok(read.map(|(thing, _)| thing))
}

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
        /// The kind of item, see [`keys::Key`]'s display.
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
    /// Whether the same request may succeed in a moment, here or in another process. Otherwise it is a fault that someone has to
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

    pub(crate) fn unreadable(key: &Key, attribute: &str) -> Self {
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
