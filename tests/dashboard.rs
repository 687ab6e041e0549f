//! Alarms and dashboard (infra/monitoring.yaml) use only metrics that are emitted: those of the functions are in
//! `telemetry::METRICS`, those of AWS in the list below.

use serde_json::Value;
use shared::shop::delivery::{READY_TOO_LONG, SILENT_TOO_LONG};
use shared::telemetry::{METRICS, NAMESPACE};
use std::collections::{BTreeMap, BTreeSet};
use template::Template;
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
const FILLED_IN: &str =
    "Stack Api Table FunctionLogs ApiLogs Catalog Cart Payments Content Auth Delivery Notices AlarmEmail";

/// A metric that an alarm or a widget names.
#[derive(Debug, Clone, PartialEq, Eq)]
struct MetricUse {
    namespace: String,
    name: String,
    dimensions: Vec<String>,
}

fn monitoring() -> Template {
    let mut parameters: BTreeMap<String, String> =
        FILLED_IN.split(' ').map(|name| (name.to_owned(), name.to_lowercase())).collect();
    parameters.insert("ConcurrencyLimit".to_owned(), "1000".to_owned());
    parameters.insert("Monitoring".to_owned(), "full".to_owned());
    Template::read(&repository().join("infra/monitoring.yaml"), &parameters).unwrap()
}

fn used() -> Vec<MetricUse> {
    let template = monitoring();
    let mut uses = Vec::new();
    for (place, alarm) in template.resources("AWS::CloudWatch::Alarm") {
        let before = uses.len();
        of_alarm(alarm, &mut uses);
        assert!(uses.len() > before, "{place} names no metric");
    }
    for (_, dashboard) in template.resources("AWS::CloudWatch::Dashboard") {
        let body: Value = serde_json::from_str(dashboard["DashboardBody"].as_str().unwrap()).unwrap();
        for widget in body["widgets"].as_array().unwrap() {
            let rows = widget["properties"]["metrics"].as_array().unwrap();
            uses.extend(rows.iter().map(|row| of_row(row).unwrap_or_else(|| panic!("{row} is not understood"))));
        }
    }
    uses
}

/// The metrics anywhere below an alarm's properties.
fn of_alarm(node: &Value, uses: &mut Vec<MetricUse>) {
    if let Some(name) = node.get("MetricName") {
        let dimensions = node["Dimensions"].as_array().into_iter().flatten();
        uses.push(MetricUse {
            namespace: node["Namespace"].as_str().unwrap().to_owned(),
            name: name.as_str().unwrap().to_owned(),
            dimensions: dimensions.map(|dimension| dimension["Name"].as_str().unwrap().to_owned()).collect(),
        });
    }
    let below: Vec<&Value> = node.as_object().map_or_else(Vec::new, |map| map.values().collect());
    for child in below.into_iter().chain(node.as_array().into_iter().flatten()) {
        of_alarm(child, uses);
    }
}

/// A row of a widget's metrics: `[namespace, name, dimension, value, …, {options}]`, or a search.
fn of_row(row: &Value) -> Option<MetricUse> {
    let mut cells = row.as_array()?.clone();
    let options = cells.pop_if(|last| last.is_object());
    if let Some(expression) = options.as_ref().and_then(|options| options["expression"].as_str()) {
        return cells.is_empty().then(|| of_search(expression))?;
    }
    let cells: Vec<&str> = cells.iter().map(Value::as_str).collect::<Option<_>>()?;
    let [namespace, name, dimensions @ ..] = cells.as_slice() else { return None };
    // `.` repeats the cell above, which is hard to read.
    if !dimensions.len().is_multiple_of(2) || cells.iter().any(|cell| cell.is_empty() || cell.starts_with('.')) {
        return None;
    }
    let dimensions = dimensions.iter().step_by(2).map(|&name| name.to_owned()).collect();
    Some(MetricUse { namespace: (*namespace).to_owned(), name: (*name).to_owned(), dimensions })
}

/// `SEARCH('{namespace,dimension,…} MetricName="name" dimension="value" …', …)`.
fn of_search(expression: &str) -> Option<MetricUse> {
    let (schema, terms) = expression.strip_prefix("SEARCH('{")?.split_once("} ")?;
    let mut schema = schema.split(',').map(str::to_owned);
    let (namespace, dimensions) = (schema.next()?, schema.collect::<Vec<_>>());
    let terms: Option<BTreeMap<&str, &str>> =
        terms.split_once('\'')?.0.split_whitespace().map(|term| term.split_once('=')).collect();
    let mut terms = terms?;
    let name = terms.remove("MetricName")?.trim_matches('"').to_owned();
    let known = terms.keys().all(|term| dimensions.iter().any(|dimension| dimension == term));
    known.then_some(MetricUse { namespace, name, dimensions })
}

/// Whether a filter of a log makes the metric. Its namespace has the stack's name, since filters know no dimension of a fixed value.
fn is_of_a_log(metric: &MetricUse) -> bool {
    let template = monitoring();
    let filters = template.resources("AWS::Logs::MetricFilter");
    let mut made = filters.flat_map(|(_, filter)| filter["MetricTransformations"].as_array().unwrap());
    metric.dimensions.is_empty()
        && made.any(|made| made["MetricNamespace"] == metric.namespace && made["MetricName"] == metric.name)
}

