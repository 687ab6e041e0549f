//! Orders as they are stored and shown, and searches for them.

use crate::bench::Bench;
use crate::payments::Paying;
use http::{Method, StatusCode};
use local::stripe::Action;
use serde_json::{Value, json};
use std::time::Duration;
use storectl::error::Exit;

/// Puts a referral code on Newt's cart, as a storefront does.
async fn set_referral(bench: &Bench, code: &str) {
    let token = bench.token("Newt").await;
    let body = json!({ "ref_code": code }).to_string();
    let (status, reply) = bench.api(Method::POST, "/cart/setReferral", Some(&token), &body).await;
    assert_eq!((status, &reply["success"]), (StatusCode::OK, &json!(true)), "{reply}");
}

/// A connected store in which Wren has the referral code Lantern, and Newt has it on the cart.
async fn referred() -> Paying {
    let paying = Paying::connected().await;
    paying.bench.ok(&["user", "add", "Wren"]).await;
    paying.bench.ok(&["referral", "add", "Lantern", "--owner", "Wren"]).await;
    set_referral(&paying.bench, "lantern").await;
    paying
}

fn ids(list: &Value) -> Vec<&str> {
    list["orders"].as_array().unwrap().iter().map(|order| order["internal_id"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn everything_about_a_bought_order_is_stored_and_shown() {
    let paying = referred().await;
    let bench = &paying.bench;
    bench.ok(&["coupon", "add", "SPRING", "--percentage", "10"]).await;
    let gift = ["--type", "gift", "--gift-to", "Pebble", "--var", "1=Bramble", "--var", "2=Plain"];
    bench.cart_add(&[&["Newt", "311"][..], &gift].concat()).await;
    bench.cart_add(&["Newt", "401", "--server", "1"]).await;
    bench.cart_code("Newt", "SPRING").await;
    let order = paying.paid().await;
    let answer = bench.run(&["order", "show", order.as_str()]).await.unwrap();
    let (text, shown) = (answer.text().to_owned(), answer.json().clone());
    for word in [
        "of Newt (user 1)",
        "agreed to terms and privacy policy at 2",
        "logged in by a token",
        "coupon spring",
        "referral lantern of Wren (user 2)",
        "Grey Courser",
        "Name of the horse = Bramble",
        "Saddle = Plain",
        "gift for Pebble (user 3)",
        "server ",
        "payment pi_",
    ] {
        assert!(text.contains(word), "{word}: {text}");
    }
    assert_eq!((&shown["player"], &shown["via"], &shown["chat"]), (&json!("Newt"), &json!("proven"), &Value::Null));
    assert_eq!(shown["referral"], json!({ "code": "lantern", "owner": 2, "owner_name": "Wren" }));
    assert!(shown["consented_at"].is_string(), "{shown}");
    let lines = shown["lines"].as_array().unwrap();
    let line = |item: u64| lines.iter().find(|line| line["item"] == item).unwrap();
    assert_eq!(line(311)["variables"][0], json!({ "id": 1, "name": "Name of the horse", "value": "Bramble" }));
    assert_eq!((&line(311)["gift_to"], &line(311)["recipient_name"]), (&json!("Pebble"), &json!("Pebble")));
    assert_eq!((&line(401)["server"], line(401)["server_name"].is_string()), (&json!(1), true));
    // A backup has all of it.
    let file = paying.path("backup.jsonl.gz");
    bench.ok(&["backup", &file]).await;
    let other = Bench::empty().await;
    other.ok(&["restore", &file, "--yes"]).await;
    assert_eq!(other.ok(&["order", "show", order.as_str()]).await, shown);
}

#[tokio::test]
async fn a_creator_is_credited_with_paid_orders_by_currency_less_refunds() {
    let paying = referred().await;
    let bench = &paying.bench;
    let report = |more: &'static [&'static str]| async move {
        bench.ok(&[&["referral", "report"], more].concat()).await["referrals"].clone()
    };
    assert_eq!(report(&[]).await, json!([]));
    let first = paying.paid().await;
    // The code stays on the cart, for the next order.
    bench.clock.advance(Duration::from_hours(48));
    bench.cart_add(&["Newt", "211"]).await;
    paying.paid().await;
    bench.cart_add(&["Newt", "211"]).await;
    paying.checkout().await;
    let sums = |amount: Value| json!([{ "currency": "EUR", "amount": amount }]);
    let credit = |orders: u64, amount: Value| json!([{ "code": "lantern", "owner": 2, "owner_name": "Wren", "orders": orders, "sums": sums(amount) }]);
    assert_eq!(report(&[]).await, credit(2, json!(7.47)), "what is not paid yet does not count");
    assert_eq!(report(&["--to", "1 day ago"]).await, credit(1, json!(4.98)));
    assert_eq!(report(&["--from", "1 day ago"]).await, credit(1, json!(2.49)));
    let session = paying.stand_in.sessions()[0].clone();
    paying.stand_in.act(&session, &Action::Refund(Some(98))).unwrap();
    paying.ok(&["order", "settle", first.as_str()]).await;
    assert_eq!(report(&[]).await, credit(2, json!(6.49)));
    paying.stand_in.act(&session, &Action::Refund(None)).unwrap();
    paying.ok(&["order", "settle", first.as_str()]).await;
    assert_eq!(report(&[]).await, credit(1, json!(2.49)));
    assert_eq!(bench.fails(&["referral", "report", "--from", "soon"]).await.exit, Exit::Refused);
    assert_eq!(paying.doctor("referrals").await["state"], "ok");
    // The credit of an erased creator is still owed.
    paying.ok(&["user", "erase", "Wren", "--yes"]).await;
    let left = bench.run(&["referral", "report"]).await.unwrap();
    assert!(left.text().contains("user 2, erased"), "{}", left.text());
    assert_eq!(paying.doctor("referrals").await["state"], "note");
}

#[tokio::test]
async fn a_code_that_is_not_in_force_credits_nobody() {
    let paying = referred().await;
    paying.bench.ok(&["referral", "disable", "lantern"]).await;
    let order = paying.paid().await;
    assert_eq!(paying.ok(&["order", "show", order.as_str()]).await["referral"], Value::Null);
}

#[tokio::test]
async fn orders_are_found_by_what_a_buyer_knows_and_sorted_by_their_own_dates() {
    let paying = Paying::connected().await;
    let bench = &paying.bench;
    let bought = paying.paid().await;
    let record = |id: &'static str, at: &'static str, line: &'static str| async move {
        let order = ["order", "record", "--id", id, "--gateway", "g", "--at", at, "--line", line, "--owner", "Newt"];
        bench.ok(&order).await;
    };
    bench.ok(&["user", "add", "Wren"]).await;
    record("younger", "2 days ago", "303@Wren").await;
    record("older", "60 days ago", "201:3").await;
    let find = |more: &'static [&'static str]| async move { bench.ok(&[&["order", "list"], more].concat()).await };
    let all = [bought.as_str(), "younger", "older"];
    assert_eq!(ids(&find(&[]).await), all, "not by the order in which they were recorded");
    assert_eq!(ids(&find(&["--player", "newt"]).await), all);
    assert_eq!(ids(&find(&["--player", "Wren"]).await), ["younger"], "a gift for them");
    assert_eq!(ids(&find(&["--user", "1"]).await), all, "the option's older name");
    assert_eq!(ids(&find(&["--player", "Nobody"]).await), [""; 0]);
    assert_eq!(ids(&find(&["--item", "201"]).await), ["older"]);
    assert_eq!(ids(&find(&["--item", "stone gol"]).await), ["younger"]);
    assert_eq!(ids(&find(&["--from", "3 days ago", "--to", "1 day ago"]).await), ["younger"]);
    assert_eq!(ids(&find(&["--to", "3 days ago"]).await), ["older"]);
    assert_eq!(ids(&find(&["--amount", "12"]).await), ["younger"]);
    assert_eq!(ids(&find(&["--amount", "12.00", "--item", "201"]).await), [""; 0]);
    let shown = find(&["--item", "211"]).await;
    let provider = &shown["orders"][0]["provider"];
    for id in ["session", "intent"] {
        let found = bench.ok(&["order", "list", "--provider-id", provider[id].as_str().unwrap()]).await;
        assert_eq!(ids(&found), [bought.as_str()], "{id}");
    }
    assert_eq!(shown["orders"][0]["player"], "Newt");
    for wrong in [["--amount", "much"], ["--from", "someday"], ["--player", " "]] {
        let command = ["order", "list", wrong[0], wrong[1]];
        assert_eq!(bench.fails(&command).await.exit, Exit::Refused, "{wrong:?}");
    }
}

