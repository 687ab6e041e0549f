//! Cookies.

use lambda_http::http::HeaderMap;
use lambda_http::http::header::COOKIE;
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// The value of the first cookie named `name`, without the quotes that may be around it. The gateway joins the cookies
/// of a request in one header or sends several.
pub fn value(headers: &HeaderMap, name: &str) -> Option<String> {
    // Other programs of the same domain may set cookies that are not ASCII.
    let headers: Vec<_> =
        headers.get_all(COOKIE).iter().map(|header| String::from_utf8_lossy(header.as_bytes())).collect();
    let mut pairs = headers.iter().flat_map(|header| header.split(';')).filter_map(|pair| pair.split_once('='));
    let (_, value) = pairs.find(|(key, _)| key.trim() == name)?;
    Some(value.trim().trim_matches('"').to_owned())
}

/// A text as the value of a cookie.
pub fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

/// The text that was [`encoded`] as a value; `None` if it is not UTF-8.
pub fn decoded(value: &str) -> Option<String> {
    percent_decode_str(value).decode_utf8().ok().map(std::borrow::Cow::into_owned)
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

    #[test]
    fn a_cookie_is_found_beside_one_that_is_not_ascii() {
        let mut headers = HeaderMap::new();
        headers.append(COOKIE, HeaderValue::from_bytes("name=Ünder; token=a.b.c".as_bytes()).unwrap());
        assert_eq!(value(&headers, "token").as_deref(), Some("a.b.c"));
    }

    #[test]
    fn any_text_can_be_the_value_of_a_cookie() {
        for text in ["lantern", "a b; c=\"d\"\r\n", "straße", "%41", ""] {
            let encoded = encoded(text);
            assert!(encoded.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'%'), "{encoded}");
            assert_eq!(decoded(&encoded).as_deref(), Some(text));
        }
        assert_eq!(decoded("%ff"), None);
    }
}
