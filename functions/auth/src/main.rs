//! The auth function's process.

use auth::{ChatSettings, State};
use shared::base::Base;
use shared::http::lambda;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_http::Error> {
    shared::telemetry::init("auth");
    let state = State::new(Base::from_env()?, ChatSettings::from_env());
    auth::warm_up(&state).await;
    lambda::run(|request| auth::handle(&state, request)).await
}
