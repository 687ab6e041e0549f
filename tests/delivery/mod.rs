//! The delivery function: the calls of game servers.

mod bad_input;
mod commands;
mod keys;
mod lists;
