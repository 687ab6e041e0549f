//! Log lines and metrics: one JSON line per request on standard output, which is its log entry and, in CloudWatch's
//! embedded metric format, its metrics. Never a token, an address, a body, a code or a user.

mod attention;

pub use attention::{PaymentEvent, READY_TOO_LONG, SILENT_TOO_LONG, ServerFigures};

use crate::money::{self, Decimal};
use attention::Noted;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use std::cell::{Cell, RefCell};
use std::fmt::Display;
use std::io::Write as _;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use tracing::Subscriber;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;

/// The namespace of every metric.
pub const NAMESPACE: &str = "Storefront";
/// Sets of dimensions: a metric is counted once for each.
type Dimensions = &'static [&'static [&'static str]];

/// Dimensions of a request's metrics but [`CODES_REFUSED`].
const PER_FUNCTION: Dimensions = &[&["Stack", "Function"]];
/// Dimensions of [`CODES_REFUSED`].
const PER_KIND: Dimensions = &[&["Stack", "Function", "Kind"]];
/// Counts refused coupons and gift cards by the kind of refusal.
const CODES_REFUSED: &str = "CodesRefused";
/// How much of what a sweep saw, or a request noticed, waits for the owner: the one metric that an owner has to watch.
const NEEDS_PERSON: &str = "NeedsPerson";
/// Metrics that a request has only if they are not 0: each is paid for in the hours in which it is emitted.
const CONFLICTS: &str = "Conflicts";
const RATE_LIMITED: &str = "RateLimited";
/// Counts rows that were left out because they cannot be read. Emitted only with such a row.
const UNREADABLE_ROWS: &str = "UnreadableRows";

/// A metric that a function may emit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Metric {
    pub name: &'static str,
    /// Its unit, as CloudWatch spells it.
    pub unit: &'static str,
    #[serde(skip)]
    pub dimensions: Dimensions,
}

const fn count(name: &'static str) -> Metric {
    Metric { name, unit: "Count", dimensions: PER_FUNCTION }
}

const fn millis(name: &'static str) -> Metric {
    Metric { name, unit: "Milliseconds", dimensions: PER_FUNCTION }
}

/// Every metric that is ever emitted. Dashboards and alarms are checked against it.
pub const METRICS: &[Metric] = &[
    count("Requests"),
    count("ClientErrors"),
    count("ServerErrors"),
    count("ColdStarts"),
    count("DatabaseCalls"),
    count(CONFLICTS),
    count(RATE_LIMITED),
    count(UNREADABLE_ROWS),
    millis("Duration"),
    millis("DatabaseLatency"),
    count(PaymentEvent::BadSignature.metric()),
    count(PaymentEvent::GoodSignature.metric()),
    count(PaymentEvent::Review.metric()),
    count(PaymentEvent::Dispute.metric()),
    count(PaymentEvent::Overdue.metric()),
    count(PaymentEvent::ProviderError.metric()),
    count(PaymentEvent::AutomaticRefund.metric()),
    count(PaymentEvent::PaidWithoutOrder.metric()),
    count(PaymentEvent::FailedRefund.metric()),
    Metric { name: CODES_REFUSED, unit: "Count", dimensions: PER_KIND },
    count(NEEDS_PERSON),
    Metric { name: attention::OLDEST_READY, unit: "Seconds", dimensions: PER_FUNCTION },
    Metric { name: attention::SILENCE, unit: "Seconds", dimensions: PER_FUNCTION },
    count(attention::UNKNOWN),
];

/// The stack and function of the metrics, set once by [`init`]. Without it, as in tests and the local server, nothing
/// is emitted.
static EMITTER: OnceLock<Emitter> = OnceLock::new();
/// Whether this process has responded to a request yet.
static WARM: AtomicBool = AtomicBool::new(false);

#[derive(Debug)]
struct Emitter {
    stack: String,
    function: &'static str,
}

tokio::task_local! {
    static METER: Meter;
}

