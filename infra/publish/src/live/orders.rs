//! `live/orders.yaml`.

use super::Desk;
use crate::fault::Unique;
use crate::files::{OrderFile, OrderLineFile};
use crate::lower::{check_id, money};
use shared::model::{InternalId, ItemId, Money, Order, OrderLine, OrderNumber, UserId};

/// Reads every order.
pub(super) fn orders(files: &[OrderFile], desk: &mut Desk<'_>) -> Vec<Order> {
    let (mut ids, mut internal_ids) = (Unique::new("order id"), Unique::new("internal id"));
    let mut orders = Vec::with_capacity(files.len());
    for file in files {
        check_id(*file.id, file.id.line, "id", desk.report);
        ids.take(desk.report, *file.id, file.id.line, "id");
        let internal_id = &file.internal_id;
        internal_ids.take(desk.report, internal_id.value.clone(), internal_id.line, "internal_id");
        let characters = internal_id.chars().count();
        if internal_id.trim().is_empty() || characters > InternalId::LONGEST {
            let problem = format!("must have 1 to {} characters", InternalId::LONGEST);
            desk.report.fault(internal_id.line, "internal_id", problem);
        }
        orders.push(order(file, desk));
    }
    orders
}

fn order(file: &OrderFile, desk: &mut Desk<'_>) -> Order {
    let field = |name: &str| format!("[{}].{name}", *file.id);
    if let Some(owner) = &file.owner {
        desk.check_user(**owner, owner.line, &field("owner"));
    }
    if file.lines.len() > Order::MAX_LINES {
        let problem = format!("an order has at most {} lines, this one has {}", Order::MAX_LINES, file.lines.len());
        desk.report.fault(file.id.line, field("lines"), problem);
    }
    let lines: Vec<OrderLine> = file.lines.iter().map(|entry| line(entry, &field("lines"), desk)).collect();
    let price = match &file.price {
        Some(price) => money(price, desk.digits, &field("price"), desk.report),
        None => lines.iter().map(|line| line.total).sum(),
    };
    if let Some(currency) = file.currency.as_ref().filter(|code| !desk.currencies.contains(&code.as_str())) {
        let problem = format!(
            "must be one of the store's currencies: {}",
            desk.currencies.iter().copied().collect::<Vec<_>>().join(", ")
        );
        desk.report.fault(currency.line, field("currency"), problem);
    }
    Order {
        id: OrderNumber::new(*file.id),
        internal_id: InternalId::new(&file.internal_id),
        price,
        currency: file.currency.as_ref().map_or_else(|| desk.currency.to_owned(), |code| code.value.clone()),
        digits: Some(desk.digits),
        status: file.status,
        gateway: file.gateway.clone(),
        created_at: desk.time(&file.created_at, &field("created_at")),
        owner: file.owner.as_ref().map(|owner| UserId::new(**owner)),
        lines,
    }
}

fn line(file: &OrderLineFile, field: &str, desk: &mut Desk<'_>) -> OrderLine {
    let item = desk.item(&file.item, &format!("{field}.item"));
    let count = file.count.as_ref().map_or(1, |count| **count);
    if let Some(written) = file.count.as_ref().filter(|count| ***count == 0) {
        desk.report.fault(written.line, format!("{field}.count"), "must be at least 1");
    }
    let total = match (&file.total, item) {
        (Some(total), _) => money(total, desk.digits, &format!("{field}.total"), desk.report),
        (None, Some(item)) => item.price.less(item.discount).times(count),
        (None, None) => Money::ZERO,
    };
    let line = OrderLine::new(ItemId::new(*file.item), count, total);
    let Some(recipient) = &file.recipient else { return line };
    desk.check_user(**recipient, recipient.line, &format!("{field}.recipient"));
    line.gift_for(UserId::new(**recipient))
}
