//! The two requests to the chat platform: a code is exchanged for an access token, and the token's account is read.
//! Nothing that the platform sends reaches a log line, except for the error codes of RFC 6749.

use bytes::Bytes;
use lambda_http::http::header::{ACCEPT, AUTHORIZATION, USER_AGENT};
use lambda_http::http::{HeaderValue, Request, Response, StatusCode};
use oauth2::basic::{BasicClient, BasicErrorResponseType};
use oauth2::{
    AccessToken, AsyncHttpClient, AuthorizationCode, ClientId, ClientSecret, HttpRequest, HttpResponse,
    PkceCodeVerifier, RedirectUrl, RequestTokenError, TokenResponse as _, TokenUrl,
};
use outgoing::{Client, OutgoingError};
use serde::Deserialize;
use shared::deadline;
use shared::model::{ChatId, ChatLogin, ChatName};
use std::pin::Pin;

/// The name of this client. Some platforms refuse requests without one.
const AGENT: HeaderValue = HeaderValue::from_static("storefront");

pub(super) struct Grant<'a> {
    pub(super) code: String,
    pub(super) pkce_verifier: String,
    pub(super) secret: &'a ClientSecret,
}

/// The reason why there is no account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PlatformError {
    /// The platform does not accept the code, the client or the access token.
    Refused,
    /// The platform did not respond, or with a failure of its own.
    Unavailable,
    /// The response is not what it should be.
    Unreadable,
}

/// The reason why a request has no usable response.
#[derive(Debug, thiserror::Error)]
enum SendError {
    #[error(transparent)]
    Outgoing(#[from] OutgoingError),
    #[error("the time of the request is up")]
    Late,
    #[error("the response has the status {0}")]
    Status(StatusCode),
}

struct Sender<'a>(&'a Client);

impl<'c> AsyncHttpClient<'c> for Sender<'_> {
    type Error = SendError;
    type Future = Pin<Box<dyn Future<Output = Result<HttpResponse, SendError>> + Send + 'c>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        Box::pin(async move { Ok(send(self.0, request.map(Bytes::from)).await?.map(Vec::from)) })
    }
}

/// The fields of the account that are read.
#[derive(Deserialize)]
struct Account {
    id: AccountId,
    username: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum AccountId {
    Text(String),
    Number(u64),
}

/// The account that a code was given for.
pub(super) async fn account(
    client: &Client,
    chat: &ChatLogin,
    grant: Grant<'_>,
) -> Result<(ChatId, ChatName), PlatformError> {
    let token = access_token(client, chat, grant).await?;
    let response = send(client, user_request(&chat.user_url, &token)?).await.map_err(|error| unavailable(&error))?;
    match response.status() {
        StatusCode::OK => read(response.body()),
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Err(PlatformError::Refused),
        status => Err(unreadable(&format!("the user endpoint responds with {status}"))),
    }
}

async fn access_token(client: &Client, chat: &ChatLogin, grant: Grant<'_>) -> Result<AccessToken, PlatformError> {
    let invalid = |_| unreadable("a URL of the client cannot be parsed");
    let oauth = BasicClient::new(ClientId::new(chat.client_id.clone()))
        .set_client_secret(grant.secret.clone())
        .set_redirect_uri(RedirectUrl::new(chat.redirect_url.clone()).map_err(invalid)?)
        .set_token_uri(TokenUrl::new(chat.token_url.clone()).map_err(invalid)?);
    let exchange = oauth
        .exchange_code(AuthorizationCode::new(grant.code))
        .set_pkce_verifier(PkceCodeVerifier::new(grant.pkce_verifier));
    match exchange.request_async(&Sender(client)).await {
        Ok(token) => Ok(token.access_token().clone()),
        Err(RequestTokenError::ServerResponse(refusal)) => {
            let code = match refusal.error() {
                // Any text of the platform's.
                BasicErrorResponseType::Extension(_) => "another one",
                known => known.as_ref(),
            };
            tracing::warn!(code, "the chat platform refused a code");
            Err(PlatformError::Refused)
        }
        Err(RequestTokenError::Request(error)) => Err(unavailable(&error)),
        Err(RequestTokenError::Parse(..) | RequestTokenError::Other(_)) => {
            Err(unreadable("the token endpoint's response cannot be read"))
        }
    }
}

fn user_request(url: &str, token: &AccessToken) -> Result<Request<Bytes>, PlatformError> {
    let mut bearer = HeaderValue::try_from(format!("Bearer {}", token.secret()))
        .map_err(|_| unreadable("the access token cannot be sent"))?;
    bearer.set_sensitive(true);
    let request = Request::get(url).header(AUTHORIZATION, bearer).header(ACCEPT, "application/json");
    request.body(Bytes::new()).map_err(|_| unreadable("the user endpoint's URL cannot be parsed"))
}

/// Sends a request in the time that is left. A platform that fails or limits its callers counts as one that does not
/// respond.
async fn send(client: &Client, mut request: Request<Bytes>) -> Result<Response<Bytes>, SendError> {
    request.headers_mut().insert(USER_AGENT, AGENT);
    let response = deadline::within(client.send(request)).await.ok_or(SendError::Late)??;
    let status = response.status();
    if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS {
        return Err(SendError::Status(status));
    }
    Ok(response)
}

fn read(body: &[u8]) -> Result<(ChatId, ChatName), PlatformError> {
    let problem = "the user endpoint's response has no id or no username that can be used";
    let account: Account = serde_json::from_slice(body).map_err(|_| unreadable(problem))?;
    let id = match account.id {
        AccountId::Text(text) => text,
        AccountId::Number(number) => number.to_string(),
    };
    match (ChatId::parse(&id), ChatName::parse(&account.username)) {
        (Ok(id), Ok(name)) => Ok((id, name)),
        _ => Err(unreadable(problem)),
    }
}

fn unavailable(error: &SendError) -> PlatformError {
    tracing::warn!(error = %error, "the chat platform is not available");
    PlatformError::Unavailable
}

fn unreadable(problem: &str) -> PlatformError {
    tracing::warn!(problem, "the chat platform's response cannot be used");
    PlatformError::Unreadable
}
