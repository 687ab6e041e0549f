//! The agent beside a game server: it fetches what a store sold, runs it by RCON, and tells the store what the game server
//! responded. It writes down what it does before it does it, so that no crash makes a command run twice.
//!
//! It knows the store only by its calls for game servers, and nothing of the store's table.

pub mod book;
mod check;
mod cli;
pub mod clock;
pub mod config;
pub mod journal;
mod players;
pub mod run;
mod show;
pub mod store;

pub use cli::command_line;
