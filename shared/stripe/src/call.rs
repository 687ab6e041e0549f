//! A request as a plain value, and how it is written: its parameters are in the form encoding, with brackets for what
//! is nested: `line_items[0][quantity]=1`.

use crate::API_VERSION;
use crate::values::{ApiBase, IdempotencyKey, Invalid, ObjectId, SecretKey};
use bytes::Bytes;
use form_urlencoded::Serializer;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue};
use http::{Method, Request};
use std::marker::PhantomData;

const STRIPE_VERSION: HeaderName = HeaderName::from_static("stripe-version");
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// A request whose reply is a `T`. Equal calls are equal bytes.
#[derive(Debug, Clone)]
pub struct Call<T> {
    method: Method,
    path: String,
    form: Form,
    key: Option<IdempotencyKey>,
    reply: PhantomData<fn() -> T>,
}

impl<T> Call<T> {
    pub(crate) fn get(path: impl Into<String>, form: Form) -> Self {
        Self { method: Method::GET, path: path.into(), form, key: None, reply: PhantomData }
    }

    pub(crate) fn post(path: impl Into<String>, form: Form, key: Option<IdempotencyKey>) -> Self {
        Self { method: Method::POST, path: path.into(), form, key, reply: PhantomData }
    }

    pub(crate) fn delete(path: impl Into<String>) -> Self {
        Self { method: Method::DELETE, path: path.into(), form: Form::default(), key: None, reply: PhantomData }
    }

    pub const fn method(&self) -> &Method {
        &self.method
    }

    /// The path, such as `/v1/checkout/sessions`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The parameters in the order in which they are sent.
    pub fn parameters(&self) -> &[(String, String)] {
        self.form.fields()
    }

    pub fn request(&self, base: &ApiBase, key: &SecretKey) -> Result<Request<Bytes>, Invalid> {
        let form = self.form.encode();
        let (url, body) = match self.method {
            Method::POST => (format!("{}{}", base.as_str(), self.path), form),
            _ if form.is_empty() => (format!("{}{}", base.as_str(), self.path), form),
            _ => (format!("{}{}?{form}", base.as_str(), self.path), String::new()),
        };
        let mut request = Request::builder()
            .method(&self.method)
            .uri(url)
            .header(AUTHORIZATION, key.header())
            .header(STRIPE_VERSION, HeaderValue::from_static(API_VERSION))
            .header(ACCEPT, HeaderValue::from_static("application/json"));
        if self.method == Method::POST {
            request = request.header(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
        }
        if let Some(key) = &self.key {
            request = request.header(IDEMPOTENCY_KEY, key.header());
        }
        request.body(Bytes::from(body)).map_err(|_| Invalid { what: "the request", reason: "has no valid URL" })
    }
}

pub(crate) fn path(collection: &str, id: &ObjectId) -> String {
    format!("/v1/{collection}/{id}")
}

/// Parameters in the order in which they were added. Equal parameters give equal bytes, which idempotency needs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Form(Vec<(String, String)>);

impl Form {
    /// The form with another parameter.
    #[must_use]
    pub(crate) fn with(mut self, name: impl Into<String>, value: &(impl ToString + ?Sized)) -> Self {
        self.0.push((name.into(), value.to_string()));
        self
    }

    /// The form with another parameter, if it has a value.
    #[must_use]
    pub(crate) fn with_some(self, name: &str, value: Option<&(impl ToString + ?Sized)>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    pub(crate) fn fields(&self) -> &[(String, String)] {
        &self.0
    }

    /// The form as the body of a request or the query of a URL.
    pub(crate) fn encode(&self) -> String {
        Serializer::new(String::new()).extend_pairs(&self.0).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key() -> SecretKey {
        SecretKey::parse("rk_test_51secret").unwrap()
    }

    fn header<'a>(request: &'a Request<Bytes>, name: &str) -> Option<&'a str> {
        request.headers().get(name).map(|value| value.to_str().unwrap())
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the URL is what this test is about")]
    fn a_post_has_its_parameters_in_the_body_and_its_key_in_a_header() {
        let form = Form::default().with("a[b]", "c d");
        let call = Call::<()>::post("/v1/refunds", form, Some(IdempotencyKey::parse("refund-1").unwrap()));
        let request = call.request(&ApiBase::default(), &key()).unwrap();
        assert_eq!(request.method(), Method::POST);
        assert_eq!(request.uri(), "https://api.stripe.com/v1/refunds");
        assert_eq!(request.body(), "a%5Bb%5D=c+d");
        assert_eq!(header(&request, "authorization"), Some("Bearer rk_test_51secret"));
        assert_eq!(header(&request, "stripe-version"), Some(API_VERSION));
        assert_eq!(header(&request, "idempotency-key"), Some("refund-1"));
        assert_eq!(header(&request, "content-type"), Some("application/x-www-form-urlencoded"));
        assert!(!format!("{request:?} {call:?}").contains("51secret"));
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the URL is what this test is about")]
    fn a_get_has_its_parameters_in_the_query() {
        let call = Call::<()>::get("/v1/events", Form::default().with("types[]", "charge.refunded"));
        let request = call.request(&ApiBase::parse("http://127.0.0.1:1").unwrap(), &key()).unwrap();
        assert_eq!(request.uri(), "http://127.0.0.1:1/v1/events?types%5B%5D=charge.refunded");
        assert!(request.body().is_empty());
        assert_eq!(header(&request, "content-type"), None);
        let plain = Call::<()>::get("/v1/balance", Form::default()).request(&ApiBase::default(), &key()).unwrap();
        assert_eq!(plain.uri(), "https://api.stripe.com/v1/balance");
    }

    #[test]
    fn names_and_values_are_escaped() {
        let form = Form::default().with("a[b][0]", "Squire × 2 & more=?").with_some("c", None::<&i64>).with("d", &1);
        assert_eq!(form.encode(), "a%5Bb%5D%5B0%5D=Squire+%C3%97+2+%26+more%3D%3F&d=1");
        assert_eq!(Form::default().encode(), "");
    }

    proptest! {
        #[test]
        fn a_form_is_read_as_it_was_written(fields in prop::collection::vec((any::<String>(), any::<String>()), 0..8)) {
            let form = fields.iter().fold(Form::default(), |form, (name, value)| form.with(name.as_str(), value));
            let read: Vec<(String, String)> = form_urlencoded::parse(form.encode().as_bytes()).into_owned().collect();
            prop_assert_eq!(read, fields);
        }
    }
}
