//! `order list`.

use super::{facts, format_of};
use crate::answer::{Answer, columns};
use crate::cli::ListOrders;
use crate::commands::common::{published, shown_time};
use crate::commands::users::find;
use crate::error::Failure;
use crate::table::each;
use crate::target::Target;
use serde_json::json;
use shared::model::{Money, OrderStatus, UserId};
use shared::store::StoreError;
use shared::store::codec::{Row, key_of};
use shared::store::keys::prefix;
use shared::store::orders::StoredOrder;
use std::cmp::Reverse;

pub(in crate::commands) async fn list(target: &Target, options: &ListOrders) -> Result<Answer, Failure> {
    let digits = published(target).await?.config.digits;
    let user = match &options.user {
        Some(text) => Some(find(target, text).await?.id),
        None => None,
    };
    let mut orders = Vec::new();
    each(&target.db, prefix::ORDER, |item| {
        let stored = StoredOrder::decode(&key_of(&item)?, Row::from(item))?;
        orders.extend(is_wanted(&stored, options, user).then_some(stored));
        Ok::<(), StoreError>(())
    })
    .await?;
    orders.sort_by_key(|stored: &StoredOrder| Reverse(stored.order.id));
    let row = |stored: &StoredOrder| {
        let (order, format) = (&stored.order, format_of(stored, digits));
        vec![
            order.internal_id.to_string(),
            order.status.as_str().to_owned(),
            format!("{} {}", format.money(order.price), order.currency),
            order.gateway.clone(),
            order.owner.map_or_else(|| "-".to_owned(), |owner| owner.to_string()),
            shown_time(order.created_at),
            notes(stored),
        ]
    };
    let rows: Vec<Vec<String>> = orders.iter().map(row).collect();
    let text = columns(&["ID", "STATUS", "PRICE", "GATEWAY", "USER", "MADE", ""], &rows);
    let orders: Vec<_> = orders.iter().map(|stored| facts(stored, digits)).collect();
    Ok(Answer::new(text, json!({ "orders": orders })))
}

fn is_wanted(stored: &StoredOrder, options: &ListOrders, user: Option<UserId>) -> bool {
    let effects = &stored.effects;
    options.status.is_none_or(|status| stored.order.status == status)
        && user.is_none_or(|user| stored.order.owner == Some(user))
        && (!options.open || effects.due.is_some())
        && (!options.review || effects.review.is_some() || effects.dispute.is_some())
}

/// What is out of the ordinary, in few words.
fn notes(stored: &StoredOrder) -> String {
    let effects = &stored.effects;
    let mut notes: Vec<String> = Vec::new();
    notes.extend(effects.held.then(|| "held".to_owned()));
    notes.extend(effects.due.map(|due| format!("due {}", shown_time(due))));
    let refunded_in_part = stored.order.status == OrderStatus::Paid && effects.refunded > Money::ZERO;
    notes.extend(refunded_in_part.then(|| "refunded in part".to_owned()));
    notes.extend(effects.over_limit.then(|| "over a limit".to_owned()));
    notes.extend(effects.review.iter().map(|review| format!("review: {review}")));
    notes.extend(effects.dispute.iter().map(|dispute| format!("dispute: {dispute}")));
    notes.join(", ")
}
