//! The payments function's process.

use payments::State;
use shared::base::{Base, by_batch};
use shared::http::lambda;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_http::Error> {
    shared::telemetry::init("payments");
    let state = State::new(Base::from_env(by_batch).await?);
    lambda::run(|request| payments::handle(&state, request)).await
}
