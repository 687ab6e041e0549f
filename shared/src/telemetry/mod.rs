//! The log: JSON lines on standard output. Every request leaves one, which is its log entry and its metrics. A line
//! never contains a token, an address, a body, a code or a user.

mod line;

pub use line::{METRICS, Metric, NAMESPACE};

use crate::http::wire;
use line::{Aws, Line, Values};
use std::cell::{Cell, RefCell};
use std::io::Write as _;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use tracing::Subscriber;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;

/// Latencies of database calls in a line; CloudWatch takes at most 100 values of a metric.
const MOST_LATENCIES: usize = 100;

/// Who emits metrics: set once by [`init`]. While it is not set, as in tests and the local server, nothing is emitted.
static EMITTER: OnceLock<Emitter> = OnceLock::new();
/// Whether this process has responded to a request.
static WARM: AtomicBool = AtomicBool::new(false);

#[derive(Debug)]
struct Emitter {
    stack: String,
    function: &'static str,
}

tokio::task_local! {
    static METER: Meter;
}

/// What was counted and measured in one request.
#[derive(Debug, Default)]
struct Meter {
    conflicts: Cell<u32>,
    rate_limited: Cell<bool>,
    code_refused: Cell<Option<&'static str>>,
    database_micros: RefCell<Vec<i64>>,
}

/// Starts logging at `LOG_LEVEL` (`error`, `warn`, `info`; `info` if it is anything else), and emitting metrics as
/// `function` of the stack `STACK_NAME`. A second call has no effect.
pub fn init(function: &'static str) {
    let level = std::env::var("LOG_LEVEL").ok().and_then(|text| text.parse().ok()).unwrap_or(LevelFilter::INFO);
    // An error means that logging was started already.
    let _ = tracing::subscriber::set_global_default(events(level, std::io::stdout));
    let stack = std::env::var("STACK_NAME").unwrap_or_else(|_| "unknown".to_owned());
    let _ = EMITTER.set(Emitter { stack, function });
}

/// Writes every event up to a level as a JSON line. No spans: the runtime opens one for every request, which would be
/// formatted and shown nowhere.
fn events(level: LevelFilter, writer: impl for<'a> MakeWriter<'a> + Send + Sync + 'static) -> impl Subscriber {
    let lines = tracing_subscriber::fmt::layer().json().flatten_event(true).with_target(false).with_writer(writer);
    let lines = lines.with_current_span(false).with_span_list(false);
    let events = filter_fn(move |metadata| metadata.is_event() && *metadata.level() <= level);
    tracing_subscriber::registry().with(lines).with(events.with_max_level_hint(level))
}

/// Counts a write to a cart that lost against another.
pub fn conflict() {
    let _ = METER.try_with(|meter| meter.conflicts.set(meter.conflicts.get() + 1));
}

/// Counts the request as refused by the rate limiter.
pub fn rate_limited() {
    let _ = METER.try_with(|meter| meter.rate_limited.set(true));
}

/// Counts a coupon or gift card as refused, by the kind of refusal.
pub fn code_refused(kind: &'static str) {
    let _ = METER.try_with(|meter| meter.code_refused.set(Some(kind)));
}

/// Runs a call to the database and measures how long it takes.
pub async fn database_call<T>(call: impl Future<Output = T>) -> T {
    let started = Instant::now();
    let response = call.await;
    let micros = micros_since(started);
    let _ = METER.try_with(|meter| meter.database_micros.borrow_mut().push(micros));
    response
}

fn micros_since(started: Instant) -> i64 {
    i64::try_from(started.elapsed().as_micros()).unwrap_or(i64::MAX)
}

/// What a request's line says of the request itself.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The gateway's id of the request.
    pub id: &'a str,
    /// The endpoint's name.
    pub endpoint: &'static str,
}

/// Runs an endpoint and emits its line; `status` reads the HTTP status of its response, `timestamp` is the time in
/// milliseconds since 1970 UTC.
pub async fn observed<T>(
    request: Request<'_>,
    timestamp: u64,
    endpoint: impl Future<Output = T>,
    status: impl FnOnce(&T) -> u16,
) -> T {
    let started = Instant::now();
    let measured = async {
        let response = endpoint.await;
        if let Some(emitter) = EMITTER.get() {
            let micros = micros_since(started);
            METER.with(|meter| write(&meter.line(emitter, request, timestamp, status(&response), micros)));
        }
        response
    };
    METER.scope(Meter::default(), measured).await
}

/// Writes a line, whatever the log level: without it the alarms are blind.
fn write(line: &Line<'_>) {
    let Ok(mut line) = serde_json::to_vec(line) else { return };
    line.push(b'\n');
    // If standard output is gone, there is no log.
    let _ = std::io::stdout().lock().write_all(&line);
}

impl Meter {
    fn line<'a>(
        &self,
        emitter: &'a Emitter,
        request: Request<'a>,
        timestamp: u64,
        status: u16,
        micros: i64,
    ) -> Line<'a> {
        let latencies = self.database_micros.borrow();
        let cold_start = !WARM.swap(true, Ordering::Relaxed);
        let kind = self.code_refused.get();
        let instant = jiff::Timestamp::from_millisecond(i64::try_from(timestamp).unwrap_or(i64::MAX));
        Line {
            level: "INFO",
            message: "request",
            timestamp: instant.unwrap_or_default().to_string(),
            request_id: request.id,
            endpoint: request.endpoint,
            status,
            outcome: match status {
                500.. => "failed",
                400.. => "refused",
                _ => "answered",
            },
            cold_start,
            values: Values {
                stack: &emitter.stack,
                function: emitter.function,
                requests: 1,
                client_errors: (400..500).contains(&status).into(),
                server_errors: (status >= 500).into(),
                cold_starts: cold_start.into(),
                database_calls: latencies.len(),
                conflicts: self.conflicts.get(),
                rate_limited: self.rate_limited.get().into(),
                duration: wire::thousandths(micros),
                database_latency: latencies.iter().take(MOST_LATENCIES).copied().map(wire::thousandths).collect(),
                kind,
                codes_refused: kind.map(|_| 1),
            },
            aws: Aws::new(timestamp, kind.is_some()),
        }
    }
}

#[cfg(test)]
mod tests;
