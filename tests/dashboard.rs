//! Alarms and dashboard (infra/monitoring.yaml) use only metrics that are emitted: those of the functions are in
//! `telemetry::METRICS`, those of AWS in the list below.

use shared::telemetry::{METRICS, NAMESPACE};
use std::collections::{BTreeMap, BTreeSet};
use template::{MetricUse, Template};
use tests::repository;

/// Metrics of AWS, from its documentation: namespace, name, dimensions.
const OF_AWS: &[(&str, &str, &[&str])] = &[
    ("AWS/ApiGateway", "4xx", &["ApiId"]),
    ("AWS/ApiGateway", "5xx", &["ApiId"]),
    ("AWS/ApiGateway", "Count", &["ApiId"]),
    ("AWS/ApiGateway", "Latency", &["ApiId"]),
    ("AWS/DynamoDB", "ConsumedReadCapacityUnits", &["TableName"]),
    ("AWS/DynamoDB", "ConsumedWriteCapacityUnits", &["TableName"]),
    ("AWS/DynamoDB", "ReadThrottleEvents", &["TableName"]),
    ("AWS/DynamoDB", "WriteThrottleEvents", &["TableName"]),
    ("AWS/Lambda", "ConcurrentExecutions", &[]),
    ("AWS/Lambda", "ConcurrentExecutions", &["FunctionName"]),
    ("AWS/Lambda", "Duration", &["FunctionName"]),
    ("AWS/Lambda", "Errors", &["FunctionName"]),
    ("AWS/Lambda", "Throttles", &["FunctionName"]),
    ("AWS/Logs", "IncomingBytes", &["LogGroupName"]),
];
/// Parameters of the template without a default. The parent stack passes them.
const FILLED_IN: &[&str] = &[
    "Stack",
    "Api",
    "Table",
    "FunctionLogs",
    "ApiLogs",
    "Catalog",
    "Cart",
    "Payments",
    "Content",
    "Auth",
    "AlarmEmail",
];

fn used() -> Vec<MetricUse> {
    let mut parameters: BTreeMap<String, String> =
        FILLED_IN.iter().map(|&name| (name.to_owned(), name.to_lowercase())).collect();
    parameters.insert("SlowMilliseconds".to_owned(), "1000".to_owned());
    parameters.insert("ConcurrencyLimit".to_owned(), "1000".to_owned());
    Template::read(&repository().join("infra/monitoring.yaml"), &parameters).unwrap().metrics().unwrap()
}

fn is_known(metric: &MetricUse) -> bool {
    if metric.namespace == NAMESPACE {
        METRICS.iter().any(|known| known.name == metric.name && known.dimensions == metric.dimensions)
    } else {
        OF_AWS.iter().any(|&(namespace, name, dimensions)| {
            namespace == metric.namespace && name == metric.name && dimensions == metric.dimensions
        })
    }
}

#[test]
fn no_alarm_or_graph_uses_a_metric_that_is_never_emitted() {
    for metric in used() {
        assert!(is_known(&metric), "{metric:?} is never emitted");
    }
}

#[test]
fn a_metric_with_another_name_or_dimension_would_be_noticed() {
    let conflicts = used().into_iter().find(|metric| metric.name == "Conflicts").unwrap();
    assert!(is_known(&conflicts));
    assert!(!is_known(&MetricUse { name: "Conflict".to_owned(), ..conflicts.clone() }));
    assert!(!is_known(&MetricUse { dimensions: vec!["Function".to_owned()], ..conflicts.clone() }));
    assert!(!is_known(&MetricUse { namespace: "AWS/Lambda".to_owned(), ..conflicts }));
}

#[test]
fn every_metric_that_is_emitted_is_shown() {
    let shown: BTreeSet<String> =
        used().into_iter().filter(|metric| metric.namespace == NAMESPACE).map(|metric| metric.name).collect();
    let emitted: BTreeSet<String> = METRICS.iter().map(|metric| metric.name.to_owned()).collect();
    assert_eq!(shown, emitted);
}
