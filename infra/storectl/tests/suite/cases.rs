//! Sessions of an operator: what is typed, and what is printed. They are in `cases/*.txt`, each a title after `==` and lines:
//!
//! * `$ COMMAND` runs the tool; `$yes` and `$no` answer its questions, `$keyless` has no keys of the payment provider, and `$writing` may
//!   fail and write. Without anything else its text is printed, after ` | ` these fields of its JSON (`#` is a length, `*` is all), after
//!   ` ~ ` the lines with these words.
//! * `% VERB` does what is not the tool's: [`Session::request`], [`Session::act`], [`Session::at_provider`].
//! * `NAME = …` before a line keeps the field that would be printed; `<NAME>` stands for it.
//! * `-- PATH` begins a file in `<dir>`, which ends with the next of these lines.
//! * `>` is what is printed. A command that fails has written nothing.
//!
//! `CASES=write` writes what is printed now; read the differences.

use crate::bench::{Bench, ask, copy, sample, words};
use crate::payments::{Paying, stand_in};
use crate::subscriptions::{put, subscription};
use http::Method;
use serde_json::{Map, Value};
use shared::clock::{Clock as _, SystemClock};
use shared::model::{CommandId, InternalId};
use shared::shop::delivery::{ServerKey, delivered, poll};
use shared::table::keys::Key;
use std::fmt::Write as _;
use storectl::console::Console;
use storectl::error::Failure;
use stripe_stand_in::{Action, Fault, FaultKind};

struct Session {
    paying: Paying,
    has_keys: bool,
    /// Names and the values that they stand for.
    names: Vec<(String, String)>,
    /// The rows after a command that has written nothing.
    unchanged: Option<Vec<String>>,
    /// Former tables, whose files are still used.
    before: Vec<Bench>,
}

/// The output of a step: a line of its own, and the text that fields or lines are taken of.
#[derive(Default)]
struct Printed {
    head: String,
    json: Value,
    text: String,
}

impl Printed {
    fn of(outcome: Result<storectl::answer::Printed, Failure>) -> Self {
        match outcome {
            Ok(answer) => Self {
                head: answer.trouble().map(|exit| format!("{exit:?}")).unwrap_or_default(),
                text: anstream::adapter::strip_str(answer.text()).to_string(),
                json: answer.json().clone(),
            },
            Err(failure) => {
                let done = failure.done.strip_prefix("Nothing was changed.").unwrap_or(&failure.done);
                let said = [&failure.what, done, &failure.next].map(str::trim).join(" ").replace("  ", " ");
                let head = format!("{:?}: {}", failure.exit, anstream::adapter::strip_str(&said)).replace('\n', " ");
                Self { head, ..Self::default() }
            }
        }
    }

    fn field(&self, path: &str) -> Value {
        fn at(value: &Value, path: &[&str]) -> Value {
            match (path, value) {
                ([], value) => value.clone(),
                (["#", ..], Value::Array(all)) => all.len().into(),
                (["*", rest @ ..], Value::Array(all)) => all.iter().map(|one| at(one, rest)).collect(),
                ([place, rest @ ..], Value::Array(all)) => at(&all[place.parse::<usize>().unwrap()], rest),
                ([name, rest @ ..], value) => at(&value[*name], rest),
            }
        }
        at(&self.json, &path.split('.').filter(|part| !part.is_empty()).collect::<Vec<_>>())
    }

    fn lines(&self, fields: Option<&str>, part: Option<&str>) -> String {
        let mut lines: Vec<String> = Some(self.head.clone()).into_iter().filter(|head| !head.is_empty()).collect();
        if let Some(fields) = fields {
            let one = |path| format!("{path} {}", self.field(path));
            let fields: Vec<String> = fields.split_whitespace().map(one).collect();
            lines.extend((self.json != Value::Null && !fields.is_empty()).then(|| fields.join(", ")));
        } else {
            let is_shown = |line: &&str| part.is_none_or(|part| line.contains(part));
            lines.extend(self.text.lines().filter(is_shown).map(str::to_owned));
        }
        lines.iter().fold(String::new(), |all, line| all + format!("> {line}").trim_end() + "\n")
    }
}

impl Session {
    /// `% sample`, `% stocked`, `% unconnected` (sample, with a provider), `% connected` (with a key and a buyer); else an empty table.
    async fn begin(store: &str) -> Self {
        let paying = match store {
            "% sample" | "% unconnected" => Paying::open().await,
            "% connected" => Paying::connected().await,
            "% stocked" => Paying::of(Bench::stocked().await).await,
            _ => Paying::of(Bench::empty().await).await,
        };
        let dir = paying.bench.dir.path().display().to_string();
        let names = [("dir", dir), ("sample", sample()), ("endpoint", paying.bench.endpoint().to_owned())];
        let names = names.map(|(name, value)| (name.to_owned(), value)).to_vec();
        Self { paying, has_keys: store.ends_with("connected"), names, unchanged: None, before: Vec::new() }
    }

