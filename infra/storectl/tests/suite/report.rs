//! `report`: the table, the files, and what is refused.

use crate::bench::Bench;
use crate::payments::Paying;
use serde_json::json;
use shared::model::{InternalId, ItemId, Money, OrderLine, OrderNumber, ProviderAccount, ProviderCheckout};
use shared::money::CurrencyFormat;
use shared::table::bulk::write_each;
use shared::table::codec::{Item, encode_live};
use shared::table::{StoreError, keys};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use storectl::error::Exit;
use stripe_stand_in::Action;
use tests::{NOW, count};

const MAJOR: CurrencyFormat = CurrencyFormat::new(2);

#[tokio::test]
async fn an_owner_reads_a_month_as_a_table_a_spreadsheet_and_a_page() {
    let paying = Paying::connected().await;
    let order = paying.paid().await;
    let session = paying.stand_in.sessions().last().unwrap().clone();
    paying.stand_in.act(&session, &Action::Refund(Some(50))).unwrap();
    paying.ok(&["order", "settle", order.as_str()]).await;
    let paths = ["may.csv", "may.html"].map(|name| paying.path(name));
    let [csv, html] = paths.each_ref().map(String::as_str);
    let day = paying.answer(&["report"]).await.json()["to"].as_str().unwrap().to_owned();
    let before = paying.answer(&["report", "--by", "item"]).await;
    assert_eq!(before.json()["provider"], json!([]), "{}", before.text());
    let price = before.json()["total"]["received"].as_f64().unwrap();
    assert!(price > 0.5);
    // The provider's list is here after a repair, which may be repeated.
    for _ in 0..2 {
        paying.answer(&["doctor", "--repair"]).await;
    }
    let report = paying.answer(&["report", "--from", &day, "--to", &day, "--csv", csv, "--html", html]).await;
    let (json, total) = (report.json(), &report.json()["total"]);
    assert_eq!((&total["orders"], &total["received"], &total["refunds"]), (&json!(1), &json!(price), &json!(0.5)));
    assert_eq!((&json["differences_count"], report.trouble()), (&json!(0), None), "{}", report.text());
    assert_eq!(json["buyers"], json!({ "new": 1, "returning": 0 }));
    assert_eq!(json["checkouts"]["paid"], 1);
    let net: i64 = paying.stand_in.balance_changes().iter().map(|change| change["net"].as_i64().unwrap()).sum();
    assert_eq!(json["provider"][0]["net"], json!(MAJOR.money(Money::from_minor(net))));
    assert!(report.text().contains("pays out in USD"), "{}", report.text());
    let csv = std::fs::read_to_string(&paths[0]).unwrap();
    let lines: Vec<&str> = csv.strip_prefix('\u{feff}').unwrap().split("\r\n").collect();
    assert_eq!(lines[0], "day,orders,gross,discounts,gift_cards,tax,received,refunds,disputes,fees,net,virtual");
    assert!(lines[1].starts_with(&format!("{day},1,")) && lines[2].starts_with("Total,1,"), "{csv}");
    assert_eq!((lines.len(), lines[3]), (4, ""));
    let page = std::fs::read_to_string(&paths[1]).unwrap();
    assert!(page.contains("<svg") && page.contains("width=device-width") && page.contains("prefers-color-scheme:dark"));
    for outside in ["<script", "http", "src=", "@import", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }
    // Days without a sale are gaps in the chart, and not left out.
    paying.answer(&["report", "--from", &day[..7], "--html", html]).await;
    let page = std::fs::read_to_string(&paths[1]).unwrap();
    assert!((28..=31).contains(&page.matches("<g>").count()), "{page}");
    for (arguments, what) in [
        (["--from", "yesterday", "--to", &day], "\"yesterday\" is not a day."),
        (["--from", "2027-02-30", "--to", &day], "\"2027-02-30\" is not a day."),
        (["--from", &day, "--to", "2001-01"], "is before --from"),
    ] {
        let failure = paying.fails(&[&["report"][..], &arguments[..]].concat()).await;
        assert!(failure.exit == Exit::Refused && failure.what.contains(what), "{}", failure.what);
    }
}

