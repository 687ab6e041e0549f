//! The seven functions in one process, each with its own state, and an HTTP request as the API Gateway v2 event that AWS
//! would send them for it.

use crate::auth_by_host::AuthByHost;
use crate::options::StartError;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::HeaderMap;
use jiff::Timestamp;
use lambda_http::{Body, Request, Response};
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value, json};
use shared::base::Base;
use shared::clock::Clock;
use shared::config::{Config, ConfigError, NoticeConfig, NoticeKeys};
use shared::endpoint::Declaration;
use shared::model::LocalAddresses;
use shared::table::Db;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use template::Template;

/// The values that a deployment reads from Secrets Manager, and what only a server on one machine has.
#[derive(Clone, Copy)]
pub struct Secrets<'a> {
    pub token_keys: &'a str,
    pub chat: &'a str,
    pub payments: &'a str,
    /// `NOTICE_KEYS`; and a file in their place, which is read again for every run.
    pub notices: &'a str,
    pub notice_file: Option<&'a Path>,
    /// `ORIGIN_KEYS`, of a template with a shop.
    pub origin: &'a str,
    /// `STRIPE_API_BASE`: the stand-in for Stripe. No deployment has it.
    pub stripe: Option<&'a str>,
    /// Addresses on this machine, in place of those of the published store.
    pub addresses: Option<&'a LocalAddresses>,
}

impl<'a> Secrets<'a> {
    /// Secrets as a new stack has them: token keys, and neither a chat client nor a payment provider.
    pub const fn new(token_keys: &'a str) -> Self {
        let (notices, notice_file) = ("{}", None);
        Self { token_keys, chat: "{}", payments: "{}", notices, notice_file, origin: "", stripe: None, addresses: None }
    }
}

#[derive(Debug)]
pub struct Functions {
    catalog: catalog::State,
    cart: cart::State,
    payments: payments::State,
    content: content::State,
    auth: auth::State,
    delivery: delivery::State,
    notices: notices::State,
    auth_by_host: Option<AuthByHost>,
}

impl Functions {
    /// Creates the functions for a table, as in a new stack, see [`Functions::with_secrets`].
    pub fn new(template: &Template, db: &Db, token_keys: &str, clock: &Arc<dyn Clock>) -> Result<Self, StartError> {
        Self::with_secrets(template, db, Secrets::new(token_keys), clock)
    }

    /// Creates the functions for a table, with the environment that the template gives each. Only the table's name and
    /// the secrets are passed, because the template does not have them before a deploy.
    pub fn with_secrets(
        template: &Template,
        db: &Db,
        secrets: Secrets<'_>,
        clock: &Arc<dyn Clock>,
    ) -> Result<Self, StartError> {
        let config = |function: &str| {
            config(function, &template.environment(function)?, db.table(), secrets)
                .map_err(|source| StartError::Function { function: function.to_owned(), source })
        };
        let addresses = secrets.addresses.cloned().unwrap_or_default();
        let base = |function: &str| {
            let base = Base::new(db.clone(), config(function)?, Arc::clone(clock));
            Ok::<_, StartError>(base.with_addresses(addresses.clone()))
        };
        let chat = chat_settings(&template.environment("auth")?, secrets.chat);
        let config = config("auth")?;
        let by_host = |here: &LocalAddresses| {
            AuthByHost::new(db.clone(), config.clone(), Arc::clone(clock), chat.clone(), here.clone())
        };
        Ok(Self {
            catalog: catalog::State::new(base("catalog")?),
            cart: cart::State::new(base("cart")?),
            payments: payments::State::new(base("payments")?),
            content: content::State::new(base("content")?),
            auth_by_host: secrets.addresses.map(by_host),
            auth: auth::State::new(base("auth")?, chat),
            delivery: delivery::State::new(base("delivery")?),
            notices: notices_state(db, secrets, clock)?,
        })
    }

    /// The same functions with another client for calls to other services.
    #[must_use]
    pub fn with_outgoing(self, client: outgoing::Client) -> Self {
        Self { auth: self.auth.with_outgoing(client), ..self }
    }

    /// Passes a request to the function with this name; `None` if there is none.
    pub async fn call(&self, function: &str, mut request: Request) -> Option<Response<Body>> {
        if let (Some(by_host), "auth") = (&self.auth_by_host, function) {
            match by_host.call(request).await {
                Ok(response) => return Some(response),
                Err(unchanged) => request = unchanged,
            }
        }
        self.dispatch(function, request).await
    }

