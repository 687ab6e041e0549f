//! The catalog function.

mod calendar;
mod get_category;
mod get_category_lookup;
mod get_featured_deals;
mod get_item;
mod get_profile;
mod largest_page;
mod list_categories;
mod sales;
