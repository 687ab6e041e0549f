//! Turns files into the store's model and notes every fault on the way. What cannot be read gets a stand-in, so
//! that one fault never hides another; the result is used only where there was none.

mod catalog;
mod content;
mod currencies;
mod item;
mod site;
mod text;

pub(crate) use catalog::Category;
pub(crate) use site::Site;

use crate::fault::Report;
use crate::files::{Decimal, StoreFiles};
use shared::model::{Money, Page, Staff};
use std::path::PathBuf;

/// A store as model types, hidden parts included.
#[derive(Debug)]
pub(crate) struct Lowered {
    /// What `store.yaml` says.
    pub(crate) site: Site,
    /// The staff.
    pub(crate) staff: Staff,
    /// Pages and where they stand.
    pub(crate) pages: Vec<(PathBuf, Page)>,
    /// Every top category in order.
    pub(crate) categories: Vec<Category>,
}

/// Reads a store's files as model types.
pub(crate) fn lower(files: &StoreFiles, report: &mut Report) -> Lowered {
    report.enter(&files.store.path);
    let site = site::site(&files.store.content, report);
    let categories = catalog::categories(&files.categories, &site, report);
    let pages = content::pages(&files.pages, report);
    report.enter(&files.store.path);
    site::check_page_links(&files.store.content, &pages, report);
    report.enter(&files.staff.path);
    let staff = content::staff(&files.staff.content, report);
    Lowered { site, staff, pages, categories }
}

/// The largest id: every JSON client reads it exactly.
const LARGEST_ID: u64 = (1 << 53) - 1;

/// Notes an id that is 0 or too large.
pub(crate) fn check_id(id: u64, line: Option<u64>, field: &str, report: &mut Report) {
    if id == 0 || id > LARGEST_ID {
        report.fault(line, field, format!("must be from 1 to {LARGEST_ID}"));
    }
}

/// Reads an amount; one that cannot be read is noted and counts as nothing.
pub(crate) fn money(decimal: &Decimal, digits: u8, field: &str, report: &mut Report) -> Money {
    amount(decimal, digits, field, report).unwrap_or(Money::ZERO)
}

/// Reads an amount; one that cannot be read is noted and is `None`, for those who compare it with others.
pub(crate) fn amount(decimal: &Decimal, digits: u8, field: &str, report: &mut Report) -> Option<Money> {
    let amount = decimal.money(digits);
    amount.map_err(|error| report.fault(decimal.line(), field, error.to_string())).ok()
}
