//! The WebSocket RCON of Rust: JSON messages, of which those with the identifier of a command are its response. The server also
//! sends its log, and it does not respond to a command without a result. So a second command, which always has one, follows each
//! command: the server runs them in their order.

use crate::source::Malformed;
use crate::{LONGEST_RESPONSE, RconError};
use futures_util::{SinkExt as _, StreamExt as _};
use serde::{Deserialize, Serialize};
use std::io;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

/// The command that follows.
const MARKER: &str = "version";

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Request<'a> {
    identifier: i32,
    message: &'a str,
    name: &'static str,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Response {
    identifier: i32,
    #[serde(default)]
    message: String,
}

#[derive(Debug)]
pub(crate) struct Connection {
    requests: mpsc::Sender<Message>,
    responses: mpsc::Receiver<Response>,
    /// The task that reads and writes: the server's log must be read also while no command runs.
    task: AbortHandle,
    last: i32,
}

impl Connection {
    pub(crate) async fn open(address: &str, password: &str) -> Result<Self, RconError> {
        let password: String = password.bytes().map(escaped).collect();
        let opened = connect_async(format!("ws://{address}/{password}")).await;
        let (socket, _) = opened.map_err(|error| match error {
            tungstenite::Error::Http(_) => RconError::Password,
            tungstenite::Error::Io(error) => RconError::Connect(error),
            error => RconError::Connect(io::Error::other(error)),
        })?;
        let (requests, to_send) = mpsc::channel(2);
        let (received, responses) = mpsc::channel(16);
        let task = tokio::spawn(talk(socket, to_send, received)).abort_handle();
        let mut connection = Self { requests, responses, task, last: 0 };
        // With a wrong password the server closes the connection.
        match connection.run(MARKER).await {
            Err(RconError::Broken(_)) => Err(RconError::Password),
            Err(error) => Err(error),
            Ok(_) => Ok(connection),
        }
    }

    pub(crate) async fn run(&mut self, command: &str) -> Result<String, RconError> {
        let (id, marker) = (self.last + 1, self.last + 2);
        // Identifiers that are not positive are the server's own.
        self.last = if marker > i32::MAX - 4 { 0 } else { marker };
        self.send(id, command).await?;
        self.send(marker, MARKER).await?;
        let mut text = String::new();
        loop {
            let response = self.responses.recv().await.ok_or_else(closed)?;
            if response.identifier == marker {
                return Ok(text);
            }
            if response.identifier != id {
                continue;
            }
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&response.message);
            if text.len() > LONGEST_RESPONSE {
                return Err(Malformed::TooLong.into());
            }
        }
    }

    async fn send(&mut self, identifier: i32, message: &str) -> Result<(), RconError> {
        let request = serde_json::to_string(&Request { identifier, message, name: "WebRcon" });
        let request = request.map_err(|error| RconError::Refused(error.to_string()))?;
        self.requests.send(Message::text(request)).await.map_err(|_| closed())
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.requests.is_closed()
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Sends requests, and passes on the messages that respond to one; ends with the connection.
async fn talk(mut socket: Socket, mut requests: mpsc::Receiver<Message>, responses: mpsc::Sender<Response>) {
    loop {
        tokio::select! {
            request = requests.recv() => {
                let Some(request) = request else { return };
                if socket.send(request).await.is_err() {
                    return;
                }
            }
            message = socket.next() => {
                let Some(Ok(message)) = message else { return };
                let response: Option<Response> = message.to_text().ok().and_then(|text| serde_json::from_str(text).ok());
                let Some(response) = response.filter(|response| response.identifier > 0) else { continue };
                if responses.send(response).await.is_err() {
                    return;
                }
            }
        }
    }
}

fn closed() -> RconError {
    RconError::Broken(io::ErrorKind::UnexpectedEof.into())
}

/// A byte as it may be in the path of a URL.
fn escaped(byte: u8) -> String {
    if byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@".contains(&byte) {
        char::from(byte).into()
    } else {
        format!("%{byte:02X}")
    }
}
