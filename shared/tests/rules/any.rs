//! Any store, cart, buyer and code, for the properties of the rules.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde_json::json;
use shared::model::{
    CategoryId, Code, Coupon, CouponUses, Discount, GiftCard, Holding, Item, ItemId, Items, Ledger, Line, LineId,
    Money, OnSale, Order, OrderLine, OrderStatus, Owned, PaymentType, Percent, PriceTier, Promotion, PublishedItem,
    Run, Scope, Sold,
};
use shared::rules::cart::PricedLine;
use shared::rules::checkout::Payer;
use shared::rules::code::{CodeBuyer, CodeInputs, judge, taken_off};
use shared::rules::pricing::{Buyer, Terms};
use std::sync::Arc;

/// Seconds since 1970 UTC.
pub const NOW: i64 = 1_000;

/// A player who may pay for everything.
pub const RICH: Payer<'_> = Payer {
    is_proven: true,
    has_chat: true,
    virtual_currency: Money::from_minor(1_000_000),
    subscriptions: &[],
    now: NOW,
};

/// A buyer without subscriptions.
pub const fn buyer(ledger: &Ledger) -> Buyer<'_> {
    Buyer { ledger, subscriptions: &[], now: NOW }
}

/// The state of the store in which so much is sold.
pub const fn terms(sold: &Sold) -> Terms<'_> {
    Terms { sold, sales: &[], least: Money::ZERO, now: NOW }
}

pub const fn money(minor: i64) -> Money {
    Money::from_minor(minor)
}

pub fn item(id: u64, price: i64) -> Item {
    serde_json::from_value(json!({ "id": id, "name": format!("item {id}"), "price": price, "active": true })).unwrap()
}

pub fn published(item: &Item) -> PublishedItem {
    serde_json::from_value(json!({ "item": item, "category": 1 })).unwrap()
}

pub fn items(all: impl IntoIterator<Item = Item>) -> Items {
    all.into_iter().map(|item| (item.id, Arc::new(published(&item)))).collect()
}

pub fn line(id: u64, item: u64, count: u32) -> Line {
    Line::new(LineId::new(id), ItemId::new(item), count)
}

pub fn subscription(id: u64, item: u64) -> Line {
    Line { payment_type: PaymentType::Subscription, ..line(id, item, 1) }
}

pub fn order(status: OrderStatus, price: i64, owner: Option<u64>, lines: Vec<OrderLine>) -> Order {
    let order = json!({ "id": 1, "internal_id": "order", "price": price, "currency": "EUR", "digits": 2,
                        "status": status, "gateway": "Stripe", "created_at": NOW, "owner": owner });
    Order { lines, ..serde_json::from_value(order).unwrap() }
}

/// Items 0..8 in two categories, the first of them cumulative.
pub fn arb_items() -> impl Strategy<Value = Items> {
    let on_sale = option::weighted(0.2, NOW - 1..=NOW + 1);
    let one = (
        (0_i64..10_000, 0_u32..=100, any::<[bool; 5]>()),
        (option::of(0_u32..4), option::of(0_u32..4)),
        (on_sale.clone(), on_sale),
    );
    vec(one, 8).prop_map(|rows| {
        let mut published: Vec<PublishedItem> = rows
            .iter()
            .zip(0..)
            .map(|(((price, percent, flags), (global, user), (from, until)), id)| {
                let [active, subscription, any_price, virtual_only, promoted] = *flags;
                let mut item = item(id, *price);
                item.discount = money(price * i64::from(*percent) / 100);
                item.active = active || id % 2 == 0;
                item.is_subscription = subscription && id % 3 == 0;
                item.any_price = any_price && id % 3 == 1;
                item.min_price = if item.any_price { item.price.less(item.discount) } else { Money::ZERO };
                item.virtual_only = virtual_only && id % 4 == 0;
                item.on_sale = OnSale { from: *from, until: *until };
                item.virtual_price = Money::from_minor(price * 3);
                (item.global_limit, item.user_limit) = (*global, *user);
                item.promotion = promoted.then_some(Promotion { price: Money::from_minor(price / 2), sorting: 0 });
                PublishedItem { category: CategoryId::new(u64::from(id >= 4)), ..published(&item) }
            })
            .collect();
        let tiers: Vec<PriceTier> = published[..4]
            .iter()
            .filter(|published| !published.item.is_subscription)
            .map(|published| PriceTier { item: published.item.id, price: published.item.price })
            .collect();
        published[..4].iter_mut().for_each(|published| published.price_tiers.clone_from(&tiers));
        published.into_iter().map(|published| (published.item.id, Arc::new(published))).collect()
    })
}