#[derive(Debug, Default)]
struct Meter {
    conflicts: Cell<u32>,
    rate_limited: Cell<bool>,
    routine: Cell<bool>,
    unreadable_rows: Cell<u32>,
    code_refused: Cell<Option<&'static str>>,
    database_micros: RefCell<Vec<i64>>,
    payments: Noted,
    servers: RefCell<Vec<ServerFigures>>,
}

/// Starts logging at `LOG_LEVEL` (`error`, `warn`, `info`; `info` if it is anything else), and emitting as
/// `function` of the stack `STACK_NAME`. A second call does nothing.
pub fn init(function: &'static str) {
    let level = std::env::var("LOG_LEVEL").ok().and_then(|text| text.parse().ok()).unwrap_or(LevelFilter::INFO);
    // An error means that logging was started already.
    let _ = tracing::subscriber::set_global_default(events(level, std::io::stdout));
    let stack = std::env::var("STACK_NAME").unwrap_or_else(|_| "unknown".to_owned());
    let _ = EMITTER.set(Emitter { stack, function });
}

/// Writes every event up to a level as one JSON object. A span would be formatted at every request and shown nowhere.
fn events(level: LevelFilter, writer: impl for<'a> MakeWriter<'a> + Send + Sync + 'static) -> impl Subscriber {
    let lines = tracing_subscriber::fmt::layer().json().flatten_event(true).with_target(false).with_writer(writer);
    let lines = lines.with_current_span(false).with_span_list(false);
    let events = filter_fn(move |metadata| metadata.is_event() && *metadata.level() <= level);
    tracing_subscriber::registry().with(lines).with(events.with_max_level_hint(level))
}

/// Notes that a write to a cart lost against another.
pub fn conflict() {
    let _ = METER.try_with(|meter| meter.conflicts.set(meter.conflicts.get() + 1));
}

pub fn rate_limited() {
    let _ = METER.try_with(|meter| meter.rate_limited.set(true));
}

/// Notes that the request is one of the many by which a game server asks and is given nothing to do: unless it fails, it gets no
/// line, of which a server would write half a million a month.
pub fn routine() {
    let _ = METER.try_with(|meter| meter.routine.set(true));
}

/// Notes that a row was left out because it cannot be read, and logs why. The error names it.
pub fn unreadable_row(error: &impl Display) {
    tracing::error!(%error, "a row cannot be read and is left out");
    let _ = METER.try_with(|meter| meter.unreadable_rows.set(meter.unreadable_rows.get() + 1));
}

/// Notes that a coupon or gift card was refused, and which kind of refusal it was.
pub fn code_refused(kind: &'static str) {
    let _ = METER.try_with(|meter| meter.code_refused.set(Some(kind)));
}

/// Runs a call to the database and notes how long it took.
pub async fn database_call<T>(call: impl Future<Output = T>) -> T {
    let started = Instant::now();
    let answer = call.await;
    let micros = micros_since(started);
    let _ = METER.try_with(|meter| meter.database_micros.borrow_mut().push(micros));
    answer
}

fn micros_since(started: Instant) -> i64 {
    i64::try_from(started.elapsed().as_micros()).unwrap_or(i64::MAX)
}

/// The fields of a request's line about the request itself.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    pub id: &'a str,
    pub endpoint: &'static str,
}

/// Runs an endpoint and emits its line; `status` reads the HTTP status of what it answers, `timestamp` is the time in
/// milliseconds since 1970 UTC.
pub async fn observed<T>(
    request: Request<'_>,
    timestamp: u64,
    endpoint: impl Future<Output = T>,
    status: impl FnOnce(&T) -> u16,
) -> T {
    let started = Instant::now();
    let measured = async {
        let answer = endpoint.await;
        let lines = METER.with(|meter| meter.lines(request, timestamp, status(&answer), micros_since(started)));
        (answer, lines)
    };
    let (answer, lines) = METER.scope(Meter::default(), measured).await;
    // Whatever the log level: without these lines the alarms are blind. If standard output is closed, they are lost.
    let _ = std::io::stdout().lock().write_all(&lines);
    answer
}

