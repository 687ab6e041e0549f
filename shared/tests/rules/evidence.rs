//! The evidence in a dispute: the whole text that a bank reads, and what is never in it.

use crate::any::{self, money};
use serde_json::json;
use shared::model::{Command, OrderEffects, OrderLine, OrderStatus, Server, ServerId, StoreDelivery};
use shared::money::CurrencyFormat;
use shared::rules::evidence::{ConfirmedRefund, LONGEST_TEXT, OrderFacts, evidence};
use std::collections::BTreeMap;

/// 2026-06-15 12:00:00 UTC.
const SOLD: i64 = 1_781_524_800;

fn command(id: u32, text: &str, output: Option<&str>, served_at: Option<i64>) -> Command {
    let later = |seconds: i64| served_at.map(|at| at + seconds);
    let command = json!({
        "id": id, "version": 1, "order": "order", "line": 0, "item": 7, "event": "bought", "server": 1, "player": "Thornwick",
        "text": text, "output": output,
        "delivery": { "state": "executed", "due": SOLD, "served_at": served_at, "delivered_at": later(1), "executed_at": later(2) },
    });
    serde_json::from_value(command).unwrap()
}

/// The evidence about an order of a gift and a rank, with these commands.
fn about(commands: &[Command], effects: &serde_json::Value) -> BTreeMap<String, String> {
    let line = |item: u64, name: &str, total: i64, gift_to: Option<&str>| -> OrderLine {
        let chosen = json!({ "line": item, "name": name, "gift_to": gift_to });
        serde_json::from_value(json!({ "item": item, "count": 1, "total": total, "chosen": chosen })).unwrap()
    };
    let lines = vec![line(7, "Squire", 300, None), line(8, "Ember", 200, Some("Newt"))];
    let mut order = any::order(OrderStatus::Paid, 500, Some(1), lines);
    order.created_at = SOLD;
    let mut earlier = any::order(OrderStatus::Paid, 200, Some(1), Vec::new());
    earlier.created_at = SOLD - 86_400;
    let effects: OrderEffects = serde_json::from_value(effects.clone()).unwrap();
    let servers = vec![Server { id: ServerId::new(1), name: "Survival".to_owned() }];
    evidence(&OrderFacts {
        order: &order,
        effects: &effects,
        format: CurrencyFormat::new(2),
        store: "Emberfall",
        buyer: Some("Thornwick"),
        consented_at: effects.consented_at,
        commands,
        delivery: &StoreDelivery { servers, ..StoreDelivery::default() },
        refunds: &[ConfirmedRefund { id: "re_1".to_owned(), amount: money(100), at: SOLD + 60 }],
        earlier: &[earlier],
    })
}

#[test]
fn a_bank_reads_what_was_bought_and_given_and_refunded_and_by_whom() {
    let commands = [
        command(2, "give Thornwick ember", None, None),
        command(1, "lp user Thornwick parent add squire", Some("[LP] thornwick\nnow inherits squire."), Some(SOLD + 5)),
    ];
    let found = about(&commands, &json!({ "consented_at": SOLD - 9, "via": "proven" }));
    let expected = [
        (
            "access_activity_log",
            "Commands that the store sent to the game servers for this order. received: the server confirmed that it took the \
             command. ran: it gave the command to its console.\n\
             bought, server Survival, player Thornwick: lp user Thornwick parent add squire; sent 2026-06-15 12:00:05 UTC, \
             received 2026-06-15 12:00:06 UTC, ran 2026-06-15 12:00:07 UTC; the console responded: [LP] thornwick now inherits \
             squire.",
        ),
        (
            "product_description",
            "Emberfall sells digital goods for players of its game servers, which gives them to the player in the game.\n\
             Order 1 of 2026-06-15 12:00:00 UTC, 5.00 EUR, by the account \"Thornwick\":\n\
             1 × Squire, 3.00 EUR\n\
             1 × Ember, 2.00 EUR, a gift for the player Newt",
        ),
        (
            "refund_policy_disclosure",
            "At 2026-06-15 11:59:51 UTC the buyer agreed to the store's terms and privacy policy in the store, before the payment.",
        ),
        (
            "refund_refusal_explanation",
            "1.00 EUR of this payment was refunded at 2026-06-15 12:01:00 UTC, refund re_1.",
        ),
        ("service_date", "2026-06-15"),
        (
            "uncategorized_text",
            "The buyer's login was confirmed in the game, or by a token that the store gave to the account.\n\
             The same account paid earlier, with a confirmed login as this time, or by the same card, and undisputed: order 1 of 2026-06-14 12:00:00 UTC, 2.00 EUR.",
        ),
    ];
    assert_eq!(found, expected.map(|(field, text)| (field.to_owned(), text.to_owned())).into());
}

#[test]
fn no_address_and_no_code_of_a_gift_card_is_sent_and_no_text_is_longer_than_it_may_be() {
    let long = "x".repeat(2_000);
    let mut commands: Vec<Command> = (2..900).map(|id| command(id, &long, Some(&long), Some(SOLD + 9))).collect();
    commands.push(command(1, "mail Thornwick EMBER-1234", Some("joined from /192.0.2.7:50112"), Some(SOLD + 5)));
    let found = about(&commands, &json!({ "gift_card": { "code": "ember-1234", "amount": 5 } }));
    let all: Vec<&str> = found.values().map(String::as_str).collect();
    assert!(all.iter().all(|text| text.chars().count() <= LONGEST_TEXT), "{found:?}");
    let all = all.join("\n");
    assert!(all.contains("player Thornwick: (left out);") && all.contains("joined from /(address)"), "{all}");
    assert!(!all.to_lowercase().contains("ember-1234") && !all.contains("192.0.2.7"), "{all}");
    assert!(!found.contains_key("refund_policy_disclosure"), "nothing is said of a consent that is not known");
}
