//! The cart function's process.

use cart::State;
use shared::base::{Base, by_batch};
use shared::http::lambda;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_http::Error> {
    shared::telemetry::init("cart");
    let state = State::new(Base::from_env(by_batch).await?);
    lambda::run(|request| cart::handle(&state, request)).await
}
