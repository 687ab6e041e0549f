//! The outcomes of a call that are not its reply.

use crate::values::Invalid;
use outgoing::OutgoingError;
use serde::Deserialize;
use std::fmt;

/// The reason why a call has no reply.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A value that cannot be sent. Nothing was sent.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// Stripe refused the request permanently: it had no effect, and the same request will be refused again. See
    /// [`RefusalKind::Idempotency`] for the exception.
    #[error("Stripe refused the request: {0}")]
    Refused(Refusal),
    #[error("Stripe cannot take the request now: {0}")]
    Busy(Refusal),
    /// Stripe failed. It is not known whether the request had its effect.
    #[error("Stripe failed: {0}")]
    Failed(Failure),
    /// No response. The variants of [`OutgoingError`] say whether the request may have had its effect.
    #[error("Stripe did not respond")]
    NoResponse(#[source] OutgoingError),
    /// A response that is not what this call returns. It is not known whether the request had its effect.
    #[error("Stripe's response cannot be read (status {status}): {reason}")]
    Unreadable {
        status: u16,
        /// The place at which reading stopped; nothing of the content.
        reason: String,
    },
}

impl Error {
    /// Whether the request with this idempotency key has ended without an object and always will: a refusal, or a
    /// server error that Stripe repeats from its memory.
    pub fn is_final(&self) -> bool {
        match self {
            Self::Invalid(_) => true,
            Self::Refused(refusal) => refusal.kind != RefusalKind::Idempotency,
            Self::Failed(failure) => failure.replayed,
            Self::Busy(_) | Self::NoResponse(_) | Self::Unreadable { .. } => false,
        }
    }

    /// Whether Stripe refused the request because there were too many: it had no effect.
    pub const fn is_rate_limited(&self) -> bool {
        matches!(self, Self::Busy(Refusal { status: 429, .. }))
    }

    /// The refusal, if Stripe gave one.
    pub const fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Refused(refusal) | Self::Busy(refusal) => Some(refusal),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub status: u16,
    pub kind: RefusalKind,
    /// Stripe's code, such as `resource_missing`.
    pub code: Option<String>,
    pub param: Option<String>,
    /// Stripe's message to developers. It may repeat what was sent, but not the key.
    pub message: String,
    /// The id of the request in Stripe's logs.
    pub request: Option<String>,
    /// Whether this is the response to an earlier request with the same idempotency key.
    pub replayed: bool,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (status {}", self.message, self.status)?;
        for (name, value) in [("code", &self.code), ("parameter", &self.param), ("request", &self.request)] {
            if let Some(value) = value {
                write!(f, ", {name} {value}")?;
            }
        }
        f.write_str(")")
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalKind {
    /// A parameter, or the object's state, does not allow it (400).
    Request,
    /// The key is not valid (401).
    Key,
    /// The payment was declined (402).
    Card,
    /// The key has no right to this (403).
    Permission,
    /// There is no such object (404).
    NotFound,
    /// The idempotency key was used with other parameters (400). That earlier request may have had its effect.
    Idempotency,
    Other,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub status: u16,
    /// The id of the request in Stripe's logs.
    pub request: Option<String>,
    /// Whether Stripe repeats the error of an earlier request with the same idempotency key: it always will.
    pub replayed: bool,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "status {}", self.status)?;
        if let Some(request) = &self.request {
            write!(f, ", request {request}")?;
        }
        f.write_str(if self.replayed { ", replayed" } else { "" })
    }
}

#[derive(Deserialize)]
pub(crate) struct ErrorBody {
    pub(crate) error: ErrorObject,
}

#[derive(Deserialize)]
pub(crate) struct ErrorObject {
    #[serde(rename = "type", default)]
    pub(crate) kind: String,
    pub(crate) code: Option<String>,
    pub(crate) param: Option<String>,
    pub(crate) message: Option<String>,
}
