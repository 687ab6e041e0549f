//! Properties of every rule, for any store, cart and buyer.

use crate::any::{
    NEW, NOW, arb_coupon_discount, arb_discount, arb_items, arb_ledger, arb_lines, arb_scope, arb_sold, buyer, card,
    coupon, inputs, item, items, line, money, off, parts, subscription, terms,
};
use proptest::collection::vec;
use proptest::prelude::*;
use shared::model::{
    Code, Coupon, CouponUses, Discount, Item, ItemId, Ledger, Line, Money, PaymentType, Percent, Scope, Sold,
    SubscriptionStatus, UserSubscription,
};
use shared::rules::cart::{PricedLine, price_lines, sums};
use shared::rules::code::{CodeBuyer, CodeInputs, CodeRefusal, LeftOut, covers, judge, taken_off, usable};
use shared::rules::pricing::{Buyer, availability};

proptest! {
    #[test]
    fn a_price_is_never_negative_and_its_parts_add_up(
        items in arb_items(), sold in arb_sold(), ledger in arb_ledger(), logged_in in any::<bool>(),
    ) {
        for published in items.values() {
            let availability = availability(&published.item, &published.price_tiers, terms(&sold), logged_in.then_some(buyer(&ledger)));
            prop_assert!(availability.quote.price >= Money::ZERO);
            prop_assert!(availability.quote.discount >= Money::ZERO);
            prop_assert_eq!(availability.quote.original_price(), published.item.price);
        }
    }

    #[test]
    fn a_limit_is_shown_with_its_current_value_or_not_at_all(
        items in arb_items(), sold in arb_sold(), ledger in arb_ledger(), logged_in in any::<bool>(),
    ) {
        for published in items.values() {
            let limits = availability(&published.item, &[], terms(&sold), logged_in.then_some(buyer(&ledger))).limits;
            prop_assert_eq!(limits.global, published.item.global_limit);
            prop_assert_eq!(limits.global.is_some(), limits.global_current.is_some());
            prop_assert_eq!(limits.user.is_some(), limits.user_current.is_some());
            prop_assert_eq!(limits.user.is_some(), logged_in && published.item.user_limit.is_some());
        }
    }

    #[test]
    fn only_a_step_that_can_be_bought_is_reduced_by_what_was_paid(
        items in arb_items(), sold in arb_sold(), ledger in arb_ledger(),
    ) {
        for published in items.values() {
            let quote = |buyer| availability(&published.item, &published.price_tiers, terms(&sold), buyer);
            let (fresh, own) = (quote(None).quote, quote(Some(buyer(&ledger))));
            let is_step = published.price_tiers.iter().any(|tier| tier.item == published.item.id) && !published.item.any_price;
            let credit: Money = published.price_tiers.iter().map(|tier| ledger.of(tier.item).at(NOW).paid).sum();
            let credit = if is_step && !own.unavailable { credit } else { Money::ZERO };
            let due = published.item.price.less(credit);
            // An amount leaves something to pay of what a step costs more.
            let left = if is_step && !own.unavailable { due.min(Money::SMALLEST) } else { Money::ZERO };
            prop_assert_eq!(own.quote.price, fresh.price.less(credit).max(left));
            prop_assert_eq!(own.quote.original_price(), published.item.price);
        }
    }

    #[test]
    fn owning_more_of_a_ladder_never_makes_it_dearer(items in arb_items(), ledger in arb_ledger()) {
        let sold = Sold::new();
        for published in items.values() {
            let before = availability(&published.item, &published.price_tiers, terms(&sold), Some(buyer(&Ledger::default())));
            let after = availability(&published.item, &published.price_tiers, terms(&sold), Some(buyer(&ledger)));
            prop_assert!(after.quote.price <= before.quote.price);
            prop_assert!(after.unavailable || !before.unavailable);
        }
    }

    #[test]
    fn only_a_subscription_that_the_buyer_has_becomes_unavailable_by_it(
        items in arb_items(), sold in arb_sold(), mut ledger in arb_ledger(), item in 0_u64..8,
        is_active in any::<bool>(), until in NOW - 2..NOW + 2,
    ) {
        // What a subscription gives does not end before it.
        ledger.entry(ItemId::new(item)).run = None;
        let status = if is_active { SubscriptionStatus::Active } else { SubscriptionStatus::Cancelled };
        let subscription = UserSubscription {
            id: String::new(), item: ItemId::new(item), name: String::new(), price: Money::ZERO, status, until,
            detail: None, access_until: None, ends_at: None, rank_of: None,
        };
        let own = Buyer { subscriptions: &[subscription], ..buyer(&ledger) };
        for published in items.values() {
            let of = |buyer| availability(&published.item, &published.price_tiers, terms(&sold), Some(buyer));
            let (before, after) = (of(buyer(&ledger)), of(own));
            let has_it = published.item.id == ItemId::new(item) && published.item.is_subscription;
            let has_it = has_it && (is_active || until > NOW);
            prop_assert_eq!(after.unavailable, before.unavailable || has_it);
            prop_assert_eq!((after.limits, after.quote.original_price()), (before.limits, before.quote.original_price()));
        }
    }

    #[test]
    fn a_line_is_bought_as_what_its_item_is_or_not_at_all(
        items in arb_items(), sold in arb_sold(), ledger in arb_ledger(), lines in arb_lines(),
    ) {
        for line in price_lines(&lines, &items, terms(&sold), buyer(&ledger)) {
            let is_subscription = line.line.payment_type == PaymentType::Subscription;
            prop_assert!(is_subscription == line.item().is_subscription || line.availability.unavailable);
            prop_assert!(!line.item().is_subscription || line.count == 1);
        }
    }

    #[test]
    fn the_order_of_lines_changes_no_sum(
        items in arb_items(), sold in arb_sold(), ledger in arb_ledger(), lines in arb_lines(),
        discount in arb_discount(), scope in arb_scope(),
    ) {
        let reversed: Vec<Line> = lines.iter().rev().cloned().collect();
        let one = price_lines(&lines, &items, terms(&sold), buyer(&ledger));
        let other = price_lines(&reversed, &items, terms(&sold), buyer(&ledger));
        prop_assert_eq!(sums(&one), sums(&other));
        let coupon = Code::Coupon(coupon(discount, scope));
        prop_assert_eq!(off(&coupon, &one), off(&coupon, &other));
    }

    #[test]
    fn a_code_never_takes_off_more_than_there_is_to_pay(
        items in arb_items(), sold in arb_sold(), ledger in arb_ledger(), lines in arb_lines(),
        discount in arb_discount(), scope in arb_scope(), balance in 0_i64..100_000,
    ) {
        let priced = price_lines(&lines, &items, terms(&sold), buyer(&ledger));
        let clear = sums(&priced).clear_price;
        prop_assert!(clear >= Money::ZERO);
        for code in [Code::Coupon(coupon(discount, scope)), Code::Gift(card(balance))] {
            let sum = off(&code, &priced).unwrap_or(Money::ZERO);
            prop_assert!(sum >= Money::ZERO && sum <= clear, "{:?} of {:?}", sum, clear);
        }
        if let Some(sum) = off(&Code::Gift(card(balance)), &priced) {
            let once = priced.iter().filter(|line| line.is_payable() && !line.item().is_subscription);
            prop_assert_eq!(sum, Money::from_minor(balance).min(once.map(PricedLine::total).sum()));
        }
    }

    #[test]
    fn a_narrower_scope_never_takes_off_more(
        items in arb_items(), ledger in arb_ledger(), lines in arb_lines(), discount in arb_discount(), scope in arb_scope(),
    ) {
        let priced = price_lines(&lines, &items, terms(&Sold::new()), buyer(&ledger));
        let wide = off(&Code::Coupon(coupon(discount, Scope::default())), &priced).unwrap_or(Money::ZERO);
        let narrow = off(&Code::Coupon(coupon(discount, scope)), &priced).unwrap_or(Money::ZERO);
        prop_assert!(narrow <= wide);
    }

    #[test]
    fn lines_that_cannot_be_bought_count_in_no_sum(
        items in arb_items(), sold in arb_sold(), ledger in arb_ledger(), lines in arb_lines(), discount in arb_discount(),
    ) {
        let priced = price_lines(&lines, &items, terms(&sold), buyer(&ledger));
        let available: Vec<PricedLine<'_>> = priced.iter().filter(|line| !line.availability.unavailable).cloned().collect();
        prop_assert_eq!(sums(&priced), sums(&available));
        let coupon = Code::Coupon(coupon(discount, Scope::default()));
        prop_assert_eq!(off(&coupon, &priced), off(&coupon, &available));
    }

    #[test]
    fn a_line_costs_what_the_catalog_says_unless_the_buyer_or_a_promotion_says_otherwise(
        items in arb_items(), sold in arb_sold(), ledger in arb_ledger(), lines in arb_lines(),
    ) {
        for line in price_lines(&lines, &items, terms(&sold), buyer(&ledger)) {
            let item = line.item();
            let catalog = match line.line.payment_type {
                PaymentType::Gift => item.price.less(item.discount),
                // Also if only another step in the cart makes it unavailable.
                _ if line.is_own_step() && line.availability.unavailable => item.price.less(item.discount),
                _ => availability(item, &line.published.price_tiers, terms(&sold), Some(buyer(&ledger))).quote.price,
            };
            prop_assert_eq!(line.availability.quote.price, catalog);
            let expected = match (&item.promotion, line.line.price) {
                (Some(promotion), _) if line.line.promoted => promotion.price,
                (_, Some(named)) if item.any_price => named.max(item.min_price),
                _ => catalog,
            };
            prop_assert_eq!(line.unit_price, expected);
        }
    }

    #[test]
    fn of_several_steps_of_a_category_for_the_buyer_the_highest_that_can_be_bought_counts(
        items in arb_items(), sold in arb_sold(), ledger in arb_ledger(), lines in arb_lines(),
    ) {
        let priced = price_lines(&lines, &items, terms(&sold), buyer(&ledger));
        let counted: Vec<&PricedLine<'_>> =
            priced.iter().filter(|line| line.is_own_step() && !line.availability.unavailable).collect();
        // Only the first category is cumulative.
        prop_assert!(counted.len() <= 1, "{counted:?}");
        let alone = |line: &Line| price_lines(std::slice::from_ref(line), &items, terms(&sold), buyer(&ledger))
            .first()
            .filter(|line| line.is_own_step() && !line.availability.unavailable)
            .map(|line| (line.item().price, line.line.id));
        let highest = lines.iter().filter_map(alone).max();
        prop_assert_eq!(counted.first().map(|line| (line.item().price, line.line.id)), highest);
    }

    #[test]
    fn lines_outside_of_cumulative_categories_do_not_change_each_other(
        items in arb_items(), sold in arb_sold(), ledger in arb_ledger(), lines in arb_lines(),
    ) {
        for line in price_lines(&lines, &items, terms(&sold), buyer(&ledger)).iter().filter(|line| !line.is_own_step()) {
            let alone = price_lines(std::slice::from_ref(line.line), &items, terms(&sold), buyer(&ledger));
            prop_assert_eq!(line.availability, alone[0].availability);
        }
    }

    #[test]
    fn a_gift_is_priced_whatever_its_buyer_owns(
        items in arb_items(), sold in arb_sold(), ledger in arb_ledger(), lines in arb_lines(),
    ) {
        let gifts: Vec<Line> = lines.into_iter().map(|line| Line { payment_type: PaymentType::Gift, ..line }).collect();
        let one = price_lines(&gifts, &items, terms(&sold), buyer(&ledger));
        let other = price_lines(&gifts, &items, terms(&sold), buyer(&Ledger::default()));
        for (one, other) in one.iter().zip(&other) {
            prop_assert_eq!((one.availability, one.unit_price), (other.availability, other.unit_price));
            prop_assert_eq!(one.availability.quote.price, one.item().price.less(one.item().discount));
            prop_assert_eq!(one.availability.limits.user, None);
        }
    }

    #[test]
    fn what_a_coupon_takes_off_the_lines_adds_up_to_its_sum_and_exceeds_no_line(
        items in arb_items(), sold in arb_sold(), ledger in arb_ledger(), lines in arb_lines(),
        (discount, cheapest_free) in arb_coupon_discount(), scope in arb_scope(),
    ) {
        let priced = price_lines(&lines, &items, terms(&sold), buyer(&ledger));
        let coupon = Coupon { cheapest_free, ..coupon(discount, scope) };
        let parts = parts(&coupon, &priced);
        prop_assert_eq!(parts.len(), priced.len());
        for (part, line) in parts.iter().zip(&priced) {
            prop_assert!(*part >= Money::ZERO && *part <= line.total());
            prop_assert!(*part == Money::ZERO || line.is_payable() && !line.item().is_subscription);
        }
        let sum = off(&Code::Coupon(coupon.clone()), &priced).unwrap_or(Money::ZERO);
        prop_assert_eq!(parts.into_iter().sum::<Money>(), sum);
        if let (Discount::Amount(amount), false) = (coupon.discount, cheapest_free) {
            prop_assert!(sum <= amount);
        }
        if cheapest_free {
            let covered = priced.iter().filter(|line| line.takes_codes() && covers(&coupon.scope, line.published));
            let units = || covered.clone().filter(|line| line.unit_price > Money::ZERO);
            let count: u32 = units().map(|line| line.count).sum();
            let cheapest = units().map(|line| line.unit_price).min().filter(|_| count > 1).unwrap_or_default();
            prop_assert_eq!(sum, cheapest);
        }
    }

    #[test]
    fn a_percentage_is_rounded_line_by_line(
        prices in vec(0_i64..100_000, 1..10), hundredths in 0_u32..=10_000,
    ) {
        let items = items((0..).zip(&prices).map(|(id, price)| item(id, *price)));
        let lines: Vec<Line> = (0..prices.len() as u64).map(|id| line(id, id, 1)).collect();
        let priced = price_lines(&lines, &items, terms(&Sold::new()), buyer(&Ledger::default()));
        let percentage = Discount::Percentage(Percent::from_hundredths(hundredths));
        let half_up = |price: &i64| (price * i64::from(hundredths) + 5_000).div_euclid(10_000);
        let expected = Money::from_minor(prices.iter().map(half_up).sum());
        prop_assert_eq!(off(&Code::Coupon(coupon(percentage, Scope::default())), &priced), Some(expected));
    }
}

