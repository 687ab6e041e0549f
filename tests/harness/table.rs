//! The rows that requests have written, without what differs between two runs of the same requests.

use crate::database::put;
use crate::store::TestStore;
use aws_sdk_dynamodb::types::AttributeValue;
use shared::table::codec::Item;
use shared::table::keys::{PK, SK, prefix};
use shared::table::transaction::VERSION;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// The prefixes of rows that only a publish writes.
const PUBLISHED: [&str; 5] = ["CATALOG#", "CONTENT#", "ITEM#", "PAGE#", "VERSIONS"];
/// The prefix of the counters of rate limits.
const COUNTERS: &str = "RATE#";
/// The prefix of sequences of ids, in which a gap is allowed.
const SEQUENCES: &str = "SEQ#";

/// The rows that requests may write.
#[derive(Debug, Clone, PartialEq)]
pub struct Dump(BTreeMap<(String, String), Item>);

impl Dump {
    pub async fn read(store: &TestStore) -> Self {
        let (mut rows, mut start) = (BTreeMap::new(), None);
        loop {
            let condition = (0..PUBLISHED.len()).map(|place| format!("begins_with(pk, :p{place})"));
            let condition = format!("NOT ({})", condition.collect::<Vec<_>>().join(" OR "));
            let scan = store.db.client().scan().table_name(store.db.table()).consistent_read(true);
            let scan = scan.filter_expression(condition).set_exclusive_start_key(start);
            let scan = PUBLISHED.iter().enumerate().fold(scan, |scan, (place, prefix)| {
                scan.expression_attribute_values(format!(":p{place}"), AttributeValue::S((*prefix).to_owned()))
            });
            let page = scan.send().await.expect("a database that responds");
            for item in page.items.unwrap_or_default() {
                let part = |name| item[name].as_s().expect("a text").clone();
                rows.insert((part(PK), part(SK)), item);
            }
            start = page.last_evaluated_key;
            if start.is_none() {
                return Self(rows);
            }
        }
    }

    /// The rows that take the places of these.
    #[must_use]
    pub fn flat_map(self, change: impl FnMut(Item) -> Vec<Item>) -> Self {
        let part = |item: &Item, name: &str| item[name].as_s().expect("a text").clone();
        let items = self.0.into_values().flat_map(change);
        Self(items.map(|item| ((part(&item, PK), part(&item, SK)), item)).collect())
    }

    /// Makes the table what it was when these rows were read.
    pub async fn restore(&self, store: &TestStore) {
        let now = Self::read(store).await;
        for (key, item) in &self.0 {
            if now.0.get(key) != Some(item) {
                put(&store.db, item.clone()).await;
            }
        }
        for (pk, sk) in now.0.keys().filter(|key| !self.0.contains_key(*key)) {
            let delete = store.db.client().delete_item().table_name(store.db.table());
            let delete = delete.key(PK, AttributeValue::S(pk.clone())).key(SK, AttributeValue::S(sk.clone()));
            delete.send().await.expect("a database that responds");
        }
    }

    /// Sets the next id of every sequence that is among these rows.
    pub async fn set_sequences(&self, store: &TestStore, next: u64) {
        for item in self.0.iter().filter(|((pk, _), _)| pk.starts_with(SEQUENCES)).map(|(_, item)| item) {
            let mut item = item.clone();
            item.insert("next".to_owned(), AttributeValue::N(next.to_string()));
            put(&store.db, item).await;
        }
    }

    /// The rows that are not as `before`, as sorted texts, without sequences and the counters of rate limits.
    pub fn changes(&self, before: &Self, stable: &Stable) -> Vec<String> {
        self.differences(before, stable, |pk| !pk.starts_with(SEQUENCES) && !pk.starts_with(COUNTERS))
    }

    /// The counters of rate limits that are not as `before`, as sorted texts.
    pub fn counters(&self, before: &Self, stable: &Stable) -> Vec<String> {
        self.differences(before, stable, |pk| pk.starts_with(COUNTERS))
    }

