//! The price of an item: an amount that cannot be read is one fault, and nothing is compared with it. And subscriptions: how
//! often they are paid, and what an item that is one cannot be as well.

use super::item::ItemReader;
use super::percentage;
use crate::duration;
use crate::files::Decimal;
use shared::model::{Money, Percent, PeriodUnit, Plan, Promotion, QuantityPrice};
use shared::money::CurrencyFormat;

pub(super) struct Prices {
    pub(super) price: Money,
    /// Lower prices of more units, by count.
    pub(super) price_from: Vec<QuantityPrice>,
    pub(super) discount: Money,
    /// The discount, if that is a percentage.
    pub(super) discount_percentage: Option<Percent>,
    /// The least that a buyer may choose.
    pub(super) min_price: Money,
    pub(super) promotion: Option<Promotion>,
}

pub(super) fn prices(reader: &mut ItemReader<'_>) -> Prices {
    let file = reader.file;
    let min_price = min_price(reader);
    let price = match &file.price {
        Some(price) => reader.money(Some(price), "price"),
        None if file.any_price => min_price,
        None if file.virtual_only => Some(Money::ZERO),
        None => {
            reader.fault(None, "price", "is missing; a free item has price 0");
            None
        }
    };
    if file.any_price && exceeds(min_price, price) {
        reader.fault(file.price.as_ref().and_then(Decimal::line), "price", "must not be below min_price");
    }
    if price == Some(Money::ZERO) && !file.virtual_only && !file.any_price {
        let line = file.price.as_ref().and_then(Decimal::line);
        if file.subscription.is_some() {
            reader.fault(line, "price", "must be more than 0: a subscription is paid every period");
        } else if file.active {
            reader.warn(line, "price", "is 0: every buyer gets the item for nothing");
        }
    }
    let (discount, discount_percentage) = discount(reader, price);
    let discount_line = file.discount.as_ref().and_then(Decimal::line);
    if exceeds(discount, price) {
        reader.fault(discount_line, "discount", "must not exceed price");
    } else if discount == price && price.is_some_and(|price| price > Money::ZERO) {
        reader.fault(discount_line, "discount", "must be below price; a free item has price: 0 and no discount");
    }
    let price_from = price_from(reader, price, discount.filter(|_| discount_percentage.is_none()));
    let sale = price.zip(discount).map(|(price, discount)| price.less(discount));
    below_least(reader, sale, file.price.as_ref(), "price");
    let promotion = file.promotion.as_ref().map(|promotion| {
        let promoted = reader.money(Some(&promotion.price), "promotion.price");
        if exceeds(promoted, sale) {
            let problem = "must not be above the item's price less its discount";
            reader.fault(promotion.price.line(), "promotion.price", problem);
        }
        below_least(reader, promoted, Some(&promotion.price), "promotion.price");
        Promotion { price: promoted.unwrap_or(Money::ZERO), sorting: promotion.sorting }
    });
    let [price, discount, min_price] = [price, discount, min_price].map(|amount| amount.unwrap_or(Money::ZERO));
    Prices { price, price_from, discount, discount_percentage, min_price, promotion }
}

/// The prices of more units: each is lower than the one before, and none is nothing once the item's own amount is off.
fn price_from(reader: &mut ItemReader<'_>, price: Option<Money>, discount: Option<Money>) -> Vec<QuantityPrice> {
    let file = reader.file;
    let Some(line) = file.price_from.values().next().map(Decimal::line) else { return Vec::new() };
    let unfit = [
        (file.subscription.is_some(), "a subscription, of which a buyer has one"),
        (file.any_price, "an item whose price the buyer names"),
        (file.virtual_only, "an item that is sold for virtual currency only"),
        (reader.category.cumulative, "a cumulative category, of which a buyer has one item of each"),
    ];
    if let Some((_, what)) = unfit.into_iter().find(|(is_unfit, _)| *is_unfit) {
        reader.fault(line, "price_from", &format!("is not for {what}; leave it out"));
        return Vec::new();
    }
    let (mut before, mut found) = (price, Vec::with_capacity(file.price_from.len()));
    for (from, written) in &file.price_from {
        let name = format!("price_from[{from}]");
        if *from < 2 {
            reader.fault(written.line(), &name, "must be for 2 units or more; the price of one is price");
        }
        let Some(lower) = reader.money(Some(written), &name) else { continue };
        if before.is_some_and(|before| lower >= before) {
            reader.fault(written.line(), &name, "must be below the price of fewer units");
        } else if lower <= discount.unwrap_or_default() {
            reader.fault(written.line(), &name, "must be above discount, which is taken off it too");
        }
        before = Some(lower);
        found.push(QuantityPrice { from: *from, price: lower });
    }
    found
}

/// The item's own discount, and the percentage that it is written as.
fn discount(reader: &mut ItemReader<'_>, price: Option<Money>) -> (Option<Money>, Option<Percent>) {
    match &reader.file.discount {
        Some(written) if written.0.trim_end().ends_with('%') => {
            let field = reader.field("discount");
            let percent = percentage(written, &field, reader.report);
            (price.zip(percent).map(|(price, percent)| price.share(percent)), percent)
        }
        written => (reader.money(written.as_ref(), "discount"), None),
    }
}

fn exceeds(one: Option<Money>, other: Option<Money>) -> bool {
    one.zip(other).is_some_and(|(one, other)| one > other)
}