#[test]
fn the_reasons_to_refuse_a_code_are_looked_for_in_their_order() {
    let stock = items([item(1, 1_000)]);
    let lines = [line(1, 1, 1)];
    let cart = price_lines(&lines, &stock, terms(&Sold::new()), buyer(&Ledger::default()));
    // Everything is wrong with this one; each step corrects the reason that was given.
    let mut worst = coupon(Discount::Amount(money(1)), Scope { categories: vec![], items: vec![ItemId::new(9)] });
    worst.active = false;
    (worst.max_uses, worst.uses, worst.max_uses_per_user) = (Some(1), 1, Some(1));
    worst.minimum = money(2_000);
    let last = CouponUses { count: 0, last: Some(NOW - 9) };
    let refusal = |coupon: &Coupon, count, lines: &[PricedLine<'_>]| {
        judge(Some(&Code::Coupon(coupon.clone())), CouponUses { count, ..last }, inputs(lines), NOW).unwrap_err()
    };
    assert_eq!(judge(None, last, inputs(&cart), NOW).unwrap_err(), CodeRefusal::Unknown);
    assert_eq!(refusal(&worst, 1, &[]), CodeRefusal::NotValidNow);
    worst.active = true;
    worst.starts_at = Some(NOW + 1);
    assert_eq!(refusal(&worst, 1, &[]), CodeRefusal::NotValidNow);
    (worst.starts_at, worst.ends_at) = (Some(NOW), Some(NOW));
    assert_eq!(refusal(&worst, 1, &[]), CodeRefusal::NotValidNow);
    worst.ends_at = Some(NOW + 1);
    assert_eq!(refusal(&worst, 1, &[]), CodeRefusal::UsedUp);
    worst.uses = 0;
    assert_eq!(refusal(&worst, 1, &[]), CodeRefusal::UsedUp);
    worst.once_per = Some(10);
    assert_eq!(refusal(&worst, 0, &[]), CodeRefusal::NotYet { at: NOW + 1 });
    worst.once_per = Some(9);
    assert_eq!(refusal(&worst, 0, &[]), CodeRefusal::EmptyCart);
    assert_eq!(refusal(&worst, 0, &cart), CodeRefusal::BelowMinimum { minimum: worst.minimum });
    worst.minimum = money(1_000);
    assert_eq!(refusal(&worst, 0, &cart), CodeRefusal::NothingEligible);
    worst.scope.items.push(ItemId::new(1));
    let monthly = items([Item { is_subscription: true, ..item(1, 1_000) }]);
    let subscription = [subscription(1, 1)];
    let ledger = Ledger::default();
    let of_subscription = price_lines(&subscription, &monthly, terms(&Sold::new()), buyer(&ledger));
    assert_eq!(refusal(&worst, 0, &of_subscription), CodeRefusal::Subscription);
    worst.scope.items = vec![ItemId::new(9)];
    assert_eq!(refusal(&worst, 0, &of_subscription), CodeRefusal::NothingEligible, "it would not apply anyway");
    worst.scope.items.push(ItemId::new(1));
    let of_card = judge(Some(&Code::Gift(card(500))), last, inputs(&of_subscription), NOW).map(|applied| applied.sum);
    assert_eq!(of_card, Err(CodeRefusal::Subscription));
    assert_eq!(off(&Code::Coupon(worst.clone()), &cart), Some(money(1)));
    worst.cheapest_free = true;
    assert_eq!(refusal(&worst, 0, &cart), CodeRefusal::TooFew);
    let twice = [line(1, 1, 2)];
    let two = price_lines(&twice, &stock, terms(&Sold::new()), buyer(&ledger));
    assert_eq!(off(&Code::Coupon(worst), &two), Some(money(1_000)), "one unit, and not the line");
    assert_eq!(usable(Some(&Code::Gift(card(0))), last, NOW), Err(CodeRefusal::NoBalance));
}

