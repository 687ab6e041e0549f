//! Code that more than one function of the storefront needs.
//!
//! Dependencies go one way: functions and tools → [`shop`] → [`table`] and [`rules`] → [`model`]. `rules` depends
//! on neither the table nor HTTP nor the clock.

pub mod base;
pub mod clock;
pub mod config;
pub mod deadline;
pub mod endpoint;
pub mod fault;
pub mod http;
pub mod model;
pub mod money;
pub mod notify;
pub mod providers;
pub mod random;
pub mod rules;
pub mod shop;
pub mod table;
pub mod telemetry;
pub mod token;
