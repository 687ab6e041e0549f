//! `order record` without totals: what the owner's cart would charge, or a question.

use crate::bench::Bench;
use serde_json::Value;
use storectl::error::Exit;

/// A store with ranks (5, 9 with 1 off, 20), an item the buyer prices, one for virtual currency, and a plain one.
async fn shop() -> Bench {
    let bench = Bench::empty().await;
    bench.write(
        "s/store.yaml",
        "format: 1\nname: X\ncurrency: {code: EUR}\ncurrencies: [{code: EUR, per_usd: 0.9}, {code: USD, per_usd: 1}]\n\
         virtual_currency: {enabled: true, name: Gems}\n",
    );
    bench.write(
        "s/categories/a.yaml",
        "id: 1\nslug: a\nname: A\nitems:\n  - {id: 1, name: Plain, price: 2.50}\n  \
         - {id: 2, name: Other, price: 10}\n  - {id: 3, name: Any, any_price: true, min_price: 5}\n  \
         - {id: 4, name: Off, price: 1, active: false}\n",
    );
    bench.write(
        "s/categories/b.yaml",
        "id: 2\nslug: b\nname: B\ncumulative: true\nitems:\n  - {id: 11, name: Low, price: 5}\n  \
         - {id: 12, name: High, price: 9, discount: 1}\n  - {id: 13, name: Top, price: 20}\n",
    );
    bench.ok(&["publish", &bench.path("s").display().to_string(), "--yes"]).await;
    bench.ok(&["user", "add", "Newt"]).await;
    bench.ok(&["coupon", "add", "TENTH", "--percentage", "10"]).await;
    bench.ok(&["coupon", "add", "THREE", "--amount", "3"]).await;
    bench
}

fn record<'a>(more: &[&'a str]) -> Vec<&'a str> {
    ["order", "record", "--owner", "1", "--gateway", "g"].iter().chain(more).copied().collect()
}

/// The price of an order and the totals of its lines, as they are printed.
fn prices(order: &Value) -> (String, Vec<String>) {
    let lines = order["lines"].as_array().unwrap().iter();
    (order["price"].to_string(), lines.map(|line| line["total"].to_string()).collect())
}

#[tokio::test]
async fn a_step_costs_its_owner_the_difference_to_what_they_own() {
    let bench = shop().await;
    assert_eq!(prices(&bench.ok(&record(&["--line", "11"])).await), ("5".into(), vec!["5".into()]));
    assert_eq!(prices(&bench.ok(&record(&["--line", "12"])).await), ("3".into(), vec!["3".into()]));
    let guest = bench.ok(&["order", "record", "--gateway", "g", "--line", "12"]).await;
    assert_eq!(prices(&guest), ("8".into(), vec!["8".into()]));
    assert_eq!(prices(&bench.ok(&record(&["--line", "13"])).await), ("12".into(), vec!["12".into()]));
}

#[tokio::test]
async fn a_coupon_is_taken_off_the_lines_as_the_cart_takes_it_off() {
    let bench = shop().await;
    bench.cart_add(&["1", "1", "--count", "3"]).await;
    let order = bench.ok(&record(&["--line", "1:3", "--line", "2", "--coupon", "TENTH"])).await;
    assert_eq!(prices(&order), ("15.75".into(), vec!["6.75".into(), "9".into()]));
    let order = bench.ok(&record(&["--line", "1:3", "--line", "2", "--coupon", "THREE"])).await;
    let (price, lines) = prices(&order);
    assert_eq!((price.as_str(), lines), ("14.5", vec!["6.22".into(), "8.28".into()]));
}

