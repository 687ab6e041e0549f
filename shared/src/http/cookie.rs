//! Cookies of a request.

use lambda_http::http::HeaderMap;
use lambda_http::http::header::COOKIE;

/// The value of the first cookie named `name`, without the quotes that may be around it. The gateway joins the cookies
/// of a request in one header or sends several.
#[must_use]
pub fn value(headers: &HeaderMap, name: &str) -> Option<String> {
    let headers = headers.get_all(COOKIE).iter().filter_map(|header| header.to_str().ok());
    let mut pairs = headers.flat_map(|header| header.split(';')).filter_map(|pair| pair.split_once('='));
    let (_, value) = pairs.find(|(key, _)| key.trim() == name)?;
    Some(value.trim().trim_matches('"').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use lambda_http::http::HeaderValue;

    #[test]
    fn a_cookie_is_found_by_its_whole_name() {
        let mut headers = HeaderMap::new();
        headers.append(COOKIE, HeaderValue::from_static("xtoken=1; token=a.b.c; token=2"));
        headers.append(COOKIE, HeaderValue::from_static(r#"quoted="d"; empty="#));
        assert_eq!(value(&headers, "token").as_deref(), Some("a.b.c"));
        assert_eq!(value(&headers, "quoted").as_deref(), Some("d"));
        assert_eq!(value(&headers, "empty").as_deref(), Some(""));
        assert_eq!(value(&headers, "tok"), None);
    }
}
