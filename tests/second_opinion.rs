//! The tests that need the embedded engine. All others also run on any other DynamoDB (`TEST_DYNAMODB`, see
//! tests/harness/database.rs), which `.ci/dynamodb` does with another emulator.

use std::collections::BTreeSet;
use std::path::Path;
use tests::repository;

/// File and name of each. The reason is in the test.
const NEED_THE_ENGINE: [(&str, &str); 3] = [
    ("auth/username.rs", "a_login_takes_two_round_trips_and_a_new_account_four"),
    ("budget.rs", "every_event_stays_within_the_round_trips_of_its_endpoint"),
    ("payments/stripe_webhook.rs", "a_paid_webhook_reads_its_order_twice_and_tries_nothing_again"),
];
/// The first call of such a test.
const CALL: &str = "needs_embedded_engine(";

/// The tests in a folder that call it.
fn collect(folder: &Path, found: &mut BTreeSet<(String, String)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") && !path.ends_with("second_opinion.rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            let name = path.strip_prefix(repository().join("tests")).unwrap().to_string_lossy().into_owned();
            for (place, _) in text.match_indices(CALL) {
                let before = text[..place].rsplit("fn ").next().unwrap_or_default();
                found.insert((name.clone(), before.split('(').next().unwrap_or_default().to_owned()));
            }
        }
    }
}

#[test]
fn the_tests_that_need_the_embedded_engine_are_these() {
    let mut found = BTreeSet::new();
    collect(&repository().join("tests"), &mut found);
    // Its definition.
    found.retain(|(file, _)| file != "harness/database.rs");
    let listed = NEED_THE_ENGINE.iter().map(|(file, test)| ((*file).to_owned(), (*test).to_owned())).collect();
    assert_eq!(found, listed);
}
