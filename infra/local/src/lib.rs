//! The whole store on one machine: an embedded DynamoDB, the seven functions, and API Gateway's part in front of them.
//!
//! Nothing is defined twice. Table, routes, CORS and environment are read from template.yaml. Every request becomes the
//! event that AWS would send, and is handled by the code that is deployed.

pub mod auth_by_host;
pub mod chat;
pub mod data;
pub mod engine;
pub mod functions;
pub mod game_server;
pub mod gateway;
pub mod live;
pub mod options;
pub mod payments;
pub mod ready;
pub mod reference;
pub mod site;
pub mod store;
