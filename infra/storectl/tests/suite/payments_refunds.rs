//! `order refund` and `order accept`, as an operator sees them.

use crate::payments::Paying;
use local::stripe::Action;
use serde_json::json;
use storectl::error::Exit;

#[tokio::test]
async fn a_refund_that_failed_is_shown_and_tried_again() {
    let paying = Paying::connected().await;
    let order = paying.paid().await;
    let (id, session) = (order.as_str(), paying.stand_in.sessions().remove(0));
    paying.ok(&["order", "refund", id, "--to", "1.50", "--yes"]).await;
    assert_eq!(paying.ok(&["order", "list", "--review"]).await["orders"], json!([]));
    paying.stand_in.act(&session, &Action::FailRefund).unwrap();
    let settled = paying.ok(&["order", "settle", id]).await;
    assert_eq!((&settled["status"], &settled["refunded"]), (&json!("PAID"), &json!(0)));
    assert_eq!((&settled["failed_refunds"], &settled["unreturned"]), (&json!(1.5), &json!(1.5)));
    assert_eq!((&settled["refund"]["number"], &settled["refund"]["outcome"]), (&json!(1), &json!("failed")));
    assert_eq!(paying.ok(&["order", "list", "--review"]).await["orders"][0]["internal_id"], id);
    let (keys, base) = (paying.path("payment-keys.json"), paying.stand_in.base_url());
    let shown = paying.bench.run(&Paying::line(&["order", "show", id], &keys, &base)).await.unwrap();
    assert!(shown.text().contains("1.50 have not been refunded again"), "{}", shown.text());
    let again = paying.ok(&["order", "refund", id, "--to", "1.50", "--yes"]).await;
    assert_eq!(
        (&again["amount"], &again["unreturned"], &again["refund"]["number"]),
        (&json!(1.5), &json!(0), &json!(2))
    );
    assert_eq!(paying.ok(&["order", "list", "--review"]).await["orders"], json!([]));
    assert_eq!(paying.doctor("sums of orders").await["state"], "ok");
}

#[tokio::test]
async fn only_an_order_that_needs_an_operator_can_be_accepted() {
    let paying = Paying::connected().await;
    let order = paying.paid().await;
    let asked = paying.fails(&["order", "accept", order.as_str()]).await;
    assert_eq!(asked.exit, Exit::Declined);
    let refused = paying.fails(&["order", "accept", order.as_str(), "--yes"]).await;
    assert!(refused.what.contains("does not need an operator"), "{refused}");
}
