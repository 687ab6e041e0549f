//! What coupons and gift cards have in common: `show`, `list`, `disable` and `enable`.

use super::common::shown_time;
use crate::answer::{Answer, GOOD, columns, paint};
use crate::error::Failure;
use crate::table::each;
use crate::target::Target;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::{Value, json};
use shared::model::{Code, CodeKind, CodeText, Discount};
use shared::money::{self, CurrencyFormat};
use shared::store::codec::{decode_live, key_attributes, key_of};
use shared::store::keys::{self, prefix};
use shared::store::published::read_active_version;
use shared::store::{Db, StoreError};

/// How people call a kind.
pub(super) const fn word(kind: CodeKind) -> &'static str {
    match kind {
        CodeKind::Coupon => "coupon",
        CodeKind::Gift => "gift card",
    }
}

/// A kind's word on the command line and in the table.
pub(super) const fn tag(kind: CodeKind) -> &'static str {
    match kind {
        CodeKind::Coupon => "coupon",
        CodeKind::Gift => "gift",
    }
}

/// Reads the text of a new code.
pub(super) fn text(written: &str) -> Result<CodeText, Failure> {
    if written.chars().count() > CodeText::LONGEST_COUPON {
        let what = format!("The code has more than {} characters.", CodeText::LONGEST_COUPON);
        return Err(Failure::refused(what, "Buyers could not enter it; choose a shorter one."));
    }
    CodeText::parse(written).map_err(|_| Failure::refused("The code is blank.", "Choose one that buyers can type."))
}

/// Digits of the store's amounts; two if nothing was published yet.
pub(super) async fn digits(target: &Target) -> Result<u8, Failure> {
    Ok(read_active_version(&target.db).await?.map_or(2, |active| active.config.digits))
}

async fn read(db: &Db, text: &CodeText) -> Result<Option<Code>, StoreError> {
    let key = keys::code(text);
    db.get(&key, true).await?.map(|item| decode_live(&key, item)).transpose()
}

pub(super) fn missing(kind: CodeKind) -> Failure {
    let command = tag(kind);
    let what = format!("There is no {} with this code.", word(kind));
    Failure::refused(what, format!("`storectl {command} list` shows those there are."))
}

/// Finds a code of a kind.
pub(super) async fn find(target: &Target, kind: CodeKind, written: &str) -> Result<Code, Failure> {
    let text = CodeText::parse(written).map_err(|_| missing(kind))?;
    read(&target.db, &text).await?.filter(|code| code.kind() == kind).ok_or_else(|| missing(kind))
}

pub(super) async fn show(target: &Target, kind: CodeKind, written: &str) -> Result<Answer, Failure> {
    Ok(shown(&find(target, kind, written).await?, digits(target).await?))
}

/// A code as `show` prints it.
pub(super) fn shown(code: &Code, digits: u8) -> Answer {
    let facts = facts(code, CurrencyFormat::new(digits));
    let lines = facts.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
    let lines = lines
        .map(|(name, value)| format!("{name}: {}", value.as_str().map_or_else(|| value.to_string(), str::to_owned)));
    Answer::new(lines.collect::<Vec<_>>().join("\n"), facts)
}

pub(super) async fn list(target: &Target, kind: CodeKind) -> Result<Answer, Failure> {
    let mut codes: Vec<Code> = Vec::new();
    each(&target.db, prefix::CODE, |item| {
        let code: Code = decode_live(&key_of(&item)?, item)?;
        if code.kind() == kind {
            codes.push(code);
        }
        Ok::<(), StoreError>(())
    })
    .await?;
    codes.sort_by_key(Code::id);
    let wire = CurrencyFormat::new(digits(target).await?);
    let row = |code: &Code| match code {
        Code::Coupon(coupon) => {
            let worth = discount(coupon.discount, wire);
            let uses = coupon.max_uses.map_or(coupon.uses.to_string(), |most| format!("{} of {most}", coupon.uses));
            vec![coupon.id.to_string(), coupon.code.to_string(), worth, state(coupon.active), uses]
        }
        Code::Gift(gift) => {
            let balance = wire.money(gift.balance).to_string();
            vec![gift.id.to_string(), gift.code.to_string(), balance, state(gift.active)]
        }
    };
    let headings: &[&str] = match kind {
        CodeKind::Coupon => &["ID", "CODE", "OFF", "STATE", "USES"],
        CodeKind::Gift => &["ID", "CODE", "BALANCE", "STATE"],
    };
    let text = columns(headings, &codes.iter().map(row).collect::<Vec<_>>());
    Ok(Answer::new(text, json!({ "codes": codes.iter().map(|code| facts(code, wire)).collect::<Vec<_>>() })))
}

fn state(active: bool) -> String {
    if active { "active" } else { "off" }.to_owned()
}

fn discount(discount: Discount, wire: CurrencyFormat) -> String {
    match discount {
        Discount::Percentage(percent) => format!("{} %", money::percent(percent)),
        Discount::Amount(amount) => wire.money(amount).to_string(),
    }
}

/// A code as JSON.
pub(super) fn facts(code: &Code, wire: CurrencyFormat) -> Value {
    match code {
        Code::Coupon(coupon) => json!({
            "id": coupon.id, "code": coupon.code, "kind": "coupon", "active": coupon.active,
            "off": discount(coupon.discount, wire), "starts_at": coupon.starts_at.map(shown_time),
            "ends_at": coupon.ends_at.map(shown_time), "minimum": wire.money(coupon.minimum),
            "categories": coupon.scope.categories, "items": coupon.scope.items, "uses": coupon.uses,
            "max_uses": coupon.max_uses, "max_uses_per_user": coupon.max_uses_per_user,
        }),
        Code::Gift(gift) => json!({
            "id": gift.id, "code": gift.code, "kind": "gift", "active": gift.active,
            "balance": wire.money(gift.balance), "start_balance": gift.start_balance.map(|sum| wire.money(sum)), "starts_at": gift.starts_at.map(shown_time),
            "ends_at": gift.ends_at.map(shown_time),
        }),
    }
}

pub(super) async fn switch(target: &Target, kind: CodeKind, written: &str, on: bool) -> Result<Answer, Failure> {
    let text = CodeText::parse(written).map_err(|_| missing(kind))?;
    let request = target.db.client().update_item().table_name(target.db.table());
    let request = request
        .set_key(Some(key_attributes(&keys::code(&text))))
        .update_expression("SET #active = :on")
        .condition_expression("#kind = :kind")
        .expression_attribute_names("#active", "active")
        .expression_attribute_names("#kind", "kind")
        .expression_attribute_values(":on", AttributeValue::Bool(on))
        .expression_attribute_values(":kind", AttributeValue::S(tag(kind).to_owned()));
    Box::pin(request.send()).await.map_err(|error| match error.as_service_error() {
        Some(UpdateItemError::ConditionalCheckFailedException(_)) => missing(kind),
        _ => Failure::from(StoreError::from_sdk("UpdateItem", error))
            .done("It is not known whether it was switched.")
            .next("Run the same command again."),
    })?;
    let effect = if on { "on" } else { "off; carts that have it no longer count it" };
    let said = format!("{} The {} is switched {effect}.", paint(GOOD, "ok"), word(kind));
    Ok(Answer::new(said, json!({ "code": text, "active": on })))
}