/// Notes that an event happened `count` times in this request.
pub fn payment_event(event: PaymentEvent, count: u32) {
    let _ = METER.try_with(|meter| meter.payments.add(event, count));
}

/// Notes how many orders are overdue. Zero is written too, so that its absence shows that the sweep has stopped.
pub fn overdue_orders(count: u32) {
    let _ = METER.try_with(|meter| meter.payments.set(PaymentEvent::Overdue, count));
}

/// Notes whether a webhook's signature is valid. Both counts are written, zero included, because an alarm compares
/// them.
pub fn signature(is_valid: bool) {
    let _ = METER.try_with(|meter| meter.payments.set_signature(is_valid));
}

/// Notes the figures of a game server, which get a line of their own.
pub fn server_figures(figures: ServerFigures) {
    let _ = METER.try_with(|meter| meter.servers.borrow_mut().push(figures));
}

/// Runs work as if it were a request, and returns the events of payments that it noted, by their metrics. Nothing is
/// emitted.
pub async fn payment_events<T>(work: impl Future<Output = T>) -> (T, Vec<(&'static str, u32)>) {
    metered(work, |meter| meter.payments.counts().collect()).await
}

/// As [`payment_events`], for the number of rows that were left out because they cannot be read.
pub async fn unreadable_rows<T>(work: impl Future<Output = T>) -> (T, u32) {
    metered(work, |meter| meter.unreadable_rows.get()).await
}

/// As [`payment_events`], for the figures of game servers.
pub async fn noted_servers<T>(work: impl Future<Output = T>) -> (T, Vec<ServerFigures>) {
    metered(work, |meter| meter.servers.take()).await
}

async fn metered<T, R>(work: impl Future<Output = T>, read: impl FnOnce(&Meter) -> R) -> (T, R) {
    METER.scope(Meter::default(), async { (Box::pin(work).await, METER.with(read)) }).await
}

impl Meter {
    /// How much waits for the owner; zero is written by the sweep alone, so that the metric is there while all is well.
    fn needs_person(&self) -> Option<u32> {
        let (events, is_sweep) = self.payments.needs_person();
        let servers = self.servers.borrow().iter().filter(|figures| figures.needs_person()).count();
        let count = events.saturating_add(u32::try_from(servers).unwrap_or(u32::MAX));
        let count = count.saturating_add(self.unreadable_rows.get());
        (is_sweep || count > 0).then_some(count)
    }

    fn is_written(&self, status: u16, cold_start: bool) -> bool {
        !self.routine.get() || status >= 400 || cold_start || self.unreadable_rows.get() > 0
    }

    /// The lines of a request; none before [`init`].
    fn lines(&self, request: Request<'_>, timestamp: u64, status: u16, micros: i64) -> Vec<u8> {
        let Some(emitter) = EMITTER.get() else { return Vec::new() };
        let cold_start = !WARM.swap(true, Ordering::Relaxed);
        if !self.is_written(status, cold_start) {
            return Vec::new();
        }
        let mut lines = Vec::new();
        append(&mut lines, &Line { emitter, meter: self, request, timestamp, status, micros, cold_start });
        for figures in self.servers.borrow().iter() {
            append(&mut lines, &attention::Line { emitter, request, timestamp, figures });
        }
        lines
    }
}

/// Appends a line to others.
fn append(lines: &mut Vec<u8>, line: &impl Serialize) {
    if let Ok(line) = serde_json::to_vec(line) {
        lines.extend(line);
        lines.push(b'\n');
    }
}

/// A time in milliseconds since 1970 UTC, as text.
fn shown(timestamp: u64) -> String {
    let millis = i64::try_from(timestamp).unwrap_or(i64::MAX);
    jiff::Timestamp::from_millisecond(millis).unwrap_or_default().to_string()
}

/// A request's line, in the order in which it is read.
struct Line<'a> {
    emitter: &'a Emitter,
    meter: &'a Meter,
    request: Request<'a>,
    timestamp: u64,
    status: u16,
    micros: i64,
    cold_start: bool,
}

