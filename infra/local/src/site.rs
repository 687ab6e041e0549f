//! The shop's address: what the edge does in a deployment. It serves the pages of the content function, the shop's static
//! files, the store's pictures and the API on one origin, and adds the demo's script to the pages. No deployment has that.

use crate::functions;
use crate::game_server::GameServers;
use crate::gateway::{Gateway, serve, serve_each};
use crate::options::repository;
use crate::ready::{Ready, Try};
use crate::reference::Reference;
use crate::store::Images;
use bytes::Bytes;
use http::header::{
    ALLOW, AUTHORIZATION, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, COOKIE, HOST, LOCATION, ORIGIN,
    X_CONTENT_TYPE_OPTIONS,
};
use http::uri::PathAndQuery;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use serde_json::json;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::net::TcpListener;

pub type Page = Response<Full<Bytes>>;

/// The path below which the shop's scripts call the API.
const API: &str = "/api/";
/// The demo's script, in front of the end of a page's head.
const DEMO: &str = "<script type=\"module\" src=\"/local/demo.js\"></script>\n</head>";
/// The path at which the console's page finds the game servers.
const GAME_SERVERS: &str = "/local/servers.json";
/// The largest body of an action at the console, in bytes.
const LARGEST_ACTION: usize = 4_096;
/// The policy of the console's page, which is the demo's own.
const CONSOLE_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; \
     form-action 'none'; frame-ancestors 'none'",
);

/// The shop's address: what a deployment has the edge for.
#[derive(Debug)]
pub struct Site {
    gateway: Arc<Gateway>,
    base_path: String,
    /// The name by which the API is called, as the edge calls it.
    host: HeaderValue,
    images: Arc<Images>,
    /// The static files of the shop, and those of the demo.
    assets: PathBuf,
    demo: PathBuf,
    /// The data that the demo adds to the shop's pages, as `/local/demo.json`.
    config: String,
    /// The game servers of the console; `None` with a database elsewhere.
    servers: Option<GameServers>,
    url: String,
}

impl Site {
    pub fn new(gateway: Arc<Gateway>, ready: &Ready, images: Arc<Images>, servers: Option<GameServers>) -> Self {
        let Try { coupon, gift, referral, refused, .. } = &ready.r#try;
        let (host, base_path) = url::Url::parse(&ready.base_url)
            .map(|url| (url.authority().to_owned(), url.path().to_owned()))
            .unwrap_or_default();
        Self {
            gateway,
            base_path: base_path.trim_end_matches('/').to_owned(),
            host: HeaderValue::try_from(host).unwrap_or(HeaderValue::from_static("127.0.0.1")),
            images,
            assets: repository().join("infra/shop/assets"),
            demo: repository().join("infra/local/demo"),
            config: json!({
                "console": servers.is_some(), "players": ready.players,
                "coupon": coupon, "gift": gift, "referral": referral, "refused": refused,
            })
            .to_string(),
            servers,
            url: ready.shop.clone(),
        }
    }

    /// Serves the shop until the runtime ends.
    pub async fn serve(self, listener: TcpListener) {
        let site = Arc::new(self);
        let respond = move |request, peer| {
            let site = Arc::clone(&site);
            async move { Ok::<_, Infallible>(site.respond(request, peer).await) }
        };
        serve_each(listener, respond).await;
    }

    /// Sends a browser on `localhost` to the address by which the API knows the shop: what it keeps there, such as the
    /// login, is kept for that address only, and a payment comes back to it.
    #[expect(clippy::disallowed_methods, reason = "the request line as the client sent it, before any gateway")]
    fn at_own_address(&self, request: &Request<Incoming>) -> Option<Page> {
        let host = request.headers().get(HOST)?.to_str().ok()?;
        if !host.starts_with("localhost") || request.uri().path().starts_with(API) {
            return None;
        }
        let target = request.uri().path_and_query().map_or("/", PathAndQuery::as_str);
        let target = HeaderValue::from_str(&format!("{}{target}", self.url)).ok()?;
        let mut page = text(StatusCode::TEMPORARY_REDIRECT, "The shop is at 127.0.0.1.");
        page.headers_mut().insert(LOCATION, target);
        Some(page)
    }

