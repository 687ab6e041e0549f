//! What looks like a mistake in a coupon, in the table.

use super::items;
use crate::answer::{Answer, WARN, paint};
use crate::error::Failure;
use crate::target::Target;
use shared::model::{Coupon, Discount, Money, Percent, PublishedItem};
use shared::money::{self, CurrencyFormat};
use shared::rules::code::covers;

/// Percentages below this one, in hundredths of a percent, are more likely a share of 1: 0.1 for 10 %.
const LEAST_LIKELY: u32 = 100;

/// The doubts about a coupon of the table, each a sentence without its end.
pub(super) async fn of(target: &Target, coupon: &Coupon, digits: u8) -> Result<Vec<String>, Failure> {
    let items = items::all(target).await?;
    Ok(about(coupon, &items, digits, target.clock.seconds()))
}

/// The doubts about a coupon of a store with these items.
fn about(coupon: &Coupon, items: &[PublishedItem], digits: u8, now: i64) -> Vec<String> {
    let format = CurrencyFormat::new(digits);
    let mut doubts = Vec::new();
    match coupon.discount {
        Discount::Percentage(percent) if percent.hundredths() < LEAST_LIKELY => {
            let of_share = Percent::from_hundredths(100 * percent.hundredths());
            let (taken, meant) = (money::percent(percent), money::percent(of_share));
            doubts.push(format!("takes off {taken} percent; for {meant} percent write {meant}"));
        }
        Discount::Amount(amount) if coupon.minimum > Money::ZERO && amount > coupon.minimum => {
            let (amount, minimum) = (format.money(amount), format.money(coupon.minimum));
            doubts.push(format!("takes off {amount} from a cart of {minimum}, its minimum: that is free"));
        }
        Discount::Percentage(_) | Discount::Amount(_) => {}
    }
    if coupon.ends_at.is_some_and(|end| end <= now) {
        doubts.push("has ended: nobody can use it any more".to_owned());
    }
    let mut covered = items.iter().filter(|item| item.item.active && covers(&coupon.scope, item)).peekable();
    if covered.peek().is_some() && covered.all(|item| item.item.is_subscription) {
        doubts.push("is for subscriptions only, and a code takes nothing off a subscription".to_owned());
    }
    doubts
}

/// An answer with doubts about the coupon that it shows.
pub(super) fn added_to(answer: &Answer, doubts: &[String]) -> Answer {
    let mut json = answer.json().clone();
    json["warnings"] = doubts.into();
    let lines = doubts.iter().map(|doubt| format!("\n{} The coupon {doubt}.", paint(WARN, "warning")));
    Answer::new(format!("{}{}", answer.text(), lines.collect::<String>()), json)
}
