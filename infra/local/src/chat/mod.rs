//! A stand-in for the chat platform, so that the chat login can be tried without an account anywhere: an authorize page
//! with a few sample accounts, a token endpoint and a user endpoint, on a loopback port of their own. It checks what a
//! platform checks: client, secret, redirect URL, PKCE, and that a code is used once. No function knows of it.

mod form;
mod pages;
mod platform;

pub use platform::{CLIENT_SECRET, ChatPlatform, Client};

use crate::error::StartError;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use shared::model::{ChatLogin, StoreConfig};
use shared::store::published::read_active_version;
use shared::store::{Db, StoreError, codec, keys};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;

/// The largest body of a request, in bytes.
const LARGEST_BODY: usize = 64 * 1024;

/// The content of `CHAT_SECRET` for the stand-in.
#[must_use]
pub fn secret() -> String {
    serde_json::json!({ "client_secret": CLIENT_SECRET }).to_string()
}

/// The URL at which a listener is reached.
///
/// # Errors
/// [`StartError::Listen`] if the listener has no address.
pub fn url_of(listener: &TcpListener) -> Result<String, StartError> {
    let address = listener.local_addr().map_err(|source| StartError::Listen { port: 0, source })?;
    Ok(format!("http://{address}"))
}

/// Points the endpoints of a client to the stand-in at `url`.
pub fn point_endpoints(chat: &mut ChatLogin, url: &str) {
    chat.authorize_url = format!("{url}/authorize");
    chat.token_url = format!("{url}/token");
    chat.user_url = format!("{url}/user");
}

/// Changes the configuration of the published store in the table, until the next publish. Returns the configuration, or
/// `None` if nothing is published.
///
/// # Errors
/// [`StartError::Publish`] if the database refuses.
pub async fn configure(db: &Db, change: impl FnOnce(&mut StoreConfig)) -> Result<Option<StoreConfig>, StartError> {
    let failed = |error| StartError::Publish(publish::PublishError::Store(error));
    let Some(mut active) = read_active_version(db).await.map_err(failed)? else { return Ok(None) };
    change(&mut active.config);
    let row = codec::encode_live(&keys::active_version(), &active).map_err(failed)?;
    let put = db.client().put_item().table_name(db.table()).set_item(Some(row));
    Box::pin(put.send()).await.map_err(|error| failed(StoreError::from_sdk("PutItem", error)))?;
    Ok(Some(active.config))
}

/// Serves a stand-in until the runtime ends.
pub async fn serve(listener: TcpListener, platform: ChatPlatform) {
    let platform = Arc::new(platform);
    loop {
        // Out of file descriptors, or the caller has gone: the next connection may succeed.
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        let platform = Arc::clone(&platform);
        let service = service_fn(move |request: http::Request<Incoming>| {
            let platform = Arc::clone(&platform);
            async move {
                let (head, body) = request.into_parts();
                let body = Limited::new(body, LARGEST_BODY).collect().await;
                let body = body.map(http_body_util::Collected::to_bytes).unwrap_or_default();
                Ok::<_, Infallible>(platform.respond(&head, &body).map(|text| Full::new(Bytes::from(text))))
            }
        });
        tokio::spawn(async move { _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await });
    }
}