#[tokio::test]
async fn categories_with_one_name_are_told_apart_by_their_paths() {
    let bench = Bench::empty().await;
    bench.write("s/store.yaml", "format: 1\nname: T\ncurrency: {code: EUR}\n");
    for (id, slug, name) in [(1, "north", "Ranks"), (2, "south", "Ranks"), (3, "keys", "Keys")] {
        let items = format!("items: [{{id: {id}, name: I{id}, price: 1}}]");
        bench.write(&format!("s/categories/{slug}.yaml"), &format!("id: {id}\nslug: {slug}\nname: {name}\n{items}\n"));
    }
    bench.ok(&["publish", &bench.path("s").display().to_string(), "--yes"]).await;
    let sold = ["order", "record", "--yes", "--gateway", "g", "--line", "1:1:1", "--line", "2:1:2", "--line", "3:1:3"];
    bench.ok(&sold).await;
    let report = bench.ok(&["report", "--by", "category"]).await;
    let groups = report["groups"].as_array().unwrap().iter();
    let received: Vec<_> =
        groups.map(|group| (group["group"].as_str().unwrap(), group["received"].as_f64().unwrap())).collect();
    assert_eq!(received, [("Keys", 3.0), ("Ranks (/north)", 1.0), ("Ranks (/south)", 2.0)]);
}

/// The rows of a paid order, `nth` of its month.
fn rows(nth: u64) -> Vec<Result<Item, StoreError>> {
    let at = NOW - 20 * 86_400 + i64::try_from(nth).unwrap() % (20 * 86_400);
    let (id, intent, txn) = (format!("order-{nth:08}"), format!("pi_{nth:016}"), format!("txn_{nth:016}"));
    let line = |(item, total)| OrderLine::new(ItemId::new(item), 2, Money::from_minor(total));
    let lines = [(1, 500), (2, 500), (3, 250)].map(line);
    let account = ProviderAccount { id: None, live: false };
    let provider = ProviderCheckout::paid(format!("cs_test_{nth:040}"), Some(intent.clone()), account, at);
    let order = json!({
        "id": nth + 1, "internal_id": id, "price": 1_250, "currency": "EUR", "digits": 2, "status": "PAID",
        "gateway": "Stripe", "created_at": at, "owner": nth % 40_000 + 1, "lines": lines, "provider": provider, "counted": true,
    });
    let change = json!({
        "id": txn, "category": "charge", "amount": 1_250, "fee": 61, "net": 1_189, "currency": "EUR", "intent": intent,
        "of": 1_250, "created": at + 60,
    });
    vec![
        encode_live(&keys::order(&InternalId::new(&id)), &order),
        encode_live(&keys::sale(at, OrderNumber::new(nth + 1)), &json!({ "order": id })),
        encode_live(&keys::balance_change(at + 60, &txn), &change),
        encode_live(&keys::payment(&intent), &json!({ "order": id })),
    ]
}

/// `REPORT_ORDERS=100000` is the size that is promised: 60 seconds and 64 MiB, of a release build.
#[tokio::test(flavor = "multi_thread")]
async fn a_month_is_read_in_little_memory_however_many_orders_it_has() {
    let bench = Bench::published().await;
    let orders = u64::from(count("REPORT_ORDERS", 1_000));
    let asked = json!({ "since": NOW + 86_400, "asked_at": NOW, "version": 1 });
    let rows = (0..orders).flat_map(rows).chain([encode_live(&keys::balance_asked(), &asked)]);
    write_each(&bench.db, rows, &|_| {}).await.unwrap();
    let from = shared::money::iso_8601(NOW - 21 * 86_400)[..10].to_owned();
    let to = shared::money::iso_8601(NOW)[..10].to_owned();
    let began = Instant::now();
    let tool = std::env::var("STORECTL").unwrap_or_else(|_| env!("CARGO_BIN_EXE_storectl").to_owned());
    let arguments =
        ["--endpoint-url", bench.endpoint(), "--json", "report", "--by", "item", "--from", &from, "--to", &to];
    let mut child = Command::new(tool).args(arguments).stdout(Stdio::piped()).spawn().unwrap();
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
        peak = peak.max(kilobytes.unwrap_or_default());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let output = child.wait_with_output().unwrap();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let total = |name: &str| report["total"][name].as_f64();
    let of_all = |cents: u64| json!(MAJOR.money(Money::from_minor(i64::try_from(cents * orders).unwrap()))).as_f64();
    assert_eq!((&report["total"]["orders"], &report["differences_count"]), (&json!(orders), &json!(0)));
    assert_eq!((total("net"), total("received")), (of_all(1_189), of_all(1_250)));
    let passed = began.elapsed();
    assert!(peak < 64 * 1_024 && passed < Duration::from_mins(1), "{orders} orders: {passed:?}, {peak} KiB");
}
