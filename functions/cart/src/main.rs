//! The cart function's process.

use cart::State;
use shared::base::Base;
use shared::http::lambda;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_http::Error> {
    shared::telemetry::init("cart");
    let state = State::new(Base::from_env()?);
    cart::warm_up(&state).await;
    lambda::run(|request| cart::handle(&state, request)).await
}
