//! The content function.

mod get_announcement;
mod get_page;
mod get_settings;
mod list_patrons;
mod list_staff;
mod shop;
