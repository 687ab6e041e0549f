//! The tool with which a store is run: it checks and publishes the files, hands out tokens and codes, records orders,
//! looks at carts, and backs everything up.
//!
//! [`cli`] is what can be typed, [`commands`] what is done about it, [`target`] finds the table, [`console`] is who
//! types. A command answers with an [`answer::Answer`] or an [`error::Failure`]; nothing but `main` prints.

pub mod answer;
pub mod cli;
pub mod commands;
pub mod console;
pub mod error;
mod paint;
pub mod progress;
pub mod shop;
pub mod target;
mod when;
