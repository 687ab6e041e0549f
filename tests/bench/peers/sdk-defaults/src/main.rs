//! POST /payments/checkStatus as most people would write it: the SDK, lambda_http and tokio as they come, the client made
//! once outside the handler. It asks the same of the table as the payments function does and answers the same.

mod reply;
mod request;
mod store;
mod token;

use aws_config::BehaviorVersion;
use aws_sdk_dynamodb::Client;
use lambda_http::{Body, Error, Request, RequestExt, Response, run, service_fn, tracing};
use request::BodyFault;
use std::env;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use store::{Order, Store, StoreError};
use token::{Claims, TokenKeys};

struct App {
    store: Store,
    keys: TokenKeys,
}

/// What becomes of a request that passes the limit.
enum Outcome {
    Shown(Order, u32),
    Unauthorized,
    Forbidden,
    NotFound,
    Refused(BodyFault),
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    tracing::init_default_subscriber();
    let config = aws_config::load_defaults(BehaviorVersion::latest()).await;
    let cache = Duration::from_secs(env::var("CACHE_SECONDS")?.parse()?);
    let store = Store::new(Client::new(&config), env::var("TABLE_NAME")?, cache);
    let app = App { store, keys: TokenKeys::parse(&env::var("TOKEN_KEYS")?)? };
    run(service_fn(|request: Request| app.handle(request))).await
}

impl App {
    async fn handle(&self, request: Request) -> Result<Response<Body>, Error> {
        if request.method() != "POST" || request.raw_http_path() != "/payments/checkStatus" {
            return reply::not_found();
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis() as u64;
        let address = request::counted_as(&request);
        let claims = request::bearer(&request).and_then(|token| self.keys.verify(token));
        let (hit, found) = tokio::join!(self.store.hit(&address, now), self.look_up(&request, claims));
        let hit = match hit {
            Ok(hit) => hit,
            Err(error) => return reply::store_failed(&request, &error),
        };
        let mut response = match found {
            _ if !hit.allowed => reply::too_many_attempts(hit.reset_seconds),
            Ok(outcome) => reply::outcome(&outcome),
            Err(error) => reply::store_failed(&request, &error),
        }?;
        let headers = response.headers_mut();
        headers.insert("ratelimit-limit", store::LIMIT.into());
        headers.insert("ratelimit-remaining", hit.remaining.into());
        headers.insert("ratelimit-reset", hit.reset_seconds.into());
        Ok(response)
    }

    async fn look_up(&self, request: &Request, claims: Option<Claims>) -> Result<Outcome, StoreError> {
        let order_id = match request::order_id(request.body()) {
            Ok(order_id) => order_id,
            Err(fault) => return Ok(Outcome::Refused(fault)),
        };
        let user_id = claims.as_ref().map(|claims| claims.sub.as_str());
        let reads = tokio::try_join!(self.store.digits(), self.store.order_and_user(&order_id, user_id));
        let (digits, (order, user)) = reads?;
        let Some(order) = order else { return Ok(Outcome::NotFound) };
        let Some(owner) = order.owner else { return Ok(Outcome::Shown(order, digits)) };
        let user = user.zip(claims).filter(|(user, claims)| claims.iat > user.tokens_valid_after.unwrap_or(i64::MIN));
        Ok(match user {
            None => Outcome::Unauthorized,
            Some((user, _)) if user.id == owner => Outcome::Shown(order, digits),
            Some(_) => Outcome::Forbidden,
        })
    }
}
