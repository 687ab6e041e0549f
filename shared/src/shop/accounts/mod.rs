//! Accounts of players: their rows and names, logins, bans.

pub mod bans;
pub mod chat;
pub mod game_login;
pub mod logins;
pub mod name_index;
pub mod names;
mod players;
pub mod users;

pub use players::*;
