//! Requests as a client sends them, the event files, responses, and several instances of the functions on one table.

use crate::calls::{Calls, CartTrace};
use crate::conformance;
use crate::store::{TestStore, repository};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use lambda_http::{Body, Response};
use local::gateway::Gateway;
use percent_encoding::percent_decode_str;
use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, LazyLock, Mutex};

/// A request to be sent through the gateway.
#[derive(Debug, Clone)]
pub struct Call {
    pub(crate) method: Method,
    pub(crate) target: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
    pub(crate) source_ip: String,
}

impl Call {
    fn new(method: Method, target: &str) -> Self {
        let headers = HeaderMap::from_iter([(http::header::HOST, HeaderValue::from_static("store.test"))]);
        Self { method, target: target.to_owned(), headers, body: Vec::new(), source_ip: "198.51.100.7".to_owned() }
    }

    /// GET `target`: the path as sent, with a query if there is one.
    pub fn get(target: &str) -> Self {
        Self::new(Method::GET, target)
    }

    /// POST `target` without a body.
    pub fn post(target: &str) -> Self {
        Self::new(Method::POST, target)
    }

    #[must_use]
    pub fn method(mut self, method: Method) -> Self {
        self.method = method;
        self
    }

    #[must_use]
    pub fn json(self, body: &Value) -> Self {
        self.header("content-type", "application/json").bytes(body.to_string())
    }

    #[must_use]
    pub fn bytes(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        let name = HeaderName::try_from(name).expect("a header name");
        self.headers.append(name, HeaderValue::from_bytes(value.as_bytes()).expect("a header value"));
        self
    }

    /// With `Authorization: Bearer` and a token.
    #[must_use]
    pub fn token(self, token: &str) -> Self {
        self.header("authorization", &format!("Bearer {token}"))
    }

    #[must_use]
    pub fn from_ip(mut self, address: &str) -> Self {
        address.clone_into(&mut self.source_ip);
        self
    }
}

#[derive(Debug, Clone)]
pub struct Reply {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub text: String,
}

impl Reply {
    pub(crate) async fn from_gateway(gateway: &Gateway, call: Call) -> Self {
        let (path, query) = call.target.split_once('?').unwrap_or((&call.target, ""));
        let response = gateway.respond(&call.method, (path, query), &call.headers, &call.body, &call.source_ip);
        let reply = Self::of(response.await);
        let path = percent_decode_str(path).decode_utf8_lossy();
        conformance::check(call.method.as_str(), &path, None, &reply);
        reply
    }

    pub(crate) fn of(response: Response<Body>) -> Self {
        let (head, body) = response.into_parts();
        let text = match body {
            Body::Text(text) => text,
            Body::Binary(bytes) => String::from_utf8(bytes).expect("every body is text"),
            _ => String::new(),
        };
        Self { status: head.status, headers: head.headers, text }
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {:?}", self.text))
    }

    /// The body as JSON; of a page, the data of its script; of a text, the text; null without a body.
    pub fn data(&self) -> Value {
        if self.text.is_empty() {
            return Value::Null;
        }
        if self.header("content-type") == "text/plain" {
            return Value::String(self.text.clone());
        }
        if !self.header("content-type").starts_with("text/html") {
            return self.json();
        }
        let (_, data) =
            self.text.split_once("<script type=\"application/json\" id=\"data\">").expect("a page with data");
        serde_json::from_str(data.split("</script>").next().unwrap_or_default()).expect("data that is JSON")
    }

    /// A header's value; empty if it is missing.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().expect("a header of text"))
    }
}

/// The event of the file `events/<name>.json`.
pub fn event(name: &str) -> Value {
    let mut event = event_file(name);
    event.as_object_mut().and_then(|event| event.remove("expected"));
    event
}

/// Every event file by its name, `<function>/<endpoint>[.<outcome>]`, read once.
static EVENTS: LazyLock<BTreeMap<String, Value>> = LazyLock::new(|| {
    let mut events = BTreeMap::new();
    for folder in std::fs::read_dir(repository().join("events")).expect("events/ is there").flatten() {
        if !folder.path().is_dir() {
            continue;
        }
        for file in std::fs::read_dir(folder.path()).expect("a readable folder").flatten() {
            let (path, file) = (file.path(), file.file_name().to_string_lossy().into_owned());
            let Some(stem) = file.strip_suffix(".json") else { continue };
            let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let event = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            events.insert(format!("{}/{stem}", folder.file_name().to_string_lossy()), event);
        }
    }
    events
});

/// The file `events/<name>.json`: an event, and in `expected` what its response has on the sample store.
pub fn event_file(name: &str) -> Value {
    EVENTS.get(name).unwrap_or_else(|| panic!("events/{name}.json is not there")).clone()
}

/// The names of all event files, sorted.
pub fn event_names() -> Vec<String> {
    EVENTS.keys().cloned().collect()
}

/// An instance of every function, with caches, connections and a recorder of its own. Like a sandbox of Lambda's, it
/// handles one request at a time.
#[derive(Debug)]
pub struct Instance {
    gateway: Gateway,
    calls: Calls,
}

/// Sends requests to instances, each of which takes the next one as soon as it is free. Returns the responses, in
/// the order of `calls`, and what the request did with carts.
pub async fn spread(instances: &[Arc<Instance>], calls: Vec<Call>) -> Vec<(Reply, CartTrace)> {
    let count = calls.len();
    let queue = Arc::new(Mutex::new(calls.into_iter().enumerate().collect::<VecDeque<_>>()));
    let workers = instances.iter().map(|instance| {
        let (instance, queue) = (Arc::clone(instance), Arc::clone(&queue));
        tokio::spawn(async move {
            let mut done = Vec::new();
            loop {
                let next = queue.lock().expect("no worker panics here").pop_front();
                let Some((place, call)) = next else { return done };
                instance.calls.clear();
                let reply = instance.send(call).await;
                done.push((place, (reply, instance.calls.carts())));
            }
        })
    });
    let mut replies: Vec<Option<(Reply, CartTrace)>> = vec![None; count];
    for worker in workers.collect::<Vec<_>>() {
        for (place, reply) in worker.await.expect("a worker that ends") {
            replies[place] = Some(reply);
        }
    }
    replies.into_iter().map(|reply| reply.expect("a response to every request")).collect()
}

impl Instance {
    /// Sends a request through the gateway.
    pub async fn send(&self, call: Call) -> Reply {
        Reply::from_gateway(&self.gateway, call).await
    }
}

impl TestStore {
    /// New instances on the table of this store.
    pub fn instances(&self, count: usize) -> Vec<Arc<Instance>> {
        let instance = |_| {
            let calls = Calls::default();
            Arc::new(Instance { gateway: self.another_gateway(calls.clone()), calls })
        };
        (0..count).map(instance).collect()
    }
}
