//! The whole store on one port: an embedded DynamoDB, the five functions, and in front of them what API Gateway does.
//!
//! Nothing of the store is written here a second time. Table, routes, CORS and environment are read from
//! template.yaml; every request becomes the event that AWS would send and goes through the very handlers that
//! are deployed.

mod cors;
pub mod data;
pub mod engine;
pub mod error;
mod event;
pub mod functions;
pub mod gateway;
pub mod options;
pub mod ready;
pub mod server;
pub mod store;
