//! The auth function.

mod chat;
mod user;
