//! The router of this function, and the key of a game server, as the path of a call has it. The gateway has two routes for all
//! calls of game servers; each call declares a route of its own below them, and this file finds it.
//!
//! A game server's plugin is set to the URL of the API with `/plugin`, adds `api/` and the call, and ends every path with a
//! slash. It leaves the key out where its settings switch keys off.

use crate::reply::UnknownKey;
use crate::{ENDPOINTS, State};
use lambda_http::http::StatusCode;
use lambda_http::{Request, RequestExt as _};
use percent_encoding::percent_decode_str;
use shared::endpoint::{Error, Input, InputKind, Received, Refusal, RequestSchemas, Route};
use shared::http::body::BodyFault;
use shared::http::route;
use shared::model::{AgentId, NotAnAgentId};
use shared::shop::delivery::{self, CallError, PollError, ServerKey};
use shared::table::Db;
use std::collections::BTreeMap;

/// The routes of the gateway.
pub const ROUTES: [&str; 2] = ["GET /plugin/{call+}", "POST /plugin/{call+}"];
/// The beginning of every declared path.
const BASE: &str = "/plugin/api/";
/// The parameter that may be left out.
const KEY: &str = "{key}";

/// Finds the declared route of a request.
pub fn find(request: &Request) -> Option<&'static Route<State>> {
    let is_ours = route::route_key(request).is_none_or(|key| ROUTES.contains(&key));
    let call = call_of(request).filter(|_| is_ours)?;
    Some(matching(request.method().as_str(), &call)?.0)
}

/// The part of the path that names the call, decoded once more if a `%` is left.
fn call_of(request: &Request) -> Option<String> {
    let (_, call) = request.raw_http_path().split_once("/plugin/")?;
    percent_decode_str(call).decode_utf8().ok().map(std::borrow::Cow::into_owned)
}

/// The declared route key of a request to a path; `None` if it is not a call of a game server. The path is the whole one,
/// decoded.
pub fn declared(method: &str, path: &str) -> Option<&'static str> {
    let (_, call) = path.split_once("/plugin/")?;
    Some(matching(method, call)?.1)
}

/// The route of the gateway by which requests of a declared route come.
pub fn of_gateway(declared: &'static str) -> &'static str {
    let method = declared.split(' ').next().unwrap_or_default();
    let by_method = || ROUTES.into_iter().find(|route| route.split(' ').next() == Some(method));
    if declared.contains(" /plugin/") { by_method().unwrap_or(declared) } else { declared }
}

/// A path without the key of a server or the id of a login: fit for a log.
pub fn without_key(method: &str, path: &str) -> Option<String> {
    let (_, call) = path.split_once("/plugin/")?;
    let declared = matching(method, call).map(|(_, route, _)| route.split_once(' ').map_or(route, |(_, path)| path));
    Some(declared.unwrap_or("/plugin/...").to_owned())
}

/// The parameters of a request's path by their names. A key that is left out is missing.
pub fn parameters(request: &Request) -> BTreeMap<&'static str, String> {
    let call = call_of(request).unwrap_or_default();
    matching(request.method().as_str(), &call).map(|(.., parameters)| parameters).unwrap_or_default()
}

