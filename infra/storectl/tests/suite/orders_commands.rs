//! `order` on the command line; its effect on counters and statistics is tested with the library.

use crate::bench::Bench;
use serde_json::json;
use storectl::error::Exit;
use tests::Cut;

#[tokio::test]
async fn the_same_id_again_has_no_second_effect_and_a_refund_takes_it_back_once() {
    let bench = Bench::published().await;
    bench.ok(&["user", "add", "Newt"]).await;
    let card = bench.ok(&["gift", "add", "--balance", "10"]).await;
    let code = card["gift_cards"][0]["code"].as_str().unwrap().to_owned();
    let part = format!("{code}:2.50");
    let order = [
        "order",
        "record",
        "--id",
        "A-1",
        "--owner",
        "1",
        "--gateway",
        "cardhouse",
        "--line",
        "201:2:3.98",
        "--gift",
        &part,
    ];
    let balance = || async { bench.ok(&["gift", "show", &code]).await["balance"].to_string() };
    assert_eq!(bench.ok(&order).await["already"], false);
    assert_eq!(bench.ok(&order).await["already"], true);
    assert_eq!(balance().await, "7.5");
    bench.ok(&["order", "set-status", "A-1", "refunded"]).await;
    bench.ok(&["order", "set-status", "A-1", "REFUNDED"]).await;
    assert_eq!(balance().await, "10");
    assert_eq!(bench.ok(&["order", "show", "A-1"]).await["status"], "REFUNDED");
}

#[tokio::test]
async fn what_cannot_be_an_order_is_refused_and_takes_nothing() {
    let bench = Bench::published().await;
    let before = bench.rows().await;
    let many: Vec<String> = (0..51).map(|_| "201:1:1".to_owned()).collect();
    let mut long = vec!["order", "record", "--gateway", "g"];
    long.extend(many.iter().flat_map(|line| ["--line", line.as_str()]));
    for arguments in [
        &long[..],
        &["order", "record", "--gateway", "g", "--line", "201:0"],
        &["order", "record", "--gateway", "g", "--line", "201:1:2:3"],
        &["order", "record", "--gateway", "g", "--line", "99999"],
        &["order", "record", "--gateway", "g", "--line", "201", "--owner", "5"],
        &["order", "record", "--gateway", "g", "--line", "201", "--gift", "nope:1"],
        &["order", "record", "--gateway", "g", "--line", "201", "--coupon", "nope"],
        &["order", "record", "--gateway", "g", "--line", "201", "--price=-1"],
        &["order", "record", "--gateway", "g", "--line", "201", "--at", "in 3 days"],
        &["order", "show", "nope"],
        &["order", "set-status", "nope", "PAID"],
    ] {
        assert_eq!(bench.fails(arguments).await.exit, Exit::Refused, "{arguments:?}");
    }
    assert_eq!(bench.rows().await, before);
}

#[tokio::test]
async fn an_order_without_an_answer_names_the_id_to_try_again_with() {
    let bench = Bench::published().await;
    let order = ["order", "record", "--gateway", "g", "--line", "201"];
    // The number is taken, then the line is cut.
    let failure = bench.run_through(Cut::after(1), &order).await.unwrap_err();
    assert_eq!(failure.exit, Exit::Unavailable, "{failure}");
    let id = failure.next.split_whitespace().find(|word| word.len() == 16).unwrap().to_owned();
    let again: Vec<&str> = order.into_iter().chain(["--id", &id]).collect();
    assert_eq!(bench.ok(&again).await["internal_id"], id);
    assert_eq!(bench.ok(&again).await["already"], true);
}

#[tokio::test]
async fn a_gift_is_typed_with_its_recipient_and_raises_their_rank_only() {
    let bench = Bench::published().await;
    bench.ok(&["user", "add", "Newt"]).await;
    bench.ok(&["user", "add", "Eft"]).await;
    let order = ["order", "record", "--past", "--id", "g", "--owner", "Newt", "--gateway", "g", "--line", "101@Eft"];
    let line = bench.ok(&order).await["lines"][0].clone();
    let of_line = [&line["item"], &line["count"], &line["total"], &line["payment_type"], &line["recipient"]];
    assert_eq!(of_line, [&json!(101), &json!(1), &json!(4.99), &json!("gift"), &json!(2)]);
    assert_eq!(bench.ok(&order).await["already"], true);
    assert!(bench.run(&["order", "show", "g"]).await.unwrap().text().contains("gift for Eft (user 2)"));
    assert_eq!(bench.cart_add(&["Newt", "102"]).await["price"], 9.99);
    assert_eq!(bench.cart_add(&["Eft", "102"]).await["price"], 5, "the gift is paid towards the next step");
    let unknown = ["order", "record", "--owner", "Newt", "--gateway", "g", "--line", "101@77"];
    assert_eq!(bench.fails(&unknown).await.exit, Exit::Refused);
}
