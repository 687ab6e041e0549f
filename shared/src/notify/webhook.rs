//! Messages to an address of the owner's own, by Standard Webhooks: one notice each, with the notice's id (rules.md, "Notices").
//! The form has a version of its own: fields are added to it and never renamed or removed.

use super::Message;
use crate::model::{About, Money, Notice, NoticeLine, NoticeOrder};
use crate::money::{CurrencyFormat, iso_8601};
use crate::rules::notice::word;
use serde_json::{Value, json};

/// The version of the form.
const VERSION: u32 = 1;

pub(super) fn message(notices: &[&Notice]) -> Message {
    let (id, body) = notices.first().map_or_else(Default::default, |notice| {
        (notice.id.clone(), envelope(word(notice.event), notice.at, &data(&notice.about)))
    });
    Message { count: 1, id, body }
}

pub(super) fn test(at: i64) -> String {
    envelope("test", at, &json!({}))
}

fn envelope(kind: &str, at: i64, data: &Value) -> String {
    json!({ "version": VERSION, "type": kind, "timestamp": iso_8601(at), "data": data }).to_string()
}

fn data(about: &About) -> Value {
    match about {
        About::Order(order) => of_order(order),
        About::Subscription { order, player, item, name, until } => {
            json!({ "order": order, "player": player, "item": item, "name": name, "until": iso_8601(*until) })
        }
        About::Item { id, name } => json!({ "item": id, "name": name }),
        About::Goal { id, name, sum, currency, digits, times } => {
            let sum = amount(*sum, *digits);
            json!({ "goal": id, "name": name, "sum": sum, "currency": currency, "times": times })
        }
        About::Command { id, order, server, server_name, text, answer } => json!({
            "command": id, "order": order, "server": server, "server_name": server_name, "text": text, "answer": answer,
        }),
        About::Server { id, name, silent_since } => {
            json!({ "server": id, "server_name": name, "silent_since": iso_8601(*silent_since) })
        }
        About::Day(day) => {
            let lines = day.lines.iter().map(|line| json!({ "text": line.text, "look": line.look }));
            json!({ "day": day.day, "lines": lines.collect::<Vec<_>>() })
        }
    }
}

fn of_order(order: &NoticeOrder) -> Value {
    let money = |minor: Money| amount(minor, order.digits);
    let line = |line: &NoticeLine| {
        let (total, virtual_total) = (money(line.total), money(line.virtual_total));
        json!({
            "item": line.item, "name": line.name, "count": line.count, "total": total, "virtual_total": virtual_total,
            "gift_to": line.gift_to,
        })
    };
    let refund =
        order.refund.map(|refund| json!({ "amount": money(refund.amount), "refunded": money(refund.refunded) }));
    json!({
        "order": order.id, "status": order.status, "player": order.player,
        "lines": order.lines.iter().map(line).collect::<Vec<_>>(),
        "currency": order.currency, "total": money(order.total), "virtual_total": money(order.virtual_total),
        "gift_card": money(order.gift_card), "tax": money(order.tax), "coupon": order.coupon, "referral": order.referral,
        "method": order.method, "refund": refund, "dispute": order.dispute,
    })
}

/// An amount as the API has it: a number in major units.
fn amount(money: Money, digits: u8) -> Value {
    json!(CurrencyFormat::new(digits).money(money))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{DayLine, NoticeDay};

    #[test]
    fn what_does_not_apply_is_null() {
        let line = |look: Option<&str>| DayLine { text: "said".to_owned(), look: look.map(str::to_owned) };
        let lines = vec![line(None), line(Some("storectl doctor"))];
        let day = About::Day(NoticeDay { day: "2027-05-01".to_owned(), lines });
        let lines = json!([{ "text": "said", "look": null }, { "text": "said", "look": "storectl doctor" }]);
        assert_eq!(data(&day), json!({ "day": "2027-05-01", "lines": lines }));
    }
}
