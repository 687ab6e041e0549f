//! Rules about what orders keep: who is credited for them, what is removed when a player is erased, what a refund in part
//! returns of the tax on top of a price, and what a bank reads in a dispute.

use crate::any::{self, money, order};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde_json::json;
use shared::model::{
    Cart, CodeText, Command, InternalId, ItemId, Line, LineId, LineVariable, Money, Order, OrderEffects, OrderLine,
    OrderReferral, OrderStatus, PaymentFacts, PlayerName, ProviderAccount, ProviderCheckout, Server, ServerId,
    StoreDelivery, Tax, TaxMode, UserId,
};
use shared::money::CurrencyFormat;
use shared::rules::dispute::{ConfirmedRefund, LONGEST_TEXT, OrderFacts, evidence};
use shared::rules::erase::ErasedPlayer;
use shared::rules::order::{by_item, without_refunded};
use shared::rules::ownership::shares;
use shared::rules::payment::{Decision, PaymentState, Progress, amount_due, decide, tax_of};
use shared::rules::referral::Credits;
use std::collections::BTreeMap;

const PLAYER: UserId = UserId::new(1);

fn player() -> ErasedPlayer {
    ErasedPlayer {
        user: PLAYER,
        names: PlayerName::parse("Pebble").map(|name| name.key().clone()).into_iter().collect(),
    }
}

prop_compose! {
    fn some_line()(
        item in 1_u64..4,
        count in 1_u32..3,
        total in 0_i64..500,
        recipient in option::of(1_u64..4),
        gift_to in option::of(prop::sample::select(vec!["Pebble", "pEBBLE", "Wren"])),
        variable in option::of("[a-z]{1,8}"),
        is_bare in any::<bool>(),
    ) -> OrderLine {
        let mut line = OrderLine::new(ItemId::new(item), count, Money::from_minor(total));
        line.recipient = recipient.map(UserId::new);
        let variables: Vec<_> = variable.iter().map(|value| json!({ "id": 1, "value": value })).collect();
        let chosen = json!({ "line": 1, "name": "item", "variables": variables, "gift_to": gift_to });
        line.chosen = (!is_bare).then(|| serde_json::from_value(chosen).unwrap());
        line
    }
}

prop_compose! {
    fn some_order()(
        owner in option::of(1_u64..4),
        lines in vec(some_line(), 0..5),
        status in prop::sample::select(OrderStatus::ALL.to_vec()),
        created_at in 0_i64..100,
        price in 0_i64..500,
        currency in prop::sample::select(vec!["EUR", "USD"]),
    ) -> Order {
        let order = order(status, price, owner, lines);
        Order { created_at, currency: currency.to_owned(), ..order }
    }
}

