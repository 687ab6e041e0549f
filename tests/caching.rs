//! Caching by browsers and proxies (rules.md, "Caching"): only some GET endpoints can be cached.

use crate::support::{STALE, category, republish};
use tests::{Call, Endpoint, Fault, Reply, TestStore, endpoints};

/// The paths of the GET endpoints that can be cached.
fn cached() -> Vec<String> {
    tests::cached().iter().map(Endpoint::path).collect()
}

async fn get(store: &TestStore, path: &str, if_none_match: &str) -> Reply {
    store.send(Call::get(path).header("if-none-match", if_none_match)).await
}

#[track_caller]
fn assert_cacheable(reply: &Reply) {
    assert_eq!(reply.header("cache-control"), "public, max-age=30, stale-while-revalidate=60");
    assert_eq!(reply.header("vary"), "Origin");
    let tag = reply.header("etag");
    assert!(tag.len() > 2 && tag.starts_with('"') && tag.ends_with('"'), "a strong tag: {tag}");
}

#[tokio::test]
async fn the_cached_gets_have_a_strong_tag_that_does_not_change() {
    let store = TestStore::open().await;
    for path in cached() {
        let first = store.send(Call::get(&path)).await;
        assert_eq!(first.status, 200);
        let media_type = if path.starts_with("/shop/") { "text/html; charset=utf-8" } else { "application/json" };
        assert_eq!(first.header("content-type"), media_type);
        assert_cacheable(&first);
        store.clock.advance(STALE);
        let second = store.send(Call::get(&path)).await;
        assert_eq!((first.header("etag"), &first.text), (second.header("etag"), &second.text), "{path}");
    }
}

#[tokio::test]
async fn a_caller_who_already_has_the_body_gets_a_304() {
    let store = TestStore::open().await;
    for path in cached() {
        let tag = store.send(Call::get(&path)).await.header("etag").to_owned();
        let lists = [format!("\"other\", {tag}"), format!("{tag},W/\"other\""), format!("W/\"a\" ,W/{tag}")];
        for known in [tag.clone(), format!("W/{tag}"), "*".to_owned()].iter().chain(&lists) {
            let reply = get(&store, &path, known).await;
            assert_eq!((reply.status.as_u16(), reply.text.as_str()), (304, ""), "{path}: {known}");
            assert_cacheable(&reply);
            assert_eq!(reply.header("etag"), tag);
        }
        let twice = Call::get(&path).header("if-none-match", "\"other\"").header("if-none-match", &tag);
        assert_eq!(store.send(twice).await.status, 304, "{path}");
        for unknown in ["\"other\"", "", "W/", "\"\"", tag.trim_matches('"'), &tag[..tag.len() - 1]] {
            let reply = get(&store, &path, unknown).await;
            assert_eq!(reply.status, 200, "{path}: {unknown}");
            assert_cacheable(&reply);
        }
    }
}

#[tokio::test]
async fn a_publish_changes_the_tag_of_what_it_changed() {
    let store = TestStore::open().await;
    let mut tags = Vec::new();
    for path in cached() {
        tags.push(store.send(Call::get(&path)).await.header("etag").to_owned());
    }
    republish(&store, |files| {
        category(files, 1).name.push('!');
        files.staff.content.0.clear();
        files.store.content.name.push('!');
        files.store.content.patrons.description.push('!');
        files.store.content.announcement = None;
        for category in &mut files.categories {
            category.content.items.iter_mut().for_each(|item| item.name.push('!'));
        }
    })
    .await;
    for (path, old) in cached().into_iter().zip(&tags) {
        let reply = get(&store, &path, old).await;
        assert_eq!(reply.status, 200, "{path}");
        assert_ne!(reply.header("etag"), old, "{path}");
    }
    republish(&store, |_| ()).await;
    for (path, old) in cached().into_iter().zip(&tags) {
        assert_eq!(get(&store, &path, old).await.status, 304, "{path}: published as before");
    }
}

#[tokio::test]
async fn a_donation_changes_the_tag_without_a_publish() {
    let store = TestStore::open().await;
    let tag = store.send(Call::get("/settings/get")).await.header("etag").to_owned();
    let donations = shared::model::Donations::default();
    let row = shared::table::codec::encode_live(&shared::table::keys::donations(), &donations).unwrap();
    crate::support::put(&store, row).await;
    store.clock.advance(STALE);
    assert_eq!(get(&store, "/settings/get", &tag).await.status, 200);
}

#[tokio::test]
async fn nothing_else_is_cacheable() {
    let store = TestStore::open().await;
    let is_kept = |endpoint: &Endpoint| endpoint.route.starts_with("GET ") && cached().contains(&endpoint.path());
    for endpoint in endpoints().into_iter().filter(|endpoint| !is_kept(endpoint)) {
        for call in [endpoint.anonymous_call(), endpoint.call()] {
            for call in [call.clone(), call.bytes("")] {
                let reply = store.send(call.header("if-none-match", "*")).await;
                assert_eq!(
                    (reply.header("cache-control"), reply.header("etag")),
                    ("no-store", ""),
                    "{}",
                    endpoint.route
                );
                assert_ne!(reply.status, 304, "{}", endpoint.route);
            }
        }
    }
}

#[tokio::test]
async fn failures_of_the_cached_gets_are_not_cacheable() {
    for path in cached() {
        let store = TestStore::open().await;
        store.faults.inject(|_| Some(Fault::Away));
        let reply = get(&store, &path, "*").await;
        assert_eq!((reply.status.as_u16(), reply.header("cache-control")), (503, "no-store"), "{path}");
        assert_eq!(reply.header("etag"), "");
        assert_ne!(reply.header("retry-after"), "");
    }
}
