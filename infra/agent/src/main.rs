//! The agent.

use std::process::ExitCode;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    agent::command_line(std::env::args_os().collect()).await
}
