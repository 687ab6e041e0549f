//! A proxy in front of the database or of another service, in which connections break, exchanges fail on the wire, and
//! the other side goes away.

use crate::wire::{Gate, Message, Spoilt, WireFault};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

/// A request that reached the proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchange {
    /// Its place among the requests since the last [`Proxy::start_over`], from 0.
    pub place: usize,
    /// DynamoDB's operation, or the method and path of another request.
    pub operation: String,
    pub fault: Option<WireFault>,
    /// Whether the server refuses it because of the time or the credentials that it is signed with.
    pub is_refused: bool,
}

type Rule = Box<dyn FnMut(&Exchange) -> Option<WireFault> + Send>;

/// The proxy. It ends with its runtime.
#[derive(Debug, Clone)]
pub struct Proxy {
    address: SocketAddr,
    state: Arc<State>,
    listener: Arc<Mutex<Option<JoinHandle<()>>>>,
}

#[derive(Default)]
struct State {
    /// How often all connections have been broken. A connection from before the last time forwards nothing.
    deaths: AtomicUsize,
    rule: Mutex<Option<Rule>>,
    seen: Mutex<Vec<Exchange>>,
    gate: Mutex<Gate>,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State").field("seen", &self.seen).finish_non_exhaustive()
    }
}

impl Proxy {
    /// A proxy in front of the server at this URL.
    pub async fn start(server: &str) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let address = listener.local_addr().expect("a bound port");
        let server: SocketAddr = server.trim_start_matches("http://").parse().expect("the server's address");
        let state = Arc::<State>::default();
        let task = tokio::spawn(accept(listener, server, Arc::clone(&state)));
        let proxy = Self { address, state, listener: Arc::new(Mutex::new(Some(task))) };
        proxy.state.gate.lock().expect("no test panics here").server = Some(server);
        proxy
    }

    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Every open connection stays open and forwards nothing from now on, as after a freeze; new ones work.
    pub fn kill_connections(&self) {
        self.state.deaths.fetch_add(1, Ordering::SeqCst);
    }

    /// The next `count` writes are done, and the connection breaks before their response.
    pub fn lose_responses_to_writes(&self, mut count: usize) {
        self.inject(move |exchange| {
            let is_lost = exchange.operation == "UpdateItem" && count > 0;
            count -= usize::from(is_lost);
            is_lost.then_some(WireFault::Lost)
        });
    }

    /// From now on `rule` returns the fault of a request, if it has one.
    pub fn inject(&self, rule: impl FnMut(&Exchange) -> Option<WireFault> + Send + 'static) {
        *self.state.rule.lock().expect("no rule panics") = Some(Box::new(rule));
    }

    /// From now on no exchange fails.
    pub fn clear(&self) {
        *self.state.rule.lock().expect("no rule panics") = None;
    }

    /// Forgets the requests so far, and counts from 0 again.
    pub fn start_over(&self) {
        self.state.seen.lock().expect("no test panics here").clear();
    }

    /// The requests since the last [`Self::start_over`]. A retry is listed again.
    pub fn seen(&self) -> Vec<Exchange> {
        self.state.seen.lock().expect("no test panics here").clone()
    }

    /// Sets the server's clock this many seconds ahead, or behind if negative. Like DynamoDB, the server then refuses
    /// signatures that are more than five minutes off, and says what time it is.
    pub fn set_clock(&self, ahead: i64) {
        self.state.gate.lock().expect("no test panics here").ahead = Some(ahead);
    }

    /// From now on the server accepts the credentials with this key id only; all others have expired.
    pub fn accept_only(&self, key_id: &str) {
        self.state.gate.lock().expect("no test panics here").accepted = Some(key_id.to_owned());
    }

    /// The server's address is gone: connections break, and no new one opens. Returns the port, which nothing else gets meanwhile.
    pub async fn go_away(&self) -> TcpSocket {
        let task = self.listener.lock().expect("no test panics here").take();
        if let Some(task) = task {
            task.abort();
            _ = task.await;
        }
        let port = TcpSocket::new_v4().expect("a socket");
        port.set_reuseaddr(true).expect("a socket that is not bound");
        port.bind(self.address).expect("the port that was free");
        port
    }

    /// The address is there again, with another server behind it.
    pub fn come_back(&self, port: TcpSocket) {
        let server = self.state.gate.lock().expect("no test panics here").server.expect("a proxy that was started");
        let listener = port.listen(1_024).expect("a port that is bound");
        let task = tokio::spawn(accept(listener, server, Arc::clone(&self.state)));
        *self.listener.lock().expect("no test panics here") = Some(task);
    }
}

/// Accepts connections. They end with this task.
async fn accept(listener: TcpListener, server: SocketAddr, state: Arc<State>) {
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        connections.spawn(connect(client, server, Arc::clone(&state)));
        while connections.try_join_next().is_some() {}
    }
}

/// Passes requests on, one after another, until one side closes the connection or a fault ends it.
async fn connect(mut client: TcpStream, server: SocketAddr, state: Arc<State>) {
    let born = state.deaths.load(Ordering::SeqCst);
    let is_dead = || state.deaths.load(Ordering::SeqCst) != born;
    _ = client.set_nodelay(true);
    let mut behind = None;
    while let Some(request) = Message::read(&mut client).await {
        if is_dead() {
            return std::future::pending().await;
        }
        let refusal = state.gate().refusal(&request);
        let fault = state.fault(&request, refusal.is_some());
        let Some(response) = respond(&request, fault, refusal, server, &mut behind).await else {
            match fault {
                Some(fault) if fault.is_silent() => return std::future::pending().await,
                _ => return,
            }
        };
        let response = state.gate().dated(response);
        if let Some(WireFault::Late(time)) = fault {
            tokio::time::sleep(time).await;
        }
        let Spoilt { bytes, ends, is_silent } = response.spoilt(fault);
        if is_dead() {
            return std::future::pending().await;
        }
        if client.write_all(&bytes).await.is_err() {
            return;
        }
        match (is_silent, ends) {
            (true, _) => return std::future::pending().await,
            (_, true) => return,
            _ => {}
        }
    }
}

/// The response, as the server sends it; `None` if the request does not reach it.
async fn respond(
    request: &Message,
    fault: Option<WireFault>,
    refusal: Option<Message>,
    server: SocketAddr,
    behind: &mut Option<TcpStream>,
) -> Option<Message> {
    match fault {
        Some(WireFault::Reset | WireFault::Swallowed) => return None,
        Some(WireFault::Refused(status, code)) => return Some(Message::error(status, code, request)),
        _ => {}
    }
    if refusal.is_some() {
        return refusal;
    }
    if behind.is_none() {
        let stream = TcpStream::connect(server).await.ok()?;
        _ = stream.set_nodelay(true);
        *behind = Some(stream);
    }
    let stream = behind.as_mut()?;
    stream.write_all(&request.bytes()).await.ok()?;
    let response = Message::read(stream).await?;
    if response.ends_connection() {
        *behind = None;
    }
    Some(response)
}

impl State {
    fn fault(&self, request: &Message, is_refused: bool) -> Option<WireFault> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let mut exchange = Exchange { place: seen.len(), operation: request.operation(), fault: None, is_refused };
        let mut rule = self.rule.lock().unwrap_or_else(PoisonError::into_inner);
        exchange.fault =
            rule.as_mut().and_then(|rule| rule(&exchange)).filter(|fault| fault.can_meet(&exchange.operation));
        let fault = exchange.fault;
        seen.push(exchange);
        fault
    }

    fn gate(&self) -> Gate {
        self.gate.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
