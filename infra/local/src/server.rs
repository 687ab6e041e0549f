//! Listeners: they accept HTTP/1.1 connections.

use crate::options::StartError;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::error::Error;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::TcpListener;

/// How long a client may take to send the head of a request.
const HEAD: Duration = Duration::from_secs(10);
/// How long open requests may take to finish after Ctrl-C.
const GRACE: Duration = Duration::from_secs(5);

/// Listens on 127.0.0.1. `option` is the command line's option for the port.
pub async fn listen(port: u16, option: &'static str) -> Result<TcpListener, StartError> {
    TcpListener::bind(("127.0.0.1", port)).await.map_err(|source| match source.kind() {
        ErrorKind::AddrInUse => StartError::PortTaken { port, option },
        _ => StartError::Listen { port, source },
    })
}

/// The URL at which a listener is reached.
pub fn url_of(listener: &TcpListener) -> Result<String, StartError> {
    let address = listener.local_addr().map_err(|source| StartError::Listen { port: 0, source })?;
    Ok(format!("http://{address}"))
}

/// Responds to each request with `respond` until the runtime ends. An error ends the request's connection.
pub async fn serve_each<F, E>(
    listener: TcpListener,
    respond: impl Fn(Request<Incoming>, SocketAddr) -> F + Clone + Send + 'static,
) where
    F: Future<Output = Result<Response<Full<Bytes>>, E>> + Send + 'static,
    E: Into<Box<dyn Error + Send + Sync>> + 'static,
{
    serve(listener, respond, std::future::pending()).await;
}

/// As [`serve_each`] until `stop` resolves, then waits for open requests.
pub async fn serve<F, E>(
    listener: TcpListener,
    respond: impl Fn(Request<Incoming>, SocketAddr) -> F + Clone + Send + 'static,
    stop: impl Future<Output = ()>,
) where
    F: Future<Output = Result<Response<Full<Bytes>>, E>> + Send + 'static,
    E: Into<Box<dyn Error + Send + Sync>> + 'static,
{
    let connections = hyper_util::server::graceful::GracefulShutdown::new();
    tokio::pin!(stop);
    loop {
        let accepted = tokio::select! {
            () = &mut stop => break,
            accepted = listener.accept() => accepted,
        };
        // Out of file descriptors, or the caller has gone: the next connection may succeed.
        let Ok((stream, peer)) = accepted else {
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        let respond = respond.clone();
        let service = service_fn(move |request| respond(request, peer));
        let mut builder = http1::Builder::new();
        builder.timer(TokioTimer::new()).header_read_timeout(HEAD);
        let connection = connections.watch(builder.serve_connection(TokioIo::new(stream), service));
        // A broken connection concerns only its client.
        tokio::spawn(async move { _ = connection.await });
    }
    _ = tokio::time::timeout(GRACE, connections.shutdown()).await;
}
