//! Turns files into the store's model and reports every fault on the way. What cannot be read gets a placeholder, so
//! that one fault never hides another; the result is used only if there was none.

mod catalog;
mod command_values;
mod commands;
mod content;
mod currencies;
mod item;
mod item_reader;
mod likely;
mod payments;
mod prices;
mod shop;
mod site;
mod subscription;
mod text;
mod value;

pub use catalog::Category;
pub(crate) use currencies::shown_rate;
pub use site::Site;

use crate::fault::Report;
use crate::files::StoreFiles;
use shared::model::{Page, Staff};
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
    site.settings.shop = shop::shop(files, report);
    site.least_is_doubtful = payments::check_least(files, &site.config, report);
    let categories = catalog::categories(&files.categories, &site, report);
    let pages = content::pages(&files.pages, report);
    report.enter(&files.store.path);
    site.config.delivery.commands = commands::of_store(&files.store.content, &files.categories, &site, report);
    site::check_page_links(&files.store.content, &pages, report);
    content::check(files, &pages, report);
    report.enter(&files.staff.path);
    let staff = content::staff(&files.staff.content, report);
    commands::check_deliveries(files, &site, report);
    command_values::check(files, &categories, &site, report);
    likely::check(files, &categories, &pages, &site, report);
    Lowered { site, staff, pages, categories }
}
