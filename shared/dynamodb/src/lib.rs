//! A table in DynamoDB, reached with as little of the SDK's runtime as its operations need.
//!
//! [`Table`] has five operations: get, batch get, query, update and transact write. Rows are read into structs by
//! [`Row::read`]. [`Access`] says how a table is reached: region, endpoint, credentials, timeouts and retries, in
//! functions from the environment. [`connector`] is the HTTP client.
//!
//! Requests are serialised, signed and retried by the SDK's own parts, and errors are the SDK's types. Left out is what
//! `aws_sdk_dynamodb::Client` adds to them: endpoint rules, endpoints by account or FIPS, SDK metadata in the headers,
//! recursion detection. Left out of its HTTP client are HTTP/2 and proxies, and of its configuration all sources but
//! the environment. For everything else there is [`Table::client`].
//!
//! The gain: a call to `cart/get` takes two thirds of the processor time that it takes with the SDK's client (see
//! "Operations without the client" in `infra/docs/performance-notes.md`). The price: this crate depends on interfaces
//! that the SDK publishes for its own runtime. `tests/differential` runs every operation and every error that
//! callers distinguish through this crate and through the SDK's client, and compares what comes of both.

pub mod connector;
mod raw_item;
mod runtime;
mod table;

pub use raw_item::{Item, Row, Unreadable, from_item, from_json, to_item, to_value};
pub use runtime::{Access, MissingVariable};
pub use table::{BatchGetError, Middleware, Table, Turns};
