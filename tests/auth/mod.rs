//! The auth function.

mod account;
mod chat;
mod chat_callback;
mod game_login;
mod platform;
mod visitor;
