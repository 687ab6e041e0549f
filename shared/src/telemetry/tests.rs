use super::*;
use crate::model::ServerId;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

fn line(meter: &Meter, status: u16) -> Value {
    let emitter = Emitter { stack: "shop".to_owned(), function: "cart" };
    let request = Request { id: "r1", endpoint: "cart/get" };
    let line = Line { emitter: &emitter, meter, request, timestamp: 1_500, status, micros: 2_345, cold_start: true };
    serde_json::to_value(&line).unwrap()
}

fn server_line(figures: &ServerFigures) -> Value {
    let emitter = Emitter { stack: "shop".to_owned(), function: "payments" };
    let request = Request { id: "r1", endpoint: "payments/sweep" };
    serde_json::to_value(&attention::Line { emitter: &emitter, request, timestamp: 1_500, figures }).unwrap()
}

/// The metrics that a line declares. Each has its value and its dimensions.
fn declared(line: &Value) -> Vec<String> {
    let mut declared = Vec::new();
    for directive in line["_aws"]["CloudWatchMetrics"].as_array().unwrap() {
        assert_eq!(directive["Namespace"], NAMESPACE);
        for dimension in directive["Dimensions"].as_array().unwrap().iter().flat_map(|set| set.as_array().unwrap()) {
            assert!(line[dimension.as_str().unwrap()].is_string(), "{dimension}");
        }
        for metric in directive["Metrics"].as_array().unwrap() {
            let value = &line[metric["Name"].as_str().unwrap()];
            assert!(value.is_number() || value.is_array(), "{metric}: {value}");
            declared.push(metric["Name"].as_str().unwrap().to_owned());
        }
    }
    declared
}

#[test]
fn every_metric_that_is_declared_has_its_value_and_its_dimensions() {
    let meter = Meter::default();
    meter.code_refused.set(Some("unknown"));
    meter.conflicts.set(1);
    meter.rate_limited.set(true);
    meter.unreadable_rows.set(1);
    meter.database_micros.borrow_mut().push(1_500);
    for event in PaymentEvent::ALL {
        meter.payments.add(event, 2);
    }
    let line = line(&meter, 200);
    let figures = ServerFigures { server: ServerId::new(4), oldest_ready: Some(7), silence: Some(8), undecided: 9 };
    let all: Vec<&str> = METRICS.iter().map(|metric| metric.name).collect();
    let mut declared = [declared(&line), declared(&server_line(&figures))].concat();
    declared.sort_by_key(|name| all.iter().position(|metric| metric == name));
    assert_eq!(declared, all);
    assert_eq!(line["DatabaseLatency"], json!([1.5]));
    assert_eq!(line["timestamp"], "1970-01-01T00:00:01.5Z");
}

#[test]
fn figures_of_a_game_server_name_it_and_are_of_one_metric_for_all() {
    let figures = ServerFigures { server: ServerId::new(4), oldest_ready: None, silence: Some(1_900), undecided: 0 };
    let line = server_line(&figures);
    assert_eq!(line["_aws"]["CloudWatchMetrics"][0]["Dimensions"], json!([["Stack", "Function"]]));
    assert_eq!(declared(&line), ["ServerSilence", "UnknownCommands"]);
    assert_eq!((&line["server"], &line["ServerSilence"]), (&json!("4"), &json!(1_900)));
    assert_eq!(line.get("Requests"), None, "it is not another request");
}

#[test]
fn what_waits_for_the_owner_is_one_number_and_a_sweep_that_finds_nothing_says_zero() {
    let needs = |meter: &Meter| line(meter, 200)["NeedsPerson"].clone();
    let figures =
        ServerFigures { server: ServerId::new(4), oldest_ready: Some(900), silence: Some(1_800), undecided: 0 };
    let meter = Meter::default();
    meter.payments.add(PaymentEvent::ProviderError, 3);
    meter.servers.borrow_mut().push(figures);
    assert_eq!(needs(&meter), Value::Null, "nobody is needed");
    meter.payments.set(PaymentEvent::Overdue, 0);
    assert_eq!(needs(&meter), 0);
    meter.payments.add(PaymentEvent::Dispute, 2);
    for worse in [
        ServerFigures { oldest_ready: Some(901), ..figures },
        ServerFigures { silence: Some(1_801), ..figures },
        ServerFigures { undecided: 1, ..figures },
    ] {
        meter.servers.borrow_mut().push(worse);
    }
    assert_eq!(needs(&meter), 5);
}

#[test]
fn a_sweep_of_a_store_at_rest_emits_no_more_metrics_than_an_account_has_free() {
    let meter = Meter::default();
    meter.payments.set(PaymentEvent::Overdue, 0);
    let emitted = declared(&line(&meter, 200));
    assert!(emitted.len() <= 10, "{emitted:?}");
}

#[test]
fn a_poll_that_is_given_nothing_has_a_line_only_if_it_fails_or_starts_the_process() {
    let written = |meter: &Meter, status, cold_start| meter.is_written(status, cold_start);
    let meter = Meter::default();
    assert!(written(&meter, 200, false));
    meter.routine.set(true);
    assert!(!written(&meter, 200, false));
    assert!(written(&meter, 200, true) && written(&meter, 401, false) && written(&meter, 503, false));
    meter.unreadable_rows.set(1);
    assert!(written(&meter, 200, false), "it left something out");
    assert_eq!(meter.needs_person(), Some(1));
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

#[tokio::test]
async fn what_happens_inside_a_request_is_noted_and_outside_it_is_not() {
    conflict();
    let seen = METER
        .scope(Meter::default(), async {
            conflict();
            rate_limited();
            database_call(std::future::ready(())).await;
            METER.with(|meter| (meter.conflicts.get(), meter.rate_limited.get(), meter.database_micros.borrow().len()))
        })
        .await;
    assert_eq!(seen, (1, true, 1));
}

#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn an_event_is_one_object_with_its_fields() {
    let kept = Kept::default();
    let writer = kept.clone();
    tracing::subscriber::with_default(events(LevelFilter::WARN, move || writer.clone()), || {
        let error = std::io::Error::other("it \"broke\"\n");
        tracing::error!(request_id = "r1", attempt = 2_u64, ok = false, error = %error, "the request failed");
        tracing::info!("not of interest");
        tracing::info_span!("a span").in_scope(|| tracing::warn!("inside"));
    });
    let text = String::from_utf8(kept.0.lock().unwrap().clone()).unwrap();
    let lines = text.lines().map(|line| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        let timestamp = line.as_object_mut().unwrap().remove("timestamp").unwrap();
        timestamp.as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
        line
    });
    let failed = json!({
        "level": "ERROR", "message": "the request failed", "request_id": "r1", "attempt": 2, "ok": false,
        "error": "it \"broke\"\n",
    });
    assert_eq!(lines.collect::<Vec<_>>(), [failed, json!({ "level": "WARN", "message": "inside" })]);
}
