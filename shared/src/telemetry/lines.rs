//! Log lines: one JSON object each on standard output, which is a function's log.
//!
//! Events alone; a span would be formatted at every request and shown nowhere (see "Log lines of our own" in
//! `infra/docs/performance-notes.md`).

use crate::clock::{Clock, SystemClock};
use serde_json::{Map, Value};
use std::fmt::Debug;
use std::io::Write as _;
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Writes every event up to a level.
#[derive(Debug)]
pub(super) struct Lines(pub(super) LevelFilter);

impl Subscriber for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && *metadata.level() <= self.0
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.0)
    }

    fn event(&self, event: &Event<'_>) {
        write(line(event, SystemClock.millis()));
    }

    // No span is ever enabled.
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// Writes a line, at once. If standard output is closed, the line is lost.
pub(super) fn write(mut line: Vec<u8>) {
    line.push(b'\n');
    let _ = std::io::stdout().lock().write_all(&line);
}

/// A time, in milliseconds since 1970 UTC, as log lines have it.
pub(super) fn timestamp(millis: u64) -> String {
    let millis = i64::try_from(millis).unwrap_or(i64::MAX);
    jiff::Timestamp::from_millisecond(millis).unwrap_or_default().to_string()
}

fn line(event: &Event<'_>, millis: u64) -> Vec<u8> {
    let mut fields = Fields(Map::new());
    fields.0.insert("timestamp".to_owned(), timestamp(millis).into());
    fields.0.insert("level".to_owned(), event.metadata().level().as_str().into());
    event.record(&mut fields);
    // A map of texts, numbers and flags does not fail to serialise.
    serde_json::to_vec(&fields.0).unwrap_or_default()
}

/// The fields of an event, the message among them.
struct Fields(Map<String, Value>);

impl Fields {
    fn set(&mut self, field: &Field, value: impl Into<Value>) {
        self.0.insert(field.name().to_owned(), value.into());
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.set(field, format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.set(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.set(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.set(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.set(field, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    /// Keeps what would be written.
    struct Kept(Lines, Arc<Mutex<Vec<Value>>>);

    impl Subscriber for Kept {
        fn enabled(&self, metadata: &Metadata<'_>) -> bool {
            self.0.enabled(metadata)
        }
        fn event(&self, event: &Event<'_>) {
            self.1.lock().unwrap().push(serde_json::from_slice(&line(event, 1_500)).unwrap());
        }
        fn new_span(&self, _: &Attributes<'_>) -> Id {
            panic!("no span is enabled")
        }
        fn record(&self, _: &Id, _: &Record<'_>) {}
        fn record_follows_from(&self, _: &Id, _: &Id) {}
        fn enter(&self, _: &Id) {}
        fn exit(&self, _: &Id) {}
    }

    #[test]
    fn an_event_is_one_object_with_its_fields() {
        let kept = Arc::<Mutex<Vec<Value>>>::default();
        tracing::subscriber::with_default(Kept(Lines(LevelFilter::WARN), Arc::clone(&kept)), || {
            let error = std::io::Error::other("it \"broke\"\n");
            tracing::error!(request_id = "r1", attempt = 2_u64, ok = false, error = %error, "the request failed");
            tracing::info!("not of interest");
            tracing::info_span!("a span").in_scope(|| tracing::warn!("inside"));
        });
        let line = |level: &str, message: &str| serde_json::json!({ "timestamp": "1970-01-01T00:00:01.5Z", "level": level, "message": message });
        let mut failed = line("ERROR", "the request failed");
        failed["request_id"] = "r1".into();
        failed["attempt"] = 2.into();
        failed["ok"] = false.into();
        failed["error"] = "it \"broke\"\n".into();
        assert_eq!(*kept.lock().unwrap(), [failed, line("WARN", "inside")]);
    }
}