fn is_known(metric: &MetricUse) -> bool {
    if metric.namespace == NAMESPACE {
        let has = |dimensions: &[&[&str]]| dimensions.iter().any(|set| *set == metric.dimensions);
        METRICS.iter().any(|known| known.name == metric.name && has(known.dimensions))
    } else if is_of_a_log(metric) {
        true
    } else {
        OF_AWS.iter().any(|&(namespace, name, dimensions)| {
            namespace == metric.namespace && name == metric.name && dimensions == metric.dimensions
        })
    }
}

#[test]
fn every_alarm_notifies_the_topic_and_is_explained() {
    let text = std::fs::read_to_string(repository().join("infra/monitoring.yaml")).unwrap();
    let explained = std::fs::read_to_string(repository().join("infra/docs/deployment.md")).unwrap();
    let blocks: Vec<&str> = text.split("Alarm:\n    Type: AWS::CloudWatch::Alarm\n").collect();
    assert!(blocks.len() > 16, "{}", blocks.len());
    for pair in blocks.windows(2) {
        let (heading, own) = (pair[0].lines().last().unwrap().trim(), pair[1]);
        assert!(own.contains("AlarmActions: [!Ref Topic]") && own.contains("OKActions: [!Ref Topic]"), "{heading}");
        assert!(own.contains(&format!("deployment.md, {heading})")), "{heading} does not say what to do");
        assert!(explained.contains(&format!("\n### {heading}\n")), "deployment.md does not explain {heading}");
    }
}

/// An account has ten metrics of alarms free.
#[test]
fn the_ten_alarms_without_a_condition_have_one_metric_each_and_the_manual_lists_them() {
    let text = std::fs::read_to_string(repository().join("infra/monitoring.yaml")).unwrap();
    let manual = std::fs::read_to_string(repository().join("infra/docs/deployment.md")).unwrap();
    let list = manual.split("The ten alarms of `Monitoring=basic`").nth(1).unwrap().split("\n\n").next().unwrap();
    let template = monitoring();
    let mut basic = Vec::new();
    for (place, alarm) in template.resources("AWS::CloudWatch::Alarm") {
        let name = place.trim_start_matches("Resources.").to_owned();
        if text.contains(&format!("{name}:\n    Type: AWS::CloudWatch::Alarm\n    Condition: Full\n")) {
            continue;
        }
        let mut metrics = Vec::new();
        of_alarm(alarm, &mut metrics);
        assert_eq!(metrics.len(), 1, "{name}");
        let name = name.trim_end_matches("Alarm").to_owned();
        assert!(list.contains(&format!("*{name}*")), "the manual does not list {name}");
        basic.push(name);
    }
    assert_eq!(basic.len(), 10, "{basic:?}");
}

#[test]
fn alarms_of_game_servers_go_off_when_doctor_says_so() {
    let template = monitoring();
    for (metric, seconds) in
        [("OldestReady", READY_TOO_LONG), ("ServerSilence", SILENT_TOO_LONG), ("UnknownCommands", 0)]
    {
        let alarms = template.resources("AWS::CloudWatch::Alarm");
        let thresholds: Vec<&Value> =
            alarms.filter(|(_, alarm)| alarm["MetricName"] == metric).map(|(_, alarm)| &alarm["Threshold"]).collect();
        assert_eq!(thresholds, [&Value::from(seconds)], "{metric}");
    }
}

#[test]
fn no_alarm_or_graph_uses_a_metric_that_is_never_emitted() {
    for metric in used() {
        assert!(is_known(&metric), "{metric:?} is never emitted");
    }
}

#[test]
fn every_metric_that_is_emitted_is_shown() {
    let shown: BTreeSet<String> =
        used().into_iter().filter(|metric| metric.namespace == NAMESPACE).map(|metric| metric.name).collect();
    let emitted: BTreeSet<String> = METRICS.iter().map(|metric| metric.name.to_owned()).collect();
    assert_eq!(shown, emitted);
}

#[test]
fn a_call_of_a_game_server_that_the_gateway_refuses_raises_an_alarm() {
    let (api, monitoring) = (tests::template(), monitoring());
    // The routes as the access log has them, and how many requests a second they take.
    let settings = api.resources("AWS::Serverless::HttpApi").next().unwrap().1["RouteSettings"].as_object().unwrap();
    for route in delivery::ROUTES {
        assert!(settings[route]["ThrottlingRateLimit"].as_u64().unwrap() >= 2_000, "{route}");
        assert!(route.contains(" /plugin/"), "{route}");
    }
    let (_, filter) = monitoring.resources("AWS::Logs::MetricFilter").next().unwrap();
    assert_eq!(filter["FilterPattern"], r#"{ $.status = "429" && $.route = "* /plugin/*" }"#);
    let format = &api.resources("AWS::Serverless::HttpApi").next().unwrap().1["AccessLogSettings"]["Format"];
    for field in [r#""route":"$context.routeKey""#, r#""status":"$context.status""#] {
        assert!(format.as_str().unwrap().contains(field), "{field}");
    }
    let made = &filter["MetricTransformations"][0]["MetricName"];
    let alarm =
        monitoring.resources("AWS::CloudWatch::Alarm").find(|(_, alarm)| alarm["MetricName"] == *made).unwrap().1;
    assert_eq!((&alarm["Threshold"], &alarm["Statistic"]), (&Value::from(0), &Value::from("Sum")));
}
