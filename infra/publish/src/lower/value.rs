//! Ids and amounts of any file.

use crate::fault::Report;
use crate::files::Decimal;
use shared::model::{LARGEST_ID, Money};

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

/// Reads an amount; one that cannot be read is noted and is `None`, for those who compare it with others.
pub fn amount(decimal: &Decimal, digits: u8, field: &str, report: &mut Report) -> Option<Money> {
    let amount = decimal.money(digits);
    amount.map_err(|error| report.fault(decimal.line(), field, error.to_string())).ok()
}
