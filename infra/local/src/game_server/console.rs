//! The process of the game servers: it listens for the console's page, which only pages of the demo may use.

use super::live::{Action, GameServer};
use super::with_agent::WithAgent;
use super::{Server, Settings};
use crate::server::{listen, serve_each, url_of};
use bytes::Bytes;
use futures_util::future::try_join_all;
use http::header::{ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL, CONTENT_TYPE, ORIGIN};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use serde::Deserialize;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::io::{BufRead as _, Write as _, stdin, stdout};
use std::process::ExitCode;
use std::sync::Arc;

/// The largest body of a request, in bytes.
const LARGEST_REQUEST: usize = 4_096;

/// An action on one of the servers.
#[derive(Debug, Deserialize)]
struct Act {
    server: u64,
    act: Action,
}

enum Running {
    Plugin(Arc<GameServer>),
    Agent(WithAgent),
}

impl Running {
    async fn start(api: &str, server: Server) -> Result<Self, String> {
        if let Some(folder) = server.agent.clone() {
            return WithAgent::start(api, server, &folder).await.map(Self::Agent);
        }
        let server = GameServer::new(api, server);
        server.start();
        Ok(Self::Plugin(server))
    }

    fn id(&self) -> u64 {
        match self {
            Self::Plugin(server) => server.id(),
            Self::Agent(server) => server.id(),
        }
    }

    fn shown(&self) -> Value {
        match self {
            Self::Plugin(server) => json!(server.shown()),
            Self::Agent(server) => server.shown(),
        }
    }

    fn act(&self, action: Action) {
        match self {
            Self::Plugin(server) => server.act(action),
            Self::Agent(server) => server.act(action),
        }
    }
}

/// Runs game servers until standard input ends.
pub async fn run() -> ExitCode {
    match serve().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            _ = writeln!(std::io::stderr(), "error: the game servers: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn serve() -> Result<(), String> {
    let mut line = String::new();
    stdin().lock().read_line(&mut line).map_err(|error| error.to_string())?;
    let Settings { api, page, servers } = serde_json::from_str(&line).map_err(|error| error.to_string())?;
    let page = HeaderValue::from_str(&page).map_err(|error| error.to_string())?;
    let listener = listen(0, "").await.map_err(|error| error.to_string())?;
    let url = url_of(&listener).map_err(|error| error.to_string())?;
    // Whoever started this may have gone.
    _ = writeln!(stdout(), "{url}").and_then(|()| stdout().flush());
    let starts = servers.into_iter().map(|server| Running::start(&api, server));
    let servers: Arc<[Running]> = try_join_all(starts).await?.into();
    // A thread, because nothing can be read from standard input and given up.
    std::thread::spawn(|| {
        _ = std::io::copy(&mut stdin().lock(), &mut std::io::sink());
        std::process::exit(0);
    });
    let respond = move |request, _| {
        let (servers, page) = (Arc::clone(&servers), page.clone());
        async move { Ok::<_, Infallible>(respond(&servers, &page, request).await) }
    };
    serve_each(listener, respond).await;
    Ok(())
}

async fn respond(servers: &[Running], page: &HeaderValue, request: Request<Incoming>) -> Response<Full<Bytes>> {
    let (head, body) = request.into_parts();
    // Any page can send a request here; only the console's has this origin.
    if head.headers.get(ORIGIN) != Some(page) {
        return reply(page, StatusCode::FORBIDDEN, String::new());
    }
    if head.method == Method::POST {
        let Ok(body) = Limited::new(body, LARGEST_REQUEST).collect().await else {
            return reply(page, StatusCode::PAYLOAD_TOO_LARGE, String::new());
        };
        let act: Result<Act, _> = serde_json::from_slice(&body.to_bytes());
        let Some((server, action)) = act
            .ok()
            .and_then(|act| servers.iter().find(|server| server.id() == act.server).map(|server| (server, act.act)))
        else {
            return reply(page, StatusCode::BAD_REQUEST, String::new());
        };
        server.act(action);
    }
    let shown: Vec<Value> = servers.iter().map(Running::shown).collect();
    reply(page, StatusCode::OK, json!({ "servers": shown }).to_string())
}

fn reply(page: &HeaderValue, status: StatusCode, text: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (ACCESS_CONTROL_ALLOW_ORIGIN, page.clone()),
    ];
    response.headers_mut().extend(headers.map(|(name, value)| (Some(name), value)));
    response
}
