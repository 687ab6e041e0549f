//! Disputes, by their states in the provider's words, and the evidence that is sent in one: what is known of an order, as text for a
//! bank (rules.md, "Disputes").

use super::sets::folded;
use crate::model::{
    Command, CommandEvent, LoginKind, Money, Order, OrderEffects, OrderLine, OrderSubscription, ServerId, StoreDelivery,
};
use crate::money::{CurrencyFormat, date_and_time};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::{IpAddr, SocketAddr};

/// The state of an order whose payment the bank warns of: a person other than the owner of the card may have paid.
pub const FRAUD_WARNING: &str = "early_fraud_warning";

/// The state of a dispute that the store has lost: the buyer keeps the money.
pub const LOST: &str = "lost";

/// Whether an order in this state is taken back. An inquiry is not a dispute, and one that is won was none.
pub fn takes_back(state: &str) -> bool {
    state != FRAUD_WARNING && !state.starts_with("warning_") && !matches!(state, "won" | "prevented")
}

/// Whether a dispute takes an order back, or has.
pub fn is_taken_back(effects: &OrderEffects) -> bool {
    effects.dispute.as_deref().is_some_and(takes_back)
}

/// The state that decides of those of all disputes of a payment: what is open before what is lost, that before an inquiry,
/// and what is won or warned of last.
pub fn decisive<'a>(states: impl Iterator<Item = &'a str>) -> &'a str {
    states.max_by_key(|state| (takes_back(state), *state != FRAUD_WARNING, !is_over(state))).unwrap_or_default()
}

/// Whether the bank waits for the store's response.
pub fn needs_response(state: &str) -> bool {
    matches!(state, "needs_response" | "warning_needs_response")
}

/// Whether it is decided: it never changes again.
pub fn is_over(state: &str) -> bool {
    matches!(state, "won" | LOST | "warning_closed" | "prevented")
}

/// Whether a state is older than the one that is noted: reads of the provider may overtake each other. An inquiry becomes a
/// dispute, and no dispute an inquiry.
pub fn is_older(state: &str, noted: &str) -> bool {
    is_over(noted) && !is_over(state) || takes_back(noted) && state.starts_with("warning_")
}

/// The longest text of a field in characters; the provider takes 20,000, and 150,000 in all.
pub const LONGEST_TEXT: usize = 10_000;
/// The longest text of a command, or of what a console responded to it, in characters.
const COMMAND: usize = 300;

/// A refund of the payment that the provider has made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfirmedRefund {
    /// The provider's id.
    pub id: String,
    /// In minor units of the payment's currency.
    pub amount: Money,
    /// When it was made, seconds since 1970 UTC.
    pub at: i64,
}

/// What is known of an order.
#[derive(Debug, Clone, Copy)]
pub struct OrderFacts<'a> {
    pub order: &'a Order,
    pub effects: &'a OrderEffects,
    pub format: CurrencyFormat,
    /// The store's name; empty if nothing is published.
    pub store: &'a str,
    /// The name of the account that paid; `None` after a guest checkout.
    pub buyer: Option<&'a str>,
    /// When the buyer agreed to the terms: for a renewal, when the subscription began.
    pub consented_at: Option<i64>,
    pub commands: &'a [Command],
    pub delivery: &'a StoreDelivery,
    pub refunds: &'a [ConfirmedRefund],
    /// Orders of the same buyer, surely, that were paid before and not disputed.
    pub earlier: &'a [Order],
}

/// The evidence, by the provider's names of the fields. What is not known is left out.
pub fn evidence(facts: &OrderFacts<'_>) -> BTreeMap<String, String> {
    let fields = [
        ("product_description", facts.bought()),
        ("service_date", vec![date_and_time(facts.given_at())[..10].to_owned()]),
        ("access_activity_log", facts.delivered()),
        ("refund_policy_disclosure", facts.consent()),
        ("refund_refusal_explanation", facts.refunded()),
        ("uncategorized_text", facts.of_buyer()),
    ];
    let filled = fields.into_iter().filter(|(_, lines)| !lines.is_empty());
    filled.map(|(field, lines)| (field.to_owned(), joined(&lines))).collect()
}

fn at(seconds: i64) -> String {
    format!("{} UTC", date_and_time(seconds))
}

