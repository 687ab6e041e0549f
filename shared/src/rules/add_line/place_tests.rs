//! Adding and changing lines, by example and by property.

use super::*;
use crate::model::{
    CategoryId, Counted, ItemDelivery, Items, Ledger, Owned, PriceTier, PublishedItem, Sold, StoreDelivery,
    SubscriptionStatus, UserSubscription,
};
use crate::rules::cart::{Missing, PricedLine, missing, price_lines, sums};
use crate::rules::limits;
use crate::rules::pricing::{Buyer, Limits, Terms};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use std::collections::BTreeSet;
use std::sync::Arc;

const NOW: i64 = 1_000;
const BUYER: crate::model::UserId = crate::model::UserId::new(1);

fn published(item: serde_json::Value, price_tiers: Vec<PriceTier>) -> PublishedItem {
    let category = CategoryId::new(u64::from(price_tiers.is_empty()));
    PublishedItem {
        item: serde_json::from_value(item).unwrap(),
        category,
        parent: None,
        price_tiers,
        is_rank: false,
        delivery: ItemDelivery::default(),
        parts: Vec::new(),
    }
}

/// A line that is bought once, with nothing chosen.
fn wanted(item: u64, count: u32) -> LineToAdd {
    LineToAdd {
        item: ItemId::new(item),
        count,
        variables: Vec::new(),
        server: None,
        price: None,
        payment_type: PaymentType::OneOff,
        promoted: false,
        gift_to: None,
        is_recipient_banned: false,
    }
}

/// Price, flags, global limit and user limit of an item.
type Row = (i64, [bool; 5], Option<u32>, Option<u32>);

prop_compose! {
    /// Items 0..3 are steps of a cumulative category, 3..8 are not; 6 has variables and 7 servers.
    fn some_items()(
        rows in vec((0_i64..1_000, any::<[bool; 5]>(), option::of(0_u32..6), option::of(0_u32..6)), 8),
    ) -> Items {
        let tier = |(id, (price, ..)): (u64, &Row)| PriceTier {
            item: ItemId::new(id),
            price: Money::from_minor(*price),
        };
        let tiers: Vec<PriceTier> = (0..3).zip(&rows).map(tier).collect();
        let one = |(id, (price, flags, global, user)): (u64, Row)| {
            let [inactive, virtual_only, any_price, subscription, promoted] = flags;
            let mut item = serde_json::json!({
                "id": id, "name": "", "price": price, "active": !(inactive && id % 3 == 0),
                "virtual_only": virtual_only && id == 5, "virtual_price": price, "any_price": any_price && id > 5,
                "min_price": if any_price && id > 5 { price / 2 } else { 0 }, "gifting": id != 3,
                "is_subscription": subscription && id == 4, "global_limit": global, "user_limit": user,
                "promotion": promoted.then(|| serde_json::json!({ "price": price / 3, "sorting": 0 })),
            });
            if id == 6 {
                item["variables"] = serde_json::json!([
                    { "id": 1, "name": "W" }, { "id": 2, "name": "O", "options": ["a b", "c"] },
                    { "id": 3, "name": "N", "kind": "number" },
                ]);
            }
            if id == 7 {
                item["allow_select_server"] = true.into();
                item["servers"] = serde_json::json!([{ "id": 1, "name": "" }, { "id": 2, "name": "" }]);
            }
            let tiers = if id < 3 { tiers.clone() } else { Vec::new() };
            (ItemId::new(id), Arc::new(published(item, tiers)))
        };
        (0..).zip(rows).map(one).collect()
    }
}

fn some_variable() -> impl Strategy<Value = LineVariable> {
    let value = select(vec!["a", "a b", "c", "7", "-0.5", ""]);
    (0_u64..5, value).prop_map(|(id, value)| LineVariable { id, value: value.to_owned() })
}

/// The buyer, and more players than a cart may have gifts for.
fn some_player() -> impl Strategy<Value = PlayerName> {
    let names = (0..14).map(|number| if number == 0 { "BUYER".to_owned() } else { format!("Player{number}") });
    select(names.collect::<Vec<_>>()).prop_map(|name| PlayerName::parse(&name).unwrap())
}

