//! What is published for sale, as requests read it.

pub mod categories;
pub mod items;
