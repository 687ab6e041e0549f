//! The catalog function's process.

use catalog::State;
use shared::base::Base;
use shared::http::serve::Answer;
use std::convert::Infallible;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_http::Error> {
    shared::telemetry::init("catalog");
    let state = State::new(Base::from_env().await?);
    let handle = |request| async { Ok::<_, Infallible>(Answer(catalog::handle(&state, request).await)) };
    lambda_http::run(lambda_http::service_fn(handle)).await
}
