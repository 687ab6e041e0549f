//! Documentation from the declarations of the endpoints: their types, statuses and doc comments. Renders the generated
//! parts of `README.md`, `Cargo.toml` and the pages of `infra/docs`, and `infra/openapi.json`.

mod endpoints;
mod example;
pub mod openapi;
pub mod page;
mod render;
pub mod samples;

pub use endpoints::{Documented, Reference};