impl Line<'_> {
    const fn outcome(&self) -> &'static str {
        match self.status {
            500.. => "failed",
            400.. => "refused",
            _ => "answered",
        }
    }

    /// The directives that tell CloudWatch which members are metrics, one for each set of dimensions.
    fn directives(&self) -> Vec<Directive> {
        let of = |dimensions| Directive::of(dimensions, |metric| self.emits(metric));
        [of(PER_FUNCTION), of(PER_KIND)].into_iter().filter(|directive| !directive.metrics.is_empty()).collect()
    }

    fn emits(&self, metric: &str) -> bool {
        match metric {
            CODES_REFUSED => self.meter.code_refused.get().is_some(),
            CONFLICTS => self.meter.conflicts.get() > 0,
            RATE_LIMITED => self.meter.rate_limited.get(),
            NEEDS_PERSON => self.meter.needs_person().is_some(),
            attention::OLDEST_READY | attention::SILENCE | attention::UNKNOWN => false,
            UNREADABLE_ROWS => self.meter.unreadable_rows.get() > 0,
            _ => self.meter.payments.emits(metric),
        }
    }
}

impl Serialize for Line<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let latencies: Vec<Decimal> =
            self.meter.database_micros.borrow().iter().take(100).copied().map(money::thousandths).collect();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("level", "INFO")?;
        map.serialize_entry("message", "request")?;
        map.serialize_entry("timestamp", &shown(self.timestamp))?;
        map.serialize_entry("request_id", self.request.id)?;
        map.serialize_entry("endpoint", self.request.endpoint)?;
        map.serialize_entry("status", &self.status)?;
        map.serialize_entry("outcome", self.outcome())?;
        map.serialize_entry("cold_start", &self.cold_start)?;
        map.serialize_entry("Stack", &self.emitter.stack)?;
        map.serialize_entry("Function", self.emitter.function)?;
        map.serialize_entry("Requests", &1)?;
        map.serialize_entry("ClientErrors", &u8::from((400..500).contains(&self.status)))?;
        map.serialize_entry("ServerErrors", &u8::from(self.status >= 500))?;
        map.serialize_entry("ColdStarts", &u8::from(self.cold_start))?;
        map.serialize_entry("DatabaseCalls", &latencies.len())?;
        map.serialize_entry("Conflicts", &self.meter.conflicts.get())?;
        map.serialize_entry("RateLimited", &u8::from(self.meter.rate_limited.get()))?;
        if self.emits(UNREADABLE_ROWS) {
            map.serialize_entry(UNREADABLE_ROWS, &self.meter.unreadable_rows.get())?;
        }
        map.serialize_entry("Duration", &money::thousandths(self.micros))?;
        map.serialize_entry("DatabaseLatency", &latencies)?;
        for (metric, count) in self.meter.payments.counts() {
            map.serialize_entry(metric, &count)?;
        }
        if let Some(count) = self.meter.needs_person() {
            map.serialize_entry(NEEDS_PERSON, &count)?;
        }
        if let Some(kind) = self.meter.code_refused.get() {
            map.serialize_entry("Kind", kind)?;
            map.serialize_entry(CODES_REFUSED, &1)?;
        }
        let aws = Aws { timestamp: self.timestamp, directives: self.directives() };
        map.serialize_entry("_aws", &aws)?;
        map.end()
    }
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Aws {
    timestamp: u64,
    #[serde(rename = "CloudWatchMetrics")]
    directives: Vec<Directive>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Directive {
    namespace: &'static str,
    dimensions: Dimensions,
    metrics: Vec<&'static Metric>,
}

impl Directive {
    /// Of the metrics with these dimensions those that a line has.
    fn of(dimensions: Dimensions, has: impl Fn(&str) -> bool) -> Self {
        let metrics = METRICS.iter().filter(|metric| metric.dimensions == dimensions && has(metric.name));
        Self { namespace: NAMESPACE, dimensions, metrics: metrics.collect() }
    }
}

#[cfg(test)]
mod tests;
