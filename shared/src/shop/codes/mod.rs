//! Coupons, gift cards and referral codes: their rows, making them, and what their owner changes.

mod making;

pub use making::*;

use crate::model::{Code, CodeKind, CodeText, Coupon, CouponUses, GiftCard, GiftCardPayment, Money, Referral, UserId};
use crate::shop::accounts;
use crate::table::client::Rows;
use crate::table::codec::{Item, Row, encode_live};
use crate::table::keys::{self, Key};
use crate::table::single::apply;
use crate::table::transaction::{Guard, Write, send_guarded};
use crate::table::{Db, StoreError, TURNS, in_turns, read_live};
use aws_sdk_dynamodb::types::AttributeValue;
use serde::{Deserialize, Serialize};

/// The attribute that counts how often a user used a coupon.
pub const USES: &str = "uses";

/// The attribute with the second of a user's last use of a coupon with [`Coupon::once_per`].
const LAST: &str = "last";

/// A row of uses, see [`USES`].
#[derive(Deserialize)]
struct Used {
    uses: i64,
    #[serde(default)]
    last: Option<i64>,
}

/// The write of the name that carts show of a referral code's owner, on the condition that the code is still theirs.
pub fn set_referral_owner_name(code: &CodeText, owner: UserId, name: &str) -> Write {
    let write = Write::update(keys::referral(code), "SET owner_name = :name").text(":name", name);
    write.only_if_equal("owner", owner)
}

/// Takes a coupon or gift card out of the rows.
pub fn take(rows: &mut Rows, code: &CodeText) -> Result<Option<Code>, StoreError> {
    rows.take_live(&keys::code(code))
}

/// Takes out of the rows how often a user used a coupon.
pub fn take_uses(rows: &mut Rows, code: &CodeText, user: UserId) -> Result<CouponUses, StoreError> {
    let key = keys::code_use(code, user);
    let Some(Used { uses, last }) = rows.take_live(&key)? else { return Ok(CouponUses::default()) };
    Ok(CouponUses { count: u32::try_from(uses.max(0)).unwrap_or(u32::MAX), last })
}

/// Takes a referral code out of the rows.
pub fn take_referral(rows: &mut Rows, code: &CodeText) -> Result<Option<Referral>, StoreError> {
    rows.take_live(&keys::referral(code))
}

/// The code in a row that a failed condition returned; `None` if there is none or it does not decode.
pub fn decode_old(old: Option<&Item>) -> Option<Code> {
    let mut item = old?.clone();
    // A coupon that was never used may have been written without its counter.
    item.entry(USES.to_owned()).or_insert_with(|| AttributeValue::N("0".to_owned()));
    dynamodb::from_item(item).ok()
}

/// The write that counts a use of a coupon, on the condition that it has uses left, and that what it allows one user and whom it is
/// for are as they were read: [`use_by_user`] and the first purchase rely on that.
pub fn use_coupon(coupon: &Coupon) -> Write {
    let read = [
        ("max_uses_per_user", coupon.max_uses_per_user.map(u64::from)),
        ("once_per", coupon.once_per.map(u64::from)),
        ("user", coupon.user.map(UserId::get)),
    ];
    let first = if coupon.first_purchase { "#first = :first" } else { "attribute_not_exists(#first)" };
    let write = Write::add(keys::code(&coupon.code), USES, 1)
        .only_if(format!(
            "#kind = :coupon AND {first} AND (attribute_not_exists(#most) OR attribute_not_exists(#added) OR #added < #most)"
        ))
        .name("#kind", "kind")
        .name("#first", "first_purchase")
        .name("#most", "max_uses")
        .text(":coupon", "coupon");
    let write = if coupon.first_purchase { write.flag(":first", true) } else { write };
    read.into_iter().fold(write, |write, (name, value)| {
        let write = write.name(format!("#{name}"), name);
        match value {
            Some(value) => write.and_if(&format!("#{name} = :{name}")).number(format!(":{name}"), value),
            None => write.and_if(&format!("attribute_not_exists(#{name})")),
        }
    })
}

/// The write that counts a user's use of a coupon at a second (since 1970 UTC), on the condition that the user has uses left, and
/// that the last one is long enough ago.
pub fn use_by_user(coupon: &Coupon, user: UserId, at: i64) -> Write {
    let mut write = Write::add(keys::code_use(&coupon.code, user), USES, 1);
    if let Some(seconds) = coupon.once_per {
        let before = at.saturating_sub(seconds.into());
        write = write.also("SET #last = :at").name("#last", LAST).number(":at", at);
        write = write.only_if("attribute_not_exists(#last) OR #last <= :before").number(":before", before);
    }
    let Some(each) = coupon.max_uses_per_user else { return write };
    let is_left = "(attribute_not_exists(#added) OR #added < :each)";
    let write = if coupon.once_per.is_some() { write.and_if(is_left) } else { write.only_if(is_left) };
    write.number(":each", each)
}

