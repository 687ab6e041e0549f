//! `coupon edit`, `gift edit` and `gift top-up`. Only the attributes that change are written: uses and balances are
//! counted by orders at the same time.

use super::codes::{self, find, missing, shown};
use super::common::{published, time};
use super::{coupons, items};
use crate::answer::Answer;
use crate::cli::{EditCoupon, EditGift, PeriodOptions, TopUp};
use crate::error::Failure;
use crate::target::Target;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::{AttributeValue, TransactWriteItem, Update};
use shared::model::{Code, CodeKind, GiftCard, Money, Scope};
use shared::store::codec::{encode_live, key_attributes};
use shared::store::{StoreError, keys};
use std::fmt::Write as _;

pub(super) async fn coupon(target: &Target, options: &EditCoupon) -> Result<Answer, Failure> {
    let before = find(target, CodeKind::Coupon, &options.code).await?;
    let Code::Coupon(mut coupon) = before.clone() else { return Err(missing(CodeKind::Coupon)) };
    let active = published(target).await?;
    let digits = active.config.digits;
    if options.discount.percentage.is_some() || options.discount.amount.is_some() {
        coupon.discount = coupons::discount(&options.discount, digits)?;
    }
    if let Some(text) = &options.discount.minimum {
        coupon.minimum = items::money("--minimum", text, digits)?;
    }
    if let Some(text) = &options.max_uses {
        coupon.max_uses = limit("--max-uses", text)?;
    }
    if let Some(text) = &options.max_uses_per_user {
        coupon.max_uses_per_user = limit("--max-uses-per-user", text)?;
    }
    (coupon.starts_at, coupon.ends_at) = edited(target, &options.period, (coupon.starts_at, coupon.ends_at))?;
    if options.everything {
        coupon.scope = Scope::default();
    } else if !(options.scope.categories.is_empty() && options.scope.items.is_empty()) {
        coupon.scope = coupons::scope(target, &active.version, &options.scope).await?;
    }
    write(target, &before, &Code::Coupon(coupon), digits).await
}

pub(super) async fn gift(target: &Target, options: &EditGift) -> Result<Answer, Failure> {
    let before = find(target, CodeKind::Gift, &options.code).await?;
    let Code::Gift(mut gift) = before.clone() else { return Err(missing(CodeKind::Gift)) };
    (gift.starts_at, gift.ends_at) = edited(target, &options.period, (gift.starts_at, gift.ends_at))?;
    write(target, &before, &Code::Gift(gift), codes::digits(target).await?).await
}

/// Reads a limit of the command line, at least 1, or `none`.
fn limit(name: &str, text: &str) -> Result<Option<u32>, Failure> {
    match text.trim() {
        "none" => Ok(None),
        number => match number.parse() {
            Ok(limit) if limit > 0 => Ok(Some(limit)),
            _ => {
                Err(Failure::refused(format!("{name} must be a number from 1, or none."), "Correct it and try again."))
            }
        },
    }
}

/// The time in which a code may be used, with what the command line changes of it.
fn edited(
    target: &Target,
    options: &PeriodOptions,
    (old_start, old_end): (Option<i64>, Option<i64>),
) -> Result<(Option<i64>, Option<i64>), Failure> {
    let now = target.clock.seconds();
    let read = |text: &Option<String>, old: Option<i64>| match text.as_deref() {
        None => Ok(old),
        Some("none") => Ok(None),
        Some(text) => time(text, now).map(Some),
    };
    let (starts, ends) = (read(&options.starts_at, old_start)?, read(&options.ends_at, old_end)?);
    if options.starts_at.is_some() || options.ends_at.is_some() {
        coupons::check_period(starts, ends, now)?;
    }
    Ok((starts, ends))
}

