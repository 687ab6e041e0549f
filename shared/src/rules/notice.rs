//! The texts of notices: which words each event has, and what they are filled with (rules.md, "Notices").
//!
//! `{player}` and its like are words, `{{` is a brace. What is filled in is never read again.

use crate::model::{About, Money, Notice, NoticeEvent, NoticeLine, NoticeOrder};
use crate::money::{CurrencyFormat, date_and_time};
use crate::rules::command_text::{Part, parts};
use sha2::{Digest, Sha256};

/// The most characters of a text, its words not filled.
pub const LONGEST_TEXT: usize = 1_000;
/// Every event by the word that `store.yaml` and payloads have for it.
pub const EVENTS: [(&str, NoticeEvent); 12] = [
    ("paid", NoticeEvent::Paid),
    ("free_order", NoticeEvent::FreeOrder),
    ("refunded", NoticeEvent::Refunded),
    ("disputed", NoticeEvent::Disputed),
    ("renewed", NoticeEvent::Renewed),
    ("cancelled", NoticeEvent::Cancelled),
    ("gave_up", NoticeEvent::GaveUp),
    ("sold_out", NoticeEvent::SoldOut),
    ("goal", NoticeEvent::Goal),
    ("refused_command", NoticeEvent::RefusedCommand),
    ("silent_server", NoticeEvent::SilentServer),
    ("daily", NoticeEvent::Daily),
];

/// The event of a word.
pub fn event(word: &str) -> Option<NoticeEvent> {
    EVENTS.iter().find(|(known, _)| *known == word).map(|(_, event)| *event)
}

/// The word of an event.
pub fn word(event: NoticeEvent) -> &'static str {
    EVENTS.iter().find(|(_, known)| *known == event).map_or("", |(word, _)| word)
}

/// The id of a notice: the word of what happened and what it happened to, and nothing secret. It has 20 to 200 characters of
/// `[A-Za-z0-9_.-]`; a hash is in the place of parts that do not fit, such as an order's id of the owner's own.
pub fn id(parts: &[&str]) -> String {
    let plain = parts.join("-");
    let is_sign = |sign: u8| sign.is_ascii_alphanumeric() || matches!(sign, b'_' | b'.' | b'-');
    if (20..=200).contains(&plain.len()) && plain.bytes().all(is_sign) {
        return plain;
    }
    let hash = hex::encode(Sha256::digest(plain.as_bytes()));
    format!("{}-{}", parts.first().copied().unwrap_or_default(), &hash[..40])
}

const OF_ORDER: &str = "player items total order status method coupon referral gift_card tax";

/// The words that the text of an event may have.
pub fn words(event: NoticeEvent) -> Vec<&'static str> {
    let (of_order, own) = match event {
        NoticeEvent::Paid | NoticeEvent::FreeOrder | NoticeEvent::Renewed => (OF_ORDER, ""),
        NoticeEvent::Refunded => (OF_ORDER, "amount refunded"),
        NoticeEvent::Disputed => (OF_ORDER, "dispute"),
        NoticeEvent::Cancelled => ("", "player item order until"),
        NoticeEvent::GaveUp | NoticeEvent::RefusedCommand => ("", "command server order answer"),
        NoticeEvent::SoldOut => ("", "item id"),
        NoticeEvent::Goal => ("", "goal sum times"),
        NoticeEvent::SilentServer => ("", "server since"),
        NoticeEvent::Daily => ("", "day report"),
    };
    of_order.split_whitespace().chain(own.split_whitespace()).collect()
}

/// The text of an event for which the store has none of its own.
pub const fn default_text(event: NoticeEvent) -> &'static str {
    match event {
        NoticeEvent::Paid => "{player} bought {items} for {total}. Order {order}.",
        NoticeEvent::FreeOrder => "{player} took {items}, which cost nothing. Order {order}.",
        NoticeEvent::Refunded => {
            "{amount} of {player}'s order {order} went back, {refunded} of {total} in all: {items}."
        }
        NoticeEvent::Disputed => "The payment of {player}'s order {order} over {total} is disputed: {dispute}.",
        NoticeEvent::Renewed => "{player} paid a further period of {items}: {total}. Order {order}.",
        NoticeEvent::Cancelled => {
            "{player}'s subscription of {item} is not renewed; it lasts until {until}. Order {order}."
        }
        NoticeEvent::GaveUp => "A command of order {order} was given up on {server}: {command} ({answer})",
        NoticeEvent::SoldOut => "{item} is sold out.",
        NoticeEvent::Goal => "The goal {goal} is reached: {sum}.",
        NoticeEvent::RefusedCommand => "{server} refused a command of order {order}: {command} ({answer})",
        NoticeEvent::SilentServer => "{server} has commands to run and has not asked for them since {since}.",
        NoticeEvent::Daily => "{day}: {report}",
    }
}

