//! `coupon`, `gift` and `referral`: what is made works in a cart, and what is switched off does not.

use crate::bench::Bench;
use http::Method;
use serde_json::Value;
use shared::store::keys::prefix;
use std::collections::BTreeSet;
use storectl::error::Exit;
use tests::Cut;

async fn buyer(bench: &Bench) -> String {
    bench.ok(&["user", "add", "Newt"]).await;
    bench.cart_add(&["1", "201", "--count", "2"]).await;
    bench.token("1").await
}

async fn accept(bench: &Bench, token: &str, code: &str) -> Value {
    let body = serde_json::json!({ "coupon": code }).to_string();
    bench.api(Method::POST, "/cart/acceptCoupon", Some(token), &body).await.1
}

#[tokio::test]
async fn a_coupon_works_until_it_is_switched_off() {
    let bench = Bench::published().await;
    let token = buyer(&bench).await;
    bench.ok(&["coupon", "add", "SPRING", "--percentage", "12.5", "--ends-at", "in 30 days", "--max-uses", "3"]).await;
    let accepted = accept(&bench, &token, "spring").await;
    assert_eq!((&accepted["success"], accepted["percent"].to_string()), (&true.into(), "12.5".to_owned()));
    let shown = bench.ok(&["coupon", "show", "Spring"]).await;
    assert_eq!((shown["off"].as_str(), shown["max_uses"].as_u64()), (Some("12.50 %"), Some(3)));
    assert_eq!(bench.ok(&["coupon", "list"]).await["codes"].as_array().unwrap().len(), 1);
    bench.ok(&["coupon", "disable", "SPRING"]).await;
    assert_eq!(accept(&bench, &token, "SPRING").await["success"], false);
    assert_eq!(bench.ok(&["cart", "show", "1"]).await["coupon_sum"], 0);
    bench.ok(&["coupon", "enable", "SPRING"]).await;
    assert_eq!(accept(&bench, &token, "SPRING").await["success"], true);
}

#[tokio::test]
async fn an_edit_changes_what_it_names_and_keeps_the_rest_and_the_uses() {
    let bench = Bench::published().await;
    bench.ok(&["user", "add", "Newt"]).await;
    bench.ok(&["coupon", "add", "SPRING", "--percentage", "10", "--max-uses", "3", "--ends-at", "in 3 days"]).await;
    let order = ["order", "record", "--gateway", "g", "--owner", "1", "--line", "201", "--coupon", "SPRING"];
    bench.ok(&order).await;
    let edited = bench.ok(&["coupon", "edit", "spring", "--amount", "2", "--minimum", "1.50", "--item", "201"]).await;
    assert_eq!((edited["off"].as_str(), edited["minimum"].to_string()), (Some("2.00"), "1.5".to_owned()), "{edited}");
    assert_eq!((&edited["uses"], &edited["max_uses"], &edited["items"]), (&1.into(), &3.into(), &[201].into()));
    assert!(edited["ends_at"].is_string());
    let limits = ["coupon", "edit", "SPRING", "--max-uses", "none", "--ends-at", "none", "--everything"];
    bench.ok(&limits).await;
    let shown = bench.ok(&["coupon", "show", "SPRING"]).await;
    assert!(shown["max_uses"].is_null() && shown["ends_at"].is_null() && shown["items"] == serde_json::json!([]));
    assert_eq!((&shown["uses"], shown["off"].as_str()), (&1.into(), Some("2.00")));
    let before = bench.rows().await;
    for arguments in [
        &["coupon", "edit", "nope", "--amount", "2"][..],
        &["coupon", "edit", "SPRING", "--amount", "0"],
        &["coupon", "edit", "SPRING", "--max-uses", "0"],
        &["coupon", "edit", "SPRING", "--ends-at", "1 day ago"],
        &["coupon", "edit", "SPRING", "--item", "999"],
        &["gift", "edit", "SPRING", "--ends-at", "none"],
        &["gift", "top-up", "SPRING", "5"],
    ] {
        assert_eq!(bench.fails(arguments).await.exit, Exit::Refused, "{arguments:?}");
    }
    assert_eq!(bench.rows().await, before);
}

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
    for taken in [&["coupon", "add", "SPRING", "--amount", "5"][..], &["user", "add", "Newt"]] {
        assert_eq!(bench.fails(taken).await.exit, Exit::Refused, "{taken:?}: another command's");
    }
    for (list, field) in [("user", "users"), ("coupon", "codes"), ("gift", "codes"), ("referral", "referrals")] {
        assert_eq!(bench.ok(&[list, "list"]).await[field].as_array().unwrap().len(), 1, "{list}");
    }
}

