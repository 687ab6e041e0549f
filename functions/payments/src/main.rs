//! The payments function's process.

use payments::State;
use shared::base::Base;
use shared::http::lambda;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_http::Error> {
    shared::telemetry::init("payments");
    let state = State::new(Base::from_env()?);
    payments::warm_up(&state).await;
    lambda::run(|request| payments::handle(&state, request)).await
}
