//! Amounts that look as if another unit was meant.

use super::Listed;
use crate::fault::Report;
use crate::files::Decimal;
use crate::lower::site::Site;
use shared::model::Money;
use shared::money::CurrencyFormat;

/// Prices of this many major units and more, that end as prices in cents do, are probably in cents.
const MANY_UNITS: i64 = 100;
/// The last two digits of usual prices.
const USUAL_ENDS: [i64; 3] = [49, 95, 99];
/// Usual percentages that would be large amounts.
const PERCENTAGES: [i64; 13] = [10, 15, 20, 25, 30, 33, 40, 50, 60, 70, 75, 80, 90];

pub(super) fn check(listed: &Listed<'_>, site: &Site, report: &mut Report) {
    let digits = site.config.digits;
    if digits != 2 {
        return;
    }
    let (item, code) = (listed.item, &site.settings.system_currency.name);
    let amount = |written: Option<&Decimal>| written.and_then(|written| written.money(digits).ok());
    // Whole major units, or nothing.
    let whole = |amount: Money| (amount.minor() % 100 == 0).then_some(amount.minor() / 100);
    let Some(price) = amount(item.price.as_ref()) else { return };
    if let Some(units) = whole(price).filter(|units| *units >= MANY_UNITS && USUAL_ENDS.contains(&(units % 100))) {
        let meant = CurrencyFormat::new(digits).money(Money::from_minor(units)).to_string();
        let problem = format!("is {units}.00 {code}; amounts are not in cents: {meant} is {units} cents");
        listed.warn(item.price.as_ref().and_then(Decimal::line), "price", problem, report);
    }
    let discount = amount(item.discount.as_ref()).and_then(whole);
    if let Some(units) = discount.filter(|units| PERCENTAGES.contains(units) && whole(price).is_none()) {
        let shown = |minor| CurrencyFormat::new(digits).money(Money::from_minor(minor)).to_string();
        let percent = (price.minor() * units + 50) / 100;
        let problem = format!(
            "takes {units}.00 {code} off, so that the item costs {}; {units} percent of it are {}",
            shown(price.minor() - units * 100),
            shown(percent)
        );
        listed.warn(item.discount.as_ref().and_then(Decimal::line), "discount", problem, report);
    }
}
