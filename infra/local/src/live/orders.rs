//! `live/orders.yaml`.

use super::context::Context;
use super::files::{OrderFile, OrderLineFile};
use publish::fault::Unique;
use publish::lower::{check_id, money};
use shared::model::{InternalId, ItemId, Money, Order, OrderLine, OrderNumber, OrderStatus, UserId};
use std::collections::BTreeMap;

pub(super) fn orders(files: &[OrderFile], context: &mut Context<'_>) -> Vec<Order> {
    let (mut ids, mut internal_ids) = (Unique::new("order id"), Unique::new("internal id"));
    let mut orders = Vec::with_capacity(files.len());
    let mut sold = Sold::default();
    for file in files {
        check_id(*file.id, file.id.line, "id", context.report);
        ids.take(context.report, *file.id, file.id.line, "id");
        let internal_id = &file.internal_id;
        internal_ids.take(context.report, internal_id.value.clone(), internal_id.line, "internal_id");
        let characters = internal_id.chars().count();
        if internal_id.trim().is_empty() || characters > InternalId::LONGEST {
            let problem = format!("must have 1 to {} characters", InternalId::LONGEST);
            context.report.fault(internal_id.line, "internal_id", problem);
        }
        let order = order(file, context);
        if order.created_at > context.now {
            let problem = "must not be in the future";
            context.report.fault(file.created_at.line, format!("[{}].created_at", *file.id), problem);
        }
        sold.add(&order, file, context);
        orders.push(order);
    }
    orders
}

#[derive(Default)]
struct Sold {
    in_all: BTreeMap<ItemId, u64>,
    by_user: BTreeMap<(ItemId, UserId), u64>,
}

impl Sold {
    /// Counts a paid order, and notes the limits that it exceeds.
    fn add(&mut self, order: &Order, file: &OrderFile, context: &mut Context<'_>) {
        if order.status != OrderStatus::Paid {
            return;
        }
        for line in &order.lines {
            let Some(item) = context.items.get(&line.item.get()).copied() else { continue };
            let mut check = |units: &mut u64, limit: Option<u32>, name: &str| {
                let before = *units;
                *units += u64::from(line.count);
                if let Some(limit) = limit.map(u64::from).filter(|limit| before <= *limit && *units > *limit) {
                    let problem = format!("makes it {units} units of item {}, whose {name} is {limit}", item.id);
                    context.report.fault(file.id.line, format!("[{}].lines", *file.id), problem);
                }
            };
            check(self.in_all.entry(item.id).or_default(), item.global_limit, "global_limit");
            if let Some(user) = line.beneficiary(order.owner) {
                check(self.by_user.entry((item.id, user)).or_default(), item.user_limit, "user_limit");
            }
        }
    }
}

fn order(file: &OrderFile, context: &mut Context<'_>) -> Order {
    let field = |name: &str| format!("[{}].{name}", *file.id);
    if let Some(owner) = &file.owner {
        context.check_user(**owner, owner.line, &field("owner"));
    }
    if file.lines.len() > Order::MAX_LINES {
        let problem = format!("an order has at most {} lines, this one has {}", Order::MAX_LINES, file.lines.len());
        context.report.fault(file.id.line, field("lines"), problem);
    }
    let lines: Vec<OrderLine> = file.lines.iter().map(|entry| line(entry, &field("lines"), context)).collect();
    let price = match &file.price {
        Some(price) => money(price, context.digits, &field("price"), context.report),
        None => lines.iter().map(|line| line.total).sum(),
    };
    if let Some(currency) = file.currency.as_ref().filter(|code| !context.currencies.contains(&code.as_str())) {
        let problem = format!(
            "must be one of the store's currencies: {}",
            context.currencies.iter().copied().collect::<Vec<_>>().join(", ")
        );
        context.report.fault(currency.line, field("currency"), problem);
    }
    Order {
        id: OrderNumber::new(*file.id),
        internal_id: InternalId::new(&file.internal_id),
        price,
        currency: file.currency.as_ref().map_or_else(|| context.currency.to_owned(), |code| code.value.clone()),
        digits: Some(context.digits),
        status: file.status,
        gateway: file.gateway.clone(),
        created_at: context.time(&file.created_at, &field("created_at")),
        owner: file.owner.as_ref().map(|owner| UserId::new(**owner)),
        moved_to: None,
        lines,
    }
}

fn line(file: &OrderLineFile, field: &str, context: &mut Context<'_>) -> OrderLine {
    let item = context.item(&file.item, &format!("{field}.item"));
    let count = file.count.as_ref().map_or(1, |count| **count);
    if let Some(written) = file.count.as_ref().filter(|count| ***count == 0) {
        context.report.fault(written.line, format!("{field}.count"), "must be at least 1");
    }
    let total = match (&file.total, item) {
        (Some(total), _) => money(total, context.digits, &format!("{field}.total"), context.report),
        (None, Some(item)) => item.price.less(item.discount).times(count),
        (None, None) => Money::ZERO,
    };
    let line = OrderLine::new(ItemId::new(*file.item), count, total);
    let Some(recipient) = &file.recipient else { return line };
    context.check_user(**recipient, recipient.line, &format!("{field}.recipient"));
    line.gift_for(UserId::new(**recipient))
}
