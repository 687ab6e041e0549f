//! The auth function.

mod chat;
mod chat_callback;
mod check_accessibility;
mod game_auth_check;
mod game_auth_init;
mod platform;
mod user;
mod username;