impl OrderFacts<'_> {
    fn price(&self, amount: Money) -> String {
        format!("{} {}", self.format.money(amount), self.order.currency)
    }

    fn bought(&self) -> Vec<String> {
        let (order, store) = (self.order, self.clean(self.store));
        let seller = if store.is_empty() { "The store".to_owned() } else { store };
        let buyer = self.buyer.map_or_else(|| "a guest".to_owned(), |name| format!("the account \"{name}\""));
        let mut lines = vec![
            format!(
                "{seller} sells digital goods for players of its game servers, which gives them to the player in the game."
            ),
            format!("Order {} of {}, {}, by {buyer}:", order.id, at(order.created_at), self.price(order.price)),
        ];
        lines.extend(folded(&order.lines).iter().map(|line| self.line(line)));
        lines.extend(self.effects.subscription.as_ref().map(period));
        lines
    }

    fn line(&self, line: &OrderLine) -> String {
        let chosen = line.chosen.as_ref();
        let name = chosen.map_or_else(|| format!("item {}", line.item), |chosen| self.clean(&chosen.name));
        let gift = chosen.and_then(|chosen| chosen.gift_to.as_ref());
        let gift = gift.map(|name| format!(", a gift for the player {name}")).unwrap_or_default();
        format!("{} × {name}, {}{gift}", line.count, self.price(line.total))
    }

    /// When the first of it was given to the player, or else sold.
    fn given_at(&self) -> i64 {
        let bought = self.commands.iter().filter(|one| one.event == CommandEvent::Bought);
        let first = bought.filter_map(|one| one.delivery.executed_at.or(one.delivery.delivered_at)).min();
        first.unwrap_or(self.order.created_at)
    }

    fn delivered(&self) -> Vec<String> {
        // Erased texts are empty.
        let is_known = |one: &&Command| one.delivery.served_at.is_some() && !one.text.is_empty();
        let mut sent: Vec<&Command> = self.commands.iter().filter(is_known).collect();
        if sent.is_empty() {
            return Vec::new();
        }
        sent.sort_by_key(|command| (command.delivery.served_at, command.id));
        let head = "Commands that the store sent to the game servers for this order. received: the server confirmed that it took the \
                    command. ran: it gave the command to its console.";
        [head.to_owned()].into_iter().chain(sent.into_iter().map(|command| self.command(command))).collect()
    }

    fn command(&self, command: &Command) -> String {
        let delivery = &command.delivery;
        let known = [
            ("sent", delivery.served_at),
            ("received", delivery.delivered_at),
            ("asked whether it may run", delivery.validated_at),
            ("ran", delivery.executed_at),
            ("refused by the server", delivery.refused_at),
        ];
        let times: Vec<String> =
            known.iter().filter_map(|(word, time)| Some(format!("{word} {}", at((*time)?)))).collect();
        let times = times.join(", ");
        let (text, event) = (self.clean(&command.text), command.event.as_str());
        let response = command.output.as_ref().map(|output| self.clean(output)).filter(|output| !output.is_empty());
        let response = response.map(|text| format!("; the console responded: {text}")).unwrap_or_default();
        format!("{event}, server {}, player {}: {text}; {times}{response}", self.server(command.server), command.player)
    }

    fn server(&self, id: ServerId) -> String {
        let known = self.delivery.servers.iter().find(|server| server.id == id);
        known.map_or_else(|| id.to_string(), |server| server.name.clone())
    }

    fn consent(&self) -> Vec<String> {
        let consent = |time| {
            let what = "the buyer agreed to the store's terms and privacy policy in the store, before the payment";
            let renewal = self.effects.subscription.as_ref().is_some_and(|own| own.renewal);
            format!("At {} {what}{}.", at(time), if renewal { " with which the subscription began" } else { "" })
        };
        self.consented_at.map(consent).into_iter().collect()
    }

    fn refunded(&self) -> Vec<String> {
        let refund = |refund: &ConfirmedRefund| {
            format!(
                "{} of this payment was refunded at {}, refund {}.",
                self.price(refund.amount),
                at(refund.at),
                refund.id
            )
        };
        self.refunds.iter().map(refund).collect()
    }

    fn of_buyer(&self) -> Vec<String> {
        let login = self.effects.via.map(|via| match via {
            LoginKind::Proven => {
                "The buyer's login was confirmed in the game, or by a token that the store gave to the account."
            }
            LoginKind::Name => "The buyer logged in with the player's name.",
        });
        let moved = self.order.moved_to.map(|_| "The store later moved what was bought to another player's account.");
        let mut lines: Vec<String> = login.into_iter().chain(moved).map(str::to_owned).collect();
        if !self.earlier.is_empty() {
            let order = |one: &Order| format!("order {} of {}, {}", one.id, at(one.created_at), self.price(one.price));
            let all: Vec<String> = self.earlier.iter().map(order).collect();
            let how = "with a confirmed login as this time, or by the same card";
            lines.push(format!("The same account paid earlier, {how}, and undisputed: {}.", all.join("; ")));
        }
        lines
    }

    /// A text in one line, of limited length, without the addresses of computers, and nothing of one that names the order's gift
    /// card, which may have a balance.
    fn clean(&self, text: &str) -> String {
        let card = self.effects.gift_card.as_ref().map(|card| card.code.to_string());
        if card.is_some_and(|card| text.to_lowercase().contains(&card)) {
            return "(left out)".to_owned();
        }
        let line: String = text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
        let words = line.split_whitespace().map(without_address);
        words.collect::<Vec<_>>().join(" ").chars().take(COMMAND).collect()
    }
}

