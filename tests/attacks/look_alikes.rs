//! Names and codes that look like others (rules.md, "Accounts"; rules.md, "Coupons and gift cards").

use crate::cart::support::{self, coupon, outcome, percent, put_code};
use serde_json::json;
use shared::model::Code;
use shared::table::keys;
use tests::{Call, TestStore};

/// Names that read like Thornwick or Kelvin. All are refused as names.
const LOOK_ALIKES: [&str; 24] = [
    "Ｔｈｏｒｎｗｉｃｋ",
    "Тhornwick",
    "Thоrnwick",
    "Thornwi\u{200b}ck",
    "Thornwick\u{200d}",
    "\u{feff}Thornwick",
    "Thornwick\u{ad}",
    "\u{202e}kciwnrohT",
    "\u{2066}Thornwick\u{2069}",
    "Thornw\u{131}ck",
    "Thornw\u{130}ck",
    "Thornwic\u{212a}",
    "\u{212a}elvin",
    "Thornwick\u{301}",
    "Tho\u{337}rnwick",
    "𝐓𝐡𝐨𝐫𝐧𝐰𝐢𝐜𝐤",
    "Ⓣhornwick",
    "Thornwıck",
    "Thornwick\u{a0}",
    "Thornwick ",
    "Thornwick\0",
    "ſtone",
    "Straße",
    "Player１",
];

#[tokio::test]
async fn no_look_alike_of_a_name_can_log_in() {
    let store = TestStore::open().await;
    for (place, name) in LOOK_ALIKES.into_iter().enumerate() {
        store.calls.clear();
        let call = Call::post("/auth/username").from_ip(&format!("203.0.113.{place}"));
        let reply = store.send(call.json(&json!({ "username": name }))).await;
        assert_eq!(reply.status, 400, "{name:?}: {}", reply.text);
        assert!(store.calls.writes() <= 2, "only the request is counted: {:?}", store.calls.operations());
        assert!(!reply.text.contains(name.trim()), "the response does not repeat it: {}", reply.text);
    }
}

/// Applies codes to Thornwick's cart; returns whether each was accepted.
async fn accepted(store: &TestStore, codes: &[&str]) -> Vec<bool> {
    let mut accepted = Vec::new();
    for (place, code) in codes.iter().enumerate() {
        let call = Call::post("/cart/acceptCoupon").token(&store.token("Thornwick"));
        let call = call.json(&json!({ "coupon": code })).from_ip(&format!("203.0.113.{place}"));
        accepted.push(outcome(&store.send(call).await).0);
    }
    accepted
}

#[tokio::test]
async fn a_code_is_lower_cased_and_never_upper_cased() {
    let store = TestStore::open().await;
    put_code(&store, &Code::Coupon(coupon("straße", percent(1_000)))).await;
    assert_eq!(accepted(&store, &["Straße", "STRAßE", "STRAẞE"]).await, [true; 3]);
    assert_eq!(accepted(&store, &["STRASSE", "strasse", "straſſe"]).await, [false; 3]);
}

#[tokio::test]
async fn a_code_is_found_by_its_lower_case_and_by_nothing_that_looks_like_it() {
    let store = TestStore::open().await;
    put_code(&store, &Code::Coupon(coupon("kelvin10", percent(1_000)))).await;
    // The lower case of the Kelvin sign is k.
    assert_eq!(accepted(&store, &["KELVIN10", "\u{212a}elvin10", "\u{a0}kelvin10\u{3000}"]).await, [true; 3]);
    let others = [
        "ｋｅｌｖｉｎ１０",
        "kelvin１０",
        "kelvin\u{661}\u{660}",
        "kelv\u{131}n10",
        "KELV\u{130}N10",
        "kelvin\u{200b}10",
        "kelvin10\u{200d}",
        "\u{feff}kelvin10",
        "\u{202e}01nivlek",
        "kelvin10\u{301}",
        "kеlvin10",
        "kelvin10\0",
    ];
    assert_eq!(accepted(&store, &others).await, [false; 12]);
}

#[tokio::test]
async fn the_longest_code_grows_when_it_is_lower_cased_and_still_fits_into_a_key() {
    let store = TestStore::open().await;
    // The lower case of this letter has two characters and three bytes.
    assert_eq!(accepted(&store, &["\u{130}".repeat(40).as_str()]).await, [false]);
    let call = Call::post("/cart/setReferral").token(&store.token("Pebble"));
    let reply = store.send(call.json(&json!({ "ref_code": "\u{130}".repeat(255) }))).await;
    assert!(!outcome(&reply).0);
    let key = keys::referral(&support::text(&"\u{130}".repeat(255)));
    assert!(store.db.get(&key, true).await.unwrap().is_none());
}
