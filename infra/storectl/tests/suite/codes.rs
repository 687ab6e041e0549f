//! `coupon`, `gift` and `referral`: what is made works in a cart, and what is switched off does not.

use crate::bench::Bench;
use shared::table::keys::prefix;
use std::collections::BTreeSet;
use storectl::error::Exit;
use tests::Faults;

/// The database carried the first attempt out, its response was lost, and the SDK sent the request again.
#[tokio::test]
async fn a_command_whose_first_response_was_lost_succeeds_once() {
    let bench = Bench::published().await;
    bench.run_losing("TransactWriteItems", &["user", "add", "Newt"]).await.unwrap();
    bench.run_losing("TransactWriteItems", &["coupon", "add", "SPRING", "--amount", "5"]).await.unwrap();
    bench.run_losing("TransactWriteItems", &["referral", "add", "lantern", "--owner", "Newt"]).await.unwrap();
    let made = bench.run_losing("BatchWriteItem", &["gift", "add", "--balance", "10"]).await.unwrap();
    let card = made.json()["gift_cards"][0]["code"].as_str().unwrap().to_owned();
    let topped = bench.run_losing("TransactWriteItems", &["gift", "top-up", &card, "2.50"]).await.unwrap();
    assert_eq!(topped.json()["balance"].to_string(), "12.5");
    let shown = bench.ok(&["gift", "show", &card]).await;
    assert_eq!([&shown["balance"], &shown["start_balance"]].map(ToString::to_string), ["12.5"; 2], "added once");
    assert_eq!(bench.fails(&["user", "add", "Newt"]).await.exit, Exit::Refused, "another command's");
    assert_eq!(bench.ok(&["coupon", "add", "SPRING", "--amount", "5"]).await["made"], false, "it is that coupon");
    for (list, field) in [("user", "users"), ("coupon", "codes"), ("gift", "codes"), ("referral", "referrals")] {
        assert_eq!(bench.ok(&[list, "list"]).await[field].as_array().unwrap().len(), 1, "{list}");
    }
}

/// The codes of a file and of the table.
async fn both(bench: &Bench, file: &str) -> (BTreeSet<String>, BTreeSet<String>) {
    let text = std::fs::read_to_string(file).unwrap();
    let rows = text.lines().filter(|line| !line.starts_with('#')).skip(1);
    let written = rows.map(|line| line.split(',').nth(1).unwrap().to_owned()).collect();
    let mut made = BTreeSet::new();
    shared::table::bulk::each(&bench.db, prefix::CODE, |item| {
        made.insert(item["code"].as_s().unwrap().clone());
        Ok::<(), shared::table::StoreError>(())
    })
    .await
    .unwrap();
    (written, made)
}

#[tokio::test]
async fn many_codes_cut_off_at_any_write_are_completed_by_the_same_command() {
    let cards = ["gift", "add", "--balance", "10", "--count", "130", "--ends-at", "in 9 days", "--out"];
    let coupons =
        ["coupon", "generate", "130", "--percentage", "10", "--first-purchase", "--ends-at", "in 9 days", "--csv"];
    for (command, other) in [(cards, "11"), (coupons, "12.5")] {
        for let_through in Faults::cuts() {
            let bench = Bench::published().await;
            let file = bench.path("codes.csv").display().to_string();
            let command = [&command[..], &[file.as_str()]].concat();
            let outcome = bench.run_through(Faults::cut_after(let_through), &command).await;
            if outcome.is_ok() {
                assert!(let_through > 5);
                break;
            }
            if let_through > 0 {
                let (written, made) = both(&bench, &file).await;
                assert_eq!(written.len(), 130);
                assert!(made.is_subset(&written), "every code is in the file");
            }
            bench.ok(&command).await;
            let (written, made) = both(&bench, &file).await;
            assert_eq!(written, made, "write {let_through}");
            assert_eq!(bench.ok(&command).await["made"], 0, "again there is nothing to do");
            let other: Vec<&str> = command.iter().map(|word| if *word == "10" { other } else { *word }).collect();
            assert_eq!(bench.fails(&other).await.exit, Exit::Local);
            let one = bench.ok(&[command[0], "show", written.first().unwrap()]).await;
            assert_eq!(one["first_purchase"] == true, command[0] == "coupon", "{one}");
        }
    }
}