#[tokio::test]
async fn a_gift_card_lowers_what_was_charged_and_never_pays_more_than_the_lines_cost() {
    let bench = shop().await;
    let card = bench.ok(&["gift", "add", "--balance", "50"]).await;
    let code = card["gift_cards"][0]["code"].as_str().unwrap().to_owned();
    let (part, more) = (format!("{code}:2"), format!("{code}:2.51"));
    let order = bench.ok(&record(&["--line", "1", "--gift", &part])).await;
    assert_eq!(prices(&order), ("0.5".into(), vec!["2.5".into()]));
    let failure = bench.fails(&record(&["--line", "1", "--gift", &more])).await;
    assert!(failure.exit == Exit::Refused && failure.what.contains("more than the lines cost"), "{failure}");
    assert_eq!(bench.ok(&["gift", "show", &code]).await["balance"], 48);
}

#[tokio::test]
async fn a_price_that_is_not_known_is_asked_for() {
    let bench = shop().await;
    bench.ok(&record(&["--line", "12"])).await;
    bench.ok(&["coupon", "add", "LATER", "--percentage", "10", "--starts-at", "in 3 days"]).await;
    let before = bench.rows().await;
    for (more, word) in [
        (&["--line", "3"][..], "names the price"),
        (&["--line", "4"], "cannot buy item 4"),
        (&["--line", "11"], "cannot buy item 11"),
        (&["--line", "13:2"], "only one"),
        (&["--line", "99"], "not published"),
        (&["--line", "1", "--line", "2:1:9", "--coupon", "TENTH"], "only some of the lines"),
        (&["--line", "1", "--coupon", "LATER"], "does not apply now"),
        (&["--line", "1", "--currency", "USD"], "is not known"),
    ] {
        let failure = bench.fails(&record(more)).await;
        assert_eq!(failure.exit, Exit::Refused, "{more:?}");
        assert!(failure.what.contains(word), "{more:?}: {failure}");
    }
    assert_eq!(bench.rows().await, before);
    assert_eq!(prices(&bench.ok(&record(&["--line", "3:2:17"])).await).0, "17");
    assert!(bench.fails(&record(&["--line", "4:1:1"])).await.what.contains("not on sale"));
    assert_eq!(prices(&bench.ok(&record(&["--line", "4:1:1", "--past"])).await).0, "1");
}

#[tokio::test]
async fn the_same_command_again_is_the_same_order_whatever_things_cost_by_then() {
    let bench = shop().await;
    let order = record(&["--id", "a", "--line", "11", "--line", "1:2", "--coupon", "TENTH"]);
    let first = bench.ok(&order).await;
    assert_eq!(prices(&first).0, "9");
    let again = bench.ok(&order).await;
    assert_eq!((&again["already"], prices(&again)), (&Value::from(true), prices(&first)));
    let other = bench.fails(&record(&["--id", "a", "--line", "11", "--line", "1:3", "--coupon", "TENTH"])).await;
    assert!(other.what.contains("differs in: lines"), "{other}");
}

#[tokio::test]
async fn an_order_is_in_a_currency_that_the_store_takes() {
    let bench = shop().await;
    for unknown in ["XXX", "US", "", "PLN"] {
        let failure = bench.fails(&record(&["--line", "1", "--price", "1", "--currency", unknown])).await;
        assert!(failure.exit == Exit::Refused && failure.what.contains("not a currency"), "{failure}");
    }
    let order = bench.ok(&record(&["--id", "a", "--line", "1", "--price", "2.75", "--currency", "usd"])).await;
    assert_eq!((&order["currency"], order["price"].to_string()), (&"USD".into(), "2.75".into()));
    // No longer taken: a new order is refused, the recorded one is still the same order.
    bench.write("s/store.yaml", "format: 1\nname: X\ncurrency: {code: EUR}\n");
    bench.ok(&["publish", &bench.path("s").display().to_string(), "--yes"]).await;
    bench.fails(&record(&["--line", "1", "--price", "2.75", "--currency", "USD"])).await;
    let again = bench.ok(&record(&["--id", "a", "--line", "1", "--price", "2.75", "--currency", "USD"])).await;
    assert_eq!(again["already"], true);
}