#[tokio::test]
async fn a_top_up_is_added_once_per_key() {
    let bench = Bench::published().await;
    let made = bench.ok(&["gift", "add", "--balance", "10"]).await;
    let card = made["gift_cards"][0]["code"].as_str().unwrap().to_owned();
    let balance = async |arguments: &[&str]| {
        let answer = bench.ok(&[&["gift", "top-up", &card][..], arguments].concat()).await;
        (answer["topped_up"].as_bool().unwrap(), answer["balance"].to_string())
    };
    assert_eq!(balance(&["2.50"]).await, (true, "12.5".to_owned()));
    assert_eq!(balance(&["2.50"]).await, (false, "12.5".to_owned()), "the same amount is the same top-up");
    assert_eq!(balance(&["2.50", "--note", "for the wait"]).await, (true, "15".to_owned()));
    assert_eq!(balance(&["2.50", "--key", "ticket-7"]).await, (true, "17.5".to_owned()));
    assert_eq!(balance(&["2.50", "--key", "ticket-7"]).await, (false, "17.5".to_owned()));
    let failure = bench.fails(&["gift", "top-up", &card, "3", "--key", "ticket-7"]).await;
    assert!(failure.exit == Exit::Refused && failure.what.contains("was used"), "{failure}");
    let most = bench.fails(&["gift", "top-up", &card, "10000000000", "--key", "all"]).await;
    assert!(most.what.contains("largest amount"), "{most}");
    let shown = bench.ok(&["gift", "show", &card]).await;
    assert_eq!([&shown["balance"], &shown["start_balance"]].map(ToString::to_string), ["17.5"; 2]);
    let notes = shown["top_ups"].as_array().unwrap().iter().map(|one| one["note"].as_str().unwrap());
    assert_eq!(notes.collect::<BTreeSet<_>>(), BTreeSet::from(["", "for the wait"]));
    assert_eq!(shown["top_ups"].as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn a_command_that_is_repeated_within_minutes_has_its_effect_again() {
    let bench = Bench::published().await;
    bench.ok(&["coupon", "add", "SPRING", "--amount", "5"]).await;
    for _ in 0..2 {
        for (command, active) in [("disable", false), ("enable", true)] {
            bench.ok(&["coupon", command, "SPRING"]).await;
            assert_eq!(bench.ok(&["coupon", "show", "SPRING"]).await["active"], active);
        }
    }
}

#[tokio::test]
async fn a_coupon_that_could_never_apply_is_not_made() {
    let bench = Bench::published().await;
    bench.ok(&["coupon", "add", "TAKEN", "--amount", "5"]).await;
    let before = bench.rows().await;
    let long = "x".repeat(41);
    for arguments in [
        &["coupon", "add", "taken ", "--amount", "5"][..],
        &["coupon", "add", &long, "--amount", "5"],
        &["coupon", "add", " ", "--amount", "5"],
        &["coupon", "add", "A", "--amount", "0"],
        &["coupon", "add", "A", "--amount", "1.001"],
        &["coupon", "add", "A", "--percentage", "100.01"],
        &["coupon", "add", "A", "--amount", "1", "--minimum=-1"],
        &["coupon", "add", "A", "--amount", "1", "--ends-at", "1 day ago"],
        &["coupon", "add", "A", "--amount", "1", "--starts-at", "in 3 days", "--ends-at", "in 2 days"],
        &["coupon", "add", "A", "--amount", "1", "--starts-at", "soon"],
        &["coupon", "add", "A", "--amount", "1", "--category", "999"],
        &["coupon", "add", "A", "--amount", "1", "--item", "999"],
        &["coupon", "disable", "nope"],
        &["coupon", "show", "nope"],
        &["gift", "disable", "TAKEN"],
        &["gift", "add", "--balance", "0"],
        &["gift", "add", "--balance", "1", "--count", "21"],
    ] {
        let failure = bench.fails(arguments).await;
        assert_eq!((failure.exit, failure.done.as_str()), (Exit::Refused, "Nothing was changed."), "{arguments:?}");
    }
    let changed = |rows: Vec<String>| rows.into_iter().filter(|row| !row.contains("SEQ#")).collect::<Vec<_>>();
    assert_eq!(changed(bench.rows().await), changed(before));
}

#[tokio::test]
async fn a_gift_card_can_be_said_aloud_and_pays() {
    let bench = Bench::published().await;
    let token = buyer(&bench).await;
    let made = bench.ok(&["gift", "add", "--balance", "2.50", "--count", "2"]).await;
    let code = made["gift_cards"][0]["code"].as_str().unwrap().to_owned();
    let accepted = accept(&bench, &token, &code.to_uppercase()).await;
    assert_eq!((&accepted["success"], accepted["sum"].to_string()), (&true.into(), "2.5".to_owned()));
    assert_eq!(bench.ok(&["gift", "show", &code]).await["balance"].to_string(), "2.5");
    bench.ok(&["gift", "disable", &code]).await;
    assert_eq!(bench.ok(&["gift", "show", &code]).await["active"], false);
    bench.ok(&["gift", "enable", &code]).await;
    let edited = bench.ok(&["gift", "edit", &code, "--ends-at", "in 2 days"]).await;
    assert!(edited["active"] == true && edited["ends_at"].is_string(), "{edited}");
    bench.clock.advance(std::time::Duration::from_hours(72));
    assert_eq!(accept(&bench, &token, &code).await["success"], false, "its time is over");
    bench.ok(&["gift", "edit", &code, "--ends-at", "none"]).await;
    bench.ok(&["gift", "top-up", &code, "0.25"]).await;
    assert_eq!(accept(&bench, &token, &code).await["sum"].to_string(), "2.75");
}

/// The codes of a file and of the table.
async fn both(bench: &Bench, file: &str) -> (BTreeSet<String>, BTreeSet<String>) {
    let text = std::fs::read_to_string(file).unwrap();
    let rows = text.lines().filter(|line| !line.starts_with('#')).skip(1);
    let written = rows.map(|line| line.split(',').nth(1).unwrap().to_owned()).collect();
    let mut made = BTreeSet::new();
    shared::store::bulk::each(&bench.db, prefix::CODE, |item| {
        made.insert(item["code"].as_s().unwrap().clone());
        Ok::<(), shared::store::StoreError>(())
    })
    .await
    .unwrap();
    (written, made)
}

#[tokio::test]
async fn many_gift_cards_cut_off_at_any_write_are_completed_by_the_same_command() {
    for let_through in 0.. {
        let bench = Bench::published().await;
        let file = bench.path("cards.csv").display().to_string();
        let command = ["gift", "add", "--balance", "10", "--count", "130", "--ends-at", "in 9 days", "--out", &file];
        let outcome = bench.run_through(Cut::after(let_through), &command).await;
        if outcome.is_ok() {
            assert!(let_through > 5);
            return;
        }
        if let_through > 0 {
            let (written, made) = both(&bench, &file).await;
            assert_eq!(written.len(), 130);
            assert!(made.is_subset(&written), "every card is in the file");
        }
        bench.ok(&command).await;
        let (written, made) = both(&bench, &file).await;
        assert_eq!(written, made, "write {let_through}");
        assert_eq!(bench.ok(&command).await["made"], 0, "again there is nothing to do");
        let other = ["gift", "add", "--balance", "11", "--count", "130", "--ends-at", "in 9 days", "--out", &file];
        assert_eq!(bench.fails(&other).await.exit, Exit::Local);
    }
}

#[tokio::test]
async fn a_referral_code_belongs_to_its_owner_until_it_is_switched_off() {
    let bench = Bench::published().await;
    bench.ok(&["user", "add", "Newt"]).await;
    bench.ok(&["user", "add", "Wren"]).await;
    bench.ok(&["referral", "add", "Lantern", "--owner", "Newt"]).await;
    assert_eq!(bench.fails(&["referral", "add", "lantern", "--owner", "2"]).await.exit, Exit::Refused);
    assert_eq!(bench.fails(&["referral", "add", "x", "--owner", "9"]).await.exit, Exit::Refused);
    let token = bench.token("2").await;
    let set = |code: &str| serde_json::json!({ "ref_code": code }).to_string();
    let (_, answer) = bench.api(Method::POST, "/cart/setReferral", Some(&token), &set("LANTERN")).await;
    assert_eq!(answer["success"], true, "{answer}");
    bench.ok(&["referral", "disable", "lantern"]).await;
    assert_eq!(bench.ok(&["referral", "list"]).await["referrals"][0]["active"], false);
    bench.ok(&["referral", "enable", "lantern"]).await;
    assert_eq!(bench.ok(&["referral", "list"]).await["referrals"][0]["active"], true);
    bench.ok(&["referral", "disable", "lantern"]).await;
    let (_, cart) = bench.api(Method::POST, "/cart/get", Some(&token), "").await;
    assert_eq!(cart["cart"]["referral_code"], "");
}
