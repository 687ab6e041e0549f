//! A server with prepared responses.

use serde_json::Value;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

#[derive(Debug, Clone, Copy)]
pub enum Reply {
    /// Responds with a status and a body.
    Body(u16, &'static str),
    /// Closes the connection in the middle of the response.
    Truncated,
    /// Closes the connection without a response.
    Close,
    /// Never responds.
    Hang,
}

/// A server. It ends with the runtime it runs on.
pub struct Server {
    pub endpoint: String,
    /// The operation and the body of every request.
    requests: Arc<Mutex<Vec<(String, Value)>>>,
}

impl Server {
    /// A server that replies to one request after the other; the last reply is repeated.
    pub async fn start(script: &'static [Reply]) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::<Mutex<Vec<_>>>::default();
        let seen = Arc::clone(&requests);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, script, Arc::clone(&seen)));
            }
        });
        Self { endpoint, requests }
    }

    /// The address of a port that refuses connections as long as the socket is there: it is bound, so that no other server gets
    /// it, and does not listen.
    pub fn refusing() -> (String, TcpSocket) {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        (format!("http://{}", socket.local_addr().unwrap()), socket)
    }

    /// The requests without their idempotency tokens, and the tokens.
    pub fn requests(&self) -> (Vec<(String, Value)>, Vec<String>) {
        let mut requests = self.requests.lock().unwrap().clone();
        let token = |(_, body): &mut (String, Value)| body.as_object_mut().unwrap().remove("ClientRequestToken");
        let tokens = requests.iter_mut().filter_map(token).map(|token| token.as_str().unwrap().to_owned()).collect();
        (requests, tokens)
    }
}

async fn serve(mut stream: TcpStream, script: &'static [Reply], requests: Arc<Mutex<Vec<(String, Value)>>>) {
    while let Some(request) = read_request(&mut stream).await {
        let reply = {
            let mut requests = requests.lock().unwrap();
            requests.push(request);
            script[(requests.len() - 1).min(script.len() - 1)]
        };
        let response = match reply {
            Reply::Body(status, body) => response(status, body, body.len()),
            Reply::Truncated => response(200, "{", 2),
            Reply::Close => return,
            Reply::Hang => std::future::pending().await,
        };
        stream.write_all(response.as_bytes()).await.unwrap();
        if matches!(reply, Reply::Truncated) {
            return;
        }
    }
}

fn response(status: u16, body: &str, length: usize) -> String {
    let head = format!("HTTP/1.1 {status} -\r\ncontent-type: application/x-amz-json-1.0\r\n");
    format!("{head}x-amzn-requestid: REQUEST\r\ncontent-length: {length}\r\n\r\n{body}")
}

/// The operation and the body of the next request; `None` if the client is gone.
async fn read_request(stream: &mut TcpStream) -> Option<(String, Value)> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
    let header = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)).unwrap().to_owned();
    let mut body = vec![0; header("content-length: ").parse().unwrap()];
    stream.read_exact(&mut body).await.ok()?;
    Some((header("x-amz-target: "), serde_json::from_slice(&body).unwrap()))
}