#[test]
fn a_coupon_says_of_each_line_what_it_takes_off_or_why_nothing() {
    let (monthly, points) = (Item { is_subscription: true, ..item(4, 500) }, Item { virtual_only: true, ..item(5, 0) });
    let stock =
        items([item(1, 1_000), item(2, 300), item(3, 300), monthly, points, Item { active: false, ..item(6, 1) }]);
    let gift = Line { payment_type: PaymentType::Gift, ..line(7, 2, 1) };
    let lines = [line(1, 1, 2), line(2, 2, 3), line(3, 3, 1), subscription(4, 4), line(5, 5, 1), line(6, 6, 1), gift];
    let ledger = Ledger::default();
    let cart = price_lines(&lines, &stock, terms(&Sold::new()), buyer(&ledger));
    let scope = Scope { categories: vec![], items: [1, 2, 4, 5, 6].map(ItemId::new).to_vec() };
    let (gone, points) = (Err(LeftOut::Unavailable), Err(LeftOut::VirtualCurrency));
    let (other, monthly) = (Err(LeftOut::NotCovered), Err(LeftOut::Subscription));
    let shown = |coupon: &Coupon, buyer| {
        let parts = taken_off(coupon, &cart, buyer).into_iter();
        parts.map(|part| part.left_out.map_or(Ok(part.off.minor()), Err)).collect::<Vec<_>>()
    };
    let mut coupon = coupon(Discount::Percentage(Percent::from_hundredths(1_000)), scope);
    assert_eq!(shown(&coupon, NEW), [Ok(200), Ok(90), other, monthly, points, gone, Ok(30)]);
    let known = CodeBuyer { has_bought: true, ..NEW };
    assert_eq!(shown(&coupon, known), shown(&coupon, NEW));
    coupon.first_purchase = true;
    let first = Err(LeftOut::NotFirst);
    assert_eq!(shown(&coupon, known), [first, first, other, monthly, points, gone, Ok(30)]);
    let by_name = CodeBuyer { is_proven: false, ..NEW };
    assert_eq!(shown(&coupon, by_name), [Ok(200), Ok(90), other, monthly, points, gone, Err(LeftOut::GiftByName)]);
    let neither = CodeBuyer { has_bought: true, ..by_name };
    let (code, of_neither) = (Code::Coupon(coupon.clone()), CodeInputs { buyer: neither, ..inputs(&cart) });
    assert_eq!(judge(Some(&code), CouponUses::default(), of_neither, NOW), Err(CodeRefusal::NotFirst));
    (coupon.cheapest_free, coupon.first_purchase) = (true, false);
    let dearer = Err(LeftOut::NotCheapest);
    assert_eq!(shown(&coupon, NEW), [dearer, Ok(300), other, monthly, points, gone, dearer], "one unit in all");
}