type Match = (&'static Route<State>, &'static str, BTreeMap<&'static str, String>);

/// The route that a call matches. One with a key is preferred.
fn matching(method: &str, call: &str) -> Option<Match> {
    let call = call.strip_prefix("api/").unwrap_or(call);
    let sent: Vec<&str> = call.strip_suffix('/').unwrap_or(call).split('/').collect();
    let routes = || {
        let routes = ENDPOINTS.iter().flat_map(|route| route.declaration.routes.iter().map(move |key| (route, *key)));
        routes.filter_map(|(route, key)| {
            let (declared, path) = key.split_once(' ')?;
            (declared == method).then_some((route, key, path.strip_prefix(BASE)?))
        })
    };
    let with_key = routes().find_map(|(route, key, path)| {
        let wanted: Vec<&'static str> = path.split('/').collect();
        Some((route, key, captured(&wanted, &sent)?))
    });
    with_key.or_else(|| {
        routes().filter(|(.., path)| path.contains(KEY)).find_map(|(route, key, path)| {
            let wanted: Vec<&'static str> = path.split('/').filter(|part| *part != KEY).collect();
            Some((route, key, captured(&wanted, &sent)?))
        })
    })
}

/// The parameters, if every segment fits.
fn captured(wanted: &[&'static str], sent: &[&str]) -> Option<BTreeMap<&'static str, String>> {
    if wanted.len() != sent.len() {
        return None;
    }
    let mut parameters = BTreeMap::new();
    for (wanted, sent) in wanted.iter().zip(sent) {
        match wanted.strip_prefix('{').and_then(|name| name.strip_suffix('}')) {
            Some(name) if !sent.is_empty() => _ = parameters.insert(name, (*sent).to_owned()),
            None if wanted == sent => {}
            _ => return None,
        }
    }
    Some(parameters)
}

/// The key in a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SentKey {
    Absent,
    /// The text is not a key.
    Malformed,
    Key(ServerKey),
}

impl SentKey {
    /// The key among the parameters of a path.
    pub fn of(parameters: &BTreeMap<&'static str, String>) -> Self {
        match parameters.get("key").map(|text| ServerKey::parse(text)) {
            None => Self::Absent,
            Some(None) => Self::Malformed,
            Some(Some(key)) => Self::Key(key),
        }
    }

    /// The key of a call that needs one.
    pub fn required(&self) -> Result<&ServerKey, Error<UnknownKey>> {
        match self {
            Self::Key(key) => Ok(key),
            Self::Absent | Self::Malformed => Err(Error::Refused(UnknownKey)),
        }
    }
}

/// The error of a call of a game server, as a response.
pub fn refused(error: CallError) -> Error<UnknownKey> {
    match error {
        CallError::UnknownKey => Error::Refused(UnknownKey),
        CallError::Store(error) => Error::Store(error),
    }
}

/// The server's key.
#[derive(schemars::JsonSchema)]
#[expect(dead_code, reason = "for the documentation")]
pub struct ServerKeyText(String);

/// The input of a call that has only a key.
#[derive(Debug)]
pub struct KeyOnly(pub SentKey);

impl Input for KeyOnly {
    const KIND: InputKind = InputKind::PathParameter;

    fn read(received: Received<'_>) -> Result<Self, BodyFault> {
        Ok(Self(SentKey::of(&parameters(received.request))))
    }

    fn schemas(generator: &mut schemars::SchemaGenerator) -> RequestSchemas {
        let path_parameters = vec![generator.subschema_for::<ServerKeyText>()];
        RequestSchemas { path_parameters, ..RequestSchemas::default() }
    }
}

/// The input of a call that has a key, and the id of the agent if it is one's.
#[derive(Debug)]
pub struct KeyAndAgent {
    key: SentKey,
    agent: Result<Option<AgentId>, NotAnAgentId>,
}

/// Which agent calls.
#[derive(schemars::JsonSchema)]
#[expect(dead_code, reason = "for the documentation")]
struct AgentQuery {
    /// The agent's own id: 16 digits from 0 to 9 and a to f. The plugin sends none.
    #[schemars(default, with = "String", regex(pattern = "^[0-9a-f]{16}$"))]
    agent: Option<String>,
}

impl Input for KeyAndAgent {
    const KIND: InputKind = InputKind::PathParameter;

    fn read(received: Received<'_>) -> Result<Self, BodyFault> {
        let query = received.request.query_string_parameters();
        let agent = query.first("agent").map(|agent| AgentId::try_from(agent.to_owned())).transpose();
        Ok(Self { key: SentKey::of(&parameters(received.request)), agent })
    }

    fn schemas(generator: &mut schemars::SchemaGenerator) -> RequestSchemas {
        let query = Some(generator.subschema_for::<AgentQuery>());
        RequestSchemas { path_parameters: vec![generator.subschema_for::<ServerKeyText>()], query, body: None }
    }
}

impl KeyAndAgent {
    /// The key and the agent. An id that is malformed is refused only after the key was found valid.
    pub async fn checked(self, db: &Db) -> Result<(ServerKey, Option<AgentId>), Error<PollRefusal>> {
        let unknown = || Error::Refused(PollRefusal::UnknownKey);
        let SentKey::Key(key) = self.key else { return Err(unknown()) };
        match self.agent {
            Ok(agent) => Ok((key, agent)),
            Err(error) => {
                delivery::server_of(db, &key).await?.ok_or_else(unknown)?;
                Err(Error::Refused(PollRefusal::WrongAgent(error)))
            }
        }
    }
}

/// The reason for which a call that may be an agent's is refused.
#[derive(Debug, thiserror::Error)]
pub enum PollRefusal {
    #[error("Unknown or revoked server key.")]
    UnknownKey,
    #[error("The agent parameter {0}.")]
    WrongAgent(NotAnAgentId),
    #[error(
        "Another agent polled for this server in the last two minutes. Two would run commands twice: end one of them."
    )]
    AnotherAgent,
}

