//! How long the commands of game servers took.

use crate::prelude::*;
use serde::Serialize;
use shared::model::ServerId;
use shared::rules::delivery_times::DeliveryTimes;
use shared::shop::delivery::times::{ServerTimes, times};

/// The time that is shown, in seconds.
const LAST: i64 = 86_400;

/// Times, as they are printed: in milliseconds.
#[derive(Serialize)]
struct TimesFacts {
    commands: u64,
    half_within: Option<u64>,
    ninety_five_within: Option<u64>,
    slowest: Option<u64>,
}

impl TimesFacts {
    fn of(times: &DeliveryTimes) -> Self {
        Self {
            commands: times.commands(),
            half_within: times.within(50),
            ninety_five_within: times.within(95),
            slowest: times.slowest(),
        }
    }
}

/// The times of the last 24 hours of a game server.
#[derive(Serialize)]
pub struct LastDay {
    #[serde(flatten)]
    own: TimesFacts,
    waited: TimesFacts,
    #[serde(skip)]
    text: String,
}

impl LastDay {
    /// A line for people; `None` if nothing ran.
    pub fn line(&self, server: &str) -> Option<String> {
        (!self.text.is_empty()).then(|| format!("{server}, last 24 hours, from paid to run: {}", self.text))
    }

    fn of(times: &ServerTimes) -> Self {
        let said = |times: &DeliveryTimes, kind: &str| {
            (times.commands() > 0).then(|| format!("{}{kind}: {times}", times.commands()))
        };
        let waited = said(&times.waited, " that wait for players or have a delay");
        let parts: Vec<String> = said(&times.own, " commands").into_iter().chain(waited).collect();
        Self { own: TimesFacts::of(&times.own), waited: TimesFacts::of(&times.waited), text: parts.join("; ") }
    }
}

pub async fn last_day(at: &Deployment, server: ServerId) -> Result<LastDay> {
    let now = at.clock.seconds();
    Ok(LastDay::of(&times(&at.db, server, now - LAST, now + 1).await?))
}
