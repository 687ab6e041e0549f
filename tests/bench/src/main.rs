//! The benchmark: the functions are built as they are deployed and started as Lambda starts them (the Runtime API on
//! loopback, a cleared environment, an embedded DynamoDB behind TLS 1.3), and everything is timed and counted.

#![expect(clippy::disallowed_types, reason = "units, ratios and list prices; no money of a store is calculated")]

mod budgets;
mod cases;
mod document;
mod error;
mod figures;
mod front;
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
mod stage;
mod text;

use clap::Parser as _;
use error::BenchError;
use options::Options;
use std::io::Write as _;
use std::process::ExitCode;

/// How often a run is repeated before a budget counts as missed.
const ATTEMPTS: u32 = 3;

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

/// Measures, writes and compares. Returns whether every budget is held, if that was asked for.
async fn everything(options: &Options) -> Result<bool, BenchError> {
    let earlier = document::committed()?;
    if options.render {
        let figures = earlier.ok_or_else(|| BenchError::setup("--render")(&"there are no figures yet"))?;
        document::write(&figures)?;
        return Ok(true);
    }
    let mut figures = run::run(options).await?;
    let mut verdicts = budgets::judge(&figures, options.stable);
    if options.stable {
        for attempt in 2..=ATTEMPTS {
            if budgets::held(&verdicts) {
                break;
            }
            run::say(&format!("a budget was missed; measuring again, {attempt} of {ATTEMPTS}"));
            verdicts = budgets::better(verdicts, budgets::judge(&run::run(options).await?, true));
        }
    }
    if let Some(earlier) = earlier {
        document::complete(&mut figures, earlier);
    }
    if let Some(path) = &options.json {
        std::fs::write(path, document::json(&figures)?).map_err(BenchError::file(path))?;
    }
    // A closed standard output is not an error.
    _ = writeln!(std::io::stdout(), "{}", budgets::summary(&verdicts));
    if options.writes() {
        document::write(&figures)?;
        run::say("infra/docs/performance.md is written");
    }
    Ok(!options.check || budgets::held(&verdicts))
}