proptest! {
    #[test]
    fn nothing_of_an_erased_player_is_left_in_an_order_and_what_was_sold_stays(order in some_order()) {
        let erased = player();
        let is_own = order.owner == Some(PLAYER);
        let lines = erased.without_in_order(&order, &OrderEffects::default());
        let after = Order { lines: lines.clone().unwrap_or_else(|| order.lines.clone()), ..order.clone() };
        for (before, line) in order.lines.iter().zip(&after.lines) {
            let name = line.chosen.as_ref().and_then(|chosen| chosen.gift_to.as_ref());
            prop_assert!(name.is_none_or(|name| name.as_str() == "Wren" && line.recipient != Some(PLAYER)));
            let variables = |line: &OrderLine| line.chosen.as_ref().map(|chosen| chosen.variables.clone());
            prop_assert!(!is_own || variables(line).is_none_or(|left| left.is_empty()));
            let named = before.chosen.as_ref().and_then(|chosen| chosen.gift_to.as_ref());
            let is_theirs = is_own
                || before.recipient == Some(PLAYER)
                || named.is_some_and(|name| name.as_str().eq_ignore_ascii_case("pebble"));
            prop_assert!(is_theirs || line == before, "another line has changed");
        }
        prop_assert_eq!((by_item(&after), shares(&after)), (by_item(&order), shares(&order)));
        prop_assert_eq!(erased.without_in_order(&after, &OrderEffects::default()), None, "once is enough");
        prop_assert_eq!(lines.is_some(), after != order);
    }

    #[test]
    fn credits_are_the_sum_of_paid_orders_in_any_order(
        orders in vec((some_order(), option::of(prop::sample::select(vec!["lantern", "toad"])), 0_i64..600), 0..8),
        from in 0_i64..100,
        length in 0_i64..100,
    ) {
        let period = from..from + length;
        let add = |credits: &mut Credits, (order, code, refunded): &(Order, Option<&str>, i64)| {
            let referral = code.map(|code| OrderReferral { code: CodeText::parse(code).unwrap(), owner: PLAYER });
            let refunded = Money::from_minor(*refunded).min(order.price);
            credits.add(order, &OrderEffects { referral, refunded, ..OrderEffects::default() }, &period);
        };
        let (mut forth, mut back) = (Credits::default(), Credits::default());
        for (first, last) in orders.iter().zip(orders.iter().rev()) {
            add(&mut forth, first);
            add(&mut back, last);
        }
        prop_assert_eq!(&forth, &back);
        let counts = |(order, code, _): &&(Order, Option<&str>, i64)| {
            code.is_some() && order.status == OrderStatus::Paid && period.contains(&order.created_at)
        };
        let expected: i64 =
            orders.iter().filter(counts).map(|(order, _, refunded)| (order.price.minor() - refunded).max(0)).sum();
        let sums = forth.0.values().flat_map(|credit| credit.sums.values());
        prop_assert_eq!(sums.map(|sum| sum.minor()).sum::<i64>(), expected);
        let orders = orders.iter().filter(counts).count() as u64;
        prop_assert_eq!(forth.0.values().map(|credit| credit.orders).sum::<u64>(), orders);
    }
}

#[test]
fn a_gift_line_of_a_cart_loses_the_name_and_what_was_typed_for_it() {
    let variable = LineVariable { id: 1, value: "Bramble".to_owned() };
    let gift = |to: &str| Line {
        gift_to: PlayerName::parse(to).ok(),
        variables: vec![variable.clone()],
        ..Line::new(LineId::new(1), ItemId::new(1), 1)
    };
    let cart = Cart { lines: vec![gift("PEBBLE"), gift("Wren")], ..Cart::empty(UserId::new(2)) };
    let lines = player().without_in_cart(&cart).unwrap();
    assert_eq!((&lines[0].gift_to, lines[0].variables.len(), &lines[1]), (&None, 0, &cart.lines[1]));
    assert_eq!(player().without_in_cart(&Cart { lines, ..cart }), None);
    let unnamed = ErasedPlayer { user: PLAYER, names: Vec::new() };
    assert_eq!(unnamed.without_in_cart(&Cart::empty(UserId::new(2))), None);
}

/// A paid order of lines with these totals, and so much tax on top or in them.
fn taxed(totals: &[i64], tax: i64, on_top: bool) -> Order {
    let lines = totals.iter().map(|total| OrderLine::new(ItemId::new(1), 1, money(*total))).collect();
    let price = totals.iter().sum::<i64>() + if on_top { tax } else { 0 };
    let tax = Some(Tax { amount: money(tax), on_top, ..Tax::default() });
    Order { tax, ..any::order(OrderStatus::Paid, price, None, lines) }
}