/// A fault of an owner's text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TextFault {
    #[error("is empty: write the message, or leave it out")]
    Blank,
    #[error("has {0} characters; a text has at most {LONGEST_TEXT}")]
    TooLong(usize),
    #[error("the brace before `{0}` is not closed; write {{{{ for a brace")]
    Unclosed(String),
    #[error("{{{word}}} is not a word of this event; there are {known}; write {{{{ for a brace")]
    Unknown { word: String, known: String },
}

/// Checks an owner's text of an event.
pub fn check(event: NoticeEvent, text: &str) -> Result<(), TextFault> {
    let characters = text.chars().count();
    if text.trim().is_empty() {
        return Err(TextFault::Blank);
    }
    if characters > LONGEST_TEXT {
        return Err(TextFault::TooLong(characters));
    }
    let fault = parts(text).into_iter().find_map(|part| match part {
        Part::Text(_) => None,
        Part::Word(word) if words(event).contains(&word) => None,
        Part::Word(word) => {
            let known: Vec<String> = words(event).iter().map(|known| format!("{{{known}}}")).collect();
            Some(TextFault::Unknown { word: word.to_owned(), known: known.join(", ") })
        }
        Part::Unclosed(after) => Some(TextFault::Unclosed(after.chars().take(20).collect())),
    });
    fault.map_or(Ok(()), Err)
}

/// A text with its words replaced by what happened, each made harmless by `escape` for the place where it is shown. What is not a word of
/// the notice stays as it is written.
pub fn fill(text: &str, notice: &Notice, escape: impl Fn(&str) -> String) -> String {
    let mut filled = String::new();
    for part in parts(text) {
        match part {
            Part::Text(plain) => filled.push_str(plain),
            Part::Unclosed(after) => filled.extend(["{", after]),
            Part::Word(word) => match value(word, &notice.about) {
                Some(value) => filled.push_str(&escape(&value)),
                None => filled.extend(["{", word, "}"]),
            },
        }
    }
    filled
}

/// The value of a word; `None` if the subject does not have it.
fn value(word: &str, about: &About) -> Option<String> {
    let at = |seconds: &i64| format!("{} UTC", date_and_time(*seconds));
    Some(match (about, word) {
        (About::Order(order), _) => return of_order(word, order),
        (About::Subscription { player: name, .. }, "player") => player(name),
        (About::Subscription { name, .. } | About::Item { name, .. }, "item")
        | (About::Goal { name, .. }, "goal")
        | (About::Server { name, .. } | About::Command { server_name: name, .. }, "server") => name.clone(),
        (About::Subscription { order, .. } | About::Command { order, .. }, "order") => order.to_string(),
        (About::Subscription { until, .. }, "until") => at(until),
        (About::Item { id, .. }, "id") => id.to_string(),
        (About::Goal { sum, digits, currency, .. }, "sum") => money(*sum, *digits, currency),
        (About::Goal { times, .. }, "times") => times.to_string(),
        (About::Command { text, .. }, "command") => text.clone(),
        (About::Command { answer, .. }, "answer") => or(answer, "no answer"),
        (About::Server { silent_since, .. }, "since") => at(silent_since),
        (About::Day(day), "day") => day.day.clone(),
        (About::Day(day), "report") => {
            let look = |look: &String| format!(" (look: {look})");
            let lines =
                day.lines.iter().map(|line| line.text.clone() + &line.look.as_ref().map_or_else(String::new, look));
            lines.collect::<Vec<_>>().join("\n")
        }
        _ => return None,
    })
}

fn of_order(word: &str, order: &NoticeOrder) -> Option<String> {
    let money = |amount: Money| money(amount, order.digits, &order.currency);
    let optional = |text: &Option<String>| text.clone().unwrap_or_else(|| "none".to_owned());
    Some(match word {
        "player" => player(&order.player),
        "items" => items(&order.lines),
        "total" if order.virtual_total == Money::ZERO => money(order.total),
        "total" => {
            let format = CurrencyFormat::new(order.digits);
            let with_virtual = format!("{} of the virtual currency", format.money(order.virtual_total));
            if order.total == Money::ZERO { with_virtual } else { format!("{} and {with_virtual}", money(order.total)) }
        }
        "order" => order.id.to_string(),
        "status" => order.status.clone(),
        "method" => optional(&order.method),
        "coupon" => optional(&order.coupon),
        "referral" => optional(&order.referral),
        "gift_card" => money(order.gift_card),
        "tax" => money(order.tax),
        "amount" => money(order.refund.map_or(Money::ZERO, |refund| refund.amount)),
        "refunded" => money(order.refund.map_or(Money::ZERO, |refund| refund.refunded)),
        "dispute" => optional(&order.dispute),
        _ => return None,
    })
}

/// The lines of an order: `2 x Crate, Knight for Oldemar`.
fn items(lines: &[NoticeLine]) -> String {
    let shown = |NoticeLine { name, count, gift_to, .. }: &NoticeLine| {
        let units = if *count == 1 { String::new() } else { format!("{count} x ") };
        let gift = gift_to.as_ref().map_or_else(String::new, |player| format!(" for {player}"));
        format!("{units}{name}{gift}")
    };
    lines.iter().map(shown).collect::<Vec<_>>().join(", ")
}

