//! Documentation from the declarations of the endpoints: their types, statuses and doc comments. Renders the generated
//! parts of `infra/docs/api.md` and `README.md`.

mod endpoints;
mod fields;
pub mod page;
mod render;

pub use endpoints::{Documented, Reference};
