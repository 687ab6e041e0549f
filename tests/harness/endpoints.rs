//! Every route with its declaration and its sample event, so that tests of all endpoints need no list of their own.

use crate::request::{Call, event, event_file, event_names};
use http::Method;
use local::functions::Functions;
use serde_json::Value;
use shared::endpoint::{Cache, Declaration, InputKind};
use std::sync::LazyLock;

#[derive(Debug, Clone)]
pub struct Endpoint {
    /// The function of the route.
    pub function: &'static str,
    pub declaration: &'static Declaration,
    /// The route key, one of the declared ones: `POST /cart/get`.
    pub route: &'static str,
    /// The name of its sample event: `cart/get`.
    pub event: String,
}

/// Every declared route, except scheduled events, and HEAD, which has the response of GET without its body.
pub fn endpoints() -> Vec<Endpoint> {
    ENDPOINTS.clone()
}

static ENDPOINTS: LazyLock<Vec<Endpoint>> = LazyLock::new(|| {
    let routes = Functions::declarations().into_iter().flat_map(|(function, declaration)| {
        let is_left_out = |route: &str| route.starts_with("SCHEDULE ") || route.starts_with("HEAD ");
        let routes = declaration.routes.iter().filter(move |route| !is_left_out(route));
        routes.map(move |route| Endpoint { function, declaration, route, event: event_of(route) })
    });
    routes.collect()
});

/// The declared routes of HEAD, with their functions.
pub fn heads() -> Vec<(String, String)> {
    let declared = Functions::declarations().into_iter();
    let routes =
        declared.flat_map(|(function, declaration)| declaration.routes.iter().map(move |route| (route, function)));
    let heads = routes.filter(|(route, _)| route.starts_with("HEAD "));
    heads.map(|(route, function)| ((*route).to_owned(), function.to_owned())).collect()
}

/// The sample events of the GET endpoints whose responses can be cached.
pub fn cached() -> Vec<Endpoint> {
    let is_cached =
        |endpoint: &Endpoint| endpoint.declaration.cache == Cache::Public && endpoint.route.starts_with("GET ");
    endpoints().into_iter().filter(is_cached).collect()
}

/// The sample event of a route: the one with the shortest name, because outcomes are appended to it.
fn event_of(route: &str) -> String {
    let mut names: Vec<String> = event_names().into_iter().filter(|name| is_of(name, route)).collect();
    names.sort_by_key(String::len);
    names.into_iter().next().unwrap_or_else(|| panic!("{route} has no file in events/"))
}

/// Whether an event is of a declared route.
fn is_of(name: &str, route: &str) -> bool {
    declared_route(&event(name)).as_deref() == Some(route)
}

/// The declared route of an event; `None` if it is a call of a game server that no endpoint declares.
pub fn declared_route(event: &Value) -> Option<String> {
    let text = |field: &str| event[field].as_str().unwrap_or_default();
    Functions::declared_route(text("routeKey"), text("rawPath"))
}

impl Endpoint {
    /// The gateway's route, by which its requests come.
    pub fn gateway_route(&self) -> &'static str {
        Functions::gateway_route(self.route)
    }

    /// The names of all events of the route.
    pub fn events(&self) -> Vec<String> {
        event_names().into_iter().filter(|name| is_of(name, self.route)).collect()
    }

    /// The path of the sample event.
    pub fn path(&self) -> String {
        event(&self.event)["rawPath"].as_str().unwrap_or_default().to_owned()
    }

    /// The request of the sample event through the gateway, with its token.
    pub fn call(&self) -> Call {
        let event = event(&self.event);
        let token = event["headers"]["authorization"].as_str();
        token.into_iter().fold(self.anonymous_call(), |call, token| call.header("authorization", token))
    }

    /// The request of the sample event through the gateway, without a token.
    pub fn anonymous_call(&self) -> Call {
        let event = event(&self.event);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let method: Method = text(&event["requestContext"]["http"]["method"]).parse().expect("a method");
        let (path, query) = (text(&event["rawPath"]), text(&event["rawQueryString"]));
        let target = if query.is_empty() { path } else { format!("{path}?{query}") };
        let call = Call::get(&target).method(method).from_ip("198.51.100.7");
        let call = call.bytes(text(&event["body"]));
        let cookies = event["cookies"].as_array().into_iter().flatten();
        let call = cookies.fold(call, |call, cookie| call.header("cookie", &text(cookie)));
        let headers = ["content-type", "stripe-signature"].into_iter();
        let headers = headers.filter_map(|name| Some((name, event["headers"][name].as_str()?)));
        headers.fold(call, |call, (name, value)| call.header(name, value))
    }

    /// Whether its sample event reads or writes the table. The sample webhook event concerns no order.
    pub fn needs_database(&self) -> bool {
        self.declaration.input != InputKind::Signed && self.declaration.round_trips.cold > 0
    }

    /// The status of the response to its sample event: 200 unless the event says otherwise.
    pub fn status(&self) -> u16 {
        let status = event_file(&self.event)["expected"]["status"].as_u64();
        status.and_then(|status| status.try_into().ok()).unwrap_or(200)
    }

    /// The number of writes that count a request: one for a rate limit, two if it opens a window. payments/create,
    /// payments/portal and payments/receipt count their requests themselves.
    pub fn counting_writes(&self) -> usize {
        let counts = self.declaration.rate_limit.is_some()
            || ["payments/create", "payments/portal", "payments/receipt"].contains(&self.declaration.name);
        if counts { 2 } else { 0 }
    }
}

impl Call {
    /// The route of the request.
    pub fn endpoint(&self) -> Endpoint {
        let path = self.target.split('?').next().unwrap_or_default();
        let called = delivery::declared(self.method.as_str(), path);
        let fits = |route: &str| match route.split_once(' ').map(|(method, path)| (method, path.split_once('{'))) {
            Some((method, Some((fixed, _)))) => {
                method == self.method && path.strip_prefix(fixed).is_some_and(|rest| !rest.is_empty())
            }
            Some((method, None)) => route == format!("{method} {path}") && method == self.method,
            None => false,
        };
        let is_route = |route: &str| called.map_or_else(|| fits(route), |called| called == route);
        let endpoint = endpoints().into_iter().find(|endpoint| is_route(endpoint.route));
        endpoint.unwrap_or_else(|| panic!("{} {path} is not a route", self.method))
    }
}
