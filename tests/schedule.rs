//! The event that the schedule sends (template.yaml, `SweepSchedule`) is a request of the HTTP API, with a route key of its
//! own.

use lambda_http::aws_lambda_events::apigw::ApiGatewayV2httpRequest;
use lambda_http::request::{LambdaRequest, RequestContext};
use lambda_http::{Request, RequestExt};
use std::collections::BTreeMap;
use template::Template;
use tests::{repository, template};

const SCHEDULE: &str = "AWS::Events::Rule";

fn with_payments(payments: bool) -> Template {
    let parameters = BTreeMap::from([("Payments".to_owned(), payments.to_string())]);
    Template::read(&repository().join("template.yaml"), &parameters).unwrap()
}

/// The input of the schedule of an endpoint.
pub fn input(endpoint: &str) -> String {
    let inputs = template().resources(SCHEDULE).map(|(_, rule)| {
        let targets = rule["Targets"].as_array().unwrap();
        assert_eq!(targets.len(), 1);
        targets[0]["Input"].as_str().unwrap().to_owned()
    });
    let mut inputs = inputs.filter(|input| input.contains(&format!("SCHEDULE {endpoint}\"")));
    inputs.next().unwrap()
}

#[test]
fn the_schedules_event_is_a_request_with_a_route_key_that_no_route_has() {
    for endpoint in ["payments/sweep", "notices/send"] {
        let request = Request::from(serde_json::from_str::<LambdaRequest>(&input(endpoint)).unwrap());
        let Some(RequestContext::ApiGatewayV2(context)) = request.request_context_ref() else {
            panic!("the event is not one of an HTTP API")
        };
        assert_eq!(context.route_key, Some(format!("SCHEDULE {endpoint}")));
        assert!(template().routes().unwrap().iter().all(|route| Some(route.key()) != context.route_key));
        let event: ApiGatewayV2httpRequest = serde_json::from_str(&input(endpoint)).unwrap();
        assert_eq!((event.body, event.is_base64_encoded), (None, false));
    }
}

#[test]
fn without_payments_the_sweep_goes_on_and_only_its_function_has_the_keys() {
    let (off, on) = (with_payments(false), with_payments(true));
    assert_eq!(off.resources(SCHEDULE).count(), 1, "without notices nothing sends them");
    assert!(!off.functions().unwrap().contains(&"notices".to_owned()));
    let (_, rule) = off.resources(SCHEDULE).next().unwrap();
    assert_eq!(rule["ScheduleExpression"], "rate(1 minute)", "goals and donators are about a minute old at most");
    let keys = |template: &Template| template.environment("payments").unwrap()["PAYMENT_KEYS"].clone();
    assert_eq!(keys(&off), keys(&on));
    assert_eq!(off.environment("payments").unwrap()["TAKES_PAYMENTS"], "false");
    for function in off.functions().unwrap() {
        let has_keys = off.environment(&function).unwrap().contains_key("PAYMENT_KEYS");
        assert_eq!(has_keys, function == "payments", "{function}");
    }
}
