//! The sale of a checkout and what becomes of it: the rules by themselves, for any cart, code and order.

use crate::any::{self, NOW, RICH, buyer, item, items, line, money, order, published, terms};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde_json::{Value, json};
use shared::model::{
    AppliedCoupon, AppliedGiftCard, Cart, Chosen, Code, CodeText, Counted, Coupon, CouponUses, GiftCardPayment, Held,
    Item, ItemId, Ledger, Line, LineId, Login, Money, OrderEffects, OrderLine, OrderStatus, PaymentType, Payments,
    PlayerName, PriceTier, PublishedItem, Scope, Sold, Units, UserId,
};
use shared::rules::cart::{PricedLine, price_lines};
use shared::rules::checkout::{
    Beneficiary, CheckoutRefusal, LARGEST_CHARGE, Payer, bill, may_own, sale, without_bought,
};
use shared::rules::code::{AppliedCodes, CodeInputs, judge};
use shared::rules::limits::{held, release_code, release_units};
use shared::rules::order::{spread, without_refunded};
use shared::rules::ownership::shares;
use std::sync::Arc;

fn text(text: &str) -> CodeText {
    CodeText::parse(text).unwrap()
}

fn gift(id: u64, item: u64, to: &str) -> Line {
    Line { payment_type: PaymentType::Gift, gift_to: Some(PlayerName::parse(to).unwrap()), ..line(id, item, 1) }
}

/// A coupon that three orders have used.
fn coupon(discount: &Value) -> Code {
    let discount = serde_json::from_value(discount.clone()).unwrap();
    Code::Coupon(Coupon { uses: 3, ..any::coupon(discount, Scope::default()) })
}

fn card(balance: i64) -> Code {
    Code::Gift(any::card(balance))
}

const fn uses(count: u32) -> CouponUses {
    CouponUses { count, last: Some(NOW) }
}

/// A coupon and a gift card, or neither, or one of them.
fn arb_codes() -> impl Strategy<Value = [Option<Code>; 2]> {
    let coupon = prop_oneof![
        (1_i64..30_000).prop_map(|amount| coupon(&json!({ "amount": amount }))),
        (1_u64..=10_000).prop_map(|share| coupon(&json!({ "percentage": share }))),
    ];
    (option::of(coupon), option::of((1_i64..30_000).prop_map(card))).prop_map(|(coupon, card)| [coupon, card])
}

/// The amounts that the codes take off, as a cart applies them.
fn apply<'a>([coupon, card]: &'a [Option<Code>; 2], lines: &[PricedLine<'_>], least: Money) -> AppliedCodes<'a> {
    let one = |code: &'a Option<Code>, coupon_sum| {
        judge(Some(code.as_ref()?), uses(0), CodeInputs { lines, buyer: any::NEW, coupon_sum, least }, NOW).ok()
    };
    let mut codes = AppliedCodes { coupon: one(coupon, Money::ZERO), gift_card: None };
    codes.gift_card = one(card, codes.coupon_sum());
    codes
}

/// Order lines as a checkout makes them.
fn arb_sold() -> impl Strategy<Value = Vec<OrderLine>> {
    vec((0_u64..4, 1_u32..5, 0_i64..5_000, option::of(1_u64..4)), 1..8).prop_map(|rows| {
        let line = |(item, count, total, to): (u64, u32, i64, Option<u64>)| {
            let line = OrderLine::new(ItemId::new(item), count, money(total));
            to.into_iter().fold(line, |line, to| line.gift_for(UserId::new(to)))
        };
        rows.into_iter().map(line).collect()
    })
}

fn sum(amounts: impl IntoIterator<Item = Money>) -> Money {
    amounts.into_iter().sum()
}