pub fn arb_lines() -> impl Strategy<Value = Vec<Line>> {
    // Ids up to 9: some lines are of items that are no longer published.
    let one = (0_u64..10, 1_u32..5, option::of(0_i64..20_000), any::<bool>(), 0_u8..4);
    vec(one, 0..12).prop_map(|rows| {
        let line = |((item, count, price, promoted, kind), id)| Line {
            price: Option::map(price, Money::from_minor),
            payment_type: match kind {
                0 => PaymentType::Gift,
                1 => PaymentType::Subscription,
                _ => PaymentType::OneOff,
            },
            promoted,
            ..Line::new(LineId::new(id), ItemId::new(item), count)
        };
        rows.into_iter().zip(1..).map(line).collect()
    })
}

pub fn arb_ledger() -> impl Strategy<Value = Ledger> {
    // Some of it ends, or has ended.
    let ends_at = option::of(NOW - 1..=NOW + 1);
    vec((0_u64..8, 0_u32..3, 0_i64..10_000, ends_at), 0..6).prop_map(|rows| {
        let mut ledger = Ledger::default();
        for (id, units, paid, ends_at) in rows {
            let paid = Money::from_minor(if units == 0 { 0 } else { paid });
            let run = ends_at.map(|ends_at| Run { begun: ends_at - 1, ends_at, lasting: Owned::default() });
            *ledger.entry(ItemId::new(id)) = Holding { all: Owned { units, paid }, run };
        }
        ledger
    })
}

pub fn arb_sold() -> impl Strategy<Value = Sold> {
    vec((0_u64..8, 0_u64..5), 0..8)
        .prop_map(|rows| rows.into_iter().map(|(id, n)| (ItemId::new(id), n.into())).collect())
}

pub fn arb_scope() -> impl Strategy<Value = Scope> {
    (vec(0_u64..2, 0..2), vec(0_u64..8, 0..3)).prop_map(|(categories, items)| Scope {
        categories: categories.into_iter().map(CategoryId::new).collect(),
        items: items.into_iter().map(ItemId::new).collect(),
    })
}

pub fn arb_discount() -> impl Strategy<Value = Discount> {
    prop_oneof![
        (0_u32..=10_000).prop_map(|hundredths| Discount::Percentage(Percent::from_hundredths(hundredths))),
        (0_i64..50_000).prop_map(|minor| Discount::Amount(Money::from_minor(minor))),
    ]
}

/// Discounts of coupons, and whether they are off the cheapest unit.
pub fn arb_coupon_discount() -> impl Strategy<Value = (Discount, bool)> {
    prop_oneof![2 => arb_discount().prop_map(|discount| (discount, false)), 1 => Just((Discount::Amount(Money::ZERO), true))]
}

/// The amount that a coupon takes off each line.
pub fn parts(coupon: &Coupon, lines: &[PricedLine<'_>]) -> Vec<Money> {
    taken_off(coupon, lines, NEW).into_iter().map(|part| part.off).collect()
}

pub fn coupon(discount: Discount, scope: Scope) -> Coupon {
    let coupon = json!({ "id": 1, "code": "coupon", "active": true, "discount": discount });
    Coupon { scope, ..serde_json::from_value(coupon).unwrap() }
}

pub fn card(balance: i64) -> GiftCard {
    serde_json::from_value(
        json!({ "id": 2, "code": "card", "active": true, "balance": balance, "start_balance": balance }),
    )
    .unwrap()
}

/// A buyer who proves the account and has bought nothing.
pub const NEW: CodeBuyer = CodeBuyer { is_proven: true, has_bought: false };

/// A cart without a coupon, in a store without a least amount.
pub const fn inputs<'a>(lines: &'a [PricedLine<'a>]) -> CodeInputs<'a> {
    CodeInputs { lines, buyer: NEW, coupon_sum: Money::ZERO, least: Money::ZERO }
}

pub fn off(code: &Code, lines: &[PricedLine<'_>]) -> Option<Money> {
    judge(Some(code), CouponUses::default(), inputs(lines), NOW).ok().map(|applied| applied.sum)
}
