//! Turns files into the store's model and reports every fault on the way. What cannot be read gets a placeholder, so
//! that one fault never hides another; the result is used only if there was none.

mod bundles;
mod catalog;
pub(crate) mod command_values;
mod commands;
mod content;
mod item;
mod likely;
mod limits;
mod payments;
mod prices;
mod sales;
mod site;
mod text;

pub use catalog::Category;
pub(crate) use payments::shown_rate;
pub use site::Site;

use crate::fault::Report;
use crate::files::{Decimal, StoreFiles};
use shared::model::{LARGEST_ID, Money, Page, Percent, Staff};
use std::path::PathBuf;

/// A store as model types, hidden parts included.
#[derive(Debug)]
pub struct Lowered {
    pub site: Site,
    pub staff: Staff,
    pub pages: Vec<(PathBuf, Page)>,
    /// Every top category in order.
    pub categories: Vec<Category>,
}

/// Reads a store's files as model types.
pub fn lower(files: &StoreFiles, report: &mut Report) -> Lowered {
    report.enter(&files.store.path);
    let mut site = site::site(&files.store.content, report);
    site.images.clone_from(&files.images);
    site.config.shop_url.clone_from(&files.shop_url);
    site.settings.shop = content::shop(files, report);
    site.least_is_doubtful = payments::check_least(files, &site.config, report);
    let mut categories = catalog::categories(&files.categories, &site, report);
    report.enter(&files.sales.path);
    site.config.sales = sales::sales(&files.sales.content, &mut categories, &site, report);
    limits::resolve(&files.categories, &mut categories, report);
    bundles::resolve(&files.categories, &mut categories, &site, report);
    site.config.payments.tax_codes = payments::codes(&categories);
    let pages = content::pages(&files.pages, report);
    report.enter(&files.store.path);
    site.config.delivery.commands = commands::of_store(&files.store.content, &files.categories, &site, report);
    site.settings.goals = content::goals(&files.store.content, &site, &categories, report);
    site::check_page_links(&files.store.content, &pages, report);
    content::check(files, &pages, report);
    report.enter(&files.staff.path);
    let staff = content::staff(&files.staff.content, report);
    commands::check_deliveries(files, &site, report);
    command_values::check(files, &categories, &site, report);
    likely::check(files, &categories, &pages, &site, report);
    Lowered { site, staff, pages, categories }
}

/// Notes an id that is 0 or too large.
pub fn check_id(id: u64, line: Option<u64>, field: &str, report: &mut Report) {
    if id == 0 || id > LARGEST_ID {
        report.fault(line, field, format!("must be from 1 to {LARGEST_ID}"));
    }
}

/// Reads an amount; one that cannot be read is noted and counts as nothing.
pub fn money(decimal: &Decimal, digits: u8, field: &str, report: &mut Report) -> Money {
    amount(decimal, digits, field, report).unwrap_or(Money::ZERO)
}

/// Reads a percentage, with or without its sign; one that cannot be read is noted.
pub fn percentage(decimal: &Decimal, field: &str, report: &mut Report) -> Option<Percent> {
    let text = decimal.0.trim();
    let percent = Percent::parse(text.strip_suffix('%').unwrap_or(text));
    percent.map_err(|error| report.fault(decimal.line(), field, error.to_string())).ok()
}

/// Reads an amount; one that cannot be read is noted and is `None`, for those who compare it with others.
pub fn amount(decimal: &Decimal, digits: u8, field: &str, report: &mut Report) -> Option<Money> {
    let amount = decimal.money(digits);
    amount.map_err(|error| report.fault(decimal.line(), field, error.to_string())).ok()
}
