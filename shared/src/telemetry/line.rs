//! A request's log line, which is also its metrics (CloudWatch's embedded metric format).

use crate::http::wire::Decimal;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use std::sync::LazyLock;

/// Names of dimensions.
type Dimensions = &'static [&'static str];

/// The namespace of every metric.
pub const NAMESPACE: &str = "Storefront";
/// Dimensions of all metrics but `CodesRefused`.
const PER_FUNCTION: Dimensions = &["Stack", "Function"];
/// Dimensions of `CodesRefused`.
const PER_KIND: Dimensions = &["Stack", "Function", "Kind"];

/// A metric that a function may emit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Metric {
    /// Its name.
    pub name: &'static str,
    /// Its unit, as CloudWatch spells it.
    pub unit: &'static str,
    /// The names of its dimensions.
    #[serde(skip)]
    pub dimensions: Dimensions,
}

const fn count(name: &'static str, dimensions: Dimensions) -> Metric {
    Metric { name, unit: "Count", dimensions }
}

const fn millis(name: &'static str) -> Metric {
    Metric { name, unit: "Milliseconds", dimensions: PER_FUNCTION }
}

/// Every metric that is ever emitted: the numbers of `Values`. Dashboards and alarms are checked against it.
pub const METRICS: &[Metric] = &[
    count("Requests", PER_FUNCTION),
    count("ClientErrors", PER_FUNCTION),
    count("ServerErrors", PER_FUNCTION),
    count("ColdStarts", PER_FUNCTION),
    count("DatabaseCalls", PER_FUNCTION),
    count("Conflicts", PER_FUNCTION),
    count("RateLimited", PER_FUNCTION),
    millis("Duration"),
    millis("DatabaseLatency"),
    count("CodesRefused", PER_KIND),
];

/// The line, in the order in which it is read.
#[derive(Serialize)]
pub(super) struct Line<'a> {
    pub(super) level: &'static str,
    pub(super) message: &'static str,
    pub(super) timestamp: String,
    pub(super) request_id: &'a str,
    pub(super) endpoint: &'static str,
    pub(super) status: u16,
    pub(super) outcome: &'static str,
    pub(super) cold_start: bool,
    #[serde(flatten)]
    pub(super) values: Values<'a>,
    #[serde(rename = "_aws")]
    pub(super) aws: Aws,
}

/// Values of the metrics and their dimensions.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Values<'a> {
    pub(super) stack: &'a str,
    pub(super) function: &'static str,
    pub(super) requests: u8,
    pub(super) client_errors: u8,
    pub(super) server_errors: u8,
    pub(super) cold_starts: u8,
    pub(super) database_calls: usize,
    pub(super) conflicts: u32,
    pub(super) rate_limited: u8,
    pub(super) duration: Decimal,
    pub(super) database_latency: Vec<Decimal>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) kind: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) codes_refused: Option<u8>,
}

/// What tells CloudWatch which members of a line are metrics.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Aws {
    timestamp: u64,
    cloud_watch_metrics: Option<&'static RawValue>,
}

impl Aws {
    /// `timestamp` is in milliseconds since 1970 UTC; `refused` says whether the line has `CodesRefused`.
    pub(super) fn new(timestamp: u64, refused: bool) -> Self {
        // Two thirds of a line and always one of two texts: each is made once.
        static WITHOUT: LazyLock<Option<Box<RawValue>>> = LazyLock::new(|| directives(&[PER_FUNCTION]));
        static WITH: LazyLock<Option<Box<RawValue>>> = LazyLock::new(|| directives(&[PER_FUNCTION, PER_KIND]));
        Self { timestamp, cloud_watch_metrics: if refused { WITH.as_deref() } else { WITHOUT.as_deref() } }
    }
}

/// Metrics that have the same dimensions.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Directive {
    namespace: &'static str,
    dimensions: [Dimensions; 1],
    metrics: Vec<&'static Metric>,
}

/// One directive for each set of dimensions.
fn directives(sets: &[Dimensions]) -> Option<Box<RawValue>> {
    let directive = |dimensions: Dimensions| {
        let metrics = METRICS.iter().filter(|metric| metric.dimensions == dimensions).collect();
        Directive { namespace: NAMESPACE, dimensions: [dimensions], metrics }
    };
    to_raw_value(&sets.iter().copied().map(directive).collect::<Vec<_>>()).ok()
}
