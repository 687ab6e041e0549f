//! Stores as people run them. Each folder beside this file has a README.md, in which an owner says in plain words what is sold and
//! ends with a table of what is bought, and the store's files. A line of the files that ends in `# not yet` needs a word that the
//! format does not have: `check` must name each of them, and nothing else. The rest is published, and the table is bought, by the
//! public routes and with the owner's own commands.

use crate::payments::backlog::sweep;
use crate::payments::support::{Begun, act, agreed, call};
use publish::Fault;
use publish::files::StoreFiles;
use serde_json::{Value, json};
use shared::clock::Clock;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use storectl::Cli;
use storectl::console::Console;
use storectl::deployment::Deployment;
use stripe_stand_in::Action;
use tests::{Call, TestStore, repository};

const NOT_YET: &str = "# not yet";
/// The variable in which the first choice of a bundle is made.
const FIRST_CHOICE: u64 = 1_000_001;

/// Copies a store's files without the lines that need a word which the format does not have. Returns their places.
fn strip(from: &Path, to: &Path, name: &str, left_out: &mut BTreeSet<(String, u64)>) {
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let file = entry.file_name().into_string().unwrap();
        let (path, name) = (to.join(&file), format!("{name}{file}"));
        if entry.path().is_dir() {
            std::fs::create_dir(&path).unwrap();
            strip(&entry.path(), &path, &format!("{name}/"), left_out);
            continue;
        }
        let text = std::fs::read_to_string(entry.path()).unwrap();
        let is_left_out = |line: &str| line.trim_end().ends_with(NOT_YET);
        let lines = (1..).zip(text.lines()).filter(|(_, line)| is_left_out(line));
        left_out.extend(lines.map(|(line, _)| (name.clone(), line)));
        let kept: Vec<&str> = text.lines().filter(|line| !is_left_out(line)).collect();
        std::fs::write(path, kept.join("\n") + "\n").unwrap();
    }
}

/// A row of a README's table: when, who, what, the price or the refusal, the commands.
type Row = [String; 5];

fn table(readme: &str) -> Vec<Row> {
    let (_, table) = readme.split_once("\n## What is bought\n").unwrap();
    let rows = table.lines().filter(|line| line.starts_with('|')).skip(2);
    let cells = |row: &str| row.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    rows.map(|row| cells(row).try_into().unwrap()).collect()
}

/// A published store, while its table is bought.
struct Shop {
    store: TestStore,
    files: StoreFiles,
    /// The keys of its servers, with the name of each.
    servers: Vec<(u64, String)>,
}

impl Shop {
    async fn open(dir: &Path, files: StoreFiles) -> Self {
        let mut shop = Self { store: TestStore::empty().await, files, servers: Vec::new() };
        shop.storectl(&["publish", dir.to_str().unwrap(), "--yes"]).await;
        for server in shop.files.store.content.servers.clone() {
            let key =
                shop.storectl(&["server", "add", &server.id.to_string()]).await["key"].as_str().unwrap().to_owned();
            shop.servers.push((*server.id, key));
        }
        shop
    }

    async fn storectl(&self, words: &[&str]) -> Value {
        let cli = Cli::read(["storectl"].iter().chain(words).map(Into::into)).unwrap();
        let clock = Arc::clone(&self.store.clock) as Arc<dyn Clock>;
        let at = Deployment::of(self.store.db.clone(), &clock, None);
        let answer = Box::pin(cli.command.run(&at, &Console::without_terminal())).await;
        answer.unwrap_or_else(|failure| panic!("{words:?}: {failure}")).json().clone()
    }

    /// Does what a row says; the row as it was seen.
    async fn buy(&self, row: &Row) -> Row {
        let [when, who, does, ..] = row;
        let second = publish::second(&self.files, when).unwrap();
        let ahead = u64::try_from(second - self.store.clock.seconds()).unwrap();
        self.store.clock.advance(Duration::from_secs(ahead));
        let seen = |pays: String, runs: String| [when.clone(), who.clone(), does.clone(), pays, runs];
        if who == "owner" {
            self.storectl(&does.trim_matches('`').split(' ').collect::<Vec<_>>()).await;
            return seen(String::new(), String::new());
        }
        match self.pay(who, does).await {
            Ok(pays) => seen(pays, self.run().await),
            Err(message) => seen(format!("refused: {message}"), String::new()),
        }
    }

    /// Puts what is named into a player's empty cart and pays it; what was paid, or why not.
    async fn pay(&self, who: &str, does: &str) -> Result<String, String> {
        let log_in = Call::post("/auth/username").json(&json!({ "username": who })).from_ip(&address(who));
        let token = self.store.send(log_in).await.data().as_str().unwrap().to_owned();
        let user = call(&self.store, &token, "/user", &json!({})).await.data()["id"].clone();
        let user: u64 = user.as_str().map_or_else(|| user.as_u64().unwrap(), |id| id.parse().unwrap());
        tests::delete(&self.store.db, &shared::table::keys::cart(shared::model::UserId::new(user))).await;
        for part in does.split(", ") {
            let (path, body) = request(part);
            let reply = call(&self.store, &token, &path, &body).await;
            let data = reply.data();
            if data["success"] != true {
                return Err(data["message"].as_str().unwrap_or(&reply.text).to_owned());
            }
        }
        let cart = call(&self.store, &token, "/cart/get", &json!({})).await.data()["cart"]["price"].clone();
        let begun = call(&self.store, &token, "/payments/create", &agreed()).await.data();
        if begun["success"] != true {
            return Err(begun["message"].as_str().unwrap().to_owned());
        }
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let session = text(&begun["data"]["url"]).rsplit('/').next().unwrap().to_owned();
        let begun = Begun { order: text(&begun["order_id"]), session };
        act(&self.store, &begun, &Action::Pay).await;
        let asked = json!({ "order_id": begun.order, "checkout_id": begun.session });
        let order = call(&self.store, &token, "/payments/checkStatus", &asked).await.data()["order_data"].clone();
        assert_eq!((&order["status"], &order["price"]), (&json!("PAID"), &cart), "{who}: {does}");
        sweep(&self.store).await;
        let stored = crate::payments::support::stored(&self.store, &begun.order).await.order;
        Ok(format!("{}.{:02}", stored.price.minor() / 100, stored.price.minor() % 100))
    }