proptest! {
    #[test]
    fn the_bill_adds_up_to_the_price(
        rows in vec((0_i64..9_000, any::<bool>()), 4),
        lines in vec((0_u64..4, 1_u32..5, any::<bool>()), 1..9),
        codes in arb_codes(), least in 0_i64..200,
    ) {
        let item = |(id, (price, is_virtual)): (u64, (i64, bool))| {
            Item { virtual_only: is_virtual, virtual_price: money(7), gifting: true, ..item(id, price) }
        };
        let items = items((0..).zip(rows).map(item));
        let lines: Vec<Line> = (1..).zip(lines).map(|(id, (item, count, is_gift))| {
            if is_gift { gift(id, item, "Receiver") } else { line(id, item, count) }
        }).collect();
        let (sold, ledger) = (Sold::new(), Ledger::default());
        let lines = price_lines(&lines, &items, terms(&sold), buyer(&ledger));
        let codes = apply(&codes, &lines, money(least));
        // The coupon alone may leave too little.
        let sale = sale(&lines, &codes, &Payments::default(), RICH).unwrap();
        let bill = bill(&sale.lines, sale.gift_card.as_ref());
        prop_assert_eq!(sum(bill.iter().map(|line| line.amount)), sale.price);
        prop_assert!(bill.iter().all(|line| line.amount > Money::ZERO && line.name.starts_with("item ")));
        let clear = sum(lines.iter().filter(|line| line.is_payable()).map(PricedLine::total));
        let due = clear.less(codes.coupon_sum());
        prop_assert_eq!(sale.price, due.less(codes.gift_sum()));
        prop_assert_eq!(sale.price, codes.to_pay(&lines));
        prop_assert!(codes.gift_sum() <= due);
        if sale.gift_card.is_some() {
            prop_assert!(sale.price == Money::ZERO || sale.price >= money(least), "{:?}", sale);
        }
        let virtual_units: u32 = lines.iter().filter(|line| line.item().virtual_only).map(|line| line.count).sum();
        prop_assert_eq!(sale.virtual_currency, money(7).times(virtual_units));
        let held = held(&sale.lines, &OrderEffects::default());
        let units: u64 = held.units.iter().map(|units| units.count).sum();
        prop_assert_eq!(units, lines.iter().map(|line| u64::from(line.count)).sum::<u64>());
        prop_assert!(held.units.windows(2).all(|pair| pair[0].item < pair[1].item));
    }

    #[test]
    fn what_was_held_is_released_again(counts in vec((0_u64..6, 1_u64..9), 0..6), sold in vec(0_u64..50, 6)) {
        let lines: Vec<OrderLine> =
            counts.iter().map(|(item, count)| OrderLine::new(ItemId::new(*item), u32::try_from(*count).unwrap(), Money::ZERO)).collect();
        let held = held(&lines, &OrderEffects::default());
        let before: Sold = (0..).zip(sold).map(|(item, sold)| (ItemId::new(item), sold.into())).collect();
        let mut with = before.clone();
        for Units { item, count } in &held.units {
            with.get_mut(item).unwrap().sold += count;
        }
        release_units(&mut with, &held, &"order".into());
        prop_assert_eq!(&with, &before);
        // A counter that was reset does not become negative.
        let mut reset: Sold = before.keys().map(|item| (*item, Counted::default())).collect();
        release_units(&mut reset, &held, &"order".into());
        prop_assert!(reset.values().all(|counted| counted.sold == 0));
    }

    #[test]
    fn what_is_spread_adds_up(lines in arb_sold(), share in 0_i64..=100) {
        let order = order(OrderStatus::Paid, 0, Some(9), lines);
        let total = order.total();
        let amount = money(total.minor() * share / 100);
        let parts = spread(&order.lines, amount);
        prop_assert_eq!(sum(parts.iter().copied()), amount);
        for (part, line) in parts.iter().zip(&order.lines) {
            prop_assert!(*part >= Money::ZERO && *part <= line.total);
        }
        let rest = without_refunded(&order, amount);
        prop_assert_eq!(rest.total(), total - amount);
        let owned = shares(&rest);
        prop_assert_eq!(sum(owned.values().flatten().map(|(_, share)| share.owned.paid)), total - amount);
        prop_assert_eq!(without_refunded(&order, total + money(5)).total(), Money::ZERO);
    }
}