    async fn type_in(&self, mode: &str, line: &str) -> Printed {
        let console = match mode {
            "$yes" => Console::answering(true),
            "$no" => Console::answering(false),
            _ => Console::without_terminal(),
        };
        let words = words(line);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let with_keys = self.has_keys && mode != "$keyless";
        Printed::of(if with_keys {
            self.paying.run_before(&console, &words).await
        } else {
            self.paying.bench.run_before(&console, &words).await
        })
    }

    /// A request: `% POST /path USER BODY`, with a token of this user, with the token of a name, or with none (`-`).
    async fn request(&self, verb: &str, rest: &str) -> Printed {
        let [path, user, body] = [0, 1, 2].map(|place| rest.splitn(3, ' ').nth(place).unwrap_or_default());
        let bench = &self.paying.bench;
        let token = match user {
            "-" | "" => None,
            token if token.len() > 64 => Some(token.to_owned()),
            user => Some(bench.token(user).await),
        };
        let method = Method::from_bytes(verb.as_bytes()).unwrap();
        let (status, json) = ask(&bench.gateway(), method, path, token.as_deref(), body).await;
        Printed { head: status.as_str().to_owned(), text: json.to_string(), json }
    }

    /// Changes a checkout at the provider (the last one, if no order is named), or shows the calls that it received:
    /// `% pay`, `% pay-delayed`, `% succeed`, `% fail`, `% refund UNITS ORDER`, `% fail-refund`, `% lose ORDER` (by the table), `% forbid PATH`, `% received ROUTE`, `% refunds`.
    async fn at_provider(&self, verb: &str, rest: &str) -> Printed {
        let stand_in = &self.paying.stand_in;
        let (units, order) = rest.split_once(' ').unwrap_or((rest, ""));
        let action = match verb {
            "lose" => {
                self.paying.lose(&InternalId::new(&self.value(rest))).await;
                return Printed::default();
            }
            "forbid" => {
                stand_in.inject(Fault::before(FaultKind::Status(403)).on(rest));
                return Printed::default();
            }
            "received" => {
                let received = stand_in.received().into_iter().filter(|sent| sent.route.contains(rest));
                return Printed { json: received.map(|sent| sent.key).collect(), ..Printed::default() };
            }
            "refunds" => return Printed { json: self.paying.refunds().into(), ..Printed::default() },
            "pay" => Action::Pay,
            "pay-delayed" => Action::PayDelayed,
            "succeed" => Action::Succeed,
            "fail" => Action::Fail,
            "refund" => Action::Refund(units.parse().ok()),
            "fail-refund" => Action::FailRefund,
            _ => panic!("{verb} {rest}"),
        };
        let last = || stand_in.sessions().pop().unwrap();
        let session = if order.is_empty() { last() } else { self.value(&format!("{order}.session")) };
        Printed { head: stand_in.act(&session, &action).err().unwrap_or_default(), ..Printed::default() }
    }

    fn value(&self, name: &str) -> String {
        self.names.iter().find(|(known, _)| known == name).unwrap_or_else(|| panic!("{name}")).1.clone()
    }

    /// `% copy DIR` (of the sample store), `% edit FILE OLD => NEW`, `% ls DIR`.
    fn on_files(&self, verb: &str, rest: &str) -> Printed {
        let bench = &self.paying.bench;
        let mut text = String::new();
        match verb {
            "copy" => copy(sample().as_ref(), &bench.path(rest)),
            "edit" => {
                let (file, change) = rest.split_once(' ').unwrap();
                let change = change.replace("\\n", "\n");
                let (old, new) = change.split_once(" =>").unwrap();
                let before = std::fs::read_to_string(bench.path(file)).unwrap();
                assert!(before.contains(old), "{file}: {old}");
                bench.write(file, &before.replace(old, new.trim_start_matches(' ')));
            }
            _ => {
                let entries = std::fs::read_dir(bench.path(rest)).unwrap();
                let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
                text = names.collect::<Vec<_>>().join("\n");
            }
        }
        Printed { text, ..Printed::default() }
    }

