//! Tasks of the repository that are programs of their own: every proof that infra/docs/reliability.md names, faults that
//! are planted to test the tests, builds that are compared byte by byte, and bills of materials.
//!
//! Knows the repository's layout, cargo and git. It must not depend on the crates that it judges.

pub mod cli;
mod command;
mod deny;
mod error;
mod page;
mod planted;
mod prove;
mod repository;
mod reproducible;
mod sbom;
mod steps;
mod summary;
mod tools;