    /// The declared route of a request that came by the gateway's `route`: each call of game servers has one of its own. `None`
    /// if it is not such a call.
    pub fn declared_route(route: &str, path: &str) -> Option<String> {
        let (method, _) = route.split_once(' ')?;
        if delivery::ROUTES.contains(&route) {
            return delivery::declared(method, path).map(str::to_owned);
        }
        Some(route.to_owned())
    }

    /// The gateway's route of a declared one.
    pub fn gateway_route(declared: &'static str) -> &'static str {
        delivery::of_gateway(declared)
    }
}

/// The methods that call every function. Their names are listed below, and nowhere else in Rust but for the states above.
macro_rules! each_function {
    ($($name:ident)*) => {
        impl Functions {
            /// The names of the functions, for [`Functions::call`].
            pub const NAMES: &[&str] = &[$(stringify!($name)),*];

            /// Runs what each function's process runs before its first request.
            pub async fn warm_up(&self) {
                $(Box::pin($name::warm_up(&self.$name)).await;)*
            }

            // Boxed, because the futures of all together are too large for the compiler.
            async fn dispatch(&self, function: &str, request: Request) -> Option<Response<Body>> {
                $(if function == stringify!($name) {
                    return Some(Box::pin($name::handle(&self.$name, request)).await);
                })*
                None
            }

            /// The declaration of every endpoint, with the name of its function.
            pub fn declarations() -> Vec<(&'static str, &'static Declaration)> {
                let mut all = Vec::new();
                $(all.extend($name::ENDPOINTS.iter().map(|route| (stringify!($name), &route.declaration)));)*
                all
            }
        }
    };
}

each_function!(catalog cart payments content auth delivery notices);

/// The sender of notices. On this machine it may send to this machine.
fn notices_state(db: &Db, secrets: Secrets<'_>, clock: &Arc<dyn Clock>) -> Result<notices::State, StartError> {
    let failed = |source| StartError::Function { function: "notices".to_owned(), source };
    let config = Config::of_table(|_| Some(db.table().to_owned())).map_err(failed)?;
    let keys = NoticeKeys::parse(secrets.notices).map_err(|error| failed(ConfigError::NoticeKeys(error)))?;
    let base = Base::new(db.clone(), config, Arc::clone(clock));
    let file = secrets.notice_file.map(Path::to_owned);
    Ok(notices::State::new(base, NoticeConfig { keys, allows_here: true }, file))
}

fn chat_settings(environment: &BTreeMap<String, String>, secret: &str) -> auth::ChatSettings {
    auth::ChatSettings::from_vars(|name| match name {
        "CHAT_SECRET" => Some(secret.to_owned()),
        name => environment.get(name).cloned(),
    })
}

fn config(
    function: &str,
    environment: &BTreeMap<String, String>,
    table: &str,
    secrets: Secrets<'_>,
) -> Result<Config, shared::config::ConfigError> {
    Config::from_vars(|name| match name {
        "TABLE_NAME" => Some(table.to_owned()),
        "TOKEN_KEYS" => Some(secrets.token_keys.to_owned()),
        "PAYMENT_KEYS" if function == "payments" => Some(secrets.payments.to_owned()),
        "ORIGIN_KEYS" => environment.get(name).map(|_| secrets.origin.to_owned()),
        "STRIPE_API_BASE" if function == "payments" => secrets.stripe.map(str::to_owned),
        name => environment.get(name).cloned(),
    })
}

#[derive(Debug, Clone)]
pub struct Incoming<'a> {
    /// `GET`, `POST`, …
    pub method: &'a str,
    /// The path, percent-decoded.
    pub path: &'a str,
    /// The query string, as sent.
    pub query: &'a str,
    pub headers: &'a HeaderMap,
    pub body: &'a [u8],
    pub source_ip: &'a str,
    pub request_id: &'a str,
    pub at: Timestamp,
}

/// Decodes percent-encoding once, as API Gateway does before it matches routes; `None` if the result is not UTF-8.
pub fn decode_path(path: &str) -> Option<String> {
    percent_decode_str(path).decode_utf8().ok().map(std::borrow::Cow::into_owned)
}

