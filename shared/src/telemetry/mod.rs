//! Log lines and metrics: one JSON line per request on standard output, which is its log entry and, in CloudWatch's
//! embedded metric format, its metrics. Never a token, an address, a body, a code or a user.

mod lines;
mod payments;

pub use payments::{PaymentEvent, overdue_orders, payment_event, signature};

use crate::money::{self, Decimal};
use lines::Lines;
use payments::Noted;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::value::{RawValue, to_raw_value};
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use tracing::level_filters::LevelFilter;

/// The namespace of every metric.
pub const NAMESPACE: &str = "Storefront";
/// Dimensions of all metrics but [`CODES_REFUSED`].
const PER_FUNCTION: &[&str] = &["Stack", "Function"];
/// Dimensions of [`CODES_REFUSED`].
const PER_KIND: &[&str] = &["Stack", "Function", "Kind"];
/// Counts refused coupons and gift cards by the kind of refusal.
const CODES_REFUSED: &str = "CodesRefused";

/// A metric that a function may emit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// Its name.
    pub name: &'static str,
    /// Its unit, as CloudWatch spells it.
    pub unit: &'static str,
    /// The names of its dimensions.
    pub dimensions: &'static [&'static str],
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
    count("Conflicts"),
    count("RateLimited"),
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
];

/// The stack and function of the metrics, set once by [`init`]. Without it, as in tests and the local server, nothing is
/// emitted.
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

/// The measurements of one request so far.
#[derive(Debug, Default)]
struct Meter {
    conflicts: Cell<u32>,
    rate_limited: Cell<bool>,
    code_refused: Cell<Option<&'static str>>,
    database_micros: RefCell<Vec<i64>>,
    payments: Noted,
}

/// Starts logging at `LOG_LEVEL` (`error`, `warn`, `info`; `info` if it is anything else), and emitting as
/// `function` of the stack `STACK_NAME`. A second call does nothing.
pub fn init(function: &'static str) {
    let level = std::env::var("LOG_LEVEL").ok().and_then(|text| text.parse().ok()).unwrap_or(LevelFilter::INFO);
    // An error means that logging was started already.
    let _ = tracing::subscriber::set_global_default(Lines(level));
    let stack = std::env::var("STACK_NAME").unwrap_or_else(|_| "unknown".to_owned());
    let _ = EMITTER.set(Emitter { stack, function });
}

/// Notes that a write to a cart lost against another.
pub fn conflict() {
    let _ = METER.try_with(|meter| meter.conflicts.set(meter.conflicts.get() + 1));
}

/// Notes that the limiter refused the request.
pub fn rate_limited() {
    let _ = METER.try_with(|meter| meter.rate_limited.set(true));
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

/// What a request's line says of the request itself.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The gateway's id of the request.
    pub id: &'a str,
    /// The endpoint's name.
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
        let line = METER.with(|meter| meter.line(request, timestamp, status(&answer), micros_since(started)));
        (answer, line)
    };
    let (answer, line) = METER.scope(Meter::default(), measured).await;
    if let Some(line) = line {
        // Whatever the log level: without this line the alarms are blind.
        lines::write(line);
    }
    answer
}

/// Runs work as if it were a request, and returns the events of payments that it noted, by their metrics. Nothing is emitted.
pub async fn payment_events<T>(work: impl Future<Output = T>) -> (T, Vec<(&'static str, u32)>) {
    let measured = async {
        let result = work.await;
        (result, METER.with(|meter| meter.payments.counts().collect()))
    };
    METER.scope(Meter::default(), measured).await
}

impl Meter {
    fn line(&self, request: Request<'_>, timestamp: u64, status: u16, micros: i64) -> Option<Vec<u8>> {
        let line = Line {
            emitter: EMITTER.get()?,
            meter: self,
            request,
            timestamp,
            status,
            micros,
            cold_start: !WARM.swap(true, Ordering::Relaxed),
        };
        serde_json::to_vec(&line).ok()
    }
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

    /// The directives that tell CloudWatch which members are metrics. Those of most requests are always the same, with or
    /// without codes.
    fn directives(&self) -> Option<Cow<'static, RawValue>> {
        static WITHOUT_CODES: OnceLock<Option<Box<RawValue>>> = OnceLock::new();
        static WITH_CODES: OnceLock<Option<Box<RawValue>>> = OnceLock::new();
        let codes = self.meter.code_refused.get().is_some();
        let of = |payments: &Noted| {
            let emitted =
                |metric: &&Metric| if metric.name == CODES_REFUSED { codes } else { payments.emits(metric.name) };
            to_raw_value(&Directives(METRICS.iter().filter(emitted).collect())).ok()
        };
        if !self.meter.payments.is_empty() {
            return of(&self.meter.payments).map(Cow::Owned);
        }
        let slot = if codes { &WITH_CODES } else { &WITHOUT_CODES };
        slot.get_or_init(|| of(&Noted::default())).as_deref().map(Cow::Borrowed)
    }
}

