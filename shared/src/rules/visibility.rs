//! Access to an order (rules.md, "Who may see an order").

use crate::model::{Order, UserId};

/// The part that a caller is shown of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderVisibility<'a> {
    Shown(&'a Order),
    /// It has an owner, and the caller is anonymous.
    Unauthorized,
    /// It belongs to another user.
    Forbidden,
    /// There is no such order.
    NotFound,
}

/// Decides what a caller is shown of an order. `caller` is `None` without a token and with an invalid one.
pub fn visibility_of(order: Option<&Order>, caller: Option<UserId>) -> OrderVisibility<'_> {
    let Some(order) = order else { return OrderVisibility::NotFound };
    match (order.owner, caller) {
        (None, _) => OrderVisibility::Shown(order),
        (Some(_), None) => OrderVisibility::Unauthorized,
        (Some(owner), Some(caller)) if owner == caller => OrderVisibility::Shown(order),
        (Some(_), Some(_)) => OrderVisibility::Forbidden,
    }
}