impl Refusal for PollRefusal {
    fn status(&self) -> StatusCode {
        match self {
            Self::UnknownKey => StatusCode::UNAUTHORIZED,
            Self::WrongAgent(_) => StatusCode::BAD_REQUEST,
            Self::AnotherAgent => StatusCode::CONFLICT,
        }
    }

    fn documented() -> Vec<(&'static str, Self)> {
        vec![
            ("No server has the key, or it was revoked", Self::UnknownKey),
            ("The agent's id is not one", Self::WrongAgent(NotAnAgentId)),
            ("Another agent polls for the server", Self::AnotherAgent),
        ]
    }
}

/// The error of such a call, as a response.
pub fn refused_poll(error: PollError) -> Error<PollRefusal> {
    match error {
        PollError::AnotherAgent => Error::Refused(PollRefusal::AnotherAgent),
        PollError::Call(CallError::UnknownKey) => Error::Refused(PollRefusal::UnknownKey),
        PollError::Call(CallError::Store(error)) => Error::Store(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(method: &str, call: &str) -> Option<(&'static str, Vec<String>)> {
        let (route, _, parameters) = matching(method, call)?;
        Some((route.declaration.name, parameters.into_iter().map(|(name, value)| format!("{name}={value}")).collect()))
    }

    fn found(name: &'static str, parameters: &[&str]) -> (&'static str, Vec<String>) {
        (name, parameters.iter().map(|parameter| (*parameter).to_owned()).collect())
    }

    #[test]
    fn calls_are_found_as_the_plugin_sends_them() {
        let queue = "plugin/servers/commands/queue";
        assert_eq!(at("GET", "api/servers/ID-A/commands/queue/"), Some(found(queue, &["key=ID-A"])));
        assert_eq!(at("GET", "servers/ID-A/commands/queue"), Some(found(queue, &["key=ID-A"])));
        assert_eq!(at("GET", "api/servers/commands/queue/"), Some(found(queue, &[])));
        assert_eq!(at("GET", "api/getVersion/"), Some(found("plugin/getVersion", &[])));
        assert_eq!(at("GET", "api/ID-A/donation_goal/"), Some(found("plugin/donation_goal", &["key=ID-A"])));
        assert_eq!(at("GET", "api/donation_goal/"), Some(found("plugin/donation_goal", &[])));
        assert_eq!(at("GET", "api/ID-A/gui/packages_new/"), Some(found("plugin/gui/packages_new", &["key=ID-A"])));
        assert_eq!(at("GET", "api/ID-A/profile/.Alex/"), Some(found("plugin/profile", &["key=ID-A", "name=.Alex"])));
        assert_eq!(at("GET", "api/profile/.Alex"), Some(found("plugin/profile", &["name=.Alex"])));
        assert_eq!(at("POST", "api/game_auth/confirm/abc/"), Some(found("plugin/game_auth/confirm", &["auth_id=abc"])));
    }

    #[test]
    fn everything_else_is_no_call() {
        for call in [
            "",
            "/",
            "api",
            "api/",
            "api//",
            "servers",
            "api/servers/ID-A/commands/queue//",
            "api/servers//commands/queue",
            "api/api/getVersion",
            "api/ID-A/createCoupon/",
            "api/ID-A/createGiftCard/",
            "api/ID-A/cart/getGift/",
            "api/ID-A/payment/markAsPaid/1/",
            "api/rest/v2/ID-A/payment/create/",
            "api/ID-A/payment/handle/",
            "api/ID-A/in-game/manageSubscriptions/",
            "api/game_auth/confirm//",
            "api/../getVersion",
        ] {
            for method in ["GET", "POST"] {
                assert_eq!(at(method, call), None, "{method} {call}");
            }
        }
        assert_eq!(at("POST", "api/servers/ID-A/commands/queue/"), None);
        assert_eq!(at("GET", "api/servers/ID-A/commands/delivered/"), None);
    }

    #[test]
    fn a_path_for_a_log_has_no_key() {
        let shown = |path| without_key("GET", path);
        assert_eq!(
            shown("/plugin/api/servers/ID-A/commands/queue/").as_deref(),
            Some("/plugin/api/servers/{key}/commands/queue")
        );
        assert_eq!(shown("/base/plugin/ID-A/anything").as_deref(), Some("/plugin/..."));
        assert_eq!(shown("/cart/get"), None);
    }
}
