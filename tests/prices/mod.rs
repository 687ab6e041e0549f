//! Prices against a model of them that is written apart from the rules (`model`): any store with sales, discounts, packs, surcharges
//! and a ladder; any buyer, coupon and cart; around a second at which something changes, or the clocks of the store's zone. By the
//! public routes: what the catalog, the deals, the cart and the order say is the same to the cent, before and after that second,
//! with the caches that were warm before it. `PROPTEST_CASES` is the number of stores.

mod model;
mod page;
mod reports;
mod world;

use self::model::{Shown, Unit};
use self::world::{Kind, Off, Wish, World, some_world};
use crate::cart::support::{amount, cents, coupon, percent, put_code};
use crate::payments::support::{agreed, call, stored};
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};
use shared::clock::Clock;
use shared::model::{CategoryId, Code, Coupon, Holding, ItemId, Ledger, Money, Owned, Scope, UserId};
use shared::shop::stock::ledgers;
use std::collections::BTreeMap;
use std::time::Duration;
use tests::{Call, TestStore};

/// The stores that are tried unless `PROPTEST_CASES` says otherwise.
const CASES: u32 = 64;

/// The least amount that Stripe takes, in cents, whatever the store says.
const STRIPES_LEAST: i64 = 50;

/// A store with these files, by their paths.
async fn published(files: impl IntoIterator<Item = (&'static str, String)>) -> TestStore {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("categories")).unwrap();
    for (path, text) in files {
        std::fs::write(dir.path().join(path), text).unwrap();
    }
    let compiled = publish::read(dir.path()).and_then(|files| publish::compile(&files));
    let compiled = compiled.unwrap_or_else(|faults| panic!("{faults:#?}"));
    let store = TestStore::empty().await;
    publish::publish(&store.db, &compiled, store.clock.seconds()).await.unwrap();
    store
}

/// The token of a new player, who owns items for which these sums were paid, in cents.
async fn player(store: &TestStore, name: &str, owned: &[(u64, i64)]) -> String {
    let log_in = Call::post("/auth/username").json(&json!({ "username": name }));
    let token = store.send(log_in).await.data().as_str().unwrap().to_owned();
    let user = call(store, &token, "/user", &json!({})).await.data()["id"].as_u64().unwrap();
    let mut ledger = Ledger::default();
    for (id, paid) in owned {
        let all = Owned { units: 1, paid: Money::from_minor(*paid) };
        *ledger.entry(ItemId::new(*id)) = Holding { all, run: None };
    }
    tests::put(&store.db, ledgers::row(UserId::new(user), &ledger)).await;
    token
}

/// A published store, and who buys in it.
struct Shop<'a> {
    world: &'a World,
    store: TestStore,
}

impl<'a> Shop<'a> {
    async fn open(world: &'a World) -> Self {
        let store = published(world.files()).await;
        if let Some((off, scope)) = &world.coupon {
            let discount = match off {
                Off::Percentage(hundredths) => percent(u32::try_from(*hundredths).unwrap()),
                Off::Amount(cents) => amount(*cents),
            };
            let (categories, items) = match scope.clone() {
                world::Scope::Everything => (Vec::new(), Vec::new()),
                world::Scope::Category(category) => (vec![CategoryId::new(category)], Vec::new()),
                world::Scope::Items(items) => (Vec::new(), items.into_iter().map(ItemId::new).collect()),
            };
            let coupon = Coupon { scope: Scope { categories, items }, ..coupon("any", discount) };
            put_code(&store, &Code::Coupon(coupon)).await;
        }
        Self { world, store }
    }

    fn advance_to(&self, second: i64) {
        let ahead = u64::try_from(second - self.store.clock.seconds()).unwrap();
        self.store.clock.advance(Duration::from_secs(ahead));
    }

    /// A new player's token, who owns what the world's buyer owns.
    async fn log_in(&self, name: &str) -> String {
        player(&self.store, name, &self.world.owned).await
    }

