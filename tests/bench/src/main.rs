//! How fast the functions are. They are built as they are deployed, started as Lambda starts them (the Runtime API on
//! loopback, a cleared environment, an embedded DynamoDB behind TLS 1.3), and everything is timed and counted.

#![expect(clippy::disallowed_types, reason = "units, ratios and list prices; no money of a store is calculated")]

mod awake;
mod budgets;
mod cases;
mod document;
mod error;
mod figures;
#[cfg(test)]
mod fixture;
mod front;
mod lookup;
mod machine;
mod measure;
mod options;
mod peers;
mod price;
mod process;
mod programs;
mod report;
mod run;
mod runtime;
mod spread;
mod stage;
mod text;

use clap::Parser as _;
use error::BenchError;
use options::Options;
use std::io::Write as _;
use std::process::ExitCode;

#[tokio::main(worker_threads = 2)]
async fn main() -> ExitCode {
    match everything(&Options::parse()).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            run::say(&format!("error: {}", shared::fault::chain(&error)));
            ExitCode::FAILURE
        }
    }
}

/// Measures, writes and compares; says whether every budget is held where that was asked.
async fn everything(options: &Options) -> Result<bool, BenchError> {
    let earlier = document::committed()?;
    let mut figures = run::run(options).await?;
    if let Some(earlier) = earlier {
        document::complete(&mut figures, earlier);
    }
    if let Some(path) = &options.json {
        std::fs::write(path, document::json(&figures)?).map_err(BenchError::file(path))?;
    }
    let mut verdicts = budgets::judge(&figures);
    if options.stable {
        verdicts = budgets::stable(&verdicts);
    }
    // Nobody may be reading.
    _ = writeln!(std::io::stdout(), "{}", budgets::summary(&verdicts));
    if options.writes() {
        document::write(&figures)?;
        run::say("infra/docs/performance.md is written");
    }
    Ok(!options.check || budgets::held(&verdicts))
}
