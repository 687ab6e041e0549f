//! A stand-in for the chat platform, so that the chat login can be tried without an account anywhere: an authorize page
//! with a few sample accounts, a token endpoint and a user endpoint, on a loopback port of their own. It checks what a
//! platform checks: client, secret, redirect URL, PKCE, and that a code is used once. No function knows of it.

mod platform;

pub use platform::{CLIENT_SECRET, ChatPlatform, Client};

use crate::server::serve_each;
use http::Request;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Bytes, Incoming};
use std::convert::Infallible;
use std::sync::Arc;
use tokio::net::TcpListener;

/// The largest body of a request, in bytes.
const LARGEST_BODY: usize = 64 * 1024;

/// The content of `CHAT_SECRET` for the stand-in.
pub fn secret() -> String {
    serde_json::json!({ "client_secret": CLIENT_SECRET }).to_string()
}

/// Serves a stand-in until the runtime ends.
pub async fn serve(listener: TcpListener, platform: ChatPlatform) {
    let platform = Arc::new(platform);
    let respond = move |request: Request<Incoming>, _| {
        let platform = Arc::clone(&platform);
        async move {
            let (head, body) = request.into_parts();
            let body = Limited::new(body, LARGEST_BODY).collect().await;
            let body = body.map(http_body_util::Collected::to_bytes).unwrap_or_default();
            Ok::<_, Infallible>(platform.respond(&head, &body).map(|text| Full::new(Bytes::from(text))))
        }
    };
    serve_each(listener, respond).await;
}
