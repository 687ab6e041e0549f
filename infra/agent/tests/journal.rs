//! The journal's file, cut off and damaged anywhere. Not in the suite: a process that is being started there has the lock of
//! another test's journal for a moment.

use agent::book::{Outcome, Record, Row};
use agent::config::Config;
use agent::journal::{self, Journal, JournalError};
use proptest::collection::vec;
use proptest::prelude::*;
use std::error::Error;
use std::os::unix::fs::{MetadataExt as _, chown};
use std::path::Path;

fn record() -> impl Strategy<Value = Record> {
    let id = || 1..40_u32;
    prop_oneof![
        (id(), "\\PC{0,20}", any::<bool>()).prop_map(|(id, text, online)| {
            let (player, order, player_id) = ("Alex".to_owned(), "o".to_owned(), online.then(|| "7".to_owned()));
            Record::Served(Row { id, player, text, online, order, player_id, retry_of: None, missed: 0 })
        }),
        vec(id(), 1..4).prop_map(Record::Delivered),
        vec(id(), 1..4).prop_map(Record::Recalled),
        vec(id(), 1..4).prop_map(Record::Reported),
        id().prop_map(Record::Begun),
        (id(), any::<bool>(), "\\PC{0,20}").prop_map(|(id, ran, output)| {
            Record::ended(id, if ran { Outcome::Done } else { Outcome::Refused }, output)
        }),
    ]
}

fn records(folder: &Path) -> Result<Vec<Record>, JournalError> {
    let mut records = Vec::new();
    journal::read(&journal::file_in(folder), |record, _| records.push(record))?;
    Ok(records)
}

#[test]
fn what_root_makes_belongs_to_the_owner_of_the_folder_that_it_is_in() {
    let around = tempfile::tempdir().unwrap();
    // Only root can give it away; otherwise one owner has all.
    _ = chown(around.path(), Some(1_000), Some(1_000));
    let folder = around.path().join("journal");
    drop(Journal::open(&folder, 0).unwrap());
    let owner = |path: &Path| std::fs::metadata(path).unwrap().uid();
    for path in [&folder, &folder.join("lock"), &journal::file_in(&folder)] {
        assert_eq!(owner(path), owner(around.path()), "{}", path.display());
    }
}

/// The configuration with this store, server and former address.
fn config(store: &str, server: u8, moved_from: Option<&str>) -> Result<Config, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("agent.yaml");
    let moved_from = moved_from.map(|store| format!("moved_from: {store}\n")).unwrap_or_default();
    let rest = "rcon: {address: \"127.0.0.1:1\", protocol: source}\njournal: .\n";
    std::fs::write(&file, format!("store: {store}\n{moved_from}{rest}"))?;
    let secret = |name: &str| Some(if name == "AGENT_KEY" { format!("{server}-abc") } else { "x".to_owned() });
    Ok(Config::read(&file, secret)?)
}

#[test]
fn a_journal_has_the_commands_of_one_server_of_one_store_which_may_move() {
    let (shop, other) = ("https://api.shop.example/plugin", "https://api.other.example/plugin");
    let folder = tempfile::tempdir().unwrap();
    let open = |config: Result<Config, Box<dyn Error>>, record: Option<Record>| {
        let mut journal = Journal::open(folder.path(), 0).unwrap();
        let opened = journal.belong_to(&config.unwrap(), 0).map_err(|error| error.to_string());
        journal.append(&Vec::from_iter(record), 0).unwrap();
        opened
    };
    open(config(other, 3, None), None).unwrap();
    // Nothing is of the first one: it was a mistake.
    open(config(shop, 1, None), Some(Record::Begun(1))).unwrap();
    let refusal = open(config(other, 1, None), None).unwrap_err();
    assert!(refusal.contains("server 1 of https://api.shop.example/plugin/"), "{refusal}");
    assert!(refusal.contains("`moved_from: https://api.shop.example/plugin/`"), "{refusal}");
    open(config(shop, 2, None), None).unwrap_err();
    open(config("https://API.shop.example:443/plugin/", 1, None), None).unwrap();
    open(config(other, 2, Some(shop)), None).unwrap_err();
    open(config(other, 1, Some(shop)), None).unwrap();
    open(config(other, 1, None), None).unwrap();
    open(config(shop, 1, None), None).unwrap_err();
    // A tunnel to the store, whose port may be another one each time.
    let here = |port: u16| format!("HTTP://127.0.0.1:{port}/plugin");
    open(config(&here(4010), 1, None), None).unwrap_err();
    open(config(&here(4010), 1, Some(other)), None).unwrap();
    open(config(&here(4020), 1, None), None).unwrap();
    open(config(shop, 1, Some("http://localhost/")), None).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_journal_that_is_cut_off_or_damaged_has_a_part_of_what_was_written_or_is_refused(
        written in vec(vec(record(), 1..4), 1..8), at in any::<prop::sample::Index>(), flip in any::<u8>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::open(folder.path(), 0).unwrap();
        for records in &written {
            journal.append(records, 1).unwrap();
        }
        drop(journal);
        let (file, all) = (journal::file_in(folder.path()), records(folder.path()).unwrap());
        prop_assert_eq!(all.len(), 1 + written.iter().flatten().count());
        let bytes = std::fs::read(&file).unwrap();
        let at = at.index(bytes.len());
        // Cut off.
        std::fs::write(&file, &bytes[..at]).unwrap();
        let left = records(folder.path()).unwrap();
        prop_assert_eq!(&left[..], &all[..left.len()]);
        drop(Journal::open(folder.path(), 2).unwrap());
        let after = records(folder.path()).unwrap();
        prop_assert_eq!(&left[..], &after[..left.len()]);
        // Damaged: the end is cut off, all else is refused.
        let mut damaged = bytes.clone();
        damaged[at] ^= flip.max(1);
        std::fs::write(&file, &damaged).unwrap();
        let last = bytes[..bytes.len() - 1].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        match records(folder.path()) {
            Ok(left) => {
                prop_assert!(at + 1 >= last, "byte {at} is before the last line");
                prop_assert_eq!(&left[..], &all[..left.len()]);
            }
            Err(error) => {
                let is_damaged = matches!(error, JournalError::Damaged { .. });
                prop_assert!(at < last && is_damaged, "{}", error);
                prop_assert!(Journal::open(folder.path(), 3).is_err());
            }
        }
    }
}

#[test]
fn what_was_refused_is_unknown_for_an_agent_and_a_store_of_before() {
    let record = Record::ended(1, Outcome::Refused, "x".to_owned());
    let written = r#"{"ended":{"id":1,"state":"unknown","refused":true,"output":"x"}}"#;
    assert_eq!(serde_json::to_string(&record).unwrap(), written);
    let before = r#"{"ended":{"id":1,"state":"done","output":"x"}}"#;
    let read: Record = serde_json::from_str(before).unwrap();
    assert_eq!(read, Record::ended(1, Outcome::Done, "x".to_owned()));
    assert_eq!(serde_json::to_string(&read).unwrap(), before);
}
