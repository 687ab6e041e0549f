//! `check`: every fault at once.

use crate::bench::{Bench, sample};
use storectl::answer::Answer;
use storectl::error::Exit;

#[tokio::test]
async fn a_sound_store_is_told_to_be_so() {
    let bench = Bench::empty().await;
    let answer = bench.run(&["check", &sample()]).await.unwrap();
    assert_eq!((answer.trouble(), &answer.json()["ok"]), (None, &true.into()));
    assert_eq!(answer.json()["holds"]["items"], 52);
    assert_eq!(answer.json()["warnings"], serde_json::json!([]));
    assert!(bench.rows().await.is_empty(), "a check touches no table");
}

#[tokio::test]
async fn what_looks_like_a_mistake_is_told_and_does_not_stop_a_publish() {
    let bench = Bench::empty().await;
    bench.write(
        "s/store.yaml",
        "format: 1\nname: X\ncurrency: {code: USD}\ncurrencies:\n  - {code: USD, per_usd: 1}\n  - {code: PLN, per_usd: 0.25}\n",
    );
    let dir = bench.path("s").display().to_string();
    let answer = bench.run(&["check", &dir]).await.unwrap();
    assert_eq!((answer.trouble(), &answer.json()["ok"]), (None, &true.into()));
    assert_eq!(answer.json()["warnings"][0]["field"], "currencies[PLN].per_usd");
    assert!(answer.text().contains("store.yaml:6:") && answer.text().contains("1 warning"), "{}", answer.text());
    bench.run(&["publish", &dir, "--yes"]).await.unwrap();
}

#[tokio::test]
async fn every_fault_is_told_at_once_with_file_line_field_and_what_would_be_right() {
    let bench = Bench::empty().await;
    bench.write("s/store.yaml", "format: 1\nname: X\ncurrency: {code: EUR, digits: 9}\n");
    bench.write(
        "s/categories/a.yaml",
        "id: 1\nslug: '12'\nname: A\nitems:\n  - {id: 1, name: I, price: 1, discount: 2}\n  - {id: 1, name: J}\n",
    );
    bench.write("s/categories/b.yaml", "id: 1\nslug: b\nname: B\nitems: [{id: 3, name: K, price: 1, servers: [9]}]\n");
    bench.write("s/pages/p.yaml", "id: 1\ntitle: T\n");
    bench.write("s/live/coupons.yaml", "- {id: 1, code: A, percentage: 101}\n");
    let dir = bench.path("s").display().to_string();
    let answer = bench.run(&["check", &dir]).await.unwrap();
    assert_eq!(answer.trouble(), Some(Exit::Faults));
    let faults = answer.json()["faults"].as_array().unwrap();
    let told = |file: &str, field: &str| {
        faults.iter().any(|fault| fault["file"] == file && fault["field"] == field && fault["problem"] != "")
    };
    for (file, field) in [
        ("store.yaml", "currency.digits"),
        ("categories/a.yaml", "slug"),
        ("categories/a.yaml", "items[1].discount"),
        ("categories/a.yaml", "items.id"),
        ("categories/a.yaml", "items[1].price"),
        ("categories/b.yaml", "id"),
        ("categories/b.yaml", "items[3].servers"),
        ("pages/p.yaml", "url"),
    ] {
        assert!(told(file, field), "{file} {field}: {faults:#?}");
    }
    assert!(answer.text().contains("categories/a.yaml:5:"), "{}", answer.text());
    let failure = bench.fails(&["publish", &dir, "--yes"]).await;
    assert_eq!(failure.exit, Exit::Faults);
    assert!(bench.rows().await.is_empty());
}

#[tokio::test]
async fn faults_beside_the_published_files_are_told_with_theirs_if_asked_for() {
    let bench = Bench::empty().await;
    bench.write("s/store.yaml", "format: 1\nname: X\ncurrency: {code: EUR}\npatrons: {thresholds: [5, 2]}\n");
    bench.write("s/live/coupons.yaml", "- {id: 1, code: A, percentage: 101}\n");
    let answer = bench.run(&["check", "--live", &bench.path("s").display().to_string()]).await.unwrap();
    let files = |answer: &Answer| -> Vec<_> {
        answer.json()["faults"].as_array().unwrap().iter().map(|fault| fault["file"].clone()).collect()
    };
    assert_eq!(files(&answer), ["store.yaml", "live/coupons.yaml"]);
    bench.write("s/store.yaml", "format: [");
    bench.write("s/live/coupons.yaml", "- {id: x, code: A}\n");
    let answer = bench.run(&["check", "--live", &bench.path("s").display().to_string()]).await.unwrap();
    assert_eq!(files(&answer), ["store.yaml", "live/coupons.yaml"], "what does not parse hides nothing");
}

#[tokio::test]
async fn what_is_never_published_does_not_fail_a_check_and_that_is_said() {
    let bench = Bench::empty().await;
    bench.write("s/store.yaml", "format: 1\nname: X\ncurrency: {code: EUR}\n");
    bench.write("s/live/coupons.yaml", "- {id: 1, code: A, percentage: 101}\n");
    let answer = bench.run(&["check", &bench.path("s").display().to_string()]).await.unwrap();
    assert_eq!(answer.trouble(), None, "{}", answer.text());
    assert!(answer.text().contains("live/ was not checked"), "{}", answer.text());
}

#[tokio::test]
async fn a_directory_that_is_not_there_is_no_store_with_faults() {
    let bench = Bench::empty().await;
    let failure = bench.fails(&["check", &bench.path("nowhere").display().to_string()]).await;
    assert_eq!(failure.exit, Exit::Local);
    assert!(failure.what.contains("nowhere"), "{failure}");
}