#[tokio::test]
async fn a_recorded_order_has_variables_server_and_a_recipient_who_gets_an_account() {
    let bench = Bench::published().await;
    bench.ok(&["user", "add", "Newt"]).await;
    let order = [
        "order",
        "record",
        "--id",
        "a",
        "--owner",
        "Newt",
        "--gateway",
        "g",
        "--line",
        "311@Pebble",
        "--line",
        "402",
        "--var",
        "1:1=Bramble",
        "--var",
        "1:2=Plain",
        "--server",
        "2:1",
    ];
    let made = bench.ok(&order).await;
    assert_eq!((&made["lines"][0]["recipient"], &made["lines"][0]["gift_to"]), (&json!(2), &json!("Pebble")));
    assert_eq!(bench.ok(&["user", "show", "pebble"]).await["bought"][0]["item"], 311);
    assert_eq!(bench.ok(&order).await["already"], true);
    let other = [&order[..order.len() - 1], &["2:2"]].concat();
    assert!(bench.fails(&other).await.what.contains("differs in: lines"));
    let shown = bench.ok(&["order", "show", "a"]).await;
    assert_eq!(shown["lines"][0]["variables"][1], json!({ "id": 2, "name": "Saddle", "value": "Plain" }));
    assert_eq!((&shown["lines"][1]["server"], &shown["lines"][1]["name"]), (&json!(1), &made["lines"][1]["name"]));
    assert_eq!(bench.run(&["doctor"]).await.unwrap().trouble(), None);
}