prop_compose! {
    fn some_line()(
        item in 0_u64..9,
        count in 0_u32..4,
        price in option::weighted(0.3, 0_i64..1_500),
        payment in 0_usize..6,
        player in some_player(),
        is_recipient_banned in prop::bool::weighted(0.1),
        (variables, server, promoted) in (vec(some_variable(), 0..3), option::weighted(0.2, 0_u64..4), any::<bool>()),
    ) -> LineToAdd {
        let payments = [PaymentType::Gift, PaymentType::Subscription, PaymentType::Gift];
        let payment_type = payments.get(payment).copied().unwrap_or_default();
        LineToAdd {
            price: price.map(Money::from_minor),
            variables: if item == 6 { variables } else { Vec::new() },
            server: server.filter(|_| item > 6).map(ServerId::new),
            payment_type,
            promoted,
            gift_to: (payment_type == PaymentType::Gift).then_some(player),
            is_recipient_banned,
            ..wanted(item, count)
        }
    }
}

fn some_change() -> impl Strategy<Value = Change> {
    prop_oneof![
        (0_u32..1_002).prop_map(Change::Count),
        (0_u32..5).prop_map(Change::Count),
        some_variable().prop_map(Change::Variable),
        (0_u64..4).prop_map(|id| Change::Server(ServerId::new(id))),
        (0_i64..1_500).prop_map(|price| Change::Price(Money::from_minor(price))),
    ]
}

#[derive(Debug, Clone)]
enum Step {
    Add(LineToAdd),
    Change(u64, Change),
}

fn some_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        some_line().prop_map(Step::Add),
        (1_u64..9, some_change()).prop_map(|(line, change)| Step::Change(line, change)),
    ]
}

prop_compose! {
    fn some_ledger()(rows in vec((0_u64..8, 1_u32..3, 0_i64..1_000), 0..4)) -> Ledger {
        let mut ledger = Ledger::default();
        for (id, units, paid) in rows {
            ledger.entry(ItemId::new(id)).all = Owned { units, paid: Money::from_minor(paid) };
        }
        ledger
    }
}

prop_compose! {
    /// Of item 4, which may be a subscription, or of one before it.
    fn some_subscription()(item in 3_u64..5, status in 0_usize..3, until in NOW - 1..=NOW + 1) -> UserSubscription {
        use SubscriptionStatus::{Active, Cancelled, PastDue};
        let status = [Active, PastDue, Cancelled][status];
        let (id, name) = (String::new(), String::new());
        let (detail, access_until, ends_at, rank_of) = (None, None, None, None);
        let (item, price) = (ItemId::new(item), Money::ZERO);
        UserSubscription { id, item, name, price, status, detail, until, access_until, ends_at, rank_of }
    }
}