    /// * `% add USER ITEM OPTIONS` fills a cart, `% checkout NAME` begins a checkout and keeps its order, `% paid NAME` pays it, too.
    /// * `% wait 2h`, `% now` (the time of the database).
    /// * `% rows PART`: live rows with this text. `% drop PART PART`: deletes them. `% subscribe ID FIELDS`: of Newt.
    /// * `% poll KEY`, `% delivered KEY IDS`: of a game server. `% another table` or `provider`: an empty one.
    async fn act(&mut self, verb: &str, rest: &str) -> Printed {
        let bench = &self.paying.bench;
        let mut json = Value::Null;
        match verb {
            "add" => json = bench.cart_add(&rest.split(' ').collect::<Vec<_>>()).await,
            "checkout" | "paid" => {
                let is_paid = verb == "paid";
                let order = if is_paid { self.paying.paid().await } else { self.paying.checkout().await };
                let session = self.paying.stand_in.sessions().pop().unwrap();
                self.names.push((rest.to_owned(), order.as_str().to_owned()));
                self.names.push((format!("{rest}.session"), session));
            }
            "wait" => bench.clock.advance(rest.parse::<jiff::SignedDuration>().unwrap().unsigned_abs()),
            "now" => bench.tell_the_time(),
            "subscribe" => {
                let (id, changes) = rest.split_once(' ').unwrap_or((rest, "{}"));
                let mut new = serde_json::to_value(subscription(&self.paying, id)).unwrap();
                for (name, value) in serde_json::from_str::<Map<String, Value>>(changes).unwrap() {
                    new[name] = value;
                }
                put(&self.paying, serde_json::from_value(new).unwrap()).await;
            }
            "drop" => {
                let is_meant = |row: &String| rest.split(' ').all(|part| row.contains(part));
                for row in bench.rows().await.into_iter().filter(is_meant) {
                    let row: Value = serde_json::from_str(&row).unwrap();
                    let [pk, sk] = ["pk", "sk"].map(|name| row[name]["S"].as_str().unwrap().to_owned());
                    bench.delete(&Key { pk, sk }).await;
                }
            }
            "rows" => {
                let part = rest.to_lowercase();
                let is_meant = |row: &String| row.to_lowercase().contains(&part) && !row.contains("\"data\"");
                json = bench.rows().await.into_iter().filter(is_meant).collect();
            }
            "poll" => {
                let key = ServerKey::parse(rest).unwrap();
                let polled = poll(&bench.db, bench.clock.as_ref(), &key, None).await;
                let head = polled.map_or_else(|_| "no such key".to_owned(), |all| format!("{} commands", all.len()));
                return Printed { head, ..Printed::default() };
            }
            "delivered" => {
                let (key, ids) = rest.split_once(' ').unwrap();
                let ids: Vec<CommandId> =
                    ids.split(' ').map(|id| CommandId::new(id.parse::<u64>().unwrap()).unwrap()).collect();
                delivered(&bench.db, bench.clock.as_ref(), &ServerKey::parse(key).unwrap(), &ids).await.unwrap();
            }
            "another" if rest == "table" => {
                let before = std::mem::replace(&mut self.paying.bench, Bench::empty().await);
                self.before.push(before);
                self.names.push(("endpoint".to_owned(), self.paying.bench.endpoint().to_owned()));
            }
            "another" => self.paying.stand_in = stand_in(bench).await,
            "copy" | "edit" | "ls" => return self.on_files(verb, rest),
            _ => return self.at_provider(verb, rest).await,
        }
        Printed { json, ..Printed::default() }
    }

    async fn step(&mut self, typed: &str, is_refused: bool) -> String {
        let (kept, line) = named(typed);
        let line =
            self.names.iter().fold(line.to_owned(), |line, (name, value)| line.replace(&format!("<{name}>"), value));
        let (line, part) = line.split_once(" ~ ").map_or((&*line, None), |(line, part)| (line, Some(part)));
        let (line, fields) = line.split_once(" |").map_or((line, None), |(line, fields)| (line, Some(fields)));
        let (mode, rest) = line.split_once(' ').unwrap();
        let is_refused = is_refused && mode != "$writing";
        let before = match self.unchanged.take().filter(|_| is_refused) {
            None if is_refused => self.rows().await,
            known => known.unwrap_or_default(),
        };
        let (verb, objects) = rest.split_once(' ').unwrap_or((rest, ""));
        let printed = match (mode, verb) {
            ("%", "GET" | "POST") => self.request(verb, objects).await,
            ("%", _) => self.act(verb, objects).await,
            _ => self.type_in(mode, rest).await,
        };
        if is_refused {
            let rows = self.rows().await;
            let written: Vec<_> = rows.iter().filter(|row| !before.contains(row)).collect();
            assert_eq!(written, [""; 0], "{typed} writes nothing");
            assert!(before.iter().all(|row| rows.contains(row)), "{typed} deletes nothing");
            self.unchanged = Some(rows);
        }
        if let Some(name) = kept {
            let field = printed.field(fields.unwrap_or_default().trim());
            let value = field.as_str().map_or_else(|| field.to_string(), str::to_owned);
            assert!(field != Value::Null, "{typed}: {}", printed.head);
            self.names.push((name.to_owned(), value));
            return String::new();
        }
        let lines = printed.lines(fields, part);
        self.names.iter().fold(masked(&lines), |lines, (name, value)| lines.replace(value, &format!("<{name}>")))
    }