#[tokio::test]
async fn what_a_checkout_would_refuse_is_recorded_only_as_a_sale_of_before() {
    let bench = Bench::published().await;
    for name in ["Newt", "Eft", "Grub"] {
        bench.ok(&["user", "add", name]).await;
    }
    bench.ok(&["ban", "Grub"]).await;
    bench.ok(&["order", "record", "--gateway", "g", "--line", "303@Eft"]).await;
    let record = |more: &[&'static str]| [&["order", "record", "--owner", "Newt", "--gateway", "g"], more].concat();
    bench.ok(&["coupon", "add", "OVER", "--percentage", "10"]).await;
    bench.ok(&["coupon", "disable", "OVER"]).await;
    let over = record(&["--line", "201:1:1", "--coupon", "OVER"]);
    assert!(bench.fails(&over).await.what.contains("does not apply now"));
    let before = bench.rows().await;
    for (more, word) in [
        (&["--line", "311:1:8"][..], "\"Name of the horse\" is missing"),
        (&["--line", "311:1:8", "--var", "1=Bramble", "--var", "2=Golden"], "Saddle"),
        (&["--line", "311:1:8", "--var", "1=Bramble", "--var", "9=Plain"], "9"),
        (&["--line", "402:1:4"], "server"),
        (&["--line", "402:1:4", "--server", "77"], "selected server"),
        (&["--line", "101:1:4.99@Eft"], "item 101"),
        (&["--line", "303:1:12@Newt"], "item 303"),
        (&["--line", "303:1:12@Eft"], "its recipient owns it or has reached the limit"),
        (&["--line", "303:1:12@Grub"], "banned"),
        (&["--line", "403:1:4.99", "--server", "1"], "chat"),
        (&["--line", "99999:1:5"], "item 99999"),
    ] {
        let failure = bench.fails(&record(more)).await;
        assert_eq!(failure.exit, Exit::Refused, "{more:?}");
        assert!(failure.what.contains(word) && failure.next.contains("--past"), "{more:?}: {failure}");
    }
    assert!(
        bench
            .fails(&["order", "record", "--owner", "Grub", "--gateway", "g", "--line", "201"])
            .await
            .what
            .contains("banned")
    );
    for more in [&["--line", "201", "--line", "311", "--var", "1=Bramble"][..], &["--line", "201", "--server", "2:1"]] {
        assert!(bench.fails(&record(more)).await.what.contains("which of them"), "{more:?}");
    }
    assert_eq!(bench.rows().await, before);
    for line in ["311:1:8", "402:1:4", "101:1:4.99@Eft", "99999:1:5"] {
        bench.ok(&record(&["--past", "--line", line])).await;
    }
    let limit = bench.fails(&record(&["--past", "--line", "303:1:12@Eft"])).await;
    assert!(limit.what.contains("303"), "a limit holds in any case: {limit}");
}

#[tokio::test]
async fn an_order_that_is_not_paid_is_ended_in_one_way() {
    let paying = Paying::connected().await;
    let bench = &paying.bench;
    for (id, status) in [("a", "PENDING"), ("b", "FAILED"), ("c", "REFUNDED"), ("d", "PAID")] {
        bench.ok(&["order", "record", "--id", id, "--gateway", "g", "--status", status, "--line", "201"]).await;
    }
    for status in ["CANCELLED", "FAILED"] {
        let failure = bench.fails(&["order", "set-status", "a", status]).await;
        assert!(failure.next.contains("order cancel a"), "{failure}");
    }
    // Neither of them needs a provider.
    assert_eq!(bench.ok(&["order", "cancel", "a"]).await["status"], "CANCELLED");
    for (id, status) in [("a", "CANCELLED"), ("b", "FAILED"), ("c", "REFUNDED")] {
        let again = bench.run(&["order", "cancel", id]).await.unwrap();
        assert!(again.text().starts_with("Nothing to do") && again.json()["status"] == status, "{}", again.text());
    }
    let paid = bench.fails(&["order", "cancel", "d"]).await;
    assert!(paid.exit == Exit::Refused && paid.next.contains("order refund d"), "{paid}");
    let set = bench.run(&["order", "set-status", "d", "refunded"]).await.unwrap();
    assert!(set.text().contains("nothing was charged or refunded at a payment provider"), "{}", set.text());
    // An open checkout is ended at the provider, too.
    let open = paying.checkout().await;
    assert_eq!(paying.ok(&["order", "cancel", open.as_str()]).await["status"], "CANCELLED");
    assert!(paying.stand_in.act(&paying.stand_in.sessions()[0], &Action::Pay).is_err());
}
