//! Sales: which price a unit has, and what codes still take off.

use crate::any::{
    NOW, arb_coupon_discount, arb_discount, arb_items, arb_ledger, arb_lines, arb_scope, arb_sold, buyer, coupon, item,
    items, line, money, off, parts, terms,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde_json::json;
use shared::model::{
    Code, Coupon, Discount, Holding, Item, ItemId, Items, Ledger, Line, LineVariable, Money, NamedItem, OnSale, Owned,
    PaymentType, Percent, PriceTier, Promotion, PublishedItem, Sale, SaleId, Scope, Sold,
};
use shared::rules::cart::{PricedLine, price_lines};
use shared::rules::pricing::{Terms, availability, unit_price};
use std::sync::Arc;

fn percent(whole: u32) -> Discount {
    Discount::Percentage(Percent::from_hundredths(whole * 100))
}

fn sale(id: u64, discount: Discount) -> Sale {
    let (id, name) = (SaleId::new(id), format!("sale {id}"));
    Sale { id, name, discount, runs: OnSale::default(), owners_of: Vec::new(), with_codes: true }
}

fn owner_of(item: u64) -> NamedItem {
    NamedItem { id: ItemId::new(item), name: format!("item {item}") }
}

/// Terms under which at least 0.50 can be paid.
fn with<'a>(sales: &'a [Sale], sold: &'a Sold) -> Terms<'a> {
    Terms { sales, least: money(50), ..terms(sold) }
}

fn owned(item: u64, paid: i64) -> Ledger {
    let mut ledger = Ledger::default();
    *ledger.entry(ItemId::new(item)) = Holding { all: Owned { units: 1, paid: money(paid) }, run: None };
    ledger
}

/// Sales 0..4, some of which run, with codes or not, for everyone or for owners.
fn arb_sales() -> impl Strategy<Value = Vec<Sale>> {
    let edge = || option::weighted(0.2, NOW - 1..=NOW + 1);
    let one = (arb_discount(), edge(), edge(), option::weighted(0.3, 0_u64..8), any::<bool>());
    vec(one, 0..4).prop_map(|rows| {
        let sale = |((discount, from, until, owner, with_codes), id)| Sale {
            runs: OnSale { from, until },
            owners_of: Option::map(owner, owner_of).into_iter().collect(),
            with_codes,
            ..sale(id, discount)
        };
        rows.into_iter().zip(0..).map(sale).collect()
    })
}

/// Items of which some are covered by some of the sales, or have a percentage of their own.
fn arb_covered() -> impl Strategy<Value = Items> {
    (arb_items(), vec((any::<u8>(), option::weighted(0.2, 0_u32..=100)), 8)).prop_map(|(items, covers)| {
        let cover = |(id, published): (ItemId, Arc<PublishedItem>)| {
            let (bits, own) = covers[usize::try_from(id.get()).unwrap()];
            let mut published = PublishedItem::clone(&published);
            published.item.sales = (0..4).filter(|sale| bits >> sale & 1 == 1).map(SaleId::new).collect();
            published.item.discount_percentage = own.map(|own| Percent::from_hundredths(own * 100));
            (id, Arc::new(published))
        };
        items.into_iter().map(cover).collect()
    })
}

/// Ruling by ruling, in integers: the price of `due` after a discount.
fn reduced(due: i64, discount: Discount, is_step: bool) -> i64 {
    match discount {
        Discount::Percentage(percent) => due - (due * i64::from(percent.hundredths()) + 5_000) / 10_000,
        Discount::Amount(amount) => (due - amount.minor()).max(if is_step { due.min(50) } else { 0 }),
    }
}

proptest! {
    #[test]
    fn a_unit_has_the_best_price_of_its_discount_and_the_sales_that_its_buyer_gets(
        items in arb_covered(), sales in arb_sales(), ledger in arb_ledger(), is_known in any::<bool>(),
    ) {
        let sold = Sold::new();
        for published in items.values() {
            let item = &published.item;
            let caller = is_known.then_some(buyer(&ledger));
            let found = availability(item, &published.price_tiers, with(&sales, &sold), caller);
            let owns = |id: ItemId| is_known && ledger.of(id).at(NOW).units > 0;
            let is_step = is_known && !published.price_tiers.is_empty() && !item.is_subscription && !item.any_price && !found.unavailable;
            let paid: i64 = published.price_tiers.iter().map(|tier| ledger.of(tier.item).at(NOW).paid.minor()).sum();
            let due = if is_step { (item.price.minor() - paid).max(0) } else { item.price.minor() };
            let own = item.discount_percentage.map_or(Discount::Amount(item.discount), Discount::Percentage);
            let own = reduced(due, own, is_step).max(if item.any_price { item.min_price.minor() } else { 0 });
            let is_running = |sale: &&Sale| sale.runs.from.is_none_or(|from| from <= NOW) && sale.runs.until.is_none_or(|until| NOW < until);
            let is_for = |sale: &&Sale| sale.owners_of.is_empty() || sale.owners_of.iter().any(|item| owns(item.id));
            let has_sales = !item.is_subscription && !item.any_price && !item.virtual_only;
            let best = |codes_only: bool| sales.iter().filter(is_running).filter(is_for)
                .filter(|sale| has_sales && item.sales.contains(&sale.id) && (sale.with_codes || !codes_only))
                .map(|sale| reduced(due, sale.discount, is_step)).chain([own]).min().unwrap();
            prop_assert_eq!(found.quote.price.minor(), best(false));
            prop_assert_eq!(found.with_codes.minor(), best(true));
            prop_assert_eq!(found.sale.is_some(), best(false) < own);
            prop_assert_eq!(found.quote.original_price(), item.price);
            prop_assert!(due == 0 || !is_step || found.quote.price > Money::ZERO || matches!(
                found.sale.map_or(item.own_discount(), |id| sales[usize::try_from(id.get()).unwrap()].discount),
                Discount::Percentage(_)
            ), "an amount gives no step away");
        }
    }

    #[test]
    fn what_codes_take_off_reduced_lines_adds_up_and_exceeds_no_line(
        items in arb_covered(), sales in arb_sales(), sold in arb_sold(), ledger in arb_ledger(), lines in arb_lines(),
        (discount, cheapest_free) in arb_coupon_discount(), scope in arb_scope(),
    ) {
        let priced = price_lines(&lines, &items, with(&sales, &sold), buyer(&ledger));
        let coupon = Coupon { cheapest_free, ..coupon(discount, scope) };
        let taken = parts(&coupon, &priced);
        for (part, line) in taken.iter().zip(&priced) {
            prop_assert!(*part >= Money::ZERO && *part <= line.total());
            // The better of both: never less than the code alone would have left, or the sale alone.
            if let Discount::Percentage(percent) = discount && *part > Money::ZERO {
                let alone = line.with_codes.times(line.count);
                prop_assert_eq!(line.total() - *part, alone - alone.share(percent));
            }
        }
        let sum = taken.into_iter().sum::<Money>();
        prop_assert_eq!(off(&Code::Coupon(coupon.clone()), &priced).unwrap_or(Money::ZERO), sum);
        if let (Discount::Amount(amount), false) = (discount, cheapest_free) {
            prop_assert!(sum <= amount);
        }
        let mut other = priced.clone();
        other.reverse();
        prop_assert_eq!(parts(&coupon, &other).into_iter().sum::<Money>(), sum);
    }
}

#[test]
fn a_sale_rounds_half_up_once_per_unit_and_two_are_never_both() {
    let sold = Sold::new();
    let sales = [sale(0, percent(20)), sale(1, Discount::Amount(money(150))), sale(2, percent(33))];
    for (regular, own, covered, price, which) in [
        (999, 0, vec![0], 799, Some(0)),
        // 20 % of 0.02 is 0.004.
        (2, 0, vec![0], 2, None),
        (999, 0, vec![0, 1], 799, Some(0)),
        (500, 0, vec![0, 1], 350, Some(1)),
        (999, 0, vec![0, 1, 2], 669, Some(2)),
        (999, 400, vec![0, 2], 599, None),
        (100, 0, vec![1], 0, Some(1)),
        (999, 0, vec![], 999, None),
    ] {
        let sales_of = covered.into_iter().map(SaleId::new).collect();
        let item = Item { discount: money(own), sales: sales_of, ..item(1, regular) };
        let found = unit_price(&item, item.price, None, with(&sales, &sold), None);
        assert_eq!((found.quote.price, found.sale), (money(price), which.map(SaleId::new)), "{regular} {own}");
        // A cart multiplies the rounded price.
        let (stock, lines) = (items([item]), [line(1, 1, 3)]);
        let ledger = Ledger::default();
        let priced = price_lines(&lines, &stock, with(&sales, &sold), buyer(&ledger));
        assert_eq!(priced[0].total(), money(3 * price));
    }
}

#[test]
fn no_sale_gives_a_step_of_a_ladder_away() {
    let sold = Sold::new();
    for (discount, paid, price) in [
        // The rank of 20.00, reduced by half, would be free for who has paid 10.00 for the one below.
        (percent(50), 1_000, 500),
        (Discount::Amount(money(1_500)), 1_000, 50),
        (Discount::Amount(money(300)), 1_000, 700),
        // Less than the least is left anyway.
        (Discount::Amount(money(1_500)), 1_980, 20),
        (percent(50), 2_500, 0),
    ] {
        let sales = [sale(0, discount)];
        let step = Item { sales: vec![SaleId::new(0)], ..item(2, 2_000) };
        let tiers =
            [PriceTier { item: ItemId::new(1), price: money(1_000) }, PriceTier { item: step.id, price: step.price }];
        let ledger = owned(1, paid);
        let found = availability(&step, &tiers, with(&sales, &sold), Some(buyer(&ledger)));
        assert_eq!(found.quote.price, money(price), "{discount:?} {paid}");
        let own = match discount {
            Discount::Percentage(_) => {
                Item { discount_percentage: Some(Percent::from_hundredths(5_000)), ..item(2, 2_000) }
            }
            Discount::Amount(amount) => Item { discount: amount, ..item(2, 2_000) },
        };
        let found = availability(&own, &tiers, with(&[], &sold), Some(buyer(&ledger)));
        assert_eq!(found.quote.price, money(price), "the item's own {discount:?}");
    }
}

#[test]
fn a_gift_has_the_sale_of_its_buyer_without_what_they_paid() {
    let sold = Sold::new();
    let sales = [Sale { owners_of: vec![owner_of(1)], ..sale(0, percent(50)) }];
    let step = Item { sales: vec![SaleId::new(0)], gifting: true, ..item(2, 2_000) };
    let mut stock = items([step]);
    let published = Arc::make_mut(stock.get_mut(&ItemId::new(2)).unwrap());
    published.price_tiers = vec![PriceTier { item: ItemId::new(1), price: money(1_000) }];
    let gift = [Line { payment_type: PaymentType::Gift, ..line(1, 2, 1) }];
    let price = |ledger: &Ledger| price_lines(&gift, &stock, with(&sales, &sold), buyer(ledger))[0].unit_price;
    assert_eq!(price(&owned(1, 1_000)), money(1_000));
    assert_eq!(price(&Ledger::default()), money(2_000));
}

#[test]
fn a_line_of_a_sale_without_codes_has_the_better_of_both() {
    let (sold, ledger) = (Sold::new(), Ledger::default());
    let sales = [Sale { with_codes: false, ..sale(0, percent(30)) }];
    let stock = items([Item { sales: vec![SaleId::new(0)], ..item(1, 1_000) }, item(2, 1_000)]);
    let lines = [line(1, 1, 2), line(2, 2, 1)];
    let priced = price_lines(&lines, &stock, with(&sales, &sold), buyer(&ledger));
    assert_eq!(priced.iter().map(PricedLine::total).collect::<Vec<_>>(), [money(1_400), money(1_000)]);
    for (discount, first, second) in [
        // 10 % of 20.00 is less than the sale's 6.00.
        (percent(10), 0, 100),
        (percent(50), 400, 500),
        (percent(100), 1_400, 1_000),
        // An amount is for what it goes with.
        (Discount::Amount(money(400)), 0, 400),
        (Discount::Amount(money(1_500)), 0, 1_000),
        (Discount::Amount(money(1_800)), 200, 1_000),
        (Discount::Amount(money(9_000)), 1_400, 1_000),
    ] {
        let parts = parts(&coupon(discount, Scope::default()), &priced);
        assert_eq!(parts, [money(first), money(second)], "{discount:?}");
    }
}

/// An item of 10.00, 8.90 each from three units on, whose colour gold costs 2.00 more.
fn with_choices(id: u64) -> Item {
    let item = json!({
        "id": id, "name": "keys", "price": 1_000, "active": true, "gifting": true,
        "price_from": [{ "from": 3, "price": 890 }, { "from": 5, "price": 790 }],
        "variables": [{ "id": 1, "name": "Colour", "options": ["gold", "silver"], "surcharges": { "gold": 200 } }],
    });
    serde_json::from_value(item).unwrap()
}

fn golden(line: Line) -> Line {
    Line { variables: vec![LineVariable { id: 1, value: "gold".to_owned() }], ..line }
}

#[test]
fn a_line_has_the_price_of_its_count_and_choices_then_the_sale_then_the_coupon() {
    let (sold, ledger) = (Sold::new(), Ledger::default());
    let stock = items([Item { sales: vec![SaleId::new(0)], ..with_choices(1) }]);
    let lines = [2, 3, 4, 5].map(|count| line(u64::from(count), 1, count)).to_vec();
    let lines = lines.into_iter().flat_map(|line| [golden(line.clone()), line]).collect::<Vec<_>>();
    let units = |sales: &[Sale], buyer| -> Vec<i64> {
        price_lines(&lines, &stock, with(sales, &sold), buyer).iter().map(|line| line.unit_price.minor()).collect()
    };
    assert_eq!(units(&[], buyer(&ledger)), [1_200, 1_000, 1_090, 890, 1_090, 890, 990, 790]);
    // 20 % of 12.00, 10.00, 10.90, 8.90, 9.90 and 7.90, half up once per unit.
    let sales = [sale(0, percent(20))];
    assert_eq!(units(&sales, buyer(&ledger)), [960, 800, 872, 712, 872, 712, 792, 632]);
    let priced = price_lines(&lines[..2], &stock, with(&sales, &sold), buyer(&ledger));
    assert_eq!(parts(&coupon(percent(10), Scope::default()), &priced), [money(192), money(160)]);
    let free = Coupon { cheapest_free: true, ..coupon(Discount::Amount(Money::ZERO), Scope::default()) };
    assert_eq!(parts(&free, &priced), [money(0), money(800)], "the discount of one unit is not one of all");
    // The catalog shows one unit, and a gift costs the same.
    let item = &stock[&ItemId::new(1)].item;
    assert_eq!(availability(item, &[], with(&sales, &sold), None).quote.price, money(800));
    let gifts: Vec<Line> = lines.iter().map(|line| Line { payment_type: PaymentType::Gift, ..line.clone() }).collect();
    let gifts = price_lines(&gifts, &stock, with(&sales, &sold), buyer(&ledger));
    assert_eq!(gifts.iter().map(|line| line.unit_price.minor()).collect::<Vec<_>>(), units(&sales, buyer(&ledger)));
}

#[test]
fn a_surcharge_is_paid_of_a_step_and_of_a_promoted_line() {
    let sold = Sold::new();
    let mut stock = items([with_choices(2)]);
    let published = Arc::make_mut(stock.get_mut(&ItemId::new(2)).unwrap());
    published.item.price_from.clear();
    published.item.promotion = Some(Promotion { price: money(700), sorting: 0 });
    published.price_tiers =
        [(1, 400), (2, 1_000)].map(|(id, price)| PriceTier { item: ItemId::new(id), price: money(price) }).to_vec();
    let price = |line: Line, ledger: &Ledger| {
        price_lines(&[golden(line)], &stock, with(&[], &sold), buyer(ledger))[0].unit_price
    };
    assert_eq!(price(line(1, 2, 1), &owned(1, 400)), money(800), "10.00 less 4.00, and 2.00");
    assert_eq!(price(line(1, 2, 1), &owned(1, 5_000)), money(200), "no credit pays for it");
    assert_eq!(price(Line { promoted: true, ..line(1, 2, 1) }, &Ledger::default()), money(900));
    let other = Line { variables: vec![LineVariable { id: 1, value: "copper".to_owned() }], ..line(1, 2, 1) };
    assert_eq!(price_lines(&[other], &stock, with(&[], &sold), buyer(&Ledger::default()))[0].unit_price, money(1_000));
}
