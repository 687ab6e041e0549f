//! Rules for every response.

use crate::error::FuzzError;
use crate::target::rule;
use harness::{Endpoint, Reply, TestStore, conformance, endpoints};
use lambda_http::request::RequestContext;
use lambda_http::{Request, RequestExt as _};
use serde_json::Value;
use shared::clock::Clock as _;
use shared::endpoint::Access;
use shared::http::bearer::Bearer;
use shared::http::route;

/// The rules of a function's responses.
pub struct Oracle {
    endpoints: Vec<Endpoint>,
}

/// Sequential calls to the database beyond the declared ones: a test store has read nothing before its first request.
const FIRST_READ: usize = 1;

impl Oracle {
    pub fn of(function: &str) -> Result<Self, FuzzError> {
        let endpoints: Vec<Endpoint> = endpoints().into_iter().filter(|one| one.function == function).collect();
        rule(!endpoints.is_empty(), || format!("{function} has no endpoint")).map_err(FuzzError::setup)?;
        Ok(Self { endpoints })
    }

    /// # Errors
    /// The rule that the response breaks.
    pub fn check(&self, store: &TestStore, request: &Request, reply: &Reply) -> Result<(), String> {
        headers(reply)?;
        let status = reply.status.as_u16();
        rule(status < 500, || format!("{status}: {}", reply.text))?;
        let Some(endpoint) = self.endpoint(request) else {
            rule(status == 404 && store.calls.operations().is_empty(), || {
                format!("no route, and {status}: {}", reply.text)
            })?;
            return Ok(());
        };
        let (method, path) = endpoint.route.split_once(' ').unwrap_or_default();
        let faults = conformance::faults(method, &path.replace("+}", "}"), reply);
        rule(faults.is_empty(), || format!("{}: {}: {}", endpoint.route, faults.join("; "), reply.text))?;
        calls(store, endpoint, status)?;
        if endpoint.declaration.access == Access::Required && status < 400 {
            caller(store, request, reply)?;
        }
        if reply.headers.get("content-type").is_some_and(|media_type| media_type == "application/json") {
            numbers(&reply.json(), "")?;
        }
        Ok(())
    }

    /// The endpoint that the request is for, by the functions' own routing.
    fn endpoint(&self, request: &Request) -> Option<&Endpoint> {
        let declared: Vec<_> = self.endpoints.iter().map(|endpoint| endpoint.declaration).collect();
        let found = route::find(request, &declared, |declared| declared.routes)?;
        let context = request.request_context_ref();
        let key = match context {
            Some(RequestContext::ApiGatewayV2(context)) => {
                context.route_key.as_deref().filter(|key| *key != "$default")
            }
            _ => None,
        };
        let method = key.and_then(|key| key.split(' ').next()).unwrap_or(request.method().as_str());
        let is_it = |endpoint: &&Endpoint| {
            endpoint.declaration.name == found.name && endpoint.route.split(' ').next() == Some(method)
        };
        self.endpoints.iter().find(is_it)
    }
}

/// Every header can be sent, and a page is one that runs no foreign script.
fn headers(reply: &Reply) -> Result<(), String> {
    for (name, value) in &reply.headers {
        rule(value.to_str().is_ok_and(|text| text.len() <= 4_096), || format!("the header {name}: {value:?}"))?;
    }
    let of = |name: &str| reply.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    rule(of("cache-control") == "no-store" || reply.status.as_u16() < 400, || format!("{} is cached", reply.status))?;
    if of("content-type").starts_with("text/html") {
        let is_safe = of("content-security-policy").starts_with("default-src 'none'")
            && of("x-content-type-options") == "nosniff";
        rule(is_safe, || "a page without a policy".to_owned())?;
    }
    let internal = ["panicked", ".rs:", "dynamodb", "Exception"].iter().find(|text| reply.text.contains(**text));
    rule(internal.is_none(), || format!("{internal:?} in the body: {}", reply.text))
}