impl Serialize for Line<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let latencies: Vec<Decimal> =
            self.meter.database_micros.borrow().iter().take(100).copied().map(money::thousandths).collect();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("level", "INFO")?;
        map.serialize_entry("message", "request")?;
        map.serialize_entry("timestamp", &lines::timestamp(self.timestamp))?;
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
        map.serialize_entry("Duration", &money::thousandths(self.micros))?;
        map.serialize_entry("DatabaseLatency", &latencies)?;
        for (metric, count) in self.meter.payments.counts() {
            map.serialize_entry(metric, &count)?;
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
    directives: Option<Cow<'static, RawValue>>,
}

/// One directive for each set of dimensions.
struct Directives(Vec<&'static Metric>);

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Directive {
    namespace: &'static str,
    dimensions: [&'static [&'static str]; 1],
    metrics: Vec<Definition>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Definition {
    name: &'static str,
    unit: &'static str,
}

impl Serialize for Directives {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let of = |dimensions: &'static [&'static str]| Directive {
            namespace: NAMESPACE,
            dimensions: [dimensions],
            metrics: self
                .0
                .iter()
                .filter(|metric| metric.dimensions == dimensions)
                .map(|metric| Definition { name: metric.name, unit: metric.unit })
                .collect(),
        };
        let directives = [of(PER_FUNCTION), of(PER_KIND)];
        serializer.collect_seq(directives.iter().filter(|directive| !directive.metrics.is_empty()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn line(meter: &Meter, status: u16) -> Value {
        let emitter = Emitter { stack: "shop".to_owned(), function: "cart" };
        let request = Request { id: "r1", endpoint: "cart/get" };
        let line =
            Line { emitter: &emitter, meter, request, timestamp: 1_500, status, micros: 2_345, cold_start: true };
        serde_json::to_value(&line).unwrap()
    }

    #[test]
    fn every_metric_that_is_declared_has_its_value_and_its_dimensions() {
        let meter = Meter::default();
        meter.code_refused.set(Some("unknown"));
        meter.database_micros.borrow_mut().push(1_500);
        for event in PaymentEvent::ALL {
            meter.payments.add(event, 2);
        }
        let line = line(&meter, 200);
        let mut declared = Vec::new();
        for directive in line["_aws"]["CloudWatchMetrics"].as_array().unwrap() {
            assert_eq!(directive["Namespace"], NAMESPACE);
            for dimension in directive["Dimensions"][0].as_array().unwrap() {
                assert!(line[dimension.as_str().unwrap()].is_string(), "{dimension}");
            }
            for metric in directive["Metrics"].as_array().unwrap() {
                let value = &line[metric["Name"].as_str().unwrap()];
                assert!(value.is_number() || value.is_array(), "{metric}: {value}");
                declared.push(metric["Name"].as_str().unwrap().to_owned());
            }
        }
        let all: Vec<&str> = METRICS.iter().map(|metric| metric.name).collect();
        assert_eq!(declared, all);
        assert_eq!(line["DatabaseLatency"], serde_json::json!([1.5]));
        assert_eq!(line["timestamp"], "1970-01-01T00:00:01.5Z");
    }

    #[test]
    fn a_request_counts_where_it_belongs() {
        let failed = line(&Meter::default(), 503);
        assert_eq!((&failed["ServerErrors"], &failed["ClientErrors"]), (&1.into(), &0.into()));
        assert_eq!(failed["outcome"], "failed");
        let refused = line(&Meter::default(), 429);
        assert_eq!((&refused["ServerErrors"], &refused["ClientErrors"]), (&0.into(), &1.into()));
        assert_eq!(failed["_aws"]["CloudWatchMetrics"].as_array().unwrap().len(), 1, "no code, no kind");
    }

    #[test]
    fn a_payment_event_that_did_not_happen_is_not_a_metric() {
        let meter = Meter::default();
        meter.payments.add(PaymentEvent::Overdue, 0);
        assert!(!line(&meter, 200).to_string().contains("Overdue"));
        meter.payments.add(PaymentEvent::Overdue, 3);
        meter.payments.add(PaymentEvent::Review, 1);
        let line = line(&meter, 200);
        assert_eq!((&line["OverdueOrders"], &line["PaymentReviews"]), (&3.into(), &1.into()));
        assert_eq!(line.get("BadSignatures"), None);
        let declared = line["_aws"].to_string();
        assert!(declared.contains("OverdueOrders") && declared.contains("PaymentReviews"), "{declared}");
        assert!(!declared.contains("BadSignatures") && !declared.contains("CodesRefused"), "{declared}");
    }

    #[tokio::test]
    async fn what_happens_inside_a_request_is_noted_and_outside_it_is_not() {
        conflict();
        let seen = METER
            .scope(Meter::default(), async {
                conflict();
                rate_limited();
                database_call(std::future::ready(())).await;
                METER.with(|meter| {
                    (meter.conflicts.get(), meter.rate_limited.get(), meter.database_micros.borrow().len())
                })
            })
            .await;
        assert_eq!(seen, (1, true, 1));
    }
}
