//! POST /plugin/api/game_auth/confirm/{auth_id}.

use tests::{Call, Fault, TestStore};

fn confirm(id: &str) -> Call {
    Call::post(&format!("/plugin/api/game_auth/confirm/{id}/")).header("content-type", "application/json").bytes([0])
}

#[tokio::test]
async fn unknown_and_malformed_ids_are_responded_to_without_a_body() {
    let store = TestStore::open().await;
    for id in [&"0".repeat(32), "x", &"a".repeat(4_096), "..", "%00"] {
        let reply = store.send(confirm(id)).await;
        assert_eq!((reply.status.as_u16(), reply.text.as_str()), (200, ""), "{id:.40}");
    }
    assert_eq!(store.calls.writes(), 0);
}

#[tokio::test]
async fn while_the_database_is_away_a_confirmation_fails() {
    let store = TestStore::open().await;
    store.faults.inject(|_| Some(Fault::Away));
    assert_eq!(store.send(confirm(&"0".repeat(32))).await.status, 503);
}
