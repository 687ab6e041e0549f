//! The argument for an order's status.

use shared::model::OrderStatus;

pub(super) fn status(text: &str) -> Result<OrderStatus, String> {
    let wanted = text.trim().to_uppercase();
    let known = OrderStatus::ALL.into_iter().find(|status| status.as_str() == wanted);
    known.ok_or_else(|| "must be PENDING, PAID, FAILED, CANCELLED or REFUNDED".to_owned())
}
