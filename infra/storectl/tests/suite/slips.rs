//! Slips of a whole store that `publish` notices, and what `versions` and `rollback` say of a version.

use crate::bench::Bench;
use storectl::console::Console;
use storectl::error::Exit;

/// A store with these items: id, name and price.
fn store(bench: &Bench, items: &[(u32, &str, &str)]) -> String {
    bench.write("s/store.yaml", "format: 1\nname: T\ncurrency: {code: EUR}\n");
    let items: Vec<String> =
        items.iter().map(|(id, name, price)| format!("{{id: {id}, name: {name}, price: {price}}}")).collect();
    bench.write("s/categories/a.yaml", &format!("{{id: 1, slug: a, name: A, items: [{}]}}", items.join(", ")));
    bench.path("s").display().to_string()
}

/// Ten items of which the first have this price, and the others cost 10.
fn ten(bench: &Bench, changed: usize, price: &str) -> String {
    let names: Vec<String> = (1..=10).map(|id| format!("N{id}")).collect();
    let price = |place: usize| if place < changed { price } else { "10" };
    let items: Vec<(u32, &str, &str)> =
        (1..).zip(&names).enumerate().map(|(place, (id, name))| (id, name.as_str(), price(place))).collect();
    store(bench, &items)
}

#[tokio::test]
async fn changing_a_third_of_the_prices_by_more_than_half_must_be_allowed() {
    let bench = Bench::empty().await;
    bench.ok(&["publish", &ten(&bench, 0, "10"), "--yes"]).await;
    bench.ok(&["publish", &ten(&bench, 10, "5"), "--yes"]).await;
    bench.ok(&["publish", &ten(&bench, 0, "10"), "--yes", "--allow-price-changes"]).await;
    bench.ok(&["publish", &ten(&bench, 3, "4.99"), "--yes"]).await;
    bench.ok(&["publish", &ten(&bench, 0, "10"), "--yes"]).await;
    let before = bench.rows().await;
    for price in ["0", "4.99", "15.01", "999"] {
        let dir = ten(&bench, 4, price);
        let refused = bench.fails(&["publish", &dir, "--yes"]).await;
        assert_eq!(refused.exit, Exit::Declined, "{price}: {refused}");
        assert!(refused.what.contains("4 of 10 prices") && refused.what.contains("item 1 N1: price 10"), "{refused}");
        assert!(refused.next.contains("--allow-price-changes"), "{refused}");
        assert_eq!(bench.fails(&["publish", &dir]).await.exit, Exit::Declined);
        let no = Console::answering(false);
        assert_eq!(bench.run_before(&no, &["publish", &dir]).await.unwrap_err().exit, Exit::Declined);
        let dry = bench.run(&["publish", &dir, "--dry-run"]).await.unwrap();
        assert!(dry.text().contains("needs --allow-price-changes"), "{}", dry.text());
        assert_eq!(dry.json()["plan"]["price_changes"]["large"], 4);
    }
    assert_eq!(bench.rows().await, before);
    let dir = ten(&bench, 4, "4.99");
    let yes = Console::answering(true);
    assert_eq!(bench.run_before(&yes, &["publish", &dir]).await.unwrap().json()["published"], true);
    bench.ok(&["publish", &ten(&bench, 4, "20"), "--yes", "--allow-price-changes"]).await;
}

#[tokio::test]
async fn an_id_that_was_sold_and_gets_another_name_and_price_is_warned_about() {
    let bench = Bench::empty().await;
    let items = [(1, "Sword", "10"), (2, "Shield", "10"), (3, "Helmet", "10"), (4, "Boots", "10"), (5, "Ring", "10")];
    bench.ok(&["publish", &store(&bench, &items), "--yes"]).await;
    bench.ok(&["user", "add", "Newt"]).await;
    bench.ok(&["order", "record", "--owner", "Newt", "--gateway", "desk", "--line", "1:2", "--line", "2"]).await;
    // 1 becomes another item, 2 is only renamed, 3 was never sold, 4 has only another price.
    let items = [(1, "Horse", "12"), (2, "Buckler", "10"), (3, "Crown", "12"), (4, "Boots", "12"), (5, "Ring", "10")];
    let dir = store(&bench, &items);
    let dry = bench.run(&["publish", &dir, "--dry-run"]).await.unwrap();
    let warnings = dry.json()["plan"]["warnings"].as_array().unwrap();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    let warning = warnings[0].as_str().unwrap();
    assert!(warning.starts_with("Item 1 was sold 2 times as Sword") && dry.text().contains(warning), "{}", dry.text());
    assert_eq!(bench.ok(&["publish", &dir, "--yes"]).await["published"], true);
}

