//! The auth function of a server on one machine: a chat login comes back to the name by which the browser reached the
//! server, because its cookie is only sent to that name.

use auth::ChatSettings;
use http::HeaderMap;
use http::header::HOST;
use lambda_http::{Body, Request, Response};
use shared::base::Base;
use shared::clock::Clock;
use shared::config::Config;
use shared::model::LocalAddresses;
use shared::table::Db;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use url::Url;

/// The most names; a server has two, and a proxy in front of it another.
const NAMES: usize = 8;

/// The auth function by the name in `Host`.
#[derive(Debug)]
pub struct AuthByHost {
    db: Db,
    config: Config,
    clock: Arc<dyn Clock>,
    chat: ChatSettings,
    addresses: LocalAddresses,
    states: Mutex<BTreeMap<String, Arc<auth::State>>>,
}

impl AuthByHost {
    /// The function with addresses on this machine.
    pub(crate) fn new(
        db: Db,
        config: Config,
        clock: Arc<dyn Clock>,
        chat: ChatSettings,
        addresses: LocalAddresses,
    ) -> Self {
        Self { db, config, clock, chat, addresses, states: Mutex::default() }
    }

    /// Passes a request to the function; `None` if the server's own name or a foreign one is in `Host`.
    pub(crate) async fn call(&self, request: Request) -> Result<Response<Body>, Request> {
        let Some(callback) = callback_at(&self.addresses.chat_callback, request.headers()) else { return Err(request) };
        let Some(state) = self.state(callback) else { return Err(request) };
        Ok(Box::pin(auth::handle(&state, request)).await)
    }

    fn state(&self, callback: String) -> Option<Arc<auth::State>> {
        let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(state) = states.get(&callback) {
            return Some(Arc::clone(state));
        }
        if states.len() >= NAMES {
            return None;
        }
        let addresses = LocalAddresses { chat_callback: callback.clone(), ..self.addresses.clone() };
        let base = Base::new(self.db.clone(), self.config.clone(), Arc::clone(&self.clock)).with_addresses(addresses);
        let state = Arc::new(auth::State::new(base, self.chat.clone()));
        states.insert(callback, Arc::clone(&state));
        Some(state)
    }
}

/// The callback at the name in `Host`, if that is another name of this machine.
fn callback_at(callback: &str, headers: &HeaderMap) -> Option<String> {
    let asked = headers.get(HOST)?.to_str().ok()?;
    let own = Url::parse(callback).ok()?;
    let url = Url::parse(&format!("{}://{asked}{}", own.scheme(), own.path())).ok().filter(is_here)?;
    (url != own).then(|| url.into())
}

/// Whether a URL names this machine.
pub(crate) fn is_here(url: &Url) -> bool {
    url.host_str().is_some_and(|host| host.ends_with(".localhost") || outgoing::is_here(host))
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    #[test]
    fn only_this_machine_is_here() {
        let parsed = |url: &str| Url::parse(url).unwrap();
        for url in ["http://127.0.0.1:8000", "http://localhost", "http://[::1]:4566/", "http://127.0.0.1:1/x"] {
            assert!(is_here(&parsed(url)), "{url}");
        }
        for url in ["https://dynamodb.eu-central-1.amazonaws.com", "http://localhost.example:80", "http://10.0.0.1"] {
            assert!(!is_here(&parsed(url)), "{url}");
        }
    }

    #[test]
    fn only_another_name_of_this_machine_changes_the_callback() {
        let own = "http://127.0.0.1:4010/api/auth/chat/callback";
        let at = |host: &'static str| callback_at(own, &HeaderMap::from_iter([(HOST, HeaderValue::from_static(host))]));
        assert_eq!(at("localhost:4010").as_deref(), Some("http://localhost:4010/api/auth/chat/callback"));
        assert_eq!(at("shop.localhost:3000").as_deref(), Some("http://shop.localhost:3000/api/auth/chat/callback"));
        for host in ["127.0.0.1:4010", "shop.example", "192.168.1.2:4010", "", "[", "localhost:x"] {
            assert_eq!(at(host), None, "{host}");
        }
        assert_eq!(callback_at(own, &HeaderMap::new()), None);
    }
}