/// A cart with every fault that its lines can have, and a buyer with every fault.
#[test]
fn each_refusal_is_found_once_the_ones_before_it_are_mended() {
    let limited = |item: Item| Item { global_limit: Some(5), user_limit: Some(2), ..item };
    let mut faulty = limited(item(1, 60_000_000));
    faulty.needs_chat = true;
    faulty.active = false;
    let mut bought = gift(1, 1, "Receiver");
    (bought.count, bought.gift_to) = (9, None);
    faulty.gifting = true;
    let costly = Item { virtual_only: true, virtual_price: money(50), ..item(2, 10) };
    let mut payments = Payments { hold_units: 3, least: money(200), ..Payments::default() };
    let mut payer = Payer { is_proven: false, has_chat: false, virtual_currency: Money::ZERO, ..RICH };
    let (sold, ledger) = (Sold::new(), Ledger::default());
    let (mut lines, mut found): (Vec<Line>, Vec<CheckoutRefusal>) = (Vec::new(), Vec::new());
    let mut units_sold = 5;
    loop {
        let items = items([faulty.clone(), costly.clone()]);
        let mut sold = sold.clone();
        sold.extend([(ItemId::new(1), Counted::from(units_sold))]);
        let priced = price_lines(&lines, &items, terms(&sold), buyer(&ledger));
        let Err(refusal) = sale(&priced, &AppliedCodes::default(), &payments, payer) else { break };
        assert!(!found.contains(&refusal), "{refusal} again");
        match &refusal {
            CheckoutRefusal::Empty => lines = vec![bought.clone(), line(2, 2, 1)],
            CheckoutRefusal::Incomplete { .. } => lines[0].payment_type = PaymentType::OneOff,
            CheckoutRefusal::SoldOut { .. } => units_sold = 0,
            CheckoutRefusal::Unavailable { .. } => faulty.active = true,
            CheckoutRefusal::NoChat { .. } => payer.has_chat = true,
            CheckoutRefusal::Left { left: 5, .. } => lines[0].count = 4,
            CheckoutRefusal::AtOnce { most: 3, .. } => lines[0].count = 3,
            CheckoutRefusal::Left { left: 2, .. } => lines[0].count = 2,
            CheckoutRefusal::NotProven => payer.is_proven = true,
            CheckoutRefusal::VirtualCurrency => payer.virtual_currency = money(50),
            CheckoutRefusal::TooLarge => faulty.price = money(50),
            CheckoutRefusal::BelowLeast { least } => {
                assert_eq!(*least, money(200));
                payments.least = money(100);
            }
            other => panic!("{other:?}"),
        }
        found.push(refusal);
    }
    let kinds: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert_eq!(
        kinds,
        [
            "Your cart is empty.",
            "\"item 1\" is not complete: The player who receives the gift is missing.",
            "\"item 1\" is sold out.",
            "\"item 1\" cannot be bought now. Remove it from your cart.",
            "\"item 1\" needs a linked chat account. Log in to the chat first.",
            "Only 5 of \"item 1\" can still be bought.",
            "At most 3 of \"item 1\" can be bought at once.",
            "Only 2 of \"item 1\" can still be bought.",
            "Virtual currency needs a login proven in the game.",
            "You do not have enough virtual currency.",
            "The amount is too large to be paid at once.",
            "The amount is below the least that can be paid.",
        ]
    );
}

#[test]
fn the_largest_charge_can_be_paid_and_one_minor_unit_more_cannot() {
    for (price, is_payable) in [(LARGEST_CHARGE, true), (LARGEST_CHARGE + money(1), false)] {
        let items = items([Item { price, ..item(1, 0) }]);
        let (lines, sold, ledger) = ([line(1, 1, 1)], Sold::new(), Ledger::default());
        let priced = price_lines(&lines, &items, terms(&sold), buyer(&ledger));
        assert_eq!(sale(&priced, &AppliedCodes::default(), &Payments::default(), RICH).is_ok(), is_payable);
    }
}

#[test]
fn a_bill_names_units_and_recipients_and_leaves_out_what_a_gift_card_pays() {
    let named = |id: u64, count: u32, total: i64| OrderLine {
        chosen: Some(Chosen {
            line: LineId::new(id),
            name: format!("Thing {id}"),
            variables: Vec::new(),
            server: None,
            gift_to: None,
        }),
        ..OrderLine::new(ItemId::new(id), count, money(total))
    };
    let lines = [named(1, 2, 500), named(2, 1, 0), named(3, 1, 300)];
    let shown = |amount: i64| -> Vec<(String, i64)> {
        let payment = GiftCardPayment { code: text("card"), amount: money(amount) };
        bill(&lines, Some(&payment)).into_iter().map(|line| (line.name, line.amount.minor())).collect()
    };
    assert_eq!(shown(100), [("Thing 1 × 2".to_owned(), 500), ("Thing 3".to_owned(), 200)]);
    assert_eq!(shown(350), [("Thing 1 × 2".to_owned(), 450)]);
    assert_eq!(shown(800), []);
    let gift = Chosen { gift_to: Some(PlayerName::parse("Wren").unwrap()), ..lines[0].chosen.clone().unwrap() };
    let gift = OrderLine { chosen: Some(gift), ..lines[0].clone() };
    assert_eq!(bill(&[gift], None)[0].name, "Thing 1 (for Wren) × 2");
}

