//! The auth function.

mod chat;
mod check_accessibility;
mod user;
mod username;
