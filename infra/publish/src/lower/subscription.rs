//! Subscriptions: how often they are paid, and what an item that is one cannot be as well.

use super::item_reader::ItemReader;
use crate::duration;
use crate::files::Decimal;
use shared::model::{PeriodUnit, Plan};

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
