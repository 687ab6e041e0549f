//! A publish that changes the currency: other digits are refused, another code is asked for by name.

use crate::bench::Bench;
use shared::store::published::read_active_version;
use storectl::console::Console;
use storectl::error::Exit;

fn write(bench: &Bench, currency: &str) -> String {
    bench.write("s/store.yaml", &format!("format: 1\nname: X\ncurrency: {currency}\n"));
    bench.path("s").display().to_string()
}

#[tokio::test]
async fn other_digits_are_refused_while_the_table_has_live_rows() {
    let bench = Bench::empty().await;
    let two = write(&bench, "{code: EUR}");
    let first = bench.ok(&["publish", &two, "--yes"]).await["plan"]["version"].as_str().unwrap().to_owned();
    let none = write(&bench, "{code: EUR, digits: 0}");
    bench.ok(&["publish", &none, "--yes"]).await;
    bench.ok(&["rollback", &first, "--yes"]).await;
    bench.ok(&["gift", "add", "--balance", "25"]).await;
    let before = bench.rows().await;
    for arguments in [
        &["publish", none.as_str(), "--yes"][..],
        &["publish", none.as_str(), "--dry-run"],
        &["publish", none.as_str(), "--yes", "--allow-currency", "EUR"],
    ] {
        let failure = bench.fails(arguments).await;
        assert_eq!(failure.exit, Exit::Refused, "{arguments:?}: {failure}");
        assert!(failure.what.contains("0 digits") && failure.next.contains("empty table"), "{failure}");
    }
    assert_eq!(bench.rows().await, before);
}

#[tokio::test]
async fn a_rollback_to_other_digits_is_refused_unless_the_orders_have_them() {
    let bench = Bench::empty().await;
    let none = write(&bench, "{code: EUR, digits: 0}");
    let first = bench.ok(&["publish", &none, "--yes"]).await["plan"]["version"].as_str().unwrap().to_owned();
    let two = write(&bench, "{code: EUR}");
    let second = bench.ok(&["publish", &two, "--yes"]).await["plan"]["version"].as_str().unwrap().to_owned();
    bench.ok(&["user", "add", "Newt"]).await;
    let failure = bench.fails(&["rollback", &first, "--yes"]).await;
    assert!(failure.exit == Exit::Refused && failure.what.contains("digits"), "{failure}");
    assert_eq!(read_active_version(&bench.db).await.unwrap().unwrap().version, second);
}

#[tokio::test]
async fn another_currency_is_shown_and_allowed_by_its_name_only() {
    let bench = Bench::empty().await;
    bench.ok(&["publish", &write(&bench, "{code: EUR}"), "--yes"]).await;
    let dollars = write(&bench, "{code: USD}");
    let shown = bench.run(&["publish", &dollars, "--dry-run"]).await.unwrap();
    assert!(shown.text().contains("changes from EUR to USD"), "{}", shown.text());
    for more in [&["--yes"][..], &["--yes", "--allow-currency", "EUR"]] {
        let arguments: Vec<&str> = ["publish", dollars.as_str()].iter().chain(more).copied().collect();
        let failure = bench.fails(&arguments).await;
        assert_eq!(failure.exit, Exit::Declined, "{failure}");
        assert!(failure.next.contains("--allow-currency USD"), "{failure}");
    }
    assert!(bench.run_before(&Console::answering(false), &["publish", &dollars]).await.is_err());
    bench.ok(&["publish", &dollars, "--yes", "--allow-currency", "USD"]).await;
    let back = bench.fails(&["rollback", "--yes"]).await;
    assert!(back.exit == Exit::Declined && back.next.contains("--allow-currency EUR"), "{back}");
    bench.ok(&["rollback", "--yes", "--allow-currency", "EUR"]).await;
}