    /// The rows of the table but for sequences: a number that was taken may be left out.
    async fn rows(&self) -> Vec<String> {
        self.paying.bench.rows().await.into_iter().filter(|row| !row.contains("SEQ#")).collect()
    }
}

/// A text without what differs from run to run: times by the machine's clock, which is the database's, and ids of requests.
fn masked(text: &str) -> String {
    let is_near = |time: jiff::Timestamp, now: i64| (time.as_second() - now).abs() < 40 * 24 * 3_600;
    let is_recent = |time: jiff::Timestamp| is_near(time, SystemClock.seconds()) && !is_near(time, tests::NOW);
    let mask = |word: &str| {
        let bare = word.trim().trim_end_matches(['.', ':']);
        let is_masked = bare.parse().is_ok_and(is_recent) || word.starts_with("req_");
        if is_masked { word.replace(bare, "<varies>") } else { word.to_owned() }
    };
    text.split_inclusive([' ', '\n']).map(mask).collect()
}

/// The name that keeps what a line prints, and the rest of the line.
fn named(line: &str) -> (Option<&str>, &str) {
    let is_name = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let named = line.split_once(" = ").filter(|(name, _)| is_name(name));
    named.map_or((None, line), |(name, line)| (Some(name), line))
}

fn is_typed(line: &str) -> bool {
    named(line).1.starts_with(['$', '%'])
}

/// A case with what is printed now.
async fn played(case: &str) -> String {
    let lines: Vec<&str> = case.trim_end().lines().collect();
    let mut session = Session::begin(lines.get(1).unwrap_or(&"")).await;
    let (mut now, mut file) = (String::new(), None);
    for (place, line) in lines.iter().enumerate().filter(|(_, line)| !line.starts_with('>')) {
        writeln!(now, "{line}").unwrap();
        if is_typed(line) || line.starts_with("-- ") {
            file = line.strip_prefix("-- ").map(|path| (path, String::new()));
        } else if let Some((path, text)) = &mut file {
            writeln!(text, "{line}").unwrap();
            session.paying.bench.write(path, text);
        }
        if place > 0 && is_typed(line) && !["% sample", "% stocked", "% connected", "% unconnected"].contains(line) {
            let fails = ["> Refused: ", "> Declined: ", "> Denied: ", "> Local: ", "> Faults: "];
            let is_refused = lines.get(place + 1).is_some_and(|said| fails.iter().any(|fail| said.starts_with(fail)));
            now += &session.step(line, is_refused).await;
        }
    }
    now + "\n"
}

async fn play(name: &str) {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/cases").join(name);
    let (text, mut now, mut wrong) = (std::fs::read_to_string(&file).unwrap(), String::new(), String::new());
    for was in text.split("== ").skip(1) {
        let is = played(was).await;
        if is.trim_end() != was.trim_end() {
            write!(wrong, "{was}is now\n{is}").unwrap();
        }
        write!(now, "== {is}").unwrap();
    }
    if std::env::var("CASES").is_ok_and(|value| value == "write") {
        std::fs::write(&file, now.trim_end().to_owned() + "\n").unwrap();
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[tokio::test]
async fn sessions_about_accounts_print_what_the_cases_have() {
    play("accounts.txt").await;
}

#[tokio::test]
async fn sessions_about_codes_and_carts_print_what_the_cases_have() {
    play("codes.txt").await;
}

#[tokio::test]
async fn sessions_about_files_print_what_the_cases_have() {
    play("files.txt").await;
}

#[tokio::test]
async fn sessions_about_orders_print_what_the_cases_have() {
    play("orders.txt").await;
}

#[tokio::test]
async fn sessions_about_payments_print_what_the_cases_have() {
    play("payments.txt").await;
}

#[tokio::test]
async fn sessions_about_delivery_print_what_the_cases_have() {
    play("delivery.txt").await;
}

#[tokio::test]
async fn sessions_about_subscriptions_print_what_the_cases_have() {
    play("subscriptions.txt").await;
}
