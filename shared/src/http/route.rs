//! Routing. The request's URI is never used, because a URL parser has changed it: `/categories/get/../../pages/get`
//! becomes `/pages/get` (rules.md, "Routes").

use lambda_http::request::RequestContext;
use lambda_http::{Request, RequestExt};
use percent_encoding::percent_decode_str;

/// The gateway's catch-all route, which cargo lambda uses for every request.
const DEFAULT: &str = "$default";

/// Finds the request's route among `routes`, each of which has route keys such as `POST /cart/get`.
pub fn find<'r, R>(request: &Request, routes: &'r [R], keys: impl Fn(&R) -> &'static [&'static str]) -> Option<&'r R> {
    let by = |fits: &dyn Fn(&str) -> bool| routes.iter().find(|route| keys(route).iter().any(|key| fits(key)));
    match route_key(request) {
        Some(key) => by(&|route| route == key),
        // A route without a parameter takes precedence.
        None => by(&|route| path_of(route, request) == Some(request.raw_http_path()))
            .or_else(|| by(&|route| path_of(route, request).is_some_and(|path| captured(path, request).is_some()))),
    }
}

/// The route key of the request; `None` if it has none.
pub fn route_key(request: &Request) -> Option<&str> {
    match request.request_context_ref() {
        Some(RequestContext::ApiGatewayV2(context)) => context.route_key.as_deref().filter(|key| *key != DEFAULT),
        _ => None,
    }
}

/// Whether a request came by this route, which has no parameter.
pub fn is_at(request: &Request, key: &str) -> bool {
    match route_key(request) {
        Some(route) => route == key,
        None => path_of(key, request) == Some(request.raw_http_path()),
    }
}

/// The path of a route key if the request has its method.
fn path_of<'k>(key: &'k str, request: &Request) -> Option<&'k str> {
    key.split_once(' ').filter(|(method, _)| *method == request.method().as_str()).map(|(_, path)| path)
}

/// The part of the request's path that the parameter of `path` matches. A parameter `{name}` at the end matches one
/// segment that is not empty, `{name+}` the whole rest.
fn captured<'r>(path: &str, request: &'r Request) -> Option<&'r str> {
    let (before, parameter) = path.split_once('{')?;
    let rest = request.raw_http_path().strip_prefix(before)?;
    let is_whole = parameter.ends_with("+}") || !rest.contains('/');
    (is_whole && !rest.is_empty()).then_some(rest)
}

/// The names of the parameters of a path or a route key.
pub fn parameter_names(path: &str) -> Vec<&str> {
    path.split('{').skip(1).filter_map(|rest| rest.split(['+', '}']).next()).collect()
}

/// The parameter of the request's route among `keys`, percent-decoded. The gateway passes it decoded; it is decoded
/// once more only if a `%` is left. `None` if the result is not UTF-8.
pub fn parameter(request: &Request, keys: &[&str]) -> Option<String> {
    let parameters = request.path_parameters();
    let path = keys.iter().find_map(|key| path_of(key, request).filter(|path| path.contains('{')))?;
    let name = parameter_names(path).into_iter().next()?;
    let sent = parameters.first(name).or_else(|| captured(path, request))?;
    if !sent.contains('%') {
        return Some(sent.to_owned());
    }
    percent_decode_str(sent).decode_utf8().ok().map(std::borrow::Cow::into_owned)
}

/// The caller's address, as the gateway saw it.
pub fn source_ip(request: &Request) -> &str {
    match request.request_context_ref() {
        Some(RequestContext::ApiGatewayV2(context)) => context.http.source_ip.as_deref().unwrap_or_default(),
        _ => "",
    }
}

pub fn request_id(request: &Request) -> String {
    let of_gateway = match request.request_context_ref() {
        Some(RequestContext::ApiGatewayV2(context)) => context.request_id.clone(),
        _ => None,
    };
    let of_lambda = || request.lambda_context_ref().map(|context| context.request_id.clone());
    of_gateway.or_else(of_lambda).unwrap_or_default()
}
