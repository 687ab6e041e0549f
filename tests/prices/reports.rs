//! What buyers of other shops have reported about sales, ladders and coupons, as what is right there.

use super::Shop;
use super::world::{Kind, Off, Sale, Scope, Thing, Wish, World};
use crate::payments::support::{call, enter};
use serde_json::json;
use shared::clock::Clock;

/// A cart, and what its lines must cost.
struct Report {
    /// Ids and prices. From 101 to 199 they are steps of one ladder.
    items: &'static [(u64, i64)],
    /// What the buyer owns, and paid for it.
    owned: &'static [(u64, i64)],
    /// A sale of everything.
    sale: Option<Off>,
    coupon: Option<(Off, Scope)>,
    /// Ids and counts.
    cart: &'static [(u64, i64)],
    totals: &'static [i64],
}

const RANKS: &[(u64, i64)] = &[(101, 2_000), (102, 3_000)];
const OWNED: &[(u64, i64)] = &[(101, 2_000)];
const UPGRADE: &[(u64, i64)] = &[(102, 1)];

fn reports() -> Vec<(&'static str, Report)> {
    let none = || Report { items: RANKS, owned: OWNED, sale: None, coupon: None, cart: UPGRADE, totals: &[] };
    let tenth = || Some((Off::Percentage(1_000), Scope::Everything));
    let pair: &[(u64, i64)] = &[(201, 1_349), (202, 1_449)];
    vec![
        ("a quarter off an upgrade", Report { sale: Some(Off::Percentage(2_500)), totals: &[750], ..none() }),
        ("a third off gave a rank away", Report { sale: Some(Off::Percentage(3_333)), totals: &[667], ..none() }),
        ("an amount above the difference", Report { sale: Some(Off::Amount(1_500)), totals: &[50], ..none() }),
        ("a coupon on an upgrade lost what was paid", Report { coupon: tenth(), totals: &[900], ..none() }),
        (
            "a sale, then a coupon, on an upgrade",
            Report { sale: Some(Off::Percentage(2_500)), coupon: tenth(), totals: &[675], ..none() },
        ),
        (
            "who bought at half the price pays half of the rest",
            Report { owned: &[(101, 1_000)], sale: Some(Off::Percentage(5_000)), totals: &[1_000], ..none() },
        ),
        (
            "a coupon of one item on all",
            Report {
                items: pair,
                owned: &[],
                coupon: Some((Off::Percentage(5_000), Scope::Items(vec![201]))),
                cart: &[(201, 1), (202, 1)],
                totals: &[674, 1_449],
                ..none()
            },
        ),
        (
            "a percentage of five units, rounded once",
            Report { items: pair, owned: &[], coupon: tenth(), cart: &[(202, 5)], totals: &[6_520], ..none() },
        ),
        (
            "quantity, sale and coupon",
            Report {
                items: &[(201, 99)],
                owned: &[],
                sale: Some(Off::Percentage(2_000)),
                coupon: tenth(),
                cart: &[(201, 7)],
                totals: &[498],
            },
        ),
        (
            "an amount over three lines",
            Report {
                items: &[(201, 500), (202, 500), (203, 500)],
                owned: &[],
                coupon: Some((Off::Amount(200), Scope::Everything)),
                cart: &[(201, 1), (202, 1), (203, 1)],
                totals: &[433, 434, 433],
                ..none()
            },
        ),
    ]
}

fn world(report: &Report) -> World {
    let kind = |id| if id < 200 { Kind::Step } else { Kind::Plain };
    let thing = |(id, price): &(u64, i64)| Thing::plain(*id, kind(*id), *price);
    let sale = |off| Sale {
        id: 1,
        off,
        scope: Scope::Everything,
        except: Vec::new(),
        times: (None, None),
        owners_of: Vec::new(),
        with_codes: true,
    };
    World {
        things: report.items.iter().map(thing).collect(),
        sales: report.sale.into_iter().map(sale).collect(),
        coupon: report.coupon.clone(),
        owned: report.owned.to_vec(),
        wishes: report.cart.iter().map(|(id, count)| Wish::plain(*id, *count)).collect(),
        ..World::empty()
    }
}

#[tokio::test]
async fn what_other_shops_were_reported_for_costs_here_what_is_right() {
    for (name, report) in reports() {
        let world = world(&report);
        let shop = Shop::open(&world).await;
        let token = shop.log_in("Buyer").await;
        shop.check_catalog(Some(&token), shop.store.clock.seconds()).await;
        shop.fill(&token, &world.wishes, &vec![true; world.wishes.len()]).await;
        if report.coupon.is_some() {
            assert!(enter(&shop.store, &token, "any").await.0, "{name}");
        }
        let price = call(&shop.store, &token, "/cart/get", &json!({})).await.data()["cart"]["price"].clone();
        let totals = shop.order(&token).await.unwrap();
        assert_eq!(totals, report.totals, "{name}");
        assert_eq!(crate::cart::support::cents(&price), totals.iter().sum::<i64>(), "{name}");
    }
}
