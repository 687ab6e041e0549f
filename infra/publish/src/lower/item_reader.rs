//! Reads the fields of one item, and notes faults under its name.

use super::amount;
use super::site::Site;
use crate::fault::Report;
use crate::files::{At, Decimal, ItemFile};
use shared::model::{Comparison, Money, OnSale};

pub(super) struct CategoryContext<'a> {
    /// The path of the category's fields in its file.
    pub(super) prefix: &'a str,
    pub(super) rows: &'a [Comparison],
    /// Whether its items are steps of which a buyer pays the difference.
    pub(super) cumulative: bool,
    /// The time in which the category is on sale.
    pub(super) on_sale: OnSale,
    pub(super) site: &'a Site,
}

/// Notes faults of one item under its own name.
pub(super) struct ItemReader<'a> {
    pub(super) file: &'a ItemFile,
    pub(super) category: &'a CategoryContext<'a>,
    pub(super) report: &'a mut Report,
}

impl ItemReader<'_> {
    pub(super) fn field(&self, name: &str) -> String {
        format!("{}items[{}].{name}", self.category.prefix, *self.file.id)
    }

    /// Notes a fault of one of its fields; without a line that of the item's id.
    pub(super) fn fault(&mut self, line: Option<u64>, name: &str, problem: &str) {
        let field = self.field(name);
        self.report.fault(line.or(self.file.id.line), field, problem);
    }

    pub(super) fn warn(&mut self, line: Option<u64>, name: &str, problem: &str) {
        let field = self.field(name);
        self.report.warn(line.or(self.file.id.line), field, problem);
    }

    /// An amount, 0 if it is left out; one that cannot be read is noted and is `None`.
    pub(super) fn money(&mut self, written: Option<&Decimal>, name: &str) -> Option<Money> {
        let (field, digits) = (self.field(name), self.category.site.config.digits);
        written.map_or(Some(Money::ZERO), |written| amount(written, digits, &field, self.report))
    }

    pub(super) fn limit(&mut self, limit: Option<&At<u32>>, name: &str) -> Option<u32> {
        if let Some(limit) = limit.filter(|limit| ***limit == 0) {
            self.fault(limit.line, name, "must be at least 1; leave it out for no limit");
        }
        limit.map(|limit| **limit)
    }
}
