//! The demo storefront and the store's pictures. The demo is a client of the API on a port of its own, so that its calls are
//! cross-origin, as those of a real storefront. No deployment has any of this.

use crate::error::StartError;
use crate::pictures::Pictures;
use crate::ready::{RefusedCode, Try};
use bytes::Bytes;
use http::header::{
    ACCESS_CONTROL_ALLOW_ORIGIN, ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, LOCATION,
    REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use http::request::Parts;
use http::uri::PathAndQuery;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use pictures::Picture;
use serde::Serialize;
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::net::TcpListener;

pub type Page = Response<Full<Bytes>>;

/// The folder of the pictures, both in the store's directory and in a URL.
const IMAGES: &str = "img";
/// The picture of a player who has none of their own.
const ANY_AVATAR: &str = "avatars/player.svg";
/// Pictures can hold neither scripts nor links to other sites, also if one is opened as a page.
const IMAGE_POLICY: HeaderValue = HeaderValue::from_static("default-src 'none'; style-src 'unsafe-inline'; sandbox");

/// The demo's configuration, read before its first call of the API, as `/config.json`.
#[derive(Debug, Clone, Serialize)]
pub struct Config {
    pub api: String,
    #[serde(skip)]
    pub shop: String,
    /// The address of the game servers' console; `None` with a database elsewhere.
    pub console: Option<String>,
    pub players: Vec<String>,
    pub coupon: String,
    pub gift: String,
    pub referral: String,
    /// Codes that cannot be used, one for each reason.
    pub refused: Vec<RefusedCode>,
}

impl Config {
    /// The configuration for an API and the values to try.
    #[must_use]
    pub fn new(api: &str, shop: &str, console: Option<&str>, players: Vec<String>, to_try: &Try) -> Self {
        Self {
            api: api.to_owned(),
            shop: shop.to_owned(),
            console: console.map(ToOwned::to_owned),
            players,
            coupon: to_try.coupon.clone(),
            gift: to_try.gift.clone(),
            referral: to_try.referral.clone(),
            refused: to_try.refused.clone(),
        }
    }
}

/// The pictures of a store: those that its files name, under their hash, and all files in the directory `img`.
#[derive(Debug, Clone)]
pub struct Images {
    folder: PathBuf,
    named: Arc<Pictures>,
}

impl Images {
    /// The pictures of the store in a directory.
    #[must_use]
    pub fn of(store: &Path, named: &[Picture]) -> Self {
        Self { folder: store.join(IMAGES), named: Arc::new(Pictures::of(store, named)) }
    }

    #[must_use]
    pub fn is_there(&self) -> bool {
        self.folder.is_dir()
    }

    /// The response to GET of a path below `/img/`; `None` for any other path.
    pub async fn respond(&self, method: &Method, path: &str) -> Option<Page> {
        let name = path.strip_prefix("/img/")?;
        if !is_read(method) {
            return Some(not_allowed());
        }
        let mut found = match self.named.get(path.trim_start_matches('/')).await {
            Some((bytes, media_type)) => Some(immutable(file(bytes, media_type))),
            None => read(&self.folder, name).await,
        };
        if found.is_none() && name.starts_with("avatars/") {
            found = read(&self.folder, ANY_AVATAR).await;
        }
        let Some(mut page) = found else { return Some(text(StatusCode::NOT_FOUND, "There is no such picture.")) };
        page.headers_mut().insert(CONTENT_SECURITY_POLICY, IMAGE_POLICY);
        page.headers_mut().insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
        Some(page)
    }
}

#[derive(Debug)]
pub struct Demo {
    files: PathBuf,
    images: Images,
    config: String,
    url: String,
    policy: HeaderValue,
}

impl Demo {
    /// The demo in a directory, for one API.
    ///
    /// # Errors
    /// [`StartError::Demo`] if the directory has no page.
    pub fn new(files: PathBuf, images: Images, config: &Config) -> Result<Self, StartError> {
        if !files.join("index.html").is_file() {
            return Err(StartError::Demo(files));
        }
        let api = url::Url::parse(&config.api).map(|url| url.origin().ascii_serialization()).unwrap_or_default();
        let console = config.console.as_deref().unwrap_or_default();
        // Pictures may be anywhere: `image` can name a file on another site.
        let policy = format!(
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: https: http:; \
             connect-src 'self' {api} {console}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        );
        let policy = HeaderValue::from_str(&policy).unwrap_or(HeaderValue::from_static("default-src 'none'"));
        let url = config.shop.clone();
        Ok(Self { files, images, config: serde_json::to_string(config).unwrap_or_default(), url, policy })
    }

    /// Sends a browser on `localhost` to the address by which the API knows the demo: what it keeps there, such as the
    /// login, is kept for that address only, and a payment comes back to it.
    fn at_own_address(&self, head: &Parts) -> Option<Page> {
        let host = head.headers.get(HOST)?.to_str().ok()?;
        if !host.starts_with("localhost") || self.url.is_empty() {
            return None;
        }
        let target = head.uri.path_and_query().map_or("/", PathAndQuery::as_str);
        let target = HeaderValue::from_str(&format!("{}{target}", self.url)).ok()?;
        let mut page = text(StatusCode::TEMPORARY_REDIRECT, "The shop is at 127.0.0.1.");
        page.headers_mut().insert(LOCATION, target);
        Some(page)
    }

    /// The response to a request. Every path without a file is a page of the demo, which its script shows.
    pub async fn respond(&self, method: &Method, path: &str) -> Page {
        if let Some(image) = self.images.respond(method, path).await {
            return image;
        }
        if !is_read(method) {
            return not_allowed();
        }
        if path == "/config.json" {
            return file(Bytes::from(self.config.clone()), "application/json");
        }
        let found = match read(&self.files, path.trim_start_matches('/')).await {
            None if is_file_name(path) => return text(StatusCode::NOT_FOUND, "There is no such file."),
            None => read(&self.files, "index.html").await,
            found => found,
        };
        let mut page = found.unwrap_or_else(|| text(StatusCode::NOT_FOUND, "There is no such page."));
        page.headers_mut().insert(CONTENT_SECURITY_POLICY, self.policy.clone());
        page.headers_mut().insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
        page
    }
}

/// Serves the demo until the runtime ends.
pub async fn serve(listener: TcpListener, demo: Demo) {
    let demo = Arc::new(demo);
    loop {
        // Out of file descriptors, or the caller has gone: the next connection may succeed.
        let Ok((stream, _)) = listener.accept().await else { continue };
        let demo = Arc::clone(&demo);
        let service = service_fn(move |request: Request<Incoming>| {
            let demo = Arc::clone(&demo);
            async move {
                let (head, _) = request.into_parts();
                let elsewhere = demo.at_own_address(&head);
                Ok::<_, Infallible>(match elsewhere {
                    Some(page) => page,
                    None => demo.respond(&head.method, head.uri.path()).await,
                })
            }
        });
        tokio::spawn(async move { _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await });
    }
}

/// The page at the API's own address, which no deployment has: it says where to go.
#[must_use]
pub fn landing(api: &str, demo: &str) -> Page {
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

fn is_read(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}

/// Whether the last part of a path has an extension that the demo's files have.
fn is_file_name(path: &str) -> bool {
    Path::new(path).extension().and_then(|extension| extension.to_str()).and_then(media_type).is_some()
}

fn media_type(extension: &str) -> Option<&'static str> {
    Some(match extension {
        "html" => "text/html; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "webp" => "image/webp",
        _ => return None,
    })
}

/// A file below `root`. A name with any part but plain ones is not looked up, so that no request leaves the directory.
async fn read(root: &Path, name: &str) -> Option<Page> {
    let name = percent_encoding::percent_decode_str(name).decode_utf8().ok()?;
    let is_plain = |part: &str| {
        !part.starts_with('.') && !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || "._- *".contains(c))
    };
    if !name.split('/').all(is_plain) {
        return None;
    }
    let media_type = media_type(Path::new(&*name).extension()?.to_str()?)?;
    let bytes = tokio::fs::read(root.join(&*name)).await.ok()?;
    Some(file(Bytes::from(bytes), media_type))
}

fn file(bytes: Bytes, media_type: &'static str) -> Page {
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

/// A file whose name says what is in it.
fn immutable(mut page: Page) -> Page {
    page.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable"));
    page
}

fn text(status: StatusCode, text: &'static str) -> Page {
    let mut page = file(Bytes::from_static(text.as_bytes()), "text/plain; charset=utf-8");
    *page.status_mut() = status;
    page
}

fn not_allowed() -> Page {
    let mut page = text(StatusCode::METHOD_NOT_ALLOWED, "Only GET is supported here.");
    page.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
    page
}
