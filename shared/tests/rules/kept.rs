//! Rules about what orders keep: who is credited for them, and what is removed when a player is erased.

use crate::any::order;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde_json::json;
use shared::model::{
    Cart, CodeText, ItemId, Line, LineId, LineVariable, Money, Order, OrderEffects, OrderLine, OrderReferral,
    OrderStatus, PlayerName, UserId,
};
use shared::rules::erase::ErasedPlayer;
use shared::rules::order::by_item;
use shared::rules::ownership::shares;
use shared::rules::referral::Credits;

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
