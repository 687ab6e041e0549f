//! Which route a request came in by. Never by the request's URI, which a URL parser has been over: there,
//! `/categories/get/../../pages/get` is `/pages/get` (design, section 1).

use lambda_http::request::RequestContext;
use lambda_http::{Request, RequestExt};
use percent_encoding::percent_decode_str;

/// The path parameter's name in `/categories/get/{url+}`.
const URL: &str = "url";
/// The gateway's catch-all route, under which cargo lambda sends everything.
const DEFAULT: &str = "$default";

/// Finds the request's route in a function's table of route keys, such as `POST /cart/get`.
#[must_use]
pub fn find<E: Copy>(request: &Request, table: &[(&'static str, E)]) -> Option<E> {
    let key = match request.request_context_ref() {
        Some(RequestContext::ApiGatewayV2(context)) => context.route_key.as_deref(),
        _ => None,
    };
    let mut routes = table.iter();
    let found = match key.filter(|key| *key != DEFAULT) {
        Some(key) => routes.find(|(route, _)| *route == key),
        None => {
            let method = request.method().as_str();
            let path = request.raw_http_path();
            // A plain route beats a greedy one.
            let plain = routes.find(|(route, _)| is_at(route, method, path, |route, path| route == path));
            plain.or_else(|| table.iter().find(|(route, _)| is_at(route, method, path, |r, p| greedy(r, p).is_some())))
        }
    };
    found.map(|(_, endpoint)| *endpoint)
}

fn is_at(route: &str, method: &str, path: &str, fits: impl Fn(&str, &str) -> bool) -> bool {
    route.split_once(' ').is_some_and(|(verb, template)| verb == method && fits(template, path))
}

/// What a greedy route's parameter takes of a path.
fn greedy<'p>(template: &str, path: &'p str) -> Option<&'p str> {
    let rest = path.strip_prefix(template.strip_suffix("{url+}")?)?;
    (!rest.is_empty()).then_some(rest)
}

/// The parameter `{url+}` of the route `template`, percent-decoded. The gateway hands it over decoded; it is decoded
/// once more only where a `%` is left. `None` where that is no UTF-8.
#[must_use]
pub fn url_parameter(request: &Request, template: &str) -> Option<String> {
    let parameters = request.path_parameters();
    let sent = parameters.first(URL).or_else(|| greedy(template, request.raw_http_path()))?;
    if !sent.contains('%') {
        return Some(sent.to_owned());
    }
    percent_decode_str(sent).decode_utf8().ok().map(std::borrow::Cow::into_owned)
}

/// The address the gateway saw, and the request's id.
#[must_use]
pub fn source_ip(request: &Request) -> &str {
    match request.request_context_ref() {
        Some(RequestContext::ApiGatewayV2(context)) => context.http.source_ip.as_deref().unwrap_or_default(),
        _ => "",
    }
}

/// The gateway's id of the request.
#[must_use]
pub fn request_id(request: &Request) -> String {
    let of_gateway = match request.request_context_ref() {
        Some(RequestContext::ApiGatewayV2(context)) => context.request_id.clone(),
        _ => None,
    };
    let of_lambda = || request.lambda_context_ref().map(|context| context.request_id.clone());
    of_gateway.or_else(of_lambda).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(path: &str) -> Option<u8> {
        let table = [("POST /a/get/{url+}", 1), ("POST /a/get", 2), ("GET /a/get", 3)];
        let mut request = Request::default().with_raw_http_path(path);
        *request.method_mut() = lambda_http::http::Method::POST;
        find(&request, &table)
    }

    #[test]
    fn without_a_route_key_the_raw_path_decides() {
        assert_eq!(at("/a/get"), Some(2));
        assert_eq!(at("/a/get/x/y"), Some(1));
        assert_eq!(at("/a/get/../../b"), Some(1));
        assert_eq!(at("/a/get/"), None);
        assert_eq!(at("/a/got"), None);
        assert_eq!(at("//a/get"), None);
    }

    #[test]
    fn a_parameter_is_decoded_once_where_a_percent_sign_is_left() {
        let parameter = |path: &str| url_parameter(&Request::default().with_raw_http_path(path), "/a/get/{url+}");
        assert_eq!(parameter("/a/get/x%2Fy").as_deref(), Some("x/y"));
        assert_eq!(parameter("/a/get/x%252Fy").as_deref(), Some("x%2Fy"));
        assert_eq!(parameter("/a/get/%ff"), None);
        assert_eq!(parameter("/a/get"), None);
    }
}
