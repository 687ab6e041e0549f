//! Figures of game servers, which the sweep measures. Each server has a line of its own with its id; a metric has the values of
//! all servers, because each further one is paid for, and its maximum is that of the worst server.

use super::{Aws, Directive, Emitter, PER_FUNCTION, Request, shown};
use crate::model::ServerId;
use serde::ser::{Serialize, SerializeMap, Serializer};

/// After how many seconds a command that is ready is late, if its server polls.
pub const READY_TOO_LONG: i64 = 15 * 60;
/// After how many seconds without a poll a server is missed.
pub const SILENT_TOO_LONG: i64 = 30 * 60;

pub(super) const OLDEST_READY: &str = "OldestReady";
pub(super) const SILENCE: &str = "ServerSilence";
pub(super) const UNKNOWN: &str = "UnknownCommands";

/// Figures of what is stuck at a game server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerFigures {
    pub server: ServerId,
    /// Seconds since its oldest command was due that no poll has finished; `None` if the server does not poll.
    pub oldest_ready: Option<i64>,
    /// Seconds since its last poll; `None` if it is not connected.
    pub silence: Option<i64>,
    /// Commands of which it is not known whether they ran, or which the game server refused.
    pub undecided: usize,
}

impl ServerFigures {
    /// Whether something at the server waits for its owner.
    pub(super) fn needs_person(&self) -> bool {
        let is_over = |seconds: Option<i64>, most| seconds.is_some_and(|seconds| seconds > most);
        is_over(self.oldest_ready, READY_TOO_LONG) || is_over(self.silence, SILENT_TOO_LONG) || self.undecided > 0
    }

    pub(super) fn value(&self, metric: &str) -> Option<i64> {
        match metric {
            OLDEST_READY => self.oldest_ready,
            SILENCE => self.silence,
            UNKNOWN => i64::try_from(self.undecided).ok(),
            _ => None,
        }
    }
}

pub(super) struct Line<'a> {
    pub(super) emitter: &'a Emitter,
    pub(super) request: Request<'a>,
    pub(super) timestamp: u64,
    pub(super) figures: &'a ServerFigures,
}

impl Serialize for Line<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let directive = Directive::of(PER_FUNCTION, |metric| self.figures.value(metric).is_some());
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("level", "INFO")?;
        map.serialize_entry("message", "game server")?;
        map.serialize_entry("timestamp", &shown(self.timestamp))?;
        map.serialize_entry("request_id", self.request.id)?;
        map.serialize_entry("Stack", &self.emitter.stack)?;
        map.serialize_entry("Function", self.emitter.function)?;
        map.serialize_entry("server", &self.figures.server.to_string())?;
        for metric in &directive.metrics {
            map.serialize_entry(metric.name, &self.figures.value(metric.name))?;
        }
        map.serialize_entry("_aws", &Aws { timestamp: self.timestamp, directives: vec![directive] })?;
        map.end()
    }
}
