//! The live data of a store, checked.

use shared::model::{Cart, Code, CodeText, Order, Referral, User, UserId};
use shared::rules::statistics::Derived;

/// How often a user used a coupon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeUse {
    pub code: CodeText,
    pub user: UserId,
    /// Times.
    pub uses: u32,
}

/// All live data of a store.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Live {
    /// Buyers.
    pub users: Vec<User>,
    /// Carts; a user without one has never put anything in it.
    pub carts: Vec<Cart>,
    /// Coupons and gift cards.
    pub codes: Vec<Code>,
    /// Who used which coupon.
    pub code_uses: Vec<CodeUse>,
    /// Referral codes.
    pub referrals: Vec<Referral>,
    pub orders: Vec<Order>,
    /// What the orders add up to.
    pub derived: Derived,
}