    /// Each item in the lists that a caller sees, as the catalog and the deals have it: they must be the same.
    async fn catalog(&self, token: Option<&str>) -> BTreeMap<u64, Value> {
        let ask = async |path: &str| {
            let request = Call::post(path);
            self.store.send(token.iter().fold(request, |request, token| request.token(token))).await.data()
        };
        let mut listed = Vec::new();
        for category in ["/categories/get/ladder", "/categories/get/shelf"] {
            listed.extend(ask(category).await["items"].as_array().unwrap().clone());
        }
        let fields = |item: Value| {
            let kept =
                ["price", "discount", "original_price", "is_unavailable", "sale"].map(|field| item[field].clone());
            (item["id"].as_u64().unwrap(), json!(kept))
        };
        let listed: BTreeMap<u64, Value> = listed.into_iter().map(fields).collect();
        let deals = ask("/items/getFeaturedDeals").await.as_array().unwrap().clone();
        assert_eq!(deals.into_iter().map(fields).collect::<BTreeMap<_, _>>(), listed, "the deals");
        listed
    }

    /// The catalog must show each item as the model has it. Returns the prices of what can be bought.
    async fn check_catalog(&self, token: Option<&str>, now: i64) -> BTreeMap<u64, i64> {
        let mut listed = self.catalog(token).await;
        let mut prices = BTreeMap::new();
        for thing in &self.world.things {
            let Some(Shown { unit, is_unavailable }) = self.world.shown(thing, token.is_some(), now) else { continue };
            let seen = listed.remove(&thing.id).unwrap_or_else(|| panic!("{} is not listed", thing.id));
            let money = [&seen[0], &seen[1], &seen[2]].map(cents);
            let Unit { regular, price, sales, .. } = unit;
            assert_eq!((money, &seen[3]), ([price, regular - price, regular], &json!(is_unavailable)), "{}", thing.id);
            let sale = seen[4]["name"].as_str().map(|name| name["Sale ".len()..].parse().unwrap());
            assert!(
                sale.map_or(sales.is_empty(), |sale: u64| sales.contains(&sale)),
                "{}: {sale:?} of {sales:?}",
                thing.id
            );
            if !is_unavailable {
                prices.insert(thing.id, price);
            }
        }
        assert_eq!(listed, BTreeMap::new(), "what is over");
        prices
    }

    /// Adds what the model can buy; what it cannot must be refused.
    async fn fill(&self, token: &str, wishes: &[Wish], can: &[bool]) {
        for (wish, can) in wishes.iter().zip(can) {
            let mut body = json!({ "count": wish.count, "promoted": wish.is_promoted });
            if wish.is_gift {
                (body["payment_type"], body["gift_to"]) = (json!(2), json!("Friend"));
            }
            if self.world.thing(wish.id).gold.is_some() {
                body["variables"] = json!({ "1": if wish.is_gold { "gold" } else { "silver" } });
            }
            if let Some(named) = wish.named {
                body["price"] = json!(world::decimal(named));
            }
            let reply = call(&self.store, token, &format!("/cart/add/{}", wish.id), &body).await;
            assert_eq!(reply.status == 200, *can, "{wish:?}: {}", reply.text);
        }
    }

    /// Begins a checkout, and returns the totals of the order's lines; `None` if too little is left to pay for the store or for Stripe.
    async fn order(&self, token: &str) -> Option<Vec<i64>> {
        let begun = call(&self.store, token, "/payments/create", &agreed()).await.data();
        if begun["success"] != true {
            let message = begun["message"].as_str().unwrap();
            let too_little = format!("At least {} must be paid.", world::decimal(self.world.least));
            let is_too_little = message.starts_with(&too_little);
            let is_refused = message.starts_with("The payment provider refuses this payment.");
            assert!(is_too_little || is_refused && self.world.least < STRIPES_LEAST, "{message}");
            return None;
        }
        let order = stored(&self.store, begun["order_id"].as_str().unwrap()).await.order;
        let totals: Vec<i64> = order.lines.iter().map(|line| line.total.minor()).collect();
        assert_eq!(order.price.minor(), totals.iter().sum::<i64>(), "the parts of the order add up");
        Some(totals)
    }

