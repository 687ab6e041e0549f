//! The auth function's process.

use auth::State;
use shared::base::{Base, by_batch};
use shared::http::lambda;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_http::Error> {
    shared::telemetry::init("auth");
    let state = State::new(Base::from_env(by_batch).await?);
    lambda::run(|request| auth::handle(&state, request)).await
}
