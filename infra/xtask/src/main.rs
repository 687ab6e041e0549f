//! `cargo xtask`: reads the command line and runs the task.

use clap::Parser as _;
use std::io::Write as _;
use std::process::ExitCode;
use xtask::cli::Cli;

fn main() -> ExitCode {
    match xtask::cli::run(&Cli::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            // Without a terminal to write to, the exit code has to do.
            _ = writeln!(std::io::stderr(), "error: {error}");
            ExitCode::FAILURE
        }
    }
}