/// The least that a buyer may choose. Without it, an order of nothing would be paid at once.
fn min_price(reader: &mut ItemReader<'_>) -> Option<Money> {
    let file = reader.file;
    let min_price = reader.money(file.min_price.as_ref(), "min_price");
    match &file.min_price {
        Some(written) if !file.any_price => {
            reader.fault(written.line(), "min_price", "is for items with any_price: true");
        }
        Some(written) if min_price == Some(Money::ZERO) => {
            reader.fault(written.line(), "min_price", "must be more than 0, or buyers get the item for nothing");
        }
        Some(written) => below_least(reader, min_price, Some(written), "min_price"),
        None if file.any_price => {
            reader.fault(None, "min_price", "is missing: the least amount that a buyer may choose");
        }
        None => {}
    }
    if file.any_price && reader.category.cumulative {
        let problem = "is not for a cumulative category, whose steps have fixed prices";
        reader.fault(None, "any_price", problem);
    }
    min_price
}

/// Notes an amount that the payment provider does not charge. If that is most of them, `payments.least` is at fault.
fn below_least(reader: &mut ItemReader<'_>, amount: Option<Money>, written: Option<&Decimal>, name: &str) {
    let site = reader.category.site;
    let (payments, digits) = (&site.config.payments, site.config.digits);
    let is_charged = !payments.methods.is_empty() && !reader.file.virtual_only && !site.least_is_doubtful;
    if is_charged && amount.is_some_and(|amount| amount > Money::ZERO && amount < payments.least) {
        let least = CurrencyFormat::new(digits).money(payments.least).to_string();
        let problem = format!("is below payments.least, {least}: one unit cannot be paid; only 0 is allowed below it");
        reader.fault(written.and_then(Decimal::line), name, &problem);
    }
}

/// Reads what an item costs in virtual currency.
pub(super) fn virtual_price(reader: &mut ItemReader<'_>) -> Money {
    let file = reader.file;
    if file.virtual_only && file.virtual_price.is_none() {
        reader.fault(None, "virtual_only", "needs a virtual_price");
    }
    if file.virtual_only && !reader.category.site.config.is_virtual_currency {
        reader.fault(None, "virtual_only", "needs virtual_currency.enabled: true in store.yaml");
    }
    reader.money(file.virtual_price.as_ref(), "virtual_price").unwrap_or(Money::ZERO)
}

const RENEWS_REDUCED: &str = "is not for a subscription, which would renew at the reduced price for ever";

/// Reads how often an item is paid; that of an item that is not a subscription means nothing.
pub(super) fn plan(reader: &mut ItemReader<'_>) -> Plan {
    let file = reader.file;
    let Some(interval) = &file.subscription else {
        if let Some(grace) = &file.grace {
            reader.fault(grace.line, "grace", "is for a subscription: remove it, or add subscription: true");
        }
        return Plan::default();
    };
    refuse_contradictions(reader);
    let (every, unit) = (&interval.every, interval.unit);
    let read = u16::try_from(every.value).ok().filter(|every| (1..=unit.most()).contains(every));
    if read.is_none() {
        let problem = format!("must be from 1 to {}: a period is at most three years", most(unit));
        reader.fault(every.line, "subscription.every", &problem);
    }
    let every = read.unwrap_or(1);
    Plan { every, unit, grace: grace(reader, every, unit) }
}

/// The most units of a period, such as `36 months`.
fn most(unit: PeriodUnit) -> String {
    format!("{} {}s", unit.most(), unit.as_str())
}

fn grace(reader: &mut ItemReader<'_>, every: u16, unit: PeriodUnit) -> u32 {
    let usual = Plan::usual_grace(every, unit);
    let Some(written) = &reader.file.grace else { return usual };
    match duration::seconds(written) {
        Err(error) => reader.fault(written.line, "grace", &error.to_string()),
        Ok(seconds) if seconds < Plan::LEAST_GRACE => {
            let least = duration::text(Plan::LEAST_GRACE);
            let problem =
                format!("must be at least {least}: payment providers charge about an hour after the end of a period");
            reader.fault(written.line, "grace", &problem);
        }
        Ok(seconds) => return seconds,
    }
    usual
}

/// Refuses what a subscription cannot be as well (rules.md, "Subscriptions").
fn refuse_contradictions(reader: &mut ItemReader<'_>) {
    let file = reader.file;
    // The line of what is written, and no line of a switch.
    let switch = |is_on: bool| is_on.then_some(None);
    let contradictions = [
        (switch(file.gifting), "gifting", "is not for a subscription; a gift is paid once"),
        (switch(file.virtual_only), "virtual_only", "is not for a subscription, which is paid in money"),
        (file.discount.as_ref().map(Decimal::line), "discount", RENEWS_REDUCED),
        (file.promotion.as_ref().map(|promotion| promotion.price.line()), "promotion", RENEWS_REDUCED),
        (
            file.global_limit.as_ref().map(|limit| limit.line),
            "global_limit",
            "is not for a subscription, whose renewals are not counted as units",
        ),
        (
            file.user_limit.as_ref().map(|limit| limit.line),
            "user_limit",
            "is not for a subscription, of which a player has one at a time",
        ),
        (
            file.limit.first().map(|limit| limit.per_user.as_ref().or(limit.total.as_ref()).and_then(|at| at.line)),
            "limit",
            "is not for a subscription, of which a player has one at a time",
        ),
        (
            file.expires_after.as_ref().map(|time| time.line),
            "expires_after",
            "is not for a subscription, which lasts as long as it is paid",
        ),
    ];
    for (written, field, problem) in contradictions {
        if let Some(line) = written {
            reader.fault(line, field, problem);
        }
    }
}