/// The period of a subscription that an order pays, in words.
fn period(own: &OrderSubscription) -> String {
    let (what, every, unit) = (if own.renewal { "renews" } else { "begins" }, own.plan.every, own.plan.unit.as_str());
    let until = own.paid_until.map(|until| format!(", and is for the time until {}", at(until))).unwrap_or_default();
    format!("The payment {what} a subscription, which is paid every {every} {unit}{until}.")
}

/// A word with another in the place of each address of a computer.
fn without_address(word: &str) -> String {
    let is_part = |letter: char| letter.is_ascii_hexdigit() || matches!(letter, '.' | ':');
    let (mut shown, mut rest) = (String::new(), word);
    while !rest.is_empty() {
        let end = rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
        let (part, next) = rest.split_at(end);
        let address = part.trim_matches(['.', ':']);
        let is_address = address.parse::<IpAddr>().is_ok() || address.parse::<SocketAddr>().is_ok();
        shown.push_str(if is_address { "(address)" } else { part });
        let mut letters = next.chars();
        shown.extend(letters.next());
        rest = letters.as_str();
    }
    shown
}

/// Lines as one text: as many whole ones as fit, and how many more there were.
fn joined(lines: &[String]) -> String {
    let (mut text, mut length) = (String::new(), 0);
    for (place, line) in lines.iter().enumerate() {
        length += line.chars().count() + 1;
        if length > LONGEST_TEXT - 40 {
            _ = write!(text, "({} more lines)", lines.len() - place);
            break;
        }
        text.push_str(line);
        text.push('\n');
    }
    text.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inquiry_becomes_a_dispute_and_that_is_decided() {
        for (noted, next) in [
            ("warning_under_review", "warning_closed"),
            ("warning_under_review", "needs_response"),
            ("needs_response", LOST),
            ("under_review", "won"),
            ("warning_needs_response", "won"),
        ] {
            assert_eq!((is_older(next, noted), is_older(noted, next)), (false, true), "{noted} {next}");
        }
        assert!(!is_older("under_review", "needs_response") && !is_older("won", LOST));
    }

    #[test]
    fn only_a_dispute_that_is_not_won_takes_an_order_back() {
        assert!(["needs_response", "under_review", "lost"].into_iter().all(takes_back));
        let marks = ["warning_needs_response", "warning_closed", "won", "prevented", FRAUD_WARNING];
        assert!(!marks.into_iter().any(takes_back));
        let by_weight = ["under_review", LOST, "warning_under_review", "won", FRAUD_WARNING];
        for (place, state) in by_weight.into_iter().enumerate() {
            assert_eq!(decisive(by_weight.into_iter().skip(place)), state);
            assert_eq!(decisive(by_weight.into_iter().rev().take(by_weight.len() - place)), state);
        }
    }

    #[test]
    fn an_address_is_not_sent_and_what_only_looks_like_one_is() {
        for (word, shown) in [
            ("192.0.2.1", "(address)"),
            ("[/192.0.2.1:25565]", "[/(address)]"),
            ("ip=2001:db8::7,", "ip=(address),"),
            ("12:00:03", "12:00:03"),
            ("1.2.3", "1.2.3"),
            ("×lp:user×", "×lp:user×"),
        ] {
            assert_eq!(without_address(word), shown);
        }
    }

    #[test]
    fn a_text_that_is_too_long_ends_after_a_whole_line() {
        let lines: Vec<String> = (0..100).map(|_| "é".repeat(500)).collect();
        let text = joined(&lines);
        assert!(
            text.chars().count() <= LONGEST_TEXT && text.ends_with("\n(81 more lines)"),
            "{}",
            text.chars().count()
        );
        assert_eq!(joined(&lines[..2]).chars().count(), 1_001);
    }
}