    /// A unit of each item costs in the cart and the order what it costs in the catalog.
    async fn check_single_units(&self, now: i64) {
        let token = self.log_in("Single").await;
        let prices = self.check_catalog(Some(&token), now).await;
        let is_wanted = |id: &u64| !matches!(self.world.thing(*id).kind, Kind::Monthly | Kind::Named);
        // Of the steps only the highest can be in a cart.
        let step = prices.keys().copied().filter(|id| *id < 200).max();
        let ids = step.into_iter().chain(prices.keys().copied().filter(|id| *id >= 200)).filter(is_wanted);
        let wishes: Vec<Wish> = ids.map(|id| Wish::plain(id, 1)).collect();
        self.fill(&token, &wishes, &vec![true; wishes.len()]).await;
        let expected: Vec<i64> = wishes.iter().map(|wish| prices[&wish.id]).collect();
        let cart = call(&self.store, &token, "/cart/get", &json!({})).await.data();
        let lines: Vec<i64> = cart["items"].as_array().unwrap().iter().map(|line| cents(&line["price"])).collect();
        assert_eq!(lines, expected, "the cart of single units");
        if !wishes.is_empty()
            && let Some(totals) = self.order(&token).await
        {
            assert_eq!(totals, expected, "the order of single units");
        }
    }

    /// The cart of the world's buyer, with the coupon, and its order.
    async fn check_cart(&self, now: i64) {
        let token = self.log_in("Buyer").await;
        let (can, paid) = self.world.paid(now);
        self.fill(&token, &self.world.wishes, &can).await;
        let entered = call(&self.store, &token, "/cart/acceptCoupon", &json!({ "coupon": "any" })).await.data();
        let cart = call(&self.store, &token, "/cart/get", &json!({})).await.data();
        let shown = cart["items"].as_array().unwrap();
        let lines: Vec<i64> = shown.iter().map(|line| cents(&line["price"])).collect();
        let parts: Vec<i64> =
            shown.iter().map(|line| &line["code_sum"]).filter(|part| !part.is_null()).map(cents).collect();
        assert_eq!(lines, paid.lines.iter().map(|(unit, ..)| *unit).collect::<Vec<_>>(), "the cart");
        let clear: i64 = paid.lines.iter().map(|(_, total, _)| total).sum();
        let [shown, coupon, price] = ["clear_price", "coupon_sum", "price"].map(|field| cents(&cart["cart"][field]));
        assert_eq!((shown, price), (clear, clear - coupon), "the cart");
        let (least, most) = paid.coupon;
        assert!((least..=most).contains(&coupon) && coupon <= clear, "{coupon} of {least} to {most}: {entered}");
        assert!(parts.is_empty() || parts.iter().sum::<i64>() == coupon, "{parts:?} of {coupon}");
        if paid.lines.is_empty() {
            return;
        }
        let Some(totals) = self.order(&token).await else {
            assert!(0 < price && price < self.world.least.max(STRIPES_LEAST), "{price}");
            return;
        };
        assert!(price == 0 || price >= self.world.least, "{price}");
        assert_eq!(totals.iter().sum::<i64>(), price, "the order is what the cart showed");
        for (total, (_, before, part)) in totals.into_iter().zip(paid.lines) {
            assert!((0..=before).contains(&total), "{total} of {before}");
            assert!(part.is_none_or(|part| total == before - part), "{total} of {before}, less {part:?}");
        }
    }
}

/// Everything that a world says, around the second at which something changes.
async fn check(world: World) {
    let shop = Box::pin(Shop::open(&world)).await;
    let edges = world.edges();
    let edge = edges[world.edge % edges.len()];
    shop.advance_to(edge - 1);
    let token = shop.log_in("Caller").await;
    for now in [edge - 1, edge] {
        shop.advance_to(now);
        // In turn, with the caches that the other one filled.
        shop.check_catalog(None, now).await;
        shop.check_catalog(Some(&token), now).await;
    }
    shop.check_single_units(edge).await;
    shop.check_cart(edge).await;
}

#[test]
fn whatever_is_sold_it_costs_in_catalog_cart_and_order_what_the_model_says() {
    let config = Config { failure_persistence: None, max_shrink_iters: 200, ..Config::default() };
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { config.cases } else { CASES };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let result = TestRunner::new(Config { cases, ..config }).run(&some_world(), |world| {
        runtime.block_on(Box::pin(check(world)));
        Ok(())
    });
    if let Err(broken) = result {
        panic!("{broken}");
    }
}
