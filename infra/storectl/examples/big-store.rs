//! How long a large store takes, and how much memory: 10,000 items in 500 categories, 100,000 codes and 100,000
//! orders.
//!
//! `cargo run --release -p storectl --example big-store`
//!
//! The database runs in a process of its own, and so does every step, so that each peak is the tool's alone.

#![expect(clippy::print_stdout, clippy::expect_used, reason = "it prints what it measured, and fails loudly")]

use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use clap::Parser;
use local::engine::{Engine, ensure_table};
use shared::clock::{Clock, SystemClock};
use shared::store::{Access, Db, connector};
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Instant;
use storectl::cli::Cli;
use storectl::commands;
use storectl::console::Console;

const CATEGORIES: u64 = 500;
const ITEMS_EACH: u64 = 20;
const CODES: u64 = 100_000;
const ORDERS: u64 = 100_000;
const USERS: u64 = 1_000;

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("engine") => engine(&arguments[1]).await,
        Some("seed") => seed(&arguments[1], &arguments[2]).await,
        Some("step") => step(&arguments[1..]).await,
        _ => everything(),
    }
}

/// Writes the store, then takes one step after the other.
fn everything() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = dir.path().join("store");
    write_store(&store, "First");
    let dir_text = |name: &str| dir.path().join(name).display().to_string();
    let store = store.display().to_string();
    run("check", &["step", "check", &store, "--live"]);
    let (mut database, url) = database(&dir_text("table.db"));
    let on = |arguments: &[&str]| {
        let mut line = vec!["step"];
        line.extend(arguments);
        line.extend(["--endpoint-url", &url, "--yes"]);
        line.into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let run_on = |label: &str, line: Vec<String>| run(label, &line.iter().map(String::as_str).collect::<Vec<_>>());
    run_on("publish", on(&["publish", &store]));
    run_on("publish again, unchanged", on(&["publish", &store]));
    write_store(Path::new(&store), "Second");
    run_on("publish, every row changed", on(&["publish", &store]));
    run("seed 100,000 codes and orders", &["seed", &store, &url]);
    let cards = dir_text("cards.csv");
    let mut gifts = on(&["gift", "add", "--balance", "10", "--count", "100000", "--out", &cards]);
    gifts.retain(|argument| argument != "--yes");
    run_on("gift add --count 100000", gifts);
    let backup = dir_text("backup.jsonl.gz");
    let mut line = on(&["backup", &backup]);
    line.retain(|argument| argument != "--yes");
    run_on("backup", line);
    let bytes = std::fs::metadata(&backup).expect("the backup").len();
    println!("{:<32} {:>9} KB", "size of the backup", bytes / 1024);
    _ = database.kill();
    let (mut database, url) = self::database(&dir_text("other.db"));
    run("restore", &["step", "restore", &backup, "--yes", "--endpoint-url", &url]);
    run("doctor", &["step", "doctor", "--endpoint-url", &url]);
    _ = database.kill();
}

/// Runs this program again with other arguments; it prints its own time and peak.
fn run(label: &str, arguments: &[&str]) {
    let program = std::env::current_exe().expect("this program");
    let status = Command::new(program).args(arguments).env("BIG_STORE_LABEL", label).status().expect("it runs");
    assert!(status.success(), "{label} failed");
}

/// Starts a database in a process of its own.
fn database(file: &str) -> (Child, String) {
    let program = std::env::current_exe().expect("this program");
    let mut child = Command::new(program).args(["engine", file]).stdout(Stdio::piped()).spawn().expect("it runs");
    let mut line = String::new();
    let out = child.stdout.take().expect("its output");
    BufReader::new(out).read_line(&mut line).expect("its endpoint");
    (child, line.trim().to_owned())
}

async fn engine(file: &str) {
    let engine = Engine::start(Some(Path::new(file))).await.expect("an engine");
    let definition = storectl::target::definition().expect("the template");
    let db = Db::new(engine.access(), &definition.logical_id);
    ensure_table(db.client(), db.table(), &definition).await.expect("a table");
    println!("{}", engine.endpoint());
    std::future::pending::<()>().await;
}