#[test]
fn a_code_counts_without_what_the_own_checkout_holds() {
    let payment = GiftCardPayment { code: text("card"), amount: money(70) };
    let held = Held { coupon: Some(text("coupon")), gift_card: Some(payment), ..Held::default() };
    let percent = json!({ "percentage": 1_000 });
    let (code, left) = release_code(Some(coupon(&percent)), uses(1), &held);
    assert!(matches!(code, Some(Code::Coupon(coupon)) if coupon.uses == 2));
    assert_eq!(left, CouponUses::default());
    let (code, left) = release_code(Some(card(30)), uses(4), &held);
    assert!(matches!(code, Some(Code::Gift(gift)) if gift.balance == money(100)));
    assert_eq!(left, uses(4));
    let other = Held { coupon: Some(text("other")), ..Held::default() };
    for (code, uses) in [(Some(coupon(&percent)), uses(2)), (Some(card(30)), uses(0)), (None, uses(0))] {
        assert_eq!(release_code(code.clone(), uses, &other), (code, uses));
    }
}

#[test]
fn everybody_may_own_what_their_limits_and_steps_allow() {
    let tiers: Vec<PriceTier> =
        [(4, 40), (5, 50), (6, 60)].map(|(id, price)| PriceTier { item: ItemId::new(id), price: money(price) }).into();
    let mut all = items([Item { user_limit: Some(3), gifting: true, ..item(1, 10) }, item(2, 10)]);
    let step = PublishedItem { price_tiers: tiers, ..published(&Item { gifting: true, ..item(5, 50) }) };
    all.insert(ItemId::new(5), Arc::new(step));
    let lines = [
        line(1, 1, 1),
        line(2, 1, 1),
        line(3, 2, 1),
        gift(4, 1, "Ann_1"),
        gift(5, 1, "ANN_1"),
        gift(6, 5, "Bob_2"),
        line(7, 5, 1),
    ];
    let (sold, ledger) = (Sold::new(), Ledger::default());
    let limits = may_own(&price_lines(&lines, &all, terms(&sold), buyer(&ledger)), NOW);
    let of = |who: &Beneficiary| -> Vec<(u64, u64, u64, Option<u32>)> {
        let limits = limits[who].iter();
        limits.map(|limit| (limit.item.get(), limit.most, limit.sold.get(), limit.limit)).collect()
    };
    let player = |name: &str| Beneficiary::player(&PlayerName::parse(name).unwrap());
    assert_eq!(limits.len(), 3);
    assert_eq!(of(&Beneficiary::Buyer), [(1, 1, 1, Some(3)), (6, 0, 5, None), (5, 0, 5, None)]);
    assert_eq!(of(&player("ann_1")), [(1, 1, 1, Some(3))]);
    assert_eq!(of(&player("bob_2")), [(6, 0, 5, None), (5, 0, 5, None)]);
}

#[test]
fn only_bought_units_and_the_codes_that_were_used_leave_the_cart() {
    let bought = |id: u64, item: u64, count: u32| OrderLine {
        chosen: Some(Chosen {
            line: LineId::new(id),
            name: String::new(),
            variables: Vec::new(),
            server: None,
            gift_to: None,
        }),
        ..OrderLine::new(ItemId::new(item), count, Money::ZERO)
    };
    let mut cart = Cart::empty(UserId::new(1));
    cart.lines = vec![line(1, 1, 2), line(2, 2, 5), line(3, 3, 1), line(4, 4, 1)];
    let (Code::Gift(gift_card), Code::Coupon(coupon)) = (card(5), coupon(&json!({ "amount": 1 }))) else {
        unreachable!()
    };
    cart.gift_card = Some(AppliedGiftCard::entered_by(Login::Proven, &gift_card));
    cart.coupon = Some(AppliedCoupon::from(&coupon));
    let order = [
        bought(1, 1, 2),
        bought(2, 2, 3),
        bought(4, 9, 1),
        bought(5, 5, 1),
        OrderLine::new(ItemId::new(3), 1, Money::ZERO),
    ];
    let after = without_bought(&cart, &order, &[&text("card")]);
    let rest: Vec<(u64, u32)> = after.lines.iter().map(|line| (line.id.get(), line.count)).collect();
    assert_eq!(rest, [(2, 2), (3, 1), (4, 1)]);
    assert_eq!((after.gift_card, &after.coupon, after.version), (None, &cart.coupon, cart.version));
    let after = without_bought(&cart, &order, &[&text("coupon")]);
    assert_eq!((&after.gift_card, after.coupon), (&cart.gift_card, None));
    let after = without_bought(&cart, &order, &[&text("coupon"), &text("card")]);
    assert_eq!((after.gift_card, after.coupon), (None, None));
}
