//! POST /cart/removeReferral.

use super::support::{NEW, RICH, WORN, ask, outcome, put_referral, republish, sample_referral, stored, view};
use serde_json::json;
use shared::model::Referral;
use tests::TestStore;

const PATH: &str = "/cart/removeReferral";

#[tokio::test]
async fn the_code_is_removed() {
    let store = TestStore::open().await;
    let before = stored(&store, RICH).await.unwrap();
    let reply = ask(&store, PATH, RICH).await;
    insta::assert_json_snapshot!(reply.json());
    assert_eq!(reply.header("cache-control"), "no-store");
    let after = stored(&store, RICH).await.unwrap();
    assert_eq!(after, shared::model::Cart { referral: None, version: before.version + 1, ..before });
    let cart = view(&store, RICH).await["cart"].clone();
    assert_eq!([&cart["referral"], &cart["referral_code"]], [&json!(null), &json!("")]);
}

#[tokio::test]
async fn if_none_is_set_the_message_says_so_and_nothing_is_written() {
    let store = TestStore::open().await;
    for name in [WORN, NEW] {
        let reply = ask(&store, PATH, name).await;
        assert_eq!(reply.json(), json!({ "success": false, "message": "No referral code is set." }));
    }
    assert_eq!(store.calls.writes(), 0);
    assert_eq!(stored(&store, NEW).await, None);
}

#[tokio::test]
async fn a_code_that_is_no_longer_in_force_can_still_be_removed() {
    let store = TestStore::open().await;
    put_referral(&store, &Referral { active: false, ..sample_referral("lantern") }).await;
    republish(&store, |compiled| compiled.config.is_ref = false).await;
    assert!(outcome(&ask(&store, PATH, RICH).await).0);
    assert_eq!(stored(&store, RICH).await.unwrap().referral, None);
}
