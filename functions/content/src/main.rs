//! The content function's process.

use content::State;
use shared::base::Base;
use shared::http::lambda;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_http::Error> {
    shared::telemetry::init("content");
    let state = State::new(Base::from_env()?);
    content::warm_up(&state).await;
    lambda::run(|request| content::handle(&state, request)).await
}
