//! Every operation, and every error that callers distinguish, through this crate and through the SDK's client: values,
//! errors, attempts and request bodies must be the same.

#![expect(clippy::unwrap_used, reason = "a test that cannot continue has failed")]

mod canned;
mod engine;
mod failures;
mod operation;
mod outcome;
mod sides;
mod values;
