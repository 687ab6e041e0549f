//! The catalog function's process.

use catalog::State;
use shared::base::Base;
use shared::http::lambda;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_http::Error> {
    shared::telemetry::init("catalog");
    let state = State::new(Base::from_env()?);
    catalog::warm_up(&state).await;
    lambda::run(|request| catalog::handle(&state, request)).await
}
