//! The delivery function's process.

use delivery::State;
use shared::base::Base;
use shared::http::lambda;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_http::Error> {
    shared::telemetry::init("delivery");
    let state = State::new(Base::from_env()?);
    delivery::warm_up(&state).await;
    lambda::run(|request| delivery::handle(&state, request)).await
}
