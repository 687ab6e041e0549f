//! Commands that coupons and gift cards have in common: `show`, `list`, `disable` and `enable`.

use super::common::{self, shown_time};
use crate::answer::{Answer, GOOD, columns, paint};
use crate::error::Failure;
use crate::target::Target;
use serde_json::{Value, json};
use shared::model::{Code, CodeKind, CodeText, Discount};
use shared::money::{self, CurrencyFormat};
use shared::shop::codes::{self, Addition, tag};
use shared::table::bulk::all;
use shared::table::keys::{self, prefix};
use shared::table::published::read_active_version;
use shared::table::{StoreError, read_live};

pub(super) const fn word(kind: CodeKind) -> &'static str {
    match kind {
        CodeKind::Coupon => "coupon",
        CodeKind::Gift => "gift card",
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

pub(super) fn missing(kind: CodeKind) -> Failure {
    let command = tag(kind);
    let what = format!("There is no {} with this code.", word(kind));
    Failure::refused(what, format!("`storectl {command} list` shows those there are."))
}

pub(super) async fn find(target: &Target, kind: CodeKind, written: &str) -> Result<Code, Failure> {
    let text = CodeText::parse(written).map_err(|_| missing(kind))?;
    let found: Option<Code> = read_live(&target.db, &keys::code(&text)).await?;
    found.filter(|code| code.kind() == kind).ok_or_else(|| missing(kind))
}

pub(super) async fn show(target: &Target, kind: CodeKind, written: &str) -> Result<Answer, Failure> {
    let (code, digits) = (find(target, kind, written).await?, digits(target).await?);
    let answer = shown(&code, digits);
    if kind == CodeKind::Coupon {
        return Ok(answer);
    }
    let format = CurrencyFormat::new(digits);
    let line = |top_up: &Addition| {
        format!("\ntop-up of {} at {}: {}", format.money(top_up.amount), shown_time(top_up.at), top_up.note)
    };
    let top_ups = codes::of(&target.db, &keys::top_ups(code.text())).await?;
    let mut json = answer.json().clone();
    json["top_ups"] = common::additions(&top_ups, format);
    Ok(Answer::new(format!("{}{}", answer.text(), top_ups.iter().map(line).collect::<String>()), json))
}

pub(super) fn shown(code: &Code, digits: u8) -> Answer {
    let facts = facts(code, CurrencyFormat::new(digits));
    let lines = facts.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
    let lines = lines
        .map(|(name, value)| format!("{name}: {}", value.as_str().map_or_else(|| value.to_string(), str::to_owned)));
    Answer::new(lines.collect::<Vec<_>>().join("\n"), facts)
}

pub(super) async fn list(target: &Target, kind: CodeKind) -> Result<Answer, Failure> {
    let codes = all(&target.db, prefix::CODE).await?.into_iter().map(|(_, code)| code);
    let mut codes: Vec<Code> = codes.filter(|code: &Code| code.kind() == kind).collect();
    codes.sort_by_key(Code::id);
    let format = CurrencyFormat::new(digits(target).await?);
    let row = |code: &Code| match code {
        Code::Coupon(coupon) => {
            let worth = discount(coupon.discount, format);
            let uses = coupon.max_uses.map_or(coupon.uses.to_string(), |most| format!("{} of {most}", coupon.uses));
            vec![coupon.id.to_string(), coupon.code.to_string(), worth, state(coupon.active), uses]
        }
        Code::Gift(gift) => {
            let balance = format.money(gift.balance).to_string();
            let note = |text: &Option<String>| text.clone().unwrap_or_default();
            let (made_for, note) = (note(&gift.made_for), note(&gift.note));
            vec![gift.id.to_string(), gift.code.to_string(), balance, state(gift.active), made_for, note]
        }
    };
    let headings: &[&str] = match kind {
        CodeKind::Coupon => &["ID", "CODE", "OFF", "STATE", "USES"],
        CodeKind::Gift => &["ID", "CODE", "BALANCE", "STATE", "FOR", "NOTE"],
    };
    let text = columns(headings, &codes.iter().map(row).collect::<Vec<_>>());
    Ok(Answer::new(text, json!({ "codes": codes.iter().map(|code| facts(code, format)).collect::<Vec<_>>() })))
}

fn state(active: bool) -> String {
    if active { "active" } else { "off" }.to_owned()
}

fn discount(discount: Discount, format: CurrencyFormat) -> String {
    match discount {
        Discount::Percentage(percent) => format!("{} %", money::percent(percent)),
        Discount::Amount(amount) => format.money(amount).to_string(),
    }
}

pub(super) fn facts(code: &Code, format: CurrencyFormat) -> Value {
    match code {
        Code::Coupon(coupon) => json!({
            "id": coupon.id, "code": coupon.code, "kind": "coupon", "active": coupon.active,
            "off": discount(coupon.discount, format), "starts_at": coupon.starts_at.map(shown_time),
            "ends_at": coupon.ends_at.map(shown_time), "minimum": format.money(coupon.minimum),
            "categories": coupon.scope.categories, "items": coupon.scope.items, "uses": coupon.uses,
            "max_uses": coupon.max_uses, "max_uses_per_user": coupon.max_uses_per_user, "user": coupon.user,
        }),
        Code::Gift(gift) => json!({
            "id": gift.id, "code": gift.code, "kind": "gift", "active": gift.active,
            "balance": format.money(gift.balance), "start_balance": gift.start_balance.map(|sum| format.money(sum)),
            "for": gift.made_for, "note": gift.note, "starts_at": gift.starts_at.map(shown_time),
            "ends_at": gift.ends_at.map(shown_time),
        }),
    }
}

pub(super) async fn switch(target: &Target, kind: CodeKind, written: &str, on: bool) -> Result<Answer, Failure> {
    let text = CodeText::parse(written).map_err(|_| missing(kind))?;
    let switched = codes::switch(&target.db, kind, &text, on).await.map_err(unknown_switch)?;
    if !switched {
        return Err(missing(kind));
    }
    let effect = if on { "on" } else { "off; carts that have it no longer count it" };
    let said = format!("{} The {} is switched {effect}.", paint(GOOD, "ok"), word(kind));
    Ok(Answer::new(said, json!({ "code": text, "active": on })))
}

/// The failure of a switch without a response.
pub(super) fn unknown_switch(error: StoreError) -> Failure {
    Failure::from(error).done("It is not known whether it was switched.").next("Run the same command again.")
}