/// The database is called as often as declared, and a refused request writes nothing but its count.
fn calls(store: &TestStore, endpoint: &Endpoint, status: u16) -> Result<(), String> {
    let declared = endpoint.declaration.round_trips;
    let (trips, most) = (store.calls.round_trips(), declared.warm.max(declared.cold) + FIRST_READ);
    let operations = || format!("{}: {status}, {:?}", endpoint.route, store.calls.operations());
    rule(trips <= most, || format!("{trips} round trips, {most} allowed; {}", operations()))?;
    let most = endpoint.counting_writes();
    rule(status < 400 || store.calls.writes() <= most, || format!("a refused request writes; {}", operations()))
}

/// A caller who is served has a token that verifies, and is shown their own data.
fn caller(store: &TestStore, request: &Request, reply: &Reply) -> Result<(), String> {
    let claim = Bearer::of(request.headers(), &store.keys, store.clock.seconds()).claim();
    let claim = claim.ok_or_else(|| format!("served without a valid token: {}", reply.text))?;
    let body = reply.json();
    let owners = [body["uuid"].as_str().and(body.get("id")), body["cart"].get("user_id")];
    for owner in owners.into_iter().flatten() {
        rule(*owner == claim.user.get(), || format!("{owner} is shown to {}", claim.user))?;
    }
    Ok(())
}

/// No number is negative. Staff are sorted by any number.
fn numbers(value: &Value, name: &str) -> Result<(), String> {
    match value {
        Value::Number(number) => {
            let is_negative = number.to_string().starts_with('-');
            rule(!is_negative || name == "sorting", || format!("{name} is {number}"))
        }
        Value::Array(elements) => elements.iter().try_for_each(|element| numbers(element, name)),
        Value::Object(fields) => fields.iter().try_for_each(|(name, value)| numbers(value, name)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use harness::Call;
    use http::{HeaderMap, HeaderValue, StatusCode, header};
    use serde_json::json;

    fn reply(status: u16, headers: &[(header::HeaderName, &'static str)], text: &str) -> Reply {
        let headers = headers.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value)));
        let headers: HeaderMap = headers.collect();
        Reply { status: StatusCode::from_u16(status).unwrap(), headers, text: text.to_owned() }
    }

    #[test]
    fn a_header_a_page_and_a_body_must_be_harmless() {
        let json = (header::CONTENT_TYPE, "application/json");
        let no_store = (header::CACHE_CONTROL, "no-store");
        assert_eq!(headers(&reply(404, &[json.clone(), no_store.clone()], "{}")), Ok(()));
        assert!(headers(&reply(404, std::slice::from_ref(&json), "{}")).unwrap_err().contains("cached"));
        let page = (header::CONTENT_TYPE, "text/html; charset=utf-8");
        assert!(headers(&reply(200, &[page, no_store.clone()], "")).unwrap_err().contains("policy"));
        let panic = "{\"message\":\"panicked at src/lib.rs:1\"}";
        assert!(headers(&reply(400, &[json, no_store], panic)).unwrap_err().contains("panicked"));
    }

    #[test]
    fn no_number_may_be_negative() {
        assert_eq!(numbers(&json!({ "a": [{ "price": 0 }], "sorting": -1 }), ""), Ok(()));
        for wrong in [json!({ "a": [{ "price": -1 }] }), json!({ "sum": -0.0 })] {
            assert!(numbers(&wrong, "").is_err(), "{wrong}");
        }
    }

    #[tokio::test]
    async fn a_response_must_be_documented_and_belong_to_the_caller() {
        let store = TestStore::open().await;
        let oracle = Oracle::of("auth").unwrap();
        let request = |name: &str| lambda_http::request::from_str(&harness::event(name).to_string()).unwrap();
        let sent = store.send(Call::post("/user").token(&store.token("Thornwick"))).await;
        store.calls.clear();
        assert_eq!(oracle.check(&store, &request("auth/user"), &sent), Ok(()));
        assert!(oracle.check(&store, &request("auth/user.unauthorized"), &sent).unwrap_err().contains("valid token"));
        let of_another = Reply { text: sent.text.replace("\"id\":1,", "\"id\":2,"), ..sent.clone() };
        assert!(oracle.check(&store, &request("auth/user"), &of_another).unwrap_err().contains("2 is shown to 1"));
        for status in [202, 403, 500] {
            let other = Reply { status: StatusCode::from_u16(status).unwrap(), ..sent.clone() };
            assert!(oracle.check(&store, &request("auth/user"), &other).is_err(), "{status}");
        }
    }
}
