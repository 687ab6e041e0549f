//! API Gateway's CORS responses, as the template configures them (rules.md, "Browsers and CORS").

use http::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ORIGIN,
};
use http::{HeaderMap, HeaderName, HeaderValue};
use template::Cors;

/// The headers for an allowed origin; `None` for every other caller.
fn allowed(cors: &Cors, request: &HeaderMap) -> Option<HeaderValue> {
    let origin = request.get(ORIGIN)?;
    if cors.allow_origins.iter().any(|allowed| allowed == "*") {
        return Some(HeaderValue::from_static("*"));
    }
    let text = origin.to_str().ok()?;
    cors.allow_origins.iter().any(|allowed| allowed == text).then(|| origin.clone())
}

/// Adds the headers that let a browser's page read a response.
pub fn decorate(cors: &Cors, request: &HeaderMap, response: &mut HeaderMap) {
    let Some(origin) = allowed(cors, request) else { return };
    response.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    set_list(response, ACCESS_CONTROL_EXPOSE_HEADERS, &cors.expose_headers);
    if cors.allow_credentials {
        response.insert(ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
    }
}

/// The headers of the response to a preflight; empty for an origin that is not allowed.
pub fn preflight(cors: &Cors, request: &HeaderMap) -> HeaderMap {
    let mut response = HeaderMap::new();
    let Some(origin) = allowed(cors, request) else { return response };
    response.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    set_list(&mut response, ACCESS_CONTROL_ALLOW_METHODS, &cors.allow_methods);
    set_list(&mut response, ACCESS_CONTROL_ALLOW_HEADERS, &cors.allow_headers);
    if let Some(seconds) = cors.max_age {
        response.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from(seconds));
    }
    if cors.allow_credentials {
        response.insert(ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
    }
    response
}

fn set_list(headers: &mut HeaderMap, name: HeaderName, values: &[String]) {
    if let Ok(value) = HeaderValue::from_str(&values.join(",")) {
        headers.insert(name, value);
    }
}