/// The event for a request that matched the route `route_key`.
pub fn event_for(incoming: &Incoming<'_>, route_key: &str, parameters: &BTreeMap<String, String>) -> Value {
    let header = |name: &str| {
        incoming.headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes())).unwrap_or_default()
    };
    let host = header("host");
    let (body, is_base64) = encode_body(incoming.body, &header("content-type"));
    let mut event = json!({
        "version": "2.0",
        "routeKey": route_key,
        "rawPath": incoming.path,
        "rawQueryString": incoming.query,
        "headers": headers(incoming.headers),
        "requestContext": {
            "accountId": "000000000000",
            "apiId": "local",
            "domainName": host,
            "domainPrefix": host.split(['.', ':']).next().unwrap_or_default(),
            "http": {
                "method": incoming.method,
                "path": incoming.path,
                "protocol": "HTTP/1.1",
                "sourceIp": incoming.source_ip,
                "userAgent": header("user-agent"),
            },
            "requestId": incoming.request_id,
            "routeKey": route_key,
            "stage": "$default",
            "time": incoming.at.strftime("%d/%b/%Y:%H:%M:%S +0000").to_string(),
            "timeEpoch": incoming.at.as_millisecond(),
        },
        "isBase64Encoded": is_base64,
    });
    if let Value::Object(fields) = &mut event {
        let header = header("cookie");
        let cookies: Vec<&str> = header.split("; ").filter(|cookie| !cookie.is_empty()).collect();
        if !cookies.is_empty() {
            fields.insert("cookies".to_owned(), json!(cookies));
        }
        if !incoming.query.is_empty() {
            fields.insert("queryStringParameters".to_owned(), query(incoming.query));
        }
        if !parameters.is_empty() {
            fields.insert("pathParameters".to_owned(), json!(parameters));
        }
        if let Some(body) = body {
            fields.insert("body".to_owned(), Value::String(body));
        }
    }
    event
}

/// Header names in lower case; values of the same name are joined by commas; cookies are listed separately.
fn headers(headers: &HeaderMap) -> Value {
    let mut joined: BTreeMap<&str, String> = BTreeMap::new();
    for (name, value) in headers.iter().filter(|(name, _)| *name != "cookie") {
        let value = String::from_utf8_lossy(value.as_bytes());
        joined
            .entry(name.as_str())
            .and_modify(|values| {
                values.push(',');
                values.push_str(&value);
            })
            .or_insert_with(|| value.into_owned());
    }
    json!(joined)
}

fn query(query: &str) -> Value {
    let mut joined: Map<String, Value> = Map::new();
    for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
        let values = match joined.get(name.as_ref()) {
            Some(Value::String(earlier)) => format!("{earlier},{value}"),
            _ => value.into_owned(),
        };
        joined.insert(name.into_owned(), Value::String(values));
    }
    Value::Object(joined)
}

/// Text is passed unchanged, everything else in base64.
fn encode_body(body: &[u8], content_type: &str) -> (Option<String>, bool) {
    if body.is_empty() {
        return (None, false);
    }
    let media_type = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_text = media_type.starts_with("text/")
        || ["application/json", "application/javascript", "application/xml"].contains(&media_type.as_str())
        || media_type.ends_with("+json")
        || media_type.ends_with("+xml");
    match std::str::from_utf8(body) {
        Ok(text) if is_text => (Some(text.to_owned()), false),
        _ => (Some(BASE64_STANDARD.encode(body)), true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn event(headers: &HeaderMap, body: &[u8]) -> Value {
        let incoming = Incoming {
            method: "POST",
            path: "/cart/get",
            query: "a=1&a=2&b=%20",
            headers,
            body,
            source_ip: "127.0.0.1",
            request_id: "r",
            at: Timestamp::UNIX_EPOCH,
        };
        event_for(&incoming, "POST /cart/get", &BTreeMap::new())
    }

    #[test]
    fn values_of_one_name_are_joined_and_cookies_stand_apart() {
        let mut headers = HeaderMap::new();
        headers.append("x-a", HeaderValue::from_static("1"));
        headers.append("x-a", HeaderValue::from_static("2"));
        headers.append("cookie", HeaderValue::from_static("c=1; d=2"));
        let event = event(&headers, b"");
        assert_eq!(event["headers"], json!({"x-a": "1,2"}));
        assert_eq!(event["cookies"], json!(["c=1", "d=2"]));
        assert_eq!(event["queryStringParameters"], json!({"a": "1,2", "b": " "}));
        assert_eq!(event.get("body"), None);
        assert_eq!(event["requestContext"]["time"], "01/Jan/1970:00:00:00 +0000");
    }

    #[test]
    fn only_text_is_passed_as_text() {
        let mut headers = HeaderMap::new();
        headers.insert("content-type", HeaderValue::from_static("application/json; charset=utf-8"));
        assert_eq!(event(&headers, b"{}")["body"], "{}");
        assert_eq!(event(&headers, b"\xff")["isBase64Encoded"], true);
        assert_eq!(event(&HeaderMap::new(), b"{}")["body"], "e30=");
    }

    #[test]
    fn a_path_is_decoded_once() {
        assert_eq!(decode_path("/a%2Fb%2520c").as_deref(), Some("/a/b%20c"));
        assert_eq!(decode_path("/%ff"), None);
    }
}
