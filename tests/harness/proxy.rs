//! A proxy in front of the database, whose connections break silently or lose a response.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};

/// The part of a request's head that identifies a write.
const WRITE: &[u8] = b"DynamoDB_20120810.UpdateItem";

/// The proxy. It ends with its runtime.
#[derive(Debug, Clone)]
pub struct Proxy {
    address: SocketAddr,
    state: Arc<State>,
}

#[derive(Debug, Default)]
struct State {
    /// How often all connections have been broken. A connection from before the last time forwards nothing.
    deaths: AtomicUsize,
    /// The number of responses to writes that are still to be lost.
    losses: AtomicUsize,
}

impl Proxy {
    pub(crate) async fn start(database: &str) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let address = listener.local_addr().expect("a bound port");
        let database: SocketAddr = database.trim_start_matches("http://").parse().expect("the engine's address");
        let state = Arc::<State>::default();
        let shared = Arc::clone(&state);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(connect(client, database, Arc::clone(&shared)));
            }
        });
        Self { address, state }
    }

    /// The proxy's URL.
    #[must_use]
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Every open connection stays open and forwards nothing from now on, as after a freeze; new ones work.
    pub fn kill_connections(&self) {
        self.state.deaths.fetch_add(1, Ordering::SeqCst);
    }

    /// The next `count` writes are done, and the connection breaks before their response.
    pub fn lose_responses_to_writes(&self, count: usize) {
        self.state.losses.store(count, Ordering::SeqCst);
    }
}

async fn connect(client: TcpStream, database: SocketAddr, state: Arc<State>) {
    let Ok(server) = TcpStream::connect(database).await else { return };
    let ((from_client, to_client), (from_server, to_server)) = (client.into_split(), server.into_split());
    let (born, loses) = (state.deaths.load(Ordering::SeqCst), AtomicBool::new(false));
    let is_dead = || state.deaths.load(Ordering::SeqCst) != born;
    let requests = forward(from_client, to_server, |bytes| {
        if bytes.windows(WRITE.len()).any(|window| window == WRITE) {
            let left = state.losses.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
            loses.store(left.is_ok(), Ordering::SeqCst);
        }
        Some(!is_dead())
    });
    let responses = forward(from_server, to_client, |_| (!loses.load(Ordering::SeqCst)).then(|| !is_dead()));
    // The first direction that ends closes both.
    tokio::select! { () = requests => {}, () = responses => {} }
}

/// Forwards while `passes` returns true. Ends if it returns `None`, and stops forwarding after it first returns false.
async fn forward(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, passes: impl Fn(&[u8]) -> Option<bool>) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        match passes(&buffer[..length]) {
            None => return,
            Some(false) => std::future::pending().await,
            Some(true) if to.write_all(&buffer[..length]).await.is_err() => return,
            Some(true) => {}
        }
    }
}
