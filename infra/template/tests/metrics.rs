//! Which metrics a template's alarms and dashboards name, and what is not understood.
#![expect(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

use std::collections::BTreeMap;

use template::Template;

fn found(resources: &str) -> Result<Vec<String>, String> {
    let template = Template::parse(&format!("Resources:\n{resources}"), &BTreeMap::new()).unwrap();
    let uses = template.metrics().map_err(|error| error.to_string())?;
    Ok(uses.iter().map(|used| format!("{}/{} {}", used.namespace, used.name, used.dimensions.join("+"))).collect())
}

fn widget(metrics: &str) -> Result<Vec<String>, String> {
    found(&format!(
        "  Board:\n    Type: AWS::CloudWatch::Dashboard\n    Properties:\n      DashboardBody: |\n        \
         {{\"widgets\": [{{\"properties\": {{\"title\": \"W\", \"metrics\": [{metrics}]}}}}]}}\n"
    ))
}

#[test]
fn an_alarm_names_one_metric_or_several() {
    let alarms = "  One:\n    Type: AWS::CloudWatch::Alarm\n    Properties: {Namespace: N, MetricName: M}\n  \
                    Two:\n    Type: AWS::CloudWatch::Alarm\n    Properties:\n      Metrics:\n        \
                    - {Id: a, Expression: b / 2}\n        - {Id: b, MetricStat: {Metric: \
                    {Namespace: N, MetricName: O, Dimensions: [{Name: D, Value: v}]}}}\n";
    assert_eq!(found(alarms).unwrap(), ["N/M ", "N/O D"]);
}

#[test]
fn a_widget_names_metrics_by_rows_and_by_searches() {
    assert_eq!(widget(r#"["N", "M"], ["N", "M", "D", "v", {"stat": "p99"}]"#).unwrap(), ["N/M ", "N/M D"]);
    let search = r#"[{"expression": "SEARCH('{N,D,E} MetricName=\"M\" D=\"v\"', 'Sum', 60)"}]"#;
    assert_eq!(widget(search).unwrap(), ["N/M D+E"]);
}

#[test]
fn what_is_not_understood_is_refused_with_its_place() {
    let unknown = [
        r#"["N", "M", "D"]"#,
        r#"["N", "M", "D", "v"], [".", "O", ".", "."]"#,
        r#"["N"]"#,
        r#"[{"expression": "SUM(METRICS())"}]"#,
        r#"[{"expression": "SEARCH('{N,D} D=\"v\"', 'Sum', 60)"}]"#,
        r#"[{"expression": "SEARCH('{N,D} MetricName=\"M\" E=\"v\"', 'Sum', 60)"}]"#,
        r#""N""#,
    ];
    for metrics in unknown {
        let error = widget(metrics).unwrap_err();
        assert!(error.contains("Board") && error.contains("\"W\""), "{metrics}: {error}");
    }
    let error = found("  Alarm:\n    Type: AWS::CloudWatch::Alarm\n    Properties: {MetricName: M}\n").unwrap_err();
    assert!(error.contains("Alarm") && error.contains("Namespace"), "{error}");
}
