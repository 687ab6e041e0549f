//! Figures of game servers, which the sweep measures. Each server has a line of its own, so that the metrics without its name
//! have the values of all.

use super::{Aws, Directive, Emitter, PER_SERVER, Request, shown};
use crate::model::ServerId;
use serde::ser::{Serialize, SerializeMap, Serializer};

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
    /// Commands of which it is not known whether they ran.
    pub unknown: usize,
}

impl ServerFigures {
    fn value(&self, metric: &str) -> Option<i64> {
        match metric {
            OLDEST_READY => self.oldest_ready,
            SILENCE => self.silence,
            UNKNOWN => i64::try_from(self.unknown).ok(),
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
        let directive = Directive::of(PER_SERVER, |metric| self.figures.value(metric).is_some());
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("level", "INFO")?;
        map.serialize_entry("message", "game server")?;
        map.serialize_entry("timestamp", &shown(self.timestamp))?;
        map.serialize_entry("request_id", self.request.id)?;
        map.serialize_entry("Stack", &self.emitter.stack)?;
        map.serialize_entry("Function", self.emitter.function)?;
        map.serialize_entry("Server", &self.figures.server.to_string())?;
        for metric in &directive.metrics {
            map.serialize_entry(metric.name, &self.figures.value(metric.name))?;
        }
        map.serialize_entry("_aws", &Aws { timestamp: self.timestamp, directives: vec![directive] })?;
        map.end()
    }
}