fn money(amount: Money, digits: u8, currency: &str) -> String {
    format!("{} {currency}", CurrencyFormat::new(digits).money(amount))
}

fn player(name: &str) -> String {
    or(name, "A player")
}

fn or(text: &str, other: &str) -> String {
    if text.is_empty() { other.to_owned() } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// What an event is about, as it is stored.
    fn about(event: NoticeEvent) -> About {
        let stored = match event {
            NoticeEvent::Paid
            | NoticeEvent::FreeOrder
            | NoticeEvent::Refunded
            | NoticeEvent::Disputed
            | NoticeEvent::Renewed => json!({ "order": {
                "id": "6f1d0a3c", "status": "paid", "player": "Pebble", "currency": "EUR", "digits": 2, "total": 1_500,
                "lines": [
                    { "item": 7, "name": "Crate", "count": 2, "total": 500 },
                    { "item": 7, "name": "Knight", "count": 1, "total": 500, "gift_to": "Oldemar" },
                ],
                "tax": 100, "method": "card", "refund": { "amount": 500, "refunded": 700 }, "dispute": "needs_response",
            } }),
            NoticeEvent::Cancelled => {
                json!({ "subscription": { "order": "6f1d0a3c", "player": "", "item": 7, "name": "Crate", "until": 0 } })
            }
            NoticeEvent::GaveUp | NoticeEvent::RefusedCommand => json!({ "command": {
                "id": 3, "order": "6f1d0a3c", "server": 1, "server_name": "Survival", "text": "give Pebble a",
                "answer": "",
            } }),
            NoticeEvent::SoldOut => json!({ "item": { "id": 7, "name": "Crate" } }),
            NoticeEvent::Goal => {
                json!({ "goal": { "id": "1", "name": "Boots", "sum": 10_000, "currency": "EUR", "digits": 2, "times": 1 } })
            }
            NoticeEvent::SilentServer => json!({ "server": { "id": 1, "name": "Survival", "silent_since": 0 } }),
            NoticeEvent::Daily => json!({ "day": { "day": "2027-05-01", "lines": [{ "text": "0 wait." }] } }),
        };
        serde_json::from_value(stored).unwrap()
    }

    #[test]
    fn every_event_has_a_text_in_which_each_of_its_words_is_filled() {
        for (name, event) in EVENTS {
            assert_eq!((super::event(name), word(event)), (Some(event), name));
            let notice = Notice::new(event, "x".to_owned(), 0, about(event));
            let all: String = words(event).iter().flat_map(|word| ["{", *word, "}|"]).collect();
            for text in [default_text(event), all.as_str()] {
                assert_eq!(check(event, text), Ok(()), "{name}");
                let filled = fill(text, &notice, |value| format!("<{value}>"));
                assert!(!filled.contains('{') && !filled.contains("<>"), "{name}: {filled}");
            }
        }
    }

    #[test]
    fn a_text_is_filled_once_and_what_is_filled_in_is_escaped() {
        let mut about = about(NoticeEvent::Refunded);
        if let About::Order(order) = &mut about {
            (order.player, order.virtual_total) = ("{total}".to_owned(), Money::from_minor(300));
        }
        let notice = Notice::new(NoticeEvent::Refunded, "x".to_owned(), 0, about);
        for (text, filled) in [
            ("*{player}* {items}", "*({total})* (2 x Crate, Knight for Oldemar)"),
            ("{total} {amount} {refunded}", "(15.00 EUR and 3.00 of the virtual currency) (5.00 EUR) (7.00 EUR)"),
            ("{{player} } {coupon} {code} {", "{player} } (none) {code} {"),
        ] {
            assert_eq!(fill(text, &notice, |value| format!("({value})")), filled);
        }
    }

    #[test]
    fn an_id_is_made_of_what_happened_and_always_fits() {
        assert_eq!(id(&["paid", "abcdefghijklmnop"]), "paid-abcdefghijklmnop");
        for order in ["A1", "Bestellung 7/ü", &"x".repeat(255)] {
            let made = id(&["paid", order]);
            assert!((20..=200).contains(&made.len()) && made.starts_with("paid-") && made.is_ascii(), "{made}");
            assert_eq!(made, id(&["paid", order]));
        }
        assert_ne!(id(&["paid", "A1"]), id(&["paid", "A2"]));
    }

    #[test]
    fn a_fault_of_a_text_names_what_would_be_right() {
        let fault = |text: &str| check(NoticeEvent::SoldOut, text).unwrap_err().to_string();
        assert_eq!(
            fault("{player}"),
            "{player} is not a word of this event; there are {item}, {id}; write {{ for a brace"
        );
        assert_eq!(fault("{item"), "the brace before `item` is not closed; write {{ for a brace");
        assert_eq!(fault(&"x".repeat(1_001)), "has 1001 characters; a text has at most 1000");
        assert_eq!(fault(" "), "is empty: write the message, or leave it out");
    }
}