/// The write that gives a user's use back, which was taken at a second (since 1970 UTC). The one before it is longer ago than the
/// coupon asks for.
pub fn return_use_by_user(code: &CodeText, user: UserId, read: CouponUses, at: i64) -> Write {
    let write = return_use(keys::code_use(code, user));
    if read.last != Some(at) {
        return write;
    }
    write.also("REMOVE #last").and_if("#last = :at").name("#last", LAST).number(":at", at)
}

/// The write that gives a use back, of a coupon or of a user of it.
pub fn return_use(key: Key) -> Write {
    Write::add(key, USES, "-1").only_if("#added > :zero").number(":zero", 0)
}

/// The write that takes a payment from a gift card, on the condition that the balance allows it.
pub fn charge_gift_card(payment: &GiftCardPayment) -> Write {
    Write::update(keys::code(&payment.code), "SET balance = balance - :amount")
        .only_if("#kind = :gift AND balance >= :amount")
        .name("#kind", "kind")
        .text(":gift", "gift")
        .number(":amount", payment.amount.minor())
}

/// The write that returns a payment to a gift card.
pub fn refund_gift_card(payment: &GiftCardPayment) -> Write {
    Write::add(keys::code(&payment.code), "balance", payment.amount.minor()).only_if_present()
}

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

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Addition {
    /// Unique among those of the balance.
    pub key: String,
    pub amount: Money,
    pub note: String,
    /// When it was added, seconds since 1970 UTC.
    pub at: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Added {
    /// It is added to the balance.
    Written,
    /// The balance got an amount with this key before; nothing was written.
    Before(Addition),
    /// There is no such account, or the card was removed or replaced by another; nothing was written.
    NoOwner,
    /// The balance would be above [`Money::LARGEST`]; nothing was written.
    TooMuch,
}

/// Gives an account a credit, once per key. Without a response it is not known whether it was given: the same call
/// gives it only once.
pub async fn credit(db: &Db, user: UserId, credit: &Addition) -> Result<Added, StoreError> {
    let balance = accounts::credit_up_to(user, credit.amount, most(credit));
    give(db, keys::credit(user, &credit.key), balance, user.get(), credit).await
}

/// Adds to a gift card's balance, and to what was put on it in all, once per key. Without a response it is not known
/// whether it was added: the same call adds it only once.
pub async fn top_up(db: &Db, card: &GiftCard, top_up: &Addition) -> Result<Added, StoreError> {
    let sums = "SET balance = balance + :amount, start_balance = start_balance + :amount";
    let balance = Write::update(keys::code(&card.code), sums.to_owned())
        .only_if("#id = :id AND balance <= :most")
        .name("#id", "id")
        .number(":id", card.id)
        .number(":amount", top_up.amount.minor())
        .number(":most", most(top_up));
    give(db, keys::top_up(&card.code, &top_up.key), balance, card.id.get(), top_up).await
}

/// The amounts of a partition, oldest first.
pub async fn of(db: &Db, partition: &str) -> Result<Vec<Addition>, StoreError> {
    let rows = db.query(partition).await?;
    let mut found: Vec<Addition> = rows.into_iter().map(Row::live_found).collect::<Result<_, _>>()?;
    found.sort_by_key(|addition| addition.at);
    Ok(found)
}

/// The largest balance to which an amount can be added, in minor units.
const fn most(addition: &Addition) -> i64 {
    Money::LARGEST.minor() - addition.amount.minor()
}

/// Writes an amount under `key`, with `balance`, which adds it to the row with the id `owner`.
async fn give(db: &Db, key: Key, balance: Write, owner: u64, addition: &Addition) -> Result<Added, StoreError> {
    let row = Write::put_live(key.clone(), addition)?.only_if_absent();
    let writes = vec![row.guarded_by(Refusal::Before), balance.guarded_by(Refusal::Balance(owner))];
    in_turns(TURNS, || async {
        Ok(match send_guarded(db, writes.clone()).await? {
            Ok(()) => Added::Written,
            Err(Refusal::Before) => Added::Before(read_live(db, &key).await?.ok_or(StoreError::Contended)?),
            Err(Refusal::Balance(_)) => Added::TooMuch,
            Err(Refusal::NoOwner) => Added::NoOwner,
        })
    })
    .await
}

/// The reason for which nothing is added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refusal {
    Before,
    /// The balance of the owner with this id.
    Balance(u64),
    NoOwner,
}

impl Guard for Refusal {
    type Refusal = Self;

    fn refusal(&self, old: Option<&Item>) -> Option<Self> {
        let Self::Balance(id) = self else { return Some(*self) };
        let is_owner = old.and_then(|item| item.get("id")?.as_n().ok()).is_some_and(|found| *found == id.to_string());
        Some(if is_owner { *self } else { Self::NoOwner })
    }
}
