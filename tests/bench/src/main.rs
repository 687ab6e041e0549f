//! How fast the functions are. They are built as they are deployed, started as Lambda starts them (the Runtime API on
//! loopback, a cleared environment, an embedded DynamoDB behind TLS 1.3), and everything is timed and counted.

#![expect(clippy::disallowed_types, reason = "units and ratios are measured here; no money is calculated")]

mod cases;
mod error;
mod figures;
mod front;
mod machine;
mod measure;
mod options;
mod process;
mod programs;
mod run;
mod runtime;
mod spread;
mod stage;

use clap::Parser as _;
use options::Options;
use std::process::ExitCode;

#[tokio::main(worker_threads = 2)]
async fn main() -> ExitCode {
    let options = Options::parse();
    match run::run(&options).await {
        Ok(figures) => {
            run::say(&serde_json::to_string_pretty(&figures).unwrap_or_default());
            ExitCode::SUCCESS
        }
        Err(error) => {
            run::say(&format!("error: {error}"));
            ExitCode::FAILURE
        }
    }
}