    fn differences(&self, before: &Self, stable: &Stable, is_wanted: impl Fn(&str) -> bool) -> Vec<String> {
        let differs = |key: &(String, String), item: &Item| is_wanted(&key.0) && before.0.get(key) != Some(item);
        let mut texts = self.texts(stable, differs);
        let gone = before.0.keys().filter(|key| is_wanted(&key.0) && !self.0.contains_key(*key));
        texts.extend(gone.map(|(pk, sk)| format!("gone: {pk} {sk}")));
        texts.sort();
        texts
    }

    /// Units sold, amounts paid and uses, by item, user and code, as sorted texts: every row that sums orders up.
    pub fn sums(&self) -> Vec<String> {
        const SUMS: [&str; 5] = ["CODE#", "COUNT#", "LEDGER#", "PATRONS", "USE#"];
        self.texts(&Stable::all(), |key, _| SUMS.iter().any(|prefix| key.0.starts_with(prefix)))
    }

    fn texts(&self, stable: &Stable, is_wanted: impl Fn(&(String, String), &Item) -> bool) -> Vec<String> {
        let wanted = self.0.iter().filter(|(key, item)| is_wanted(key, item));
        // A checkout that is begun again after a fault writes the counters of its units more often.
        let item = |key: &(String, String), item: &Item| {
            let is_counter = key.0.starts_with(prefix::COUNT);
            item.clone().into_iter().filter(|(name, _)| !is_counter || name != VERSION).collect()
        };
        let mut texts: Vec<String> =
            wanted.map(|(key, row)| text(&AttributeValue::M(item(key, row)), stable)).collect();
        texts.sort();
        texts
    }

    fn words(&self) -> HashSet<String> {
        // The next ids are not what was there before: what has such an id was made later.
        let whole: Vec<String> = self.texts(&Stable::all(), |key, _| !key.0.starts_with(SEQUENCES));
        whole.iter().flat_map(|text| words(text)).map(str::to_owned).collect()
    }
}

/// A value as text. Sets and maps are sorted.
fn text(value: &AttributeValue, stable: &Stable) -> String {
    let sorted = |mut texts: Vec<String>| {
        texts.sort();
        texts.join(", ")
    };
    match value {
        AttributeValue::S(value) | AttributeValue::N(value) => stable.masked(value),
        AttributeValue::Ss(values) | AttributeValue::Ns(values) => {
            format!("<{}>", sorted(values.iter().map(|value| stable.masked(value)).collect()))
        }
        AttributeValue::L(values) => {
            format!("[{}]", values.iter().map(|value| text(value, stable)).collect::<Vec<_>>().join(", "))
        }
        AttributeValue::M(values) => {
            let values = values.iter().map(|(name, value)| format!("{}: {}", stable.masked(name), text(value, stable)));
            format!("{{{}}}", sorted(values.collect()))
        }
        other => format!("{other:?}"),
    }
}

/// The words that are the same in every run of the same requests. All others are random, or follow from an id.
#[derive(Debug, Clone)]
pub struct Stable(Option<BTreeSet<String>>);

impl Stable {
    /// All words, for rows of one run.
    pub const fn all() -> Self {
        Self(None)
    }

    /// The words that two runs have in common, in rows and in texts.
    pub fn of(runs: [(Vec<&Dump>, Vec<&str>); 2]) -> Self {
        let [one, other] = runs.map(|(dumps, texts)| {
            let mut all: HashSet<String> = dumps.iter().flat_map(|dump| dump.words()).collect();
            all.extend(texts.iter().flat_map(|text| words(text)).map(str::to_owned));
            all
        });
        Self(Some(one.intersection(&other).cloned().collect()))
    }

    /// A text in which every other word is a star.
    pub fn masked(&self, text: &str) -> String {
        let Some(known) = &self.0 else { return text.to_owned() };
        let (mut masked, mut end) = (String::with_capacity(text.len()), 0);
        for word in words(text) {
            let start = word.as_ptr() as usize - text.as_ptr() as usize;
            masked.push_str(&text[end..start]);
            masked.push_str(if known.contains(word) { word } else { "*" });
            end = start + word.len();
        }
        masked + &text[end..]
    }
}

/// The words of a text. A UUID and a date are one word each.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character: char| !character.is_alphanumeric() && !"-_".contains(character))
        .filter(|word| !word.is_empty())
}
