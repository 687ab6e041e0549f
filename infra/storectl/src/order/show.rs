//! An order as it is printed, with the names of what it only has ids of: `order show`, and `order evidence`, what is known of an
//! order as text for a dispute.

use super::find;
use crate::answer::{narrow_columns, wrapped};
use crate::delivery::{CommandFacts, Progress, left_out, named};
use crate::prelude::*;
use serde::Serialize;
use shared::model::{
    AnswerOutcome, DisputeAnswer, InternalId, Item, ItemId, LineVariable, LoginKind, Money, OrderLine, OrderStatus,
    Proceeds, PublishedItem, RefundOutcome, ReviewOutcome, ServerId, Settings, User, UserId,
};
use shared::money::CurrencyFormat;
use shared::rules::dispute::is_over;
use shared::rules::order::users;
use shared::rules::refund::line_id;
use shared::shop::delivery::{Listed, listed_of};
use shared::shop::orders::StoredOrder;
use shared::table::{keys, read_published};
use std::collections::{BTreeMap, BTreeSet};

pub async fn show(at: &Deployment, id: &str) -> Outcome {
    let active = at.published().await?;
    let stored = find(at, &InternalId::new(id)).await?;
    let names = Names::read(at, std::slice::from_ref(&stored)).await?;
    let (order, format) = (&stored.order, CurrencyFormat::of(&stored.order));
    let owner = order.owner.map_or_else(|| "a guest".to_owned(), |owner| names.user(owner));
    let mut lines = vec![
        format!("{} {}", paint(STRONG, order.internal_id.as_str()), order.status.as_str()),
        format!("number {}, {} {}, {}, of {owner}", order.id, format.money(order.price), order.currency, order.gateway),
        Time(order.created_at).to_string(),
    ];
    lines.extend(order.moved_to.map(|player| format!("moved to {}", names.user(player))));
    let card = stored.effects.gift_card.as_ref().map(|part| part.code.to_string());
    lines.extend(buyer_lines(&stored, format, &names, card.as_deref()));
    lines.extend(checkout_lines(&stored, format));
    lines.extend(own_lines(&stored, format));
    let row = |(place, line): (usize, &OrderLine)| {
        let (count, total) = (line.count.to_string(), format.money(line.total).to_string());
        let returned = (line.returned > 0).then(|| format!("{} refunded", line.returned));
        let choices = [returned.unwrap_or_default(), names.choices(line)];
        let note = choices.iter().filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>().join(", ");
        [line_id(place, line).to_string(), line.item.to_string(), names.item(line), count, total, note]
    };
    let mut text: Vec<String> = lines.iter().map(|line| wrapped(line)).collect();
    let headings = ["LINE", "ITEM", "NAME", "COUNT", "TOTAL", ""];
    text.push(narrow_columns(headings, order.lines.iter().enumerate().map(row)));
    let (Listed { commands, unreadable }, now) = (listed_of(&at.db, &stored).await?, at.clock.seconds());
    let (unreadable, delivery) = (named(&unreadable), Progress::of(commands.iter(), now));
    let commands = CommandFacts::all(commands, &active, now);
    text.extend(delivery.as_ref().map(|progress| format!("delivery: {progress}")));
    text.extend(commands.iter().flat_map(CommandFacts::lines).map(|line| wrapped(&line)));
    text.extend(left_out(&unreadable));
    let order = facts(&stored, Some(&names));
    Ok(Printed::new(text.join("\n"), &facts! { #[serde(flatten)] order, unreadable, commands, delivery }))
}

/// The buyer of an order and the codes that were used, in words; `card` is how the gift card is named.
fn buyer_lines(stored: &StoredOrder, format: CurrencyFormat, names: &Names, card: Option<&str>) -> Vec<String> {
    let effects = &stored.effects;
    let mut lines = Vec::new();
    lines.extend(effects.via.map(|via| match via {
        LoginKind::Name => "logged in by name".to_owned(),
        LoginKind::Proven => "logged in by a token that proves the account".to_owned(),
    }));
    lines.extend(effects.chat.as_ref().map(|chat| format!("chat account {chat}")));
    lines.extend(effects.consented_at.map(|at| format!("agreed to terms and privacy policy at {}", Time(at))));
    lines.extend(effects.coupon.as_ref().map(|coupon| format!("coupon {coupon}")));
    let part = effects.gift_card.as_ref().zip(card);
    lines.extend(part.map(|(part, card)| format!("gift card {card} paid {}", format.money(part.amount))));
    if effects.virtual_currency > Money::ZERO {
        lines.push(format!("paid {} in virtual currency", format.money(effects.virtual_currency)));
    }
    let referral = effects.referral.as_ref();
    lines.extend(referral.map(|found| format!("referral {} of {}", found.code, names.user(found.owner))));
    lines
}

/// The checkout of an order, in words.
fn checkout_lines(stored: &StoredOrder, format: CurrencyFormat) -> Vec<String> {
    let effects = &stored.effects;
    let mut lines = Vec::new();
    let checkout = effects.provider.as_ref();
    if let Some(checkout) = checkout.filter(|one| one.session.is_some() || stored.order.status == OrderStatus::Pending)
    {
        let session = checkout.session.as_deref().unwrap_or("not opened yet");
        let intent = checkout.intent.as_ref().map(|intent| format!(", payment {intent}")).unwrap_or_default();
        lines.push(format!("checkout {session}{intent}, ends {}", Time(checkout.expires_at)));
    }
    lines.extend(tax_line(stored, format));
    if let Some(facts) = &effects.facts {
        let from = facts.country.as_ref().map(|country| format!(" from {country}")).unwrap_or_default();
        lines.push(format!("paid by {}{from}", facts.method.as_deref().unwrap_or("a method that is not known")));
        lines.extend(facts.proceeds.as_ref().map(|Proceeds { fee, net, currency }| {
            let format = payout_format(currency);
            format!("fee {}, net {} {currency}", format.money(*fee), format.money(*net))
        }));
    }
    if refunded(stored) > Money::ZERO {
        let (back, order) = (refunded(stored), &stored.order);
        let tax = Some(order.tax_of(back)).filter(|tax| *tax > Money::ZERO);
        let tax = tax.map(|tax| format!(", of which {} are tax", format.money(tax))).unwrap_or_default();
        lines.push(format!("refunded: {} of {}{tax}", format.money(back), format.money(order.price)));
    }
    lines.extend(refund_lines(stored, format));
    lines.extend(effects.dispute.iter().map(|dispute| {
        let all = effects.disputes.iter().map(|(id, state)| format!("{id} {state}")).collect::<Vec<_>>();
        paint(WARN, &format!("dispute: {dispute} ({})", all.join(", ")))
    }));
    lines
}

/// The tax of an order's payment, in words.
fn tax_line(stored: &StoredOrder, format: CurrencyFormat) -> Option<String> {
    let tax = stored.order.tax.as_ref()?;
    let rate = tax.rate.map(|rate| format!(" ({}.{:02} %)", rate / 100, rate % 100)).unwrap_or_default();
    let country = tax.country.as_ref().map(|country| format!(" in {country}")).unwrap_or_default();
    let place = if tax.on_top { "on top of the lines" } else { "in the lines" };
    let seller = if stored.is_sold_by_provider() { "; sold by Stripe in its own name" } else { "" };
    Some(format!("tax: {}{rate}{country}, {place}{seller}", format.money(tax.amount)))
}

/// Until when evidence is taken in a dispute that is not over, and whether the store has sent some.
fn answer_line(dispute: &str, answer: &DisputeAnswer, is_over: bool) -> String {
    let sent = match (answer.outcome, answer.sent_at) {
        (Some(AnswerOutcome::Submitted), Some(at)) => format!("evidence sent by itself {}", Time(at)),
        (Some(AnswerOutcome::Refused), Some(at)) => format!("evidence refused by Stripe {}", Time(at)),
        (Some(AnswerOutcome::Others), _) => "Stripe had evidence, and none was sent by itself".to_owned(),
        (None, Some(at)) => format!("evidence began to be sent {}", Time(at)),
        _ => "no evidence sent by itself".to_owned(),
    };
    let due_by = answer.due_by.filter(|_| !is_over).map(|until| format!("evidence is taken until {}; ", Time(until)));
    format!("dispute {dispute}: {}{sent}", due_by.unwrap_or_default())
}

/// An order's last attempt to refund, refunds that failed, and an operator's decisions.
fn refund_lines(stored: &StoredOrder, format: CurrencyFormat) -> Vec<String> {
    let effects = &stored.effects;
    let mut lines = Vec::new();
    let open = effects.refund_to.less(effects.refunded);
    if stored.order.status == OrderStatus::Paid && open > Money::ZERO {
        let open = format.money(open);
        let line =
            format!("{open} for returned units are still to be refunded: run `storectl order refund --line` again");
        lines.push(paint(WARN, &line));
    }
    if let Some(last) = &effects.refund {
        let outcome = last.outcome.map_or("not known to have ended", RefundOutcome::as_str);
        let reason = last.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        let (before, after) = (format.money(last.before), format.money(last.after));
        let line = format!("refund {} from {before} to {after}, {}: {outcome}{reason}", last.number, Time(last.at));
        lines.push(if last.is_open() { paint(WARN, &line) } else { line });
    }
    lines
}

/// Facts about an order that only the store's operator needs, in words.
fn own_lines(stored: &StoredOrder, format: CurrencyFormat) -> Vec<String> {
    let effects = &stored.effects;
    let mut lines = Vec::new();
    lines.extend(effects.due.map(|due| format!("something is left to do at {}", Time(due))));
    lines.extend(effects.answers.iter().map(|(dispute, answer)| {
        answer_line(dispute, answer, effects.disputes.get(dispute).is_some_and(|state| is_over(state)))
    }));
    if effects.held {
        lines.push("holds what it sells".to_owned());
    }
    if effects.failed_refunds > Money::ZERO {
        let (failed, open) = (format.money(effects.failed_refunds), format.money(effects.unreturned));
        let line = format!("refunds of {failed} failed; {open} have not been refunded again");
        let is_open = effects.unreturned > Money::ZERO;
        lines.push(if is_open { paint(WARN, &format!("{line}: `storectl order refund`")) } else { line });
    }
    lines.extend(effects.reviewed.as_ref().map(|reviewed| {
        let outcome = match reviewed.outcome {
            ReviewOutcome::Accepted => "accepted",
            ReviewOutcome::Refunded => "refunded",
        };
        format!("needed an operator: {}; {outcome} {}", reviewed.reason, Time(reviewed.at))
    }));
    if effects.over_limit {
        lines.push(paint(WARN, "a recipient is over a limit: another gift came in between"));
    }
    lines.extend(effects.review.iter().map(|review| paint(WARN, &format!("needs an operator: {review}"))));
    if stored.statistics_due() {
        lines.push(paint(WARN, "goals and donators do not show it yet; `storectl doctor` updates them"));
    }
    lines
}

/// The facts that the times of a command prove and do not prove.
const MEANING: &str = "`received` is when the game server confirmed that it had the command, `asked` when it asked whether it may \
                       still run, and `ran` when it reported that it handed the command to its console. None of them says \
                       what the command did there. `responded` is what the server's console responded to an agent, and \
                       `began` when an agent reported that it sent the command and had no response, `refused` when it \
                       reported that the console did nothing.";

pub async fn evidence(at: &Deployment, id: &str) -> Outcome {
    let active = at.published().await?;
    let stored = find(at, &InternalId::new(id)).await?;
    let settings: Option<Settings> = read_published(&at.db, &keys::settings(&active.version)).await?;
    let names = Names::read(at, std::slice::from_ref(&stored)).await?;
    let Listed { commands, unreadable } = listed_of(&at.db, &stored).await?;
    let now = at.clock.seconds();
    let commands = CommandFacts::all(commands, &active, now);
    let mut lines = vec![format!("Evidence for order {id}, printed {}", Time(now))];
    lines.extend(settings.map(|settings| format!("Store: {}", settings.website_name)));
    lines.extend(about_order(&stored, &names));
    lines.push(String::new());
    lines.push("Delivery to game servers:".to_owned());
    if commands.is_empty() {
        lines.push("  no command ran or waits for this order".to_owned());
    }
    lines.extend(commands.iter().flat_map(CommandFacts::evidence));
    lines.extend(left_out(&named(&unreadable)));
    if !commands.is_empty() {
        lines.push(MEANING.to_owned());
    }
    let text = anstream::adapter::strip_str(&lines.join("\n")).to_string();
    let mut order = value(&facts(&stored, Some(&names)));
    if let Some(part) = &stored.effects.gift_card {
        order["gift_card"]["code"] = part.code.masked().into();
    }
    Ok(Printed::new(text.as_str(), &facts! { #[serde(flatten)] order, commands, text: &text }))
}

fn about_order(stored: &StoredOrder, names: &Names) -> Vec<String> {
    let (order, format) = (&stored.order, CurrencyFormat::of(&stored.order));
    let owner = order.owner.map_or_else(|| "a guest".to_owned(), |owner| names.user(owner));
    let mut lines = vec![
        format!("Order: number {}, made {}, {}", order.id, Time(order.created_at), order.status.as_str()),
        format!("Payment: {} {} by {}", format.money(order.price), order.currency, order.gateway),
    ];
    lines.extend(checkout_lines(stored, format).into_iter().map(|line| format!("  {line}")));
    lines.push(format!("Buyer: {owner}"));
    lines.extend(order.moved_to.map(|player| format!("  moved to {} at the buyer's wish", names.user(player))));
    // A bank reads it, and the card may have a balance.
    let card = stored.effects.gift_card.as_ref().map(|part| part.code.masked());
    lines.extend(buyer_lines(stored, format, names, card.as_deref()).into_iter().map(|line| format!("  {line}")));
    if stored.effects.consented_at.is_none() {
        lines.push("  consent to terms and privacy policy: not recorded".to_owned());
    }
    lines.push("Bought:".to_owned());
    for line in &order.lines {
        let (name, total) = (names.item(line), format.money(line.total));
        let choices = names.choices(line);
        let choices = if choices.is_empty() { String::new() } else { format!(" ({choices})") };
        lines.push(format!("  {} × {name} (item {}), {total} {}{choices}", line.count, line.item, order.currency));
    }
    lines
}

/// An order, as it is printed.
pub fn facts<'a>(stored: &'a StoredOrder, names: Option<&'a Names>) -> impl Serialize + use<'a> {
    let (order, effects, format) = (&stored.order, &stored.effects, CurrencyFormat::of(&stored.order));
    let referral = effects.referral.as_ref().map(|referral| {
        facts! {
            code: &referral.code, owner: referral.owner,
            #[serde(flatten)] name: names.map(|names| facts! { owner_name: names.users.get(&referral.owner) }),
        }
    });
    let lines = order.lines.iter().enumerate().map(|(place, line)| line_facts(place, line, format, names));
    let card = effects.gift_card.as_ref();
    facts! {
        id: order.id, internal_id: &order.internal_id, status: order.status, price: format.money(order.price),
        currency: &order.currency, gateway: &order.gateway, created_at: Time(order.created_at), owner: order.owner,
        moved_to: order.moved_to, lines: lines.collect::<Vec<_>>(), coupon: &effects.coupon,
        gift_card: card.map(|part| facts! { code: &part.code, amount: format.money(part.amount) }),
        virtual_currency: format.money(effects.virtual_currency), referral, via: effects.via, chat: &effects.chat,
        consented_at: effects.consented_at.map(Time), statistics_due: stored.statistics_due(), held: effects.held,
        due: effects.due.map(Time),
        provider: effects.provider.as_ref().map(|checkout| facts! {
            session: &checkout.session, intent: &checkout.intent, until: Time(checkout.expires_at),
        }),
        tax: order.tax.as_ref().map(|tax| facts! {
            amount: format.money(tax.amount), on_top: tax.on_top, country: &tax.country, rate: tax.rate,
            refunded: format.money(order.tax_of(refunded(stored))), sold_by_provider: stored.is_sold_by_provider(),
        }),
        payment: effects.facts.as_ref().map(|facts| facts! {
            method: &facts.method, country: &facts.country,
            proceeds: facts.proceeds.as_ref().map(|Proceeds { fee, net, currency }| {
                let format = payout_format(currency);
                facts! { fee: format.money(*fee), net: format.money(*net), currency }
            }),
        }),
        refunded: format.money(refunded(stored)), over_limit: effects.over_limit, review: &effects.review,
        dispute: &effects.dispute, disputes: &effects.disputes,
        answers: effects.answers.iter().map(|(id, answer)| (id, facts! {
            until: answer.due_by.map(Time), sent_at: answer.sent_at.map(Time), outcome: answer.outcome,
        })).collect::<BTreeMap<_, _>>(),
        refund: effects.refund.as_ref().map(|last| facts! {
            number: last.number, before: format.money(last.before), after: format.money(last.after),
            at: Time(last.at), outcome: last.outcome, reason: &last.reason,
        }),
        failed_refunds: format.money(effects.failed_refunds), unreturned: format.money(effects.unreturned),
        reviewed: effects.reviewed.as_ref().map(|reviewed| facts! {
            reason: &reviewed.reason, outcome: reviewed.outcome, at: Time(reviewed.at),
        }),
        #[serde(flatten)]
        names: names.map(|names| facts! { player: order.player().and_then(|player| names.users.get(&player)) }),
    }
}

/// A line, with the names of what it has ids of, if they were read.
fn line_facts<'a>(
    place: usize,
    line: &'a OrderLine,
    format: CurrencyFormat,
    names: Option<&'a Names>,
) -> impl Serialize + use<'a> {
    let (chosen, item) = (line.chosen.as_ref(), line.item);
    let sold_as = || chosen.map(|chosen| chosen.name.clone());
    let variables = chosen.map_or(&[][..], |chosen| &chosen.variables).iter().map(move |variable| {
        facts! {
            #[serde(flatten)] variable,
            #[serde(flatten)] named: names.map(|names| facts! { name: names.variable(item, variable.id) }),
        }
    });
    let recipient = |names: &'a Names| line.recipient.and_then(|user| names.users.get(&user));
    let server = names.zip(chosen).map(|(names, chosen)| chosen.server.and_then(|id| names.server(item, id)));
    facts! {
        line: line_id(place, line), returned: line.returned, item,
        name: names.map_or_else(sold_as, |names| Some(names.item(line)).filter(|name| !name.is_empty())),
        count: line.count, total: format.money(line.total), payment_type: line.payment_type,
        recipient: line.recipient, gift_to: chosen.and_then(|chosen| chosen.gift_to.as_ref()),
        variables: variables.collect::<Vec<_>>(), server: chosen.and_then(|chosen| chosen.server),
        #[serde(flatten)] of_recipient: names.map(|names| facts! { recipient_name: recipient(names) }),
        #[serde(flatten)] of_server: server.map(|server_name| facts! { server_name }),
    }
}

/// The refunded part of an order's price: `effects.refunded` counts only parts.
pub fn refunded(stored: &StoredOrder) -> Money {
    if stored.order.status == OrderStatus::Refunded { stored.order.price } else { stored.effects.refunded }
}

/// The format of amounts in a currency in which the provider pays out.
pub fn payout_format(currency: &str) -> CurrencyFormat {
    CurrencyFormat::new(publish::currency::at_stripe(currency).map_or(2, |charged| charged.digits))
}

/// Names, as they are now. An account that was erased and an item that is no longer published have none.
#[derive(Debug, Default)]
pub struct Names {
    users: BTreeMap<UserId, String>,
    items: BTreeMap<ItemId, Item>,
}

impl Names {
    /// Reads the names that orders need.
    pub async fn read(at: &Deployment, orders: &[StoredOrder]) -> Result<Self> {
        let version = at.published().await?.version;
        let (mut users_of, mut items_of) = (BTreeSet::new(), BTreeSet::new());
        for stored in orders {
            users_of.extend(users(&stored.order));
            users_of.extend(stored.effects.referral.as_ref().map(|referral| referral.owner));
            items_of.extend(stored.order.lines.iter().map(|line| line.item));
        }
        let of_users = users_of.iter().map(|user| keys::user(*user));
        let of_items = items_of.iter().map(|item| keys::item(&version, *item));
        let mut rows = at.db.batch_get(of_users.chain(of_items).collect()).await?;
        let mut names = Self::default();
        for user in users_of {
            let key = keys::user(user);
            if let Some(row) = rows.take(&key) {
                names.users.insert(user, row.live::<User>(&key)?.username);
            }
        }
        for item in items_of {
            let key = keys::item(&version, item);
            if let Some(row) = rows.take(&key) {
                names.items.insert(item, row.published::<PublishedItem>(&key)?.0.item);
            }
        }
        Ok(names)
    }

    pub fn user(&self, user: UserId) -> String {
        self.users.get(&user).map_or_else(|| format!("user {user}"), |name| format!("{name} (user {user})"))
    }

    /// The name of a line's item: the one that it was sold under, or else the published one.
    pub fn item(&self, line: &OrderLine) -> String {
        let sold = line.chosen.as_ref().map(|chosen| chosen.name.clone());
        sold.or_else(|| self.items.get(&line.item).map(|item| item.name.clone())).unwrap_or_default()
    }

    fn variable(&self, item: ItemId, id: u64) -> Option<&str> {
        let item = self.items.get(&item)?;
        item.variables.iter().find(|variable| variable.id == id).map(|variable| variable.name.as_str())
    }

    fn server(&self, item: ItemId, id: ServerId) -> Option<&str> {
        let item = self.items.get(&item)?;
        item.servers.iter().find(|server| server.id == id).map(|server| server.name.as_str())
    }

    /// The choices of a line, as people read them.
    pub fn choices(&self, line: &OrderLine) -> String {
        let chosen = line.chosen.as_ref();
        let mut choices: Vec<String> = Vec::new();
        for LineVariable { id, value } in chosen.map_or(&[][..], |chosen| &chosen.variables) {
            let name = self.variable(line.item, *id);
            choices.push(format!("{} = {value}", name.map_or_else(|| format!("variable {id}"), ToOwned::to_owned)));
        }
        if let Some(id) = chosen.and_then(|chosen| chosen.server) {
            let name = self.server(line.item, id);
            choices.push(name.map_or_else(|| format!("server {id}"), |name| format!("server {name} ({id})")));
        }
        let gift_to = chosen.and_then(|chosen| chosen.gift_to.as_ref());
        choices.extend(match (line.recipient, gift_to) {
            (Some(user), _) if self.users.contains_key(&user) => Some(format!("gift for {}", self.user(user))),
            (Some(user), Some(name)) => Some(format!("gift for {name} (user {user})")),
            (Some(user), None) => Some(format!("gift for user {user}")),
            (None, Some(name)) => Some(format!("gift for {name}")),
            (None, None) => None,
        });
        choices.join(", ")
    }
}
