//! The auth function.

mod chat;
mod chat_callback;
mod check_accessibility;
mod platform;
mod user;
mod username;
