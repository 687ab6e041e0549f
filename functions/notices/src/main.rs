//! The notices function's process.

use notices::State;
use shared::base::Base;
use shared::config::{Config, NoticeConfig};
use shared::http::lambda;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_http::Error> {
    shared::telemetry::init("notices");
    let variable = |name: &str| std::env::var(name).ok();
    let base = Base::with_config(Config::of_table(variable)?)?;
    let state = State::new(base, NoticeConfig::from_vars(variable)?, None);
    notices::warm_up(&state).await;
    lambda::run(|request| notices::handle(&state, request)).await
}