    /// The response to a request: as the edge does, from the API, the assets, the pictures, or the content function.
    #[expect(clippy::disallowed_methods, reason = "the request line as the client sent it, before any gateway")]
    async fn respond(&self, mut request: Request<Incoming>, peer: SocketAddr) -> Page {
        let path = request.uri().path().to_owned();
        if let Some(call) = path.strip_prefix(API) {
            request.headers_mut().insert(HOST, self.host.clone());
            return self.gateway.pass(request, &format!("{}/{call}", self.base_path), peer).await;
        }
        if let Some(page) = self.at_own_address(&request) {
            return page;
        }
        if let Some(image) = self.images.respond(request.method(), &path).await {
            return image;
        }
        if path == GAME_SERVERS {
            return self.game_servers(request).await;
        }
        if !is_read(request.method()) {
            return not_allowed();
        }
        match self.file(&path).await {
            Some(file) => file,
            None => with_demo(self.page(request, &path, peer).await).await,
        }
    }

    /// A static file; `None` for the path of a page. Every hash is right, so that an edited file is seen at once.
    async fn file(&self, path: &str) -> Option<Page> {
        let found = if let Some((_, name)) = path.strip_prefix("/assets/").and_then(|rest| rest.split_once('/')) {
            read(&self.assets, name).await
        } else if path == "/local/demo.json" {
            Some(file(self.config.clone().into(), "application/json"))
        } else if path == "/console" {
            self.console_page().await
        } else {
            read(&self.demo, path.strip_prefix("/local/")?).await
        };
        Some(found.unwrap_or_else(|| text(StatusCode::NOT_FOUND, "There is no such file.")))
    }

    async fn console_page(&self) -> Option<Page> {
        self.servers.as_ref()?;
        let html = tokio::fs::read_to_string(self.demo.join("console.html")).await.ok()?;
        let html = html.replace("{assets}", &format!("/assets/{}", shop::hash()));
        let mut page = file(html.into(), "text/html; charset=utf-8");
        page.headers_mut().insert(CONTENT_SECURITY_POLICY, CONSOLE_POLICY);
        Some(page)
    }

    /// The page of the content function, without what the edge does not forward.
    async fn page(&self, mut request: Request<Incoming>, path: &str, peer: SocketAddr) -> Page {
        let page = match path {
            "/" => "/index",
            // Which the gateway would refuse as JSON: no page has this path.
            _ if functions::decode_path(path).is_none() => "/not-found",
            _ => path,
        };
        let page = format!("{}/shop{page}", self.base_path);
        *request.method_mut() = Method::GET;
        *request.uri_mut() = path.parse().unwrap_or_default();
        for header in [COOKIE, AUTHORIZATION, ORIGIN] {
            request.headers_mut().remove(header);
        }
        request.headers_mut().insert(HOST, self.host.clone());
        self.gateway.pass(request, &page, peer).await
    }

    /// The game servers, after what a POST asks for.
    async fn game_servers(&self, request: Request<Incoming>) -> Page {
        let Some(servers) = &self.servers else {
            return text(StatusCode::NOT_FOUND, "There are no game servers.");
        };
        let (head, body) = request.into_parts();
        if head.method == Method::POST {
            // Any page can send a request here; only the console's has this origin.
            if head.headers.get(ORIGIN).is_none_or(|origin| origin != self.url.as_str()) {
                return text(StatusCode::FORBIDDEN, "Only the page at /console acts on the game servers.");
            }
            let Ok(body) = Limited::new(body, LARGEST_ACTION).collect().await else {
                return text(StatusCode::PAYLOAD_TOO_LARGE, "That is too large.");
            };
            if !servers.act(&body.to_bytes()) {
                return text(StatusCode::BAD_REQUEST, "There is no such server or action.");
            }
        }
        file(servers.shown().to_string().into(), "application/json")
    }
}

