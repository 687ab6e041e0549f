//! Changes of codes by the store's owner: switching and editing. Orders count uses and balances at the same time, so
//! only the attributes that change are written.

use super::USES;
use crate::model::{Code, CodeKind, CodeText, Coupon};
use crate::table::codec::encode_live;
use crate::table::keys::{self, Key};
use crate::table::single::apply;
use crate::table::transaction::Write;
use crate::table::{Db, StoreError};

/// A kind's word in the table.
pub const fn tag(kind: CodeKind) -> &'static str {
    match kind {
        CodeKind::Coupon => "coupon",
        CodeKind::Gift => "gift",
    }
}

/// Switches a coupon or gift card on or off. `false` if there is none of this kind. Fails if it is not known whether it
/// was switched.
pub async fn switch(db: &Db, kind: CodeKind, code: &CodeText, is_on: bool) -> Result<bool, StoreError> {
    let write = switched(keys::code(code), is_on).only_if("#kind = :kind");
    apply(db, write.name("#kind", "kind").text(":kind", tag(kind))).await
}

/// Switches a referral code on or off. `false` if there is none.
pub async fn switch_referral(db: &Db, code: &CodeText, is_on: bool) -> Result<bool, StoreError> {
    apply(db, switched(keys::referral(code), is_on).only_if_present()).await
}

fn switched(key: Key, is_on: bool) -> Write {
    Write::update(key, "SET #active = :on").name("#active", "active").flag(":on", is_on)
}

/// Deletes a coupon that no order has used and no open checkout holds. `false` if it was used, changed into another or is gone.
/// Fails if it is not known whether it was deleted.
pub async fn delete_unused(db: &Db, coupon: &Coupon) -> Result<bool, StoreError> {
    let unused = "#kind = :coupon AND #id = :id AND (attribute_not_exists(#uses) OR #uses = :zero)";
    let write = Write::delete(keys::code(&coupon.code)).only_if(unused);
    let write =
        write.name("#kind", "kind").text(":coupon", tag(CodeKind::Coupon)).name("#id", "id").number(":id", coupon.id);
    apply(db, write.name("#uses", USES).number(":zero", 0)).await
}

/// Writes what differs between two states of a code. `false` if the code under this text is another one by now. Fails
/// if it is not known whether it was changed.
pub async fn edit(db: &Db, before: &Code, after: &Code) -> Result<bool, StoreError> {
    let key = keys::code(before.text());
    let (old, new) = (encode_live(&key, before)?, encode_live(&key, after)?);
    let sets: Vec<_> = new.iter().filter(|(name, value)| old.get(*name) != Some(*value)).collect();
    let removes: Vec<_> = old.keys().filter(|name| !new.contains_key(*name)).collect();
    let terms = |mark: char, count: usize, term: fn(char, usize) -> String| {
        (0..count).map(|place| term(mark, place)).collect::<Vec<_>>().join(", ")
    };
    let mut clauses = Vec::new();
    if !sets.is_empty() {
        let term = |mark, place| format!("#{mark}{place} = :{mark}{place}");
        clauses.push(format!("SET {}", terms('s', sets.len(), term)));
    }
    if !removes.is_empty() {
        clauses.push(format!("REMOVE {}", terms('r', removes.len(), |mark, place| format!("#{mark}{place}"))));
    }
    if clauses.is_empty() {
        return Ok(true);
    }
    let mut write = Write::update(key, clauses.join(" ")).only_if_equal("id", before.id());
    for (place, (name, value)) in sets.into_iter().enumerate() {
        write = write.name(format!("#s{place}"), name).value(format!(":s{place}"), value.clone());
    }
    for (place, name) in removes.into_iter().enumerate() {
        write = write.name(format!("#r{place}"), name);
    }
    apply(db, write).await
}