    /// What the servers are told to run, and say that they ran.
    async fn run(&self) -> String {
        let mut commands = Vec::new();
        for (server, key) in &self.servers {
            let calls = format!("/plugin/api/servers/{key}/commands");
            let queue = self.store.send(Call::get(&format!("{calls}/queue/"))).await.json();
            let ids: Vec<&Value> = queue.as_array().unwrap().iter().map(|row| &row["id"]).collect();
            if !ids.is_empty() {
                let say = Call::post(&format!("{calls}/executed/")).json(&json!({ "ids": ids }));
                assert_eq!(self.store.send(say).await.status, 200);
            }
            let on = if self.servers.len() == 1 { String::new() } else { format!(" on {server}") };
            let rows = queue.as_array().unwrap().iter();
            commands.extend(rows.map(|row| format!("`{}`{on}", row["command"].as_str().unwrap())));
        }
        commands.join(", ")
    }
}

/// An address of the player's own.
fn address(who: &str) -> String {
    format!("203.0.113.{}", who.bytes().next().unwrap_or_default())
}

/// The request that does a part of a row, such as `3 × 201`, `102 for Bob`, `301 on server 2`, `401 with gold`, `code SPRING`.
fn request(part: &str) -> (String, Value) {
    let words: Vec<&str> = part.split(' ').collect();
    match *words {
        ["code", code] => return ("/cart/acceptCoupon".to_owned(), json!({ "coupon": code })),
        ["referral", code] => return ("/cart/setReferral".to_owned(), json!({ "ref_code": code })),
        _ => {}
    }
    let (count, rest) =
        if words.get(1) == Some(&"×") { (words[0].parse().unwrap(), &words[2..]) } else { (1, &words[..]) };
    let mut body = json!({ "count": count });
    let mut rest_of = rest[1..].to_vec();
    while let [word, value, ..] = rest_of[..] {
        let mut used = 2;
        match word {
            "for" if rest_of.get(2) == Some(&"euros") => (body["price"], used) = (json!(value), 3),
            "for" => (body["payment_type"], body["gift_to"]) = (json!(2), json!(value)),
            "on" => (body["server_id"], used) = (json!(rest_of[2].parse::<u64>().unwrap()), 3),
            "as" => (body["payment_type"], used) = (json!(1), 3),
            // A variable's value, or what is chosen of a bundle: the rest of the part.
            "with" | "choosing" => {
                let variable = if word == "with" { 1 } else { FIRST_CHOICE };
                body["variables"] = json!({ variable.to_string(): rest_of[1..].join(" ") });
                used = rest_of.len();
            }
            other => panic!("{part}: {other}"),
        }
        rest_of.drain(..used);
    }
    (format!("/cart/add/{}", rest[0]), body)
}

/// What is otherwise than a store's README says; empty if it is as the owner says.
async fn differences(folder: &Path) -> String {
    let stripped = tempfile::tempdir().unwrap();
    let mut left_out = BTreeSet::new();
    strip(folder, stripped.path(), "", &mut left_out);
    let faults = publish::read(folder).err().unwrap_or_default();
    let (named, others): (Vec<Fault>, Vec<Fault>) =
        faults.into_iter().partition(|fault| fault.problem.starts_with("not yet: "));
    let named = named.iter().map(|fault| (fault.file.display().to_string(), fault.line.unwrap_or_default()));
    let named: BTreeSet<(String, u64)> = named.collect();
    if !others.is_empty() || named != left_out {
        return format!("left out are {left_out:?}, named {named:?}, and {others:#?}");
    }
    let files = match publish::read(stripped.path()) {
        Ok(files) => files,
        Err(faults) => return format!("{faults:#?}"),
    };
    let said: Vec<Fault> = publish::check(&files).into_iter().chain(publish::warnings(&files)).collect();
    if !said.is_empty() {
        return format!("{said:#?}");
    }
    let rows = table(&std::fs::read_to_string(folder.join("README.md")).unwrap());
    let shop = Shop::open(stripped.path(), files).await;
    let mut seen = Vec::new();
    for row in &rows {
        seen.push(shop.buy(row).await);
    }
    let differs = rows.iter().zip(&seen).filter(|(row, seen)| row != seen).map(|(_, seen)| seen);
    differs.fold(String::new(), |all, row| all + "| " + &row.join(" | ") + " |\n")
}

#[tokio::test]
async fn stores_as_people_run_them_are_bought_as_their_owners_say() {
    let folders = std::fs::read_dir(repository().join("tests/stores")).unwrap().map(|entry| entry.unwrap().path());
    let mut folders: Vec<_> = folders.filter(|path| path.is_dir()).collect();
    folders.sort();
    assert_eq!(folders.len(), 12);
    let mut wrong = String::new();
    for folder in folders {
        let differences = differences(&folder).await;
        if !differences.is_empty() {
            writeln!(wrong, "{}:\n{differences}", folder.display()).unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
