//! The content function.

mod get_settings;
mod pages;
mod people;
mod shop;
