//! `notify` of `store.yaml`: who is told of what, and in which words.

use crate::fault::{Report, Unique};
use crate::files::NotifyFile;
use shared::model::{NoticeEvent, NoticeTarget};
use shared::rules::notice;
use std::collections::BTreeMap;

/// The most targets of a store: every function reads them with the active version.
const MOST_TARGETS: usize = 10;
const LONGEST_NAME: usize = 32;

pub(super) fn targets(files: &[NotifyFile], report: &mut Report) -> Vec<NoticeTarget> {
    if let Some(extra) = files.get(MOST_TARGETS) {
        report.fault(extra.name.line, "notify", format!("a store has at most {MOST_TARGETS} targets: remove some"));
    }
    let mut names = Unique::new("target");
    files.iter().map(|file| target(file, &mut names, report)).collect()
}

fn target(file: &NotifyFile, names: &mut Unique<String>, report: &mut Report) -> NoticeTarget {
    let (name, line) = (&file.name.value, file.name.line);
    let is_sign = |sign: u8| matches!(sign, b'a'..=b'z' | b'0'..=b'9' | b'-');
    if !(1..=LONGEST_NAME).contains(&name.len()) || !name.bytes().all(is_sign) {
        let problem = format!("must be 1 to {LONGEST_NAME} characters of [a-z0-9-], such as `sales`");
        report.fault(line, "notify.name", problem);
    }
    names.take(report, name.clone(), line, "notify.name");
    let events = events(file, report);
    let mut texts = BTreeMap::new();
    for (word, text) in &file.texts {
        let field = format!("notify[{name}].texts.{word}");
        match notice::event(word) {
            None => report.fault(text.line, field, unknown(word)),
            Some(event) if !events.contains(&event) => {
                report.fault(text.line, field, format!("is not told: add {word} to `events`, or remove the text"));
            }
            Some(event) => {
                if let Err(fault) = notice::check(event, text) {
                    report.fault(text.line, field, fault.to_string());
                }
                texts.insert(event, text.value.clone());
            }
        }
    }
    NoticeTarget { name: name.clone(), kind: file.to, events, texts }
}

fn events(file: &NotifyFile, report: &mut Report) -> Vec<NoticeEvent> {
    let field = format!("notify[{}].events", *file.name);
    if file.events.is_empty() {
        report.fault(file.name.line, &field, format!("must name one event or more of {}", known()));
    }
    let mut events = Vec::with_capacity(file.events.len());
    for word in &file.events {
        match notice::event(word) {
            Some(event) if events.contains(&event) => {
                report.fault(word.line, &field, format!("{} is there twice", **word));
            }
            Some(event) => events.push(event),
            None => report.fault(word.line, &field, unknown(word)),
        }
    }
    events
}

fn unknown(word: &str) -> String {
    format!("there is no event {word}; there are {}", known())
}

fn known() -> String {
    notice::EVENTS.map(|(word, _)| word).join(", ")
}