proptest! {
    #[test]
    fn parts_of_a_refund_return_the_whole_tax_and_never_more(
        totals in prop::collection::vec(1_i64..10_000, 1..5),
        percent in 0_i64..100,
        on_top in any::<bool>(),
        parts in prop::collection::vec(0_i64..4_000, 0..8),
    ) {
        let order = taxed(&totals, totals.iter().sum::<i64>() * percent / 100, on_top);
        let (price, tax) = (order.price, order.tax.as_ref().unwrap().amount);
        let (mut refunded, mut returned, mut kept) = (Money::ZERO, Money::ZERO, order.total());
        for part in parts.into_iter().chain([i64::from(i32::MAX)]) {
            let before = (order.tax_of(refunded), order.before_tax(refunded));
            refunded = (refunded + money(part)).min(price);
            prop_assert!(order.tax_of(refunded) >= before.0 && order.before_tax(refunded) >= before.1);
            returned = returned + order.tax_of(refunded).less(before.0);
            // Half up: twice the exact part is at most one off.
            let exact = i128::from(tax.minor()) * i128::from(refunded.minor()) * 2;
            let twice = i128::from(order.tax_of(refunded).minor()) * i128::from(price.minor()) * 2;
            prop_assert!((twice - exact).abs() <= i128::from(price.minor()));
            let left = without_refunded(&order, refunded);
            prop_assert!(left.total() <= kept);
            prop_assert_eq!(left.price, price - refunded);
            prop_assert_eq!(order.given_back(refunded) + left.total(), order.total());
            let tax_back = if on_top { order.tax_of(refunded) } else { Money::ZERO };
            prop_assert_eq!(left.total() + refunded, order.total() + tax_back);
            kept = left.total();
        }
        prop_assert_eq!((returned, kept), (tax, Money::ZERO));
    }
}

#[test]
fn tax_on_top_is_due_with_the_price_until_the_order_is_paid_and_is_in_it_then() {
    let account = ProviderAccount { id: None, live: false };
    let effects = |tax, tax_on_top| {
        let paid = ProviderCheckout::paid("cs_1".to_owned(), None, account.clone(), 0);
        let provider = Some(ProviderCheckout { tax, tax_on_top, ..paid });
        OrderEffects { provider, held: true, ..OrderEffects::default() }
    };
    let state = |amount: i64, currency: &str| PaymentState {
        session: "cs_1".to_owned(),
        order: Some(InternalId::new("order")),
        amount: money(amount),
        currency: currency.to_owned(),
        same_mode: true,
        progress: Progress::Paid,
        intent: Some("intent".to_owned()),
        refunded: Money::ZERO,
        failed_refunds: Money::ZERO,
        attempts: Vec::new(),
        disputes: Vec::new(),
        period: None,
        tax: Tax { amount: money(57), ..Tax::default() },
        facts: PaymentFacts::default(),
        card: None,
    };
    let order = |status, price| any::order(status, price, None, Vec::new());
    let decided =
        |status, price, effects: &OrderEffects, amount| decide(&order(status, price), effects, &state(amount, "eur"));
    let (on_top, inside) = (effects(TaxMode::Stripe, true), effects(TaxMode::Stripe, false));
    for status in [OrderStatus::Pending, OrderStatus::Cancelled, OrderStatus::Failed] {
        assert_eq!(decided(status, 300, &on_top, 357), Decision::Pay);
        assert_eq!(decided(status, 300, &inside, 300), Decision::Pay);
        for (effects, amount) in [(&on_top, 300), (&on_top, 356), (&inside, 357), (&effects(TaxMode::None, false), 357)]
        {
            assert_eq!(decided(status, 300, effects, amount), Decision::Review("the payment is of another amount"));
        }
    }
    assert_eq!(decided(OrderStatus::Paid, 357, &on_top, 357), Decision::Nothing);
    assert_eq!(amount_due(&order(OrderStatus::Refunded, 357), &on_top, &state(357, "eur")), money(357));
    let kept = |effects: &OrderEffects, amount, currency: &str| {
        tax_of(&order(OrderStatus::Pending, 300), effects, &state(amount, currency)).map(|tax| tax.on_top)
    };
    assert_eq!((kept(&on_top, 357, "eur"), kept(&inside, 300, "eur")), (Some(true), Some(false)));
    // What an operator accepts although it is another sum stays as it is.
    assert_eq!((kept(&on_top, 999, "eur"), kept(&on_top, 357, "usd")), (Some(false), Some(false)));
    assert_eq!(
        (kept(&effects(TaxMode::None, false), 300, "eur"), kept(&OrderEffects::default(), 300, "eur")),
        (None, None)
    );
}

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
