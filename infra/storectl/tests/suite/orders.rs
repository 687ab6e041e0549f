//! `order record` under races and cuts, and without a case of `cases/orders.txt`.

use crate::bench::Bench;
use crate::payments::Paying;
use shared::model::InternalId;
use storectl::error::Exit;
use stripe_stand_in::Action;
use tests::Faults;

/// A paid checkout of two units without its order; its session and the order's id.
async fn lost() -> (Paying, String, InternalId) {
    let paying = Paying::connected().await;
    let order = paying.checkout().await;
    let session = paying.stand_in.sessions().remove(0);
    paying.stand_in.act(&session, &Action::Pay).unwrap();
    paying.lose(&order).await;
    (paying, session, order)
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_who_record_one_session_at_once_one_takes_its_units() {
    let (paying, session, _) = lost().await;
    let record = ["order", "record", "--session", &session, "--owner", "Newt", "--line", "211:2:4.98"];
    let done = futures_util::future::join_all((0..16).map(|_| paying.ok(&record))).await;
    assert_eq!(done.iter().filter(|order| order["already"] == false).count(), 1);
    assert_eq!(paying.doctor("sums of orders").await["state"], "ok");
}

#[tokio::test]
async fn more_than_fifty_lines_are_refused() {
    let bench = Bench::published().await;
    let order = [&["order", "record", "--gateway", "g", "--yes"][..], &["--line", "201:1:1"].repeat(51)].concat();
    let failure = bench.fails(&order).await;
    assert!(failure.exit == Exit::Refused && failure.what.contains("at most 50"), "{failure}");
}

#[tokio::test]
async fn an_order_without_an_answer_names_the_id_to_try_again_with() {
    let bench = Bench::published().await;
    let order = ["order", "record", "--gateway", "g", "--yes", "--line", "201:1:1.99"];
    // The number is taken, then the line is cut.
    let failure = bench.run_through(Faults::cut_after(1), &order).await.unwrap_err();
    assert_eq!(failure.exit, Exit::Unavailable, "{failure}");
    let id = failure.next.split_whitespace().find(|word| word.len() == 16).unwrap().to_owned();
    let again: Vec<&str> = order.into_iter().chain(["--id", &id]).collect();
    assert_eq!(bench.ok(&again).await["internal_id"], id);
    assert_eq!(bench.ok(&again).await["already"], true);
}