async fn step(arguments: &[String]) {
    let begun = Instant::now();
    let cli = Cli::try_parse_from(std::iter::once("storectl".to_owned()).chain(arguments.iter().cloned()));
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let cli = cli.expect("a command line");
    // The doctor finds no token key here, and says so; all else must go well.
    let outcome = commands::run(&cli, &Console::nobody(), &clock).await;
    if let Err(failure) = outcome {
        println!("{failure}");
        std::process::exit(1);
    }
    report(begun);
}

async fn seed(store: &str, url: &str) {
    let begun = Instant::now();
    let now = SystemClock.seconds();
    let files = publish::read(Path::new(store)).expect("a sound store");
    let live = local::live::read_live(Path::new(store), &files, now).expect("sound files");
    let credentials = aws_sdk_dynamodb::config::Credentials::new("local", "local", None, None, "local");
    let mut access = Access::new("local", Some(url.to_owned()), Some(credentials), connector::plain_client());
    access.timeouts = TimeoutConfig::disabled();
    let table = storectl::target::definition().expect("the template").logical_id;
    let db = Db::new(access, &table);
    local::live::seed(&db, &live).await.expect("it is taken");
    report(begun);
}

/// Prints how long this process took and how much memory it held at the most.
fn report(begun: Instant) {
    let label = std::env::var("BIG_STORE_LABEL").unwrap_or_default();
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or(" unknown").trim().to_owned();
    println!("{label:<32} {:>9} ms   peak {peak}", begun.elapsed().as_millis());
}

fn write_store(dir: &Path, name: &str) {
    for folder in ["categories", "pages", "live"] {
        std::fs::create_dir_all(dir.join(folder)).expect("a folder");
    }
    let write = |path: &str, text: &str| std::fs::write(dir.join(path), text).expect("a file");
    write("store.yaml", &format!("format: 1\nname: {name}\ncurrency: {{code: EUR}}\nservers: [{{id: 1, name: A}}]\n"));
    write("staff.yaml", "keepers:\n  - {username: Oldemar}\n");
    write("pages/rules.yaml", "{id: 1, title: Rules, url: /rules, content: Be kind.}\n");
    for category in 1..=CATEGORIES {
        let mut text = format!("id: {category}\nslug: c{category}\nname: Category {category}\nitems:\n");
        for place in 1..=ITEMS_EACH {
            let id = category * 100 + place;
            _ = write!(
                text,
                "  - id: {id}\n    name: {name} item {id}\n    description: What a buyer wants to know of it before \
                 they buy it, in a sentence or two.\n    image: /img/items/{id}.png\n    price: {place}.99\n    \
                 discount: 0.50\n    featured: {}\n    servers: [1]\n",
                id % 500 == 1,
            );
        }
        write(&format!("categories/c{category}.yaml"), &text);
    }
    write(
        "live/users.yaml",
        &lines(USERS, |id| {
            format!(
                "- {{id: {id}, username: User{id}, uuid: 5b0c2f4e-6d1a-4c07-9a53-{id:012}, created_at: 2 years ago}}\n"
            )
        }),
    );
    write(
        "live/coupons.yaml",
        &lines(CODES / 2, |id| format!("- {{id: {id}, code: COUPON-{id}, percentage: 12.5, max_uses: 5}}\n")),
    );
    write(
        "live/gift_cards.yaml",
        &lines(CODES / 2, |id| format!("- {{id: {}, code: GIFT-{id}, balance: 25.00}}\n", CODES + id)),
    );
    write(
        "live/orders.yaml",
        &lines(ORDERS, |id| {
            let (owner, item) = (id % USERS + 1, (id % CATEGORIES + 1) * 100 + id % ITEMS_EACH + 1);
            format!(
                "- {{id: {id}, internal_id: order-{id}, status: PAID, owner: {owner}, gateway: cardhouse, created_at: 2 hours ago, \
             lines: [{{item: {item}}}]}}\n"
            )
        }),
    );
}

fn lines(count: u64, line: impl Fn(u64) -> String) -> String {
    (1..=count).map(line).collect()
}
