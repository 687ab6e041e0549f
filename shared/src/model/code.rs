//! Coupons, gift cards and referral codes.

use super::{CategoryId, CodeId, ItemId, Money, Percent, UserId};
use serde::{Deserialize, Serialize};

/// A normalised code: trimmed and lower-cased (rules.md, "Coupons and gift cards"), never empty.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CodeText(String);

/// A text that is blank once trimmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a code must not be blank")]
pub struct BlankCode;

impl CodeText {
    /// The longest coupon or gift card in characters, as sent.
    pub const LONGEST_COUPON: usize = 40;
    /// The longest referral code in characters, as sent.
    pub const LONGEST: usize = 255;

    /// Normalises a code that a buyer or an owner wrote.
    pub fn parse(text: &str) -> Result<Self, BlankCode> {
        let text = text.trim();
        if text.is_empty() { Err(BlankCode) } else { Ok(Self(text.to_lowercase())) }
    }

    /// The code for callers who must not learn it: `****` and its last four characters, or `****` alone if it has fewer
    /// than 12 characters.
    pub fn masked(&self) -> String {
        let count = self.0.chars().count();
        let shown = if count < 12 { 0 } else { 4 };
        format!("****{}", self.0.chars().skip(count - shown).collect::<String>())
    }
}

texts!(CodeText);

/// Which of the two kinds a code is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CodeKind {
    /// A coupon.
    Coupon,
    /// A gift card.
    Gift,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Discount {
    /// A share of every eligible line.
    Percentage(Percent),
    /// An amount, at most what the eligible lines cost.
    Amount(Money),
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Scope {
    /// Categories, each with its subcategories.
    #[serde(default)]
    pub categories: Vec<CategoryId>,
    #[serde(default)]
    pub items: Vec<ItemId>,
}

impl Scope {
    pub fn is_everything(&self) -> bool {
        self.categories.is_empty() && self.items.is_empty()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coupon {
    pub id: CodeId,
    pub code: CodeText,
    /// Whether it may be used.
    pub active: bool,
    /// The first second at which it may be used, since 1970 UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts_at: Option<i64>,
    /// The first second at which it may no longer be used, since 1970 UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends_at: Option<i64>,
    /// An amount of 0 if [`Coupon::cheapest_free`].
    pub discount: Discount,
    /// Whether it takes off the price of the cheapest unit of the eligible lines, of which there are at least two. It is not a
    /// [`Discount`], so that functions of a version from before it can still read the row.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub cheapest_free: bool,
    #[serde(default)]
    pub scope: Scope,
    #[serde(default)]
    pub minimum: Money,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_uses: Option<u32>,
    /// The number of uses allowed for one user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_uses_per_user: Option<u32>,
    /// The seconds from a user's use to the next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub once_per: Option<u32>,
    /// Whether it is only for the first purchase of who gets a line.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub first_purchase: bool,
    /// The only user who may use it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<UserId>,
    /// The number of uses so far. It is counted when an order is paid.
    #[serde(default)]
    pub uses: u32,
}

impl Coupon {
    /// Whether a buyer, who may be a guest, is one who may use it.
    pub fn is_for(&self, buyer: Option<UserId>) -> bool {
        self.user.is_none() || self.user == buyer
    }
}

/// A user's uses of a coupon, also by open checkouts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CouponUses {
    pub count: u32,
    /// When the last one began, seconds since 1970 UTC; stored only of a coupon with [`Coupon::once_per`].
    pub last: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GiftCard {
    pub id: CodeId,
    pub code: CodeText,
    /// Whether it may be used.
    pub active: bool,
    /// The first second at which it may be used, since 1970 UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts_at: Option<i64>,
    /// The first second at which it may no longer be used, since 1970 UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends_at: Option<i64>,
    /// The remaining amount. It is reduced when an order is paid.
    pub balance: Money,
    /// Everything that was put on it.
    pub start_balance: Money,
    /// Who it was made for, in the owner's words. Anyone who has the code may use it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_for: Option<String>,
    /// The owner's note.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A coupon or a gift card. Both share one set of codes (rules.md, "Coupons and gift cards").
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Code {
    Coupon(Coupon),
    Gift(GiftCard),
}

impl Code {
    /// Whether a buyer, who may be a guest, is one who may use it.
    pub fn is_for(&self, buyer: Option<UserId>) -> bool {
        match self {
            Self::Coupon(coupon) => coupon.is_for(buyer),
            Self::Gift(_) => true,
        }
    }

    pub const fn id(&self) -> CodeId {
        match self {
            Self::Coupon(coupon) => coupon.id,
            Self::Gift(gift) => gift.id,
        }
    }

    pub const fn text(&self) -> &CodeText {
        match self {
            Self::Coupon(coupon) => &coupon.code,
            Self::Gift(gift) => &gift.code,
        }
    }

    pub const fn kind(&self) -> CodeKind {
        match self {
            Self::Coupon(_) => CodeKind::Coupon,
            Self::Gift(_) => CodeKind::Gift,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Referral {
    pub code: CodeText,
    pub owner: UserId,
    /// The owner's name, shown in carts.
    pub owner_name: String,
    /// Whether it may be used.
    pub active: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_trimmed_and_lower_cased_never_upper_cased() {
        assert_eq!(CodeText::parse("  SUMMER ").unwrap().as_str(), "summer");
        assert_eq!(CodeText::parse("Straße").unwrap().as_str(), "straße");
        assert_eq!(CodeText::parse(" \t\n"), Err(BlankCode));
    }

    #[test]
    fn a_masked_code_shows_at_most_its_last_four_characters() {
        for (code, masked) in [
            ("glow-7qxm-2k4d", "****2k4d"),
            ("123456789012", "****9012"),
            ("ÄÖÜ-ÄÖÜ-ßÄÖÜ", "****ßäöü"),
            ("12345678901", "****"),
            ("1", "****"),
        ] {
            assert_eq!(CodeText::parse(code).unwrap().masked(), masked);
        }
    }
}