/// The invariants of every cart that was filled by the rules. The surroundings have not changed since.
fn assert_sound(inputs: &CartInputs<'_>) -> Result<(), TestCaseError> {
    let cart = inputs.cart;
    let priced = price_lines(&cart.lines, inputs.items, inputs.terms, inputs.owner);
    prop_assert_eq!(priced.len(), cart.lines.len());
    for line in &priced {
        prop_assert!(!line.availability.unavailable, "{:?}", line.line);
        prop_assert_eq!(line.count, line.line.count);
        prop_assert!((1..=Line::MAX_COUNT).contains(&line.count) && line.unit_price >= Money::ZERO);
        prop_assert!(line.line.price.is_none_or(|price| price == line.unit_price));
        let is_gift = line.line.payment_type == PaymentType::Gift;
        prop_assert_eq!(is_gift, line.line.gift_to.is_some());
        if is_gift {
            let sale = line.item().price.less(line.item().discount);
            prop_assert_eq!(line.unit_price, line.line.price.unwrap_or(sale), "the sale price");
        }
        prop_assert!(!missing(line.line, line.item()).contains(&Missing::Recipient));
    }
    let (total, money) = (sums(&priced), |line: &&PricedLine<'_>| !line.item().virtual_only);
    prop_assert_eq!(total.items, cart.lines.iter().map(|line| u64::from(line.count)).sum::<u64>());
    let cost = |line: &PricedLine<'_>| line.unit_price.times(line.line.count);
    prop_assert_eq!(total.clear_price, priced.iter().filter(money).map(cost).sum::<Money>());
    for (id, published) in inputs.items {
        let units = |of: &dyn Fn(&Line) -> bool| inputs.units(*id, of);
        let limits = Limits::of(limits::of(&published.item, inputs.terms, Some(inputs.owner), None));
        let within = |limit: Option<u32>, current: Option<u64>, units: u64| {
            units == 0 || limit.is_none_or(|limit| current.unwrap_or_default() + units <= u64::from(limit))
        };
        prop_assert!(within(limits.global, limits.global_current, units(&|_| true)));
        let own = units(&|line| line.payment_type != PaymentType::Gift);
        prop_assert!(within(limits.user, limits.user_current, own));
    }
    let subscribes = cart.lines.iter().any(|line| line.payment_type == PaymentType::Subscription);
    prop_assert!(!subscribes || total.items == 1, "a subscription is alone");
    let players: BTreeSet<_> = cart.lines.iter().filter_map(|line| Some(line.gift_to.as_ref()?.key())).collect();
    prop_assert!(players.len() <= Cart::MAX_RECIPIENTS && players.iter().all(|name| name.to_string() != "buyer"));
    let ids: BTreeSet<LineId> = cart.lines.iter().map(|line| line.id).collect();
    prop_assert_eq!(ids.len(), cart.lines.len());
    Ok(())
}

proptest! {
    #[test]
    fn a_line_that_is_accepted_is_priced_and_available(
        items in some_items(),
        ledger in some_ledger(),
        subscriptions in vec(some_subscription(), 0..3),
        sold in vec(0_u64..4, 8),
        has_virtual_currency in any::<bool>(),
        steps in vec(some_step(), 1..40),
    ) {
        let sold: Sold = (0..).map(ItemId::new).zip(sold.into_iter().map(Counted::from)).collect();
        let delivery = StoreDelivery::default();
        let owner = Buyer { ledger: &ledger, subscriptions: &subscriptions, now: NOW };
        let mut cart = Cart::empty(BUYER);
        for step in steps {
            let inputs = CartInputs {
                cart: &cart, items: &items, terms: Terms { sold: &sold, sales: &[], least: Money::ZERO, now: owner.now }, owner, buyer: "Buyer", has_virtual_currency,
                delivery: &delivery,
            };
            let units = |cart: &Cart| cart.lines.iter().map(|line| u64::from(line.count)).sum::<u64>();
            let changed = match &step {
                Step::Add(line) => {
                    let Ok(placed) = place(&inputs, line) else { continue };
                    let more = units(&cart) + u64::from(line.count);
                    prop_assert!(units(&placed.cart) == more || !placed.replaced.is_empty());
                    prop_assert!(placed.cart.lines.iter().any(|line| line.id == placed.line));
                    prop_assert!(!line.is_recipient_banned);
                    placed.cart
                }
                Step::Change(line, change) => {
                    let id = LineId::new(*line);
                    let Ok(Some(changed)) = super::change(&inputs, id, change) else { continue };
                    prop_assert!(changed != cart);
                    let again = CartInputs { cart: &changed, ..inputs };
                    prop_assert_eq!(super::change(&again, id, change), Ok(None), "the same again changes nothing");
                    changed
                }
            };
            // Every line that was ever accepted, not only the last.
            assert_sound(&CartInputs { cart: &changed, ..inputs })?;
            cart = changed;
        }
    }
}

#[test]
fn a_quantity_of_zero_and_a_price_above_the_largest_amount_are_refused() {
    let any_price = serde_json::json!({ "id": 1, "name": "", "price": 0, "active": true, "any_price": true });
    let items = Items::from([(ItemId::new(1), Arc::new(published(any_price, Vec::new())))]);
    let add = |line: &LineToAdd| {
        let (cart, sold, ledger) = (Cart::empty(BUYER), Sold::new(), Ledger::default());
        let inputs = CartInputs {
            cart: &cart,
            items: &items,
            terms: Terms { sold: &sold, sales: &[], least: Money::ZERO, now: 0 },
            owner: Buyer { ledger: &ledger, subscriptions: &[], now: NOW },
            buyer: "Buyer",
            has_virtual_currency: false,
            delivery: &StoreDelivery::default(),
        };
        place(&inputs, line).map(|placed| placed.cart.lines.len())
    };
    let priced = |minor| LineToAdd { price: Some(Money::from_minor(minor)), ..wanted(1, 1) };
    assert_eq!(add(&wanted(1, 0)), Err(LineRefusal::NoUnits));
    assert_eq!(add(&priced(Money::LARGEST.minor() + 1)), Err(LineRefusal::PriceTooHigh));
    assert_eq!(add(&priced(Money::LARGEST.minor())), Ok(1));
}
