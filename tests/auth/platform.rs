//! A chat platform whose responses are prepared.

use http::{HeaderMap, Method, Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use local::gateway::serve_each;
use shared::model::ChatLogin;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::TcpListener;

/// The behaviour of an endpoint.
#[derive(Debug, Clone, Copy)]
pub enum Script {
    /// Responds with a status and a body.
    Reply(u16, &'static str),
    /// Responds with a megabyte.
    Large,
    /// Closes the connection.
    Close,
    /// Never responds.
    Hang,
    /// Waits before it responds with status 200 and a body.
    After(Duration, &'static str),
}

/// A request as it was received.
#[derive(Debug, Clone)]
pub struct Seen {
    pub method: Method,
    pub path: String,
    pub headers: HeaderMap,
    pub body: String,
}

/// A running platform. It ends with its runtime.
pub struct Platform {
    url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Platform {
    /// Starts a platform; the first script is the token endpoint's, the second the user endpoint's.
    pub async fn start(token: Script, user: Script) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&seen);
        tokio::spawn(serve_each(listener, move |request, _| {
            let log = Arc::clone(&log);
            async move { play(&log, request, token, user).await }
        }));
        Self { url, seen }
    }

    /// Lets a client use this platform.
    pub fn serve(&self, chat: &mut ChatLogin) {
        chat.token_url = format!("{}/token", self.url);
        chat.user_url = format!("{}/user", self.url);
    }

    /// The requests, in their order.
    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
}

async fn play(
    log: &Mutex<Vec<Seen>>,
    request: Request<Incoming>,
    token: Script,
    user: Script,
) -> io::Result<Response<Full<Bytes>>> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
    let path = head.uri.path().to_owned();
    let script = if path == "/token" { token } else { user };
    let body = String::from_utf8(body.to_vec()).unwrap();
    log.lock().unwrap().push(Seen { method: head.method, path, headers: head.headers, body });
    let (status, body) = match script {
        Script::Reply(status, body) => (status, Bytes::from(body)),
        Script::Large => (200, Bytes::from(vec![b' '; 1024 * 1024])),
        Script::Close => return Err(io::Error::other("closed")),
        Script::After(time, body) => {
            tokio::time::sleep(time).await;
            (200, Bytes::from(body))
        }
        Script::Hang => std::future::pending().await,
    };
    Ok(Response::builder().status(status).header("content-type", "application/json").body(Full::new(body)).unwrap())
}