/// Adds the demo's script to a page: players to log in as, codes to try, the console.
async fn with_demo(page: Page) -> Page {
    let is_html = page.headers().get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"text/html"));
    if !is_html {
        return page;
    }
    let (head, body) = page.into_parts();
    let Ok(body) = body.collect().await;
    let html = String::from_utf8_lossy(&body.to_bytes()).replacen("</head>", DEMO, 1);
    Response::from_parts(head, Full::new(html.into()))
}

/// The page at the API's own address, which no deployment has: it says where to go.
fn landing(api: &str, demo: &str) -> Page {
    let html = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width\"><title>Storefront API</title>\n<style>:root {{ color-scheme: light dark }} body \
         {{ font: 1.05rem/1.6 system-ui, sans-serif; margin: 4rem auto; max-width: 34rem; padding: 0 1rem }}</style>\
         </head>\n<body>\n<h1>The API of a store</h1>\n<p>This address is for programs. The shop that uses it is at \
         <a href=\"{demo}\">{demo}</a>.</p>\n<p>Every call is described, and can be tried, in the <a \
         href=\"/reference\">reference</a>. One can be opened here: <a \
         href=\"{api}/categories/get\">categories/get</a>.</p>\n</body>\n</html>\n"
    );
    let mut page = file(Bytes::from(html), "text/html; charset=utf-8");
    let policy = HeaderValue::from_static("default-src 'none'; style-src 'unsafe-inline'");
    page.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
    page
}

pub(crate) fn is_read(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}

/// A file below `root`. A name with any part but plain ones is not looked up, so that no request leaves the directory.
pub(crate) async fn read(root: &Path, name: &str) -> Option<Page> {
    let name = percent_encoding::percent_decode_str(name).decode_utf8().ok()?;
    let is_plain = |part: &str| {
        !part.starts_with('.') && !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || "._- *".contains(c))
    };
    if !name.split('/').all(is_plain) {
        return None;
    }
    let media_type = shop::media_type(&name)?;
    let bytes = tokio::fs::read(root.join(&*name)).await.ok()?;
    Some(file(Bytes::from(bytes), media_type))
}

pub(crate) fn file(bytes: Bytes, media_type: &'static str) -> Page {
    let mut page = Response::new(Full::new(bytes));
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static(media_type)),
        // An edited file is seen at once.
        (CACHE_CONTROL, HeaderValue::from_static("no-cache")),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    ];
    page.headers_mut().extend(headers.map(|(name, value)| (Some(name), value)));
    page
}

pub(crate) fn text(status: StatusCode, text: &'static str) -> Page {
    let mut page = file(Bytes::from_static(text.as_bytes()), "text/plain; charset=utf-8");
    *page.status_mut() = status;
    page
}

pub(crate) fn not_allowed() -> Page {
    let mut page = text(StatusCode::METHOD_NOT_ALLOWED, "Only GET is supported here.");
    page.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
    page
}

/// What the API's port serves.
#[derive(Debug)]
pub struct Beside {
    pub gateway: Arc<Gateway>,
    /// The URL of the API, for the page at `/`.
    pub api: String,
    /// The URL of the shop, for the same page.
    pub demo: String,
    /// The store's pictures, at `/img/`.
    pub images: Arc<Images>,
    pub reference: Reference,
}

impl Beside {
    /// Serves the API until `stop` resolves, then waits for open requests.
    pub async fn serve(self, listener: TcpListener, stop: impl Future<Output = ()>) {
        let beside = Arc::new(self);
        let respond = move |request, peer| {
            let beside = Arc::clone(&beside);
            async move { Ok::<_, Infallible>(beside.respond(request, peer).await) }
        };
        serve(listener, respond, stop).await;
    }

    #[expect(clippy::disallowed_methods, reason = "the request line as the client sent it, before any gateway")]
    async fn respond(&self, request: Request<Incoming>, peer: SocketAddr) -> Page {
        let (method, path) = (request.method(), request.uri().path());
        if path == "/" && method == Method::GET {
            return landing(&self.api, &self.demo);
        }
        if let Some(image) = self.images.respond(method, path).await {
            return image;
        }
        if let Some(page) = self.reference.respond(method, path) {
            return page;
        }
        let path = path.to_owned();
        self.gateway.pass(request, &path, peer).await
    }
}
