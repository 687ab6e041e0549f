//! The catalog function.

mod calendar;
mod get_category;
mod get_category_lookup;
mod get_profile;
mod items;
mod list_categories;
