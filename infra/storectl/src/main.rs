//! `storectl`: reads the command line, runs the command, prints the result.

use shared::clock::{Clock, SystemClock};
use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;
use storectl::Cli;
use storectl::console::Console;
use storectl::error::Failure;

#[tokio::main]
async fn main() -> ExitCode {
    let cli = match Cli::read(std::env::args_os()) {
        Ok(cli) => cli,
        Err(error) => return not_a_command(&error),
    };
    let console = Console::of_process(cli.json);
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let outcome = tokio::select! {
        outcome = cli.run(&console, &clock) => outcome,
        () = interrupted() => Err(Failure::interrupted()),
    };
    match outcome {
        Ok(answer) => {
            // The reader may have gone away. Colours are removed if it is not a terminal.
            _ = anstream::stdout().write_all(answer.print(cli.json).as_bytes());
            answer.exit()
        }
        Err(failure) => {
            _ = anstream::stderr().write_all(failure.print(cli.json).as_bytes());
            failure.exit()
        }
    }
}

/// Prints help and version as clap does, and why a command line cannot be read as every other failure.
fn not_a_command(error: &clap::Error) -> ExitCode {
    // The line was not read: whether it asks for JSON can only be looked up in its words.
    if !(error.use_stderr() && std::env::args_os().skip(1).any(|word| word == "--json")) {
        error.exit();
    }
    let failure = Failure::usage(error);
    _ = std::io::stderr().write_all(failure.print(true).as_bytes());
    failure.exit()
}

/// Resolves on Ctrl-C. What a command had written by then stays; every command can be run again.
async fn interrupted() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
