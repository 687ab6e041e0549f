//! The agent of a game server: it fetches the commands of a store, runs them by RCON, and reports the game server's responses
//! to the store. It writes down what it does before it does it, so that no crash makes a command run twice.
//!
//! It knows the store only by its calls for game servers, and does not know its table.

pub mod book;
mod check;
mod cli;
pub mod clock;
pub mod config;
pub mod journal;
mod players;
mod responses;
pub mod run;
pub mod store;

pub use cli::command_line;