#[tokio::test]
async fn two_ids_that_swap_their_names_are_warned_about_once() {
    let bench = Bench::empty().await;
    bench.ok(&["publish", &store(&bench, &[(1, "Sword", "10"), (2, "Shield", "12")]), "--yes"]).await;
    let dir = store(&bench, &[(1, "Shield", "12"), (2, "Sword", "10")]);
    let plan = bench.ok(&["publish", &dir, "--dry-run"]).await;
    let warnings = plan["plan"]["warnings"].as_array().unwrap();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].as_str().unwrap().starts_with("Items 1 and 2 swap their names"), "{warnings:?}");
}

#[tokio::test]
async fn a_rollback_shows_what_changes_and_the_label_of_the_version() {
    let bench = Bench::empty().await;
    let summer = store(&bench, &[(1, "Sword", "10")]);
    bench.ok(&["publish", &summer, "--yes", "--label", " Summer sale "]).await;
    bench.clock.advance(std::time::Duration::from_mins(1));
    let dir = store(&bench, &[(1, "Sword", "12"), (2, "Shield", "5")]);
    bench.ok(&["publish", &dir, "--yes"]).await;
    assert_eq!(bench.ok(&["publish", &dir, "--label", "Autumn"]).await["unchanged"], true);
    bench.ok(&["publish", &dir, "--label", "Only shown", "--dry-run"]).await;
    let listed = bench.run(&["versions"]).await.unwrap();
    let labels: Vec<_> = listed.json()["versions"].as_array().unwrap().iter().map(|one| one["label"].clone()).collect();
    assert_eq!(labels, ["Autumn", "Summer sale"]);
    assert!(listed.text().contains("Summer sale"), "{}", listed.text());
    assert_eq!(bench.fails(&["rollback"]).await.exit, Exit::Declined);
    let back = bench.run(&["rollback", "--yes"]).await.unwrap();
    for part in ["\"Summer sale\"", "item 1 Sword: price 12.00 → 10.00", "item 2 Shield", "1 removed"] {
        assert!(back.text().contains(part), "{part}: {}", back.text());
    }
    assert_eq!((&back.json()["label"], &back.json()["switched"]), (&"Summer sale".into(), &true.into()));
    assert_eq!(back.json()["plan"]["changes"]["removed"][0]["id"], 2);
    // The version that was published last is first, although the other one became active again after it.
    let listed = bench.ok(&["versions"]).await;
    assert_eq!(listed["versions"][0]["label"], "Autumn");
    let states: Vec<_> = listed["versions"].as_array().unwrap().iter().map(|one| one["state"].clone()).collect();
    assert_eq!(states, ["ready", "published"]);
}

#[tokio::test]
async fn a_rollback_to_a_damaged_version_says_that_it_is() {
    let bench = Bench::empty().await;
    let first = bench.ok(&["publish", &store(&bench, &[(1, "Sword", "10")]), "--yes"]).await;
    let version = first["version"].as_str().unwrap();
    bench.ok(&["publish", &store(&bench, &[(1, "Sword", "12")]), "--yes"]).await;
    let key = shared::store::keys::staff(version);
    shared::store::bulk::delete_each(&bench.db, std::iter::once(key), &|_| {}).await.unwrap();
    let back = bench.run(&["rollback", "--yes"]).await.unwrap();
    assert!(back.text().contains("is damaged"), "{}", back.text());
}
