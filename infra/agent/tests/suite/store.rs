//! A store's queue: the commands that a game server is served, and its reports.

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::{Method, Request, Response, StatusCode};
use local::gateway::serve_each;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use tokio::net::TcpListener;

pub const KEY: &str = "1-abcdefghij";

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    Ready,
    Served,
    Kept,
    Validated,
    Done,
    Unknown,
    Refused,
    Recalled,
}

#[derive(Debug, Clone)]
pub struct Stored {
    row: Value,
    pub text: String,
    pub state: State,
    pub is_refunded: bool,
    served_at: u64,
    pub output: String,
}

type Hook = Arc<dyn Fn() + Send + Sync>;
type Delivered = Arc<dyn Fn(u32) + Send + Sync>;

pub struct QueueStore {
    pub url: String,
    inner: Mutex<Inner>,
    hook: Hook,
    on_delivered: Delivered,
}

#[derive(Debug, Default)]
pub struct Inner {
    pub commands: BTreeMap<u32, Stored>,
    /// Seconds; what was served and has no word is served again after 60.
    pub now: u64,
    /// The response to every call, if the store is away: a status and a pause.
    pub away: Option<(u16, &'static str)>,
    agent: Option<String>,
    /// The names of all calls.
    pub calls: Vec<String>,
}

impl fmt::Debug for QueueStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(formatter)
    }
}

impl QueueStore {
    /// Starts it. `hook` is called when a call comes, and before it is responded to.
    pub async fn start(hook: Hook, on_delivered: Delivered) -> Arc<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/plugin/", listener.local_addr().unwrap());
        let store = Arc::new(Self { url, inner: Mutex::default(), hook, on_delivered });
        let serving = Arc::clone(&store);
        tokio::spawn(serve_each(listener, move |request, _| {
            let store = Arc::clone(&serving);
            async move { Ok::<_, Infallible>(store.respond(request).await) }
        }));
        store
    }

    pub fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap()
    }

    /// A purchase's command; `player` if it waits for one.
    pub fn sell(&self, id: u32, text: &str, player: Option<&str>) {
        let row = json!({ "id": id, "username": player.unwrap_or("Nobody"), "command": text,
            "is_online_required": player.is_some(), "order": format!("order{id}") });
        let (text, output) = (text.to_owned(), String::new());
        let stored = Stored { row, text, state: State::Ready, is_refunded: false, served_at: 0, output };
        self.inner().commands.insert(id, stored);
    }

    pub fn refund(&self, id: u32) {
        let mut inner = self.inner();
        let command = inner.commands.get_mut(&id).unwrap();
        command.is_refunded = true;
        if matches!(command.state, State::Ready | State::Kept) {
            command.state = State::Recalled;
        }
    }

    pub fn count(&self, state: State) -> usize {
        self.inner().commands.values().filter(|command| command.state == state).count()
    }

    pub fn is_settled(&self) -> bool {
        self.inner().commands.values().all(|command| command.state >= State::Done)
    }

    async fn respond(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        // A call of a process that has been killed is of the time before its successor.
        let now = self.inner().now;
        (self.hook)();
        let (head, body) = request.into_parts();
        let body = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
        let call = head.uri.path().trim_end_matches('/').rsplit('/').next().unwrap().to_owned();
        let body = serde_json::from_slice(&body).unwrap_or_default();
        let is_known = head.uri.path().contains(KEY) || call == "getVersion";
        let away = self.inner().away;
        let (status, pause, reply) = match away {
            Some((status, pause)) => (status, pause, json!({ "message": "away" })),
            None if !is_known => (401, "", json!({ "message": "Unknown or revoked server key." })),
            None if call == "getVersion" => (200, "", json!(3)),
            None => self.call(&call, head.uri.query().unwrap_or_default(), &head.method, &body, now),
        };
        (self.hook)();
        let text = if call == "getVersion" && status == 200 { "3.8.7".to_owned() } else { reply.to_string() };
        let mut response = Response::new(Full::new(Bytes::from(text)));
        *response.status_mut() = StatusCode::from_u16(status).unwrap();
        if !pause.is_empty() {
            response.headers_mut().insert("retry-after", pause.parse().unwrap());
        }
        response
    }

    fn call(&self, call: &str, query: &str, method: &Method, body: &Value, now: u64) -> (u16, &'static str, Value) {
        let mut inner = self.inner();
        inner.calls.push(call.to_owned());
        if call == "paynow" {
            assert_eq!(query.strip_prefix("agent="), inner.agent.as_deref(), "who gives back names itself");
            let served = inner.commands.values_mut().filter(|command| command.state == State::Served);
            served.for_each(|command| command.state = State::Ready);
            return (200, "", json!({ "status": true }));
        }
        if *method == Method::GET {
            return inner.poll(query.strip_prefix("agent=").unwrap(), now);
        }
        let mut ids: Vec<u32> = serde_json::from_value(body["ids"].clone()).unwrap_or_default();
        let results = body["results"].as_array().cloned().unwrap_or_default();
        let id_of = |result: &Value| u32::try_from(result["id"].as_u64().unwrap()).unwrap();
        ids.extend(results.iter().map(id_of));
        let word = |id: u32| results.iter().find(|result| id_of(result) == id);
        let mut delivered = Vec::new();
        let answers: Vec<Value> = ids
            .into_iter()
            .map(|id| {
                let Some(command) = inner.commands.get_mut(&id) else { return json!({ "id": id, "status": false }) };
                let status = match (call, command.state) {
                    ("executed", before) => {
                        let is_done = word(id).is_none_or(|result| result["state"] == "done");
                        let output = word(id).and_then(|result| result["output"].as_str()).unwrap_or_default();
                        assert!(output.len() <= 1_024);
                        if before != State::Done {
                            output.clone_into(&mut command.output);
                            let is_refused = word(id).is_some_and(|result| result["refused"] == true);
                            command.state = match (is_refused, is_done) {
                                (true, _) => State::Refused,
                                (false, true) => State::Done,
                                (false, false) => State::Unknown,
                            };
                        }
                        true
                    }
                    ("delivered", State::Served | State::Validated) => {
                        command.state = if command.is_refunded { State::Recalled } else { State::Kept };
                        delivered.push(id);
                        true
                    }
                    ("validated", State::Served | State::Kept | State::Validated) => {
                        let may = !command.is_refunded;
                        command.state = if may { State::Validated } else { State::Recalled };
                        may
                    }
                    (call, _) => call == "delivered",
                };
                json!({ if call == "validated" { "cmd_id" } else { "id" }: id, "status": status, "error": "" })
            })
            .collect();
        drop(inner);
        for id in delivered {
            (self.on_delivered)(id);
        }
        (200, "", json!({ "status": true, "results": answers, "error": "" }))
    }
}

impl Inner {
    fn poll(&mut self, agent: &str, now: u64) -> (u16, &'static str, Value) {
        assert!(agent.len() == 16 && agent.bytes().all(|byte| byte.is_ascii_hexdigit()), "{agent}");
        if self.agent.get_or_insert_with(|| agent.to_owned()) != agent {
            return (409, "", json!({ "message": "Another agent polls for this server." }));
        }
        let is_due = |command: &&mut Stored| {
            let again = command.state == State::Served && command.served_at + 60 <= now;
            (command.state == State::Ready || again) && !command.is_refunded
        };
        let due = self.commands.values_mut().filter(is_due).take(90);
        let rows = due.map(|command| {
            (command.state, command.served_at) = (State::Served, now);
            command.row.clone()
        });
        (200, "", Value::Array(rows.collect()))
    }
}
