//! A receiver of notices on loopback. The path of an address says how it answers.

use serde_json::Value;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// A request that arrived whole.
#[derive(Debug, Clone)]
pub struct Arrived {
    pub path: String,
    /// The header lines, names in lower case.
    pub head: String,
    pub body: String,
}

impl Arrived {
    pub fn header(&self, name: &str) -> &str {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.filter(|(found, _)| *found == name).map(|(_, value)| value).next().unwrap_or_default()
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).expect("a body in JSON")
    }
}

/// How a request is answered: a status, more header lines, and a body.
pub type Reply = (u16, &'static str, String);

type Rule = Arc<dyn Fn(&Arrived, usize) -> Option<Reply> + Send + Sync>;

#[derive(Debug, Clone)]
pub struct Receiver {
    /// Its address, without a slash at the end.
    pub url: String,
    arrived: Arc<Mutex<Vec<Arrived>>>,
}

impl Receiver {
    /// A receiver that answers by `rule`, which is told how many requests have arrived before; it never answers with `None`.
    pub async fn start(rule: impl Fn(&Arrived, usize) -> Option<Reply> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let (arrived, rule): (Arc<Mutex<Vec<Arrived>>>, Rule) = (Arc::default(), Arc::new(rule));
        let seen = Arc::clone(&arrived);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&seen), Arc::clone(&rule)));
            }
        });
        Self { url, arrived }
    }

    pub fn arrived(&self) -> Vec<Arrived> {
        self.arrived.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What has arrived at a path.
    pub fn at(&self, path: &str) -> Vec<Arrived> {
        self.arrived().into_iter().filter(|one| one.path.starts_with(path)).collect()
    }
}

async fn serve(mut stream: TcpStream, seen: Arc<Mutex<Vec<Arrived>>>, rule: Rule) -> Option<()> {
    let mut bytes = Vec::new();
    let arrived = loop {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let path = head.split(' ').nth(1)?.to_owned();
        let arrived = Arrived { path, head: head.replace("\r\n", "\n"), body: body.to_owned() };
        if arrived.header("content-length").parse() == Ok(body.len()) {
            break arrived;
        }
    };
    let reply = {
        let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        let reply = rule(&arrived, seen.len());
        seen.push(arrived);
        reply
    };
    let Some((status, headers, body)) = reply else { return std::future::pending().await };
    // A rule may lie about the length.
    let length =
        if headers.contains("content-length") { String::new() } else { format!("content-length: {}\r\n", body.len()) };
    let head = format!("HTTP/1.1 {status} X\r\n{length}{headers}\r\n");
    stream.write_all(head.as_bytes()).await.ok()?;
    // The client may have had enough of it.
    stream.write_all(body.as_bytes()).await.ok()
}