/// Writes what differs, if the code is still the one that was read.
async fn write(target: &Target, before: &Code, after: &Code, digits: u8) -> Result<Answer, Failure> {
    let key = keys::code(before.text());
    let (old, new) = (encode_live(&key, before)?, encode_live(&key, after)?);
    let sets: Vec<_> = new.iter().filter(|(name, value)| old.get(*name) != Some(*value)).collect();
    let removes: Vec<_> = old.keys().filter(|name| !new.contains_key(*name)).collect();
    if sets.is_empty() && removes.is_empty() {
        return Ok(shown(after, digits));
    }
    let mut request = target.db.client().update_item().table_name(target.db.table());
    request = request.set_key(Some(key_attributes(&key))).condition_expression("#id = :id");
    request = request.expression_attribute_names("#id", "id");
    request = request.expression_attribute_values(":id", AttributeValue::N(before.id().to_string()));
    // Writing to a String cannot fail.
    let mut expression = String::new();
    for (place, (name, value)) in sets.into_iter().enumerate() {
        expression.push_str(if place == 0 { "SET " } else { ", " });
        _ = write!(expression, "#s{place} = :s{place}");
        request = request.expression_attribute_names(format!("#s{place}"), name);
        request = request.expression_attribute_values(format!(":s{place}"), value.clone());
    }
    for (place, name) in removes.into_iter().enumerate() {
        expression.push_str(if place == 0 { " REMOVE " } else { ", " });
        _ = write!(expression, "#r{place}");
        request = request.expression_attribute_names(format!("#r{place}"), name);
    }
    Box::pin(request.update_expression(expression).send()).await.map_err(|error| match error.as_service_error() {
        Some(UpdateItemError::ConditionalCheckFailedException(_)) => missing(before.kind()),
        _ => unknown(StoreError::from_sdk("UpdateItem", error), before),
    })?;
    Ok(shown(after, digits))
}

fn unknown(error: StoreError, code: &Code) -> Failure {
    let next = format!("Look at it with `storectl {} show`, then decide.", codes::tag(code.kind()));
    Failure::from(error).done("It is not known whether the code was changed.").next(next)
}

/// Adds to a balance. It is a transaction because the SDK gives one a token: sent again after a lost response, it has
/// no second effect.
pub(super) async fn top_up(target: &Target, options: &TopUp) -> Result<Answer, Failure> {
    const OPERATION: &str = "TransactWriteItems";
    let digits = codes::digits(target).await?;
    let amount = items::money("AMOUNT", &options.amount, digits)?;
    if amount == Money::ZERO {
        return Err(Failure::refused("AMOUNT must be more than 0.", "Correct it and try again."));
    }
    let before = find(target, CodeKind::Gift, &options.code).await?;
    // What was put on the card is not known of a card from before it was stored.
    let is_start_known = matches!(&before, Code::Gift(GiftCard { start_balance: Some(_), .. }));
    let start = if is_start_known { ", start_balance = start_balance + :amount" } else { "" };
    let update = Update::builder()
        .table_name(target.db.table())
        .set_key(Some(key_attributes(&keys::code(before.text()))))
        .update_expression(format!("SET #balance = #balance + :amount{start}"))
        .condition_expression("#id = :id")
        .expression_attribute_names("#balance", "balance")
        .expression_attribute_names("#id", "id")
        .expression_attribute_values(":amount", AttributeValue::N(amount.minor().to_string()))
        .expression_attribute_values(":id", AttributeValue::N(before.id().to_string()))
        .build();
    let update = update.map_err(|error| StoreError::Refused { operation: OPERATION, source: Box::new(error) })?;
    let request = target.db.client().transact_write_items();
    let request = request.transact_items(TransactWriteItem::builder().update(update).build());
    Box::pin(request.send()).await.map_err(|error| match error.as_service_error() {
        Some(TransactWriteItemsError::TransactionCanceledException(cancelled))
            if cancelled
                .cancellation_reasons()
                .iter()
                .any(|reason| reason.code() == Some("ConditionalCheckFailed")) =>
        {
            missing(CodeKind::Gift)
        }
        _ => unknown(StoreError::from_sdk(OPERATION, error), &before),
    })?;
    Ok(shown(&find(target, CodeKind::Gift, &options.code).await?, digits))
}
