//! Servers that the stand-in is not: Source, which mirrors the marker, and Rust with its WebSocket.

#![expect(clippy::unwrap_used, reason = "a test that cannot continue has failed")]

use futures_util::{SinkExt as _, StreamExt as _};
use rcon::{Connection, Packet, Protocol, RconError, decode};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{Request, Response};

const LIMIT: Duration = Duration::from_secs(2);

async fn listen() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    (listener, address)
}

/// Source: a login has two responses, a long response several packets, and an empty response of ours comes back with another one.
async fn source(mut stream: TcpStream) {
    let mut received = Vec::new();
    loop {
        while let Some(Packet { id, kind, body }) = decode(&mut received).unwrap() {
            let text = String::from_utf8(body).unwrap();
            let packets = match kind {
                3 => vec![Packet::encode(id, 0, ""), Packet::encode(if text == "right" { id } else { -1 }, 2, "")],
                0 => vec![Packet::encode(id, 0, ""), Packet::encode(id, 0, "\u{0}\u{1}\u{0}\u{0}")],
                _ if text == "cvarlist" => {
                    (0..3).map(|part| Packet::encode(id, 0, &format!("{part}").repeat(4_050))).collect()
                }
                _ => vec![Packet::encode(id, 0, &text)],
            };
            stream.write_all(&packets.concat()).await.unwrap();
        }
        if stream.read_buf(&mut received).await.unwrap() == 0 {
            return;
        }
    }
}

#[tokio::test]
async fn sources_mirrored_marker_ends_a_response_and_does_not_reach_the_next_one() {
    let (listener, address) = listen().await;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(source(stream));
        }
    });
    let wrong = Connection::open(Protocol::Source, &address, "wrong", LIMIT).await;
    assert!(matches!(wrong, Err(RconError::Password)));
    let mut console = Connection::open(Protocol::Source, &address, "right", LIMIT).await.unwrap();
    for _ in 0..2 {
        let long = ["0", "1", "2"].map(|part| part.repeat(4_050)).concat();
        assert_eq!(console.run("cvarlist").await.unwrap(), long);
        assert_eq!(console.run("echo").await.unwrap(), "echo");
    }
}

/// Rust: the password is in the path, its log comes with other identifiers, and a command without a result has no response.
async fn rust(stream: TcpStream) {
    let mut path = String::new();
    #[expect(clippy::result_large_err, reason = "the library's signature")]
    let callback = |request: &Request, response: Response| {
        #[expect(clippy::disallowed_methods, reason = "the path is the password")]
        path.push_str(request.uri().path());
        Ok(response)
    };
    let mut socket = tokio_tungstenite::accept_hdr_async(stream, callback).await.unwrap();
    if path != "/right%20one" {
        return;
    }
    while let Some(Ok(message)) = socket.next().await {
        let Ok(request) = serde_json::from_str::<Value>(message.to_text().unwrap()) else { continue };
        let (id, command) = (&request["Identifier"], request["Message"].as_str().unwrap());
        let reply = |id: Value, text: &str| {
            let kind = if id == 0 { "Chat" } else { "Generic" };
            Message::text(json!({ "Message": text, "Identifier": id, "Type": kind, "Stacktrace": "" }).to_string())
        };
        socket.send(reply(json!(0), "[CHAT] anything")).await.unwrap();
        match command {
            "say nothing" => {}
            "version" => socket.send(reply(id.clone(), "Protocol: 2600.260.1")).await.unwrap(),
            "two" => {
                socket.send(reply(id.clone(), "one")).await.unwrap();
                socket.send(reply(id.clone(), "two")).await.unwrap();
            }
            command => socket.send(reply(id.clone(), command)).await.unwrap(),
        }
    }
}

#[tokio::test]
async fn rusts_websocket_is_spoken_also_where_a_command_has_no_response() {
    let (listener, address) = listen().await;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(rust(stream));
        }
    });
    let wrong = Connection::open(Protocol::WebSocket, &address, "wrong", LIMIT).await;
    assert!(matches!(wrong, Err(RconError::Password)));
    let mut console = Connection::open(Protocol::WebSocket, &address, "right one", LIMIT).await.unwrap();
    for (command, response) in [("playerlist", "playerlist"), ("say nothing", ""), ("two", "one\ntwo"), ("x", "x")] {
        assert_eq!(console.run(command).await.unwrap(), response);
    }
    assert!(!console.is_closed());
}
