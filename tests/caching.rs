//! What browsers and networks in between may keep (ruling 12): four GETs, and nothing else.

use crate::support::{STALE, category, republish};
use http::Method;
use serde_json::json;
use tests::{Call, Fault, Reply, TestStore};

const CACHED: [&str; 4] = ["/categories/get", "/staff", "/settings/get", "/patrons/get"];

async fn get(store: &TestStore, path: &str, if_none_match: &str) -> Reply {
    store.send(Call::get(path).header("if-none-match", if_none_match)).await
}

#[track_caller]
fn assert_may_be_kept(reply: &Reply) {
    assert_eq!(reply.header("cache-control"), "public, max-age=30, stale-while-revalidate=60");
    assert_eq!(reply.header("vary"), "Origin");
    let tag = reply.header("etag");
    assert!(tag.len() > 2 && tag.starts_with('"') && tag.ends_with('"'), "a strong tag: {tag}");
}

#[tokio::test]
async fn the_cached_gets_carry_a_strong_tag_that_stays() {
    let store = TestStore::open().await;
    for path in CACHED {
        let first = store.send(Call::get(path)).await;
        assert_eq!(first.status, 200);
        assert_eq!(first.header("content-type"), "application/json");
        assert_may_be_kept(&first);
        store.clock.advance(STALE);
        let second = store.send(Call::get(path)).await;
        assert_eq!((first.header("etag"), &first.text), (second.header("etag"), &second.text), "{path}");
    }
}

#[tokio::test]
async fn whoever_has_the_body_already_is_told_so() {
    let store = TestStore::open().await;
    for path in CACHED {
        let tag = store.send(Call::get(path)).await.header("etag").to_owned();
        let lists = [format!("\"other\", {tag}"), format!("{tag},W/\"other\""), format!("W/\"a\" ,W/{tag}")];
        for known in [tag.clone(), format!("W/{tag}"), "*".to_owned()].iter().chain(&lists) {
            let reply = get(&store, path, known).await;
            assert_eq!((reply.status.as_u16(), reply.text.as_str()), (304, ""), "{path}: {known}");
            assert_may_be_kept(&reply);
            assert_eq!(reply.header("etag"), tag);
        }
        let twice = Call::get(path).header("if-none-match", "\"other\"").header("if-none-match", &tag);
        assert_eq!(store.send(twice).await.status, 304, "{path}");
        for unknown in ["\"other\"", "", "W/", "\"\"", tag.trim_matches('"'), &tag[..tag.len() - 1]] {
            let reply = get(&store, path, unknown).await;
            assert_eq!(reply.status, 200, "{path}: {unknown}");
            assert_may_be_kept(&reply);
        }
    }
}

#[tokio::test]
async fn a_publish_changes_the_tag_of_what_it_changed() {
    let store = TestStore::open().await;
    let mut tags = Vec::new();
    for path in CACHED {
        tags.push(store.send(Call::get(path)).await.header("etag").to_owned());
    }
    republish(&store, |files| {
        category(files, 1).name.push('!');
        files.staff.content.0.clear();
        files.store.content.name.push('!');
        files.store.content.patrons.description.push('!');
    })
    .await;
    for (path, old) in CACHED.iter().zip(&tags) {
        let reply = get(&store, path, old).await;
        assert_eq!(reply.status, 200, "{path}");
        assert_ne!(reply.header("etag"), old, "{path}");
    }
    republish(&store, |_| ()).await;
    for (path, old) in CACHED.iter().zip(&tags) {
        assert_eq!(get(&store, path, old).await.status, 304, "{path}: published as before");
    }
}

#[tokio::test]
async fn what_is_donated_changes_the_tag_without_a_publish() {
    let store = TestStore::open().await;
    let tag = store.send(Call::get("/settings/get")).await.header("etag").to_owned();
    let donations = shared::model::Donations::default();
    let row = shared::store::codec::encode_live(&shared::store::keys::donations(), &donations).unwrap();
    crate::support::put(&store, row).await;
    store.clock.advance(STALE);
    assert_eq!(get(&store, "/settings/get", &tag).await.status, 200);
}

#[tokio::test]
async fn everything_else_is_kept_by_nobody() {
    let store = TestStore::open().await;
    let posts = [
        "/pages/get",
        "/cart/acceptCoupon",
        "/cart/setReferral",
        "/cart/removeReferral",
        "/payments/checkStatus",
        "/categories/get/ranks",
        "/items/getFeaturedDeals",
        "/cart/get",
        "/cart/getPromoted",
        "/cart/getSelectServers",
        "/user",
    ];
    let body = json!({"url": "rules", "coupon": "x", "ref_code": "x", "order_id": "4mjyi2i34hbzt6b6"});
    for path in posts {
        for call in [Call::post(path), Call::post(path).json(&body)] {
            for call in [call.clone(), call.token(&store.token("Thornwick"))] {
                let reply = store.send(call.header("if-none-match", "*")).await;
                assert_eq!((reply.header("cache-control"), reply.header("etag")), ("no-store", ""), "{path}");
                assert_ne!(reply.status, 304, "{path}");
            }
        }
    }
    let chat = get(&store, "/auth/chat", "*").await;
    assert_eq!((chat.status.as_u16(), chat.header("cache-control"), chat.header("etag")), (200, "no-store", ""));
}

#[tokio::test]
async fn the_cached_gets_keep_no_failure() {
    for path in CACHED {
        let store = TestStore::open().await;
        store.faults.inject(|_| Some(Fault::Away));
        let reply = get(&store, path, "*").await;
        assert_eq!((reply.status.as_u16(), reply.header("cache-control")), (503, "no-store"), "{path}");
        assert_eq!(reply.header("etag"), "");
        assert_ne!(reply.header("retry-after"), "");
    }
}

#[tokio::test]
async fn the_cached_gets_do_not_look_at_a_body_or_a_query() {
    let store = TestStore::open().await;
    for path in CACHED {
        let plain = store.send(Call::get(path)).await;
        for call in [
            Call::get(path).bytes("{\"a\":"),
            Call::get(&format!("{path}?page=2&x=%ff")),
            Call::get(path).header("accept", "text/html"),
        ] {
            let reply = store.send(call).await;
            assert_eq!((reply.status, reply.text), (plain.status, plain.text.clone()), "{path}");
        }
        assert_eq!(store.send(Call::get(path).method(Method::HEAD)).await.status, 404, "no such route");
    }
}
