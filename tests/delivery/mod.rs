//! The delivery function: the calls of game servers.

mod agent;
mod bad_input;
mod commands;
mod keys;
mod lists;
