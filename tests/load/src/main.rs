//! Load on the local server (infra/docs/performance-notes.md): mixed traffic at a fixed rate, and a flash sale.
//!
//! This program drives; the database, the functions behind their gateway and the stand-in for Stripe are processes of
//! their own, which it starts from its own executable.

mod client;
mod error;
mod mixed;
mod part;
mod record;
mod report;
mod sale;
mod stage;
mod visit;

use clap::{Args, Parser, Subcommand};
use error::LoadError;
use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;
use tracing::level_filters::LevelFilter;

/// Drives load against the local server and checks what it promises. Exits with 1 if a promise is broken.
#[derive(Debug, Parser)]
#[command(
    name = "load",
    after_help = "Examples:\n  cargo run --profile prove -p load -- mixed --minutes 30 --rate 100\n  \
                  cargo run --profile prove -p load -- mixed --seconds 60 --json\n  \
                  cargo run --profile prove -p load -- flash-sale --buyers 5000 --units 500 --seconds 60"
)]
struct Options {
    #[command(subcommand)]
    run: Run,
}

#[derive(Debug, Subcommand)]
enum Run {
    /// Visitors who look around, change carts, buy and pay, at a fixed number of requests per second.
    Mixed(Mixed),
    /// Many buyers who want the same item within a short time.
    FlashSale(FlashSale),
    /// A process of a run; started by the program itself.
    #[command(hide = true)]
    Part {
        #[command(subcommand)]
        part: part::Part,
    },
}

/// Options of mixed traffic.
#[derive(Debug, Clone, Copy, Args)]
struct Mixed {
    /// How many minutes.
    #[arg(long, default_value_t = 30, conflicts_with = "seconds")]
    minutes: u64,
    /// How many seconds, instead of minutes.
    #[arg(long)]
    seconds: Option<u64>,
    /// Requests per second. They start on schedule, whether or not earlier ones have a response.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rate: u32,
    /// Print the summary as JSON.
    #[arg(long)]
    json: bool,
}

/// Options of a flash sale.
#[derive(Debug, Clone, Copy, Args)]
struct FlashSale {
    /// How many buyers.
    #[arg(long, default_value_t = 5_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    buyers: u32,
    /// How many units there are.
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..))]
    units: u32,
    /// The time in which the buyers come, in seconds.
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    seconds: u64,
    /// Print the summary as JSON.
    #[arg(long)]
    json: bool,
}

impl Mixed {
    fn lasts(&self) -> Duration {
        self.seconds.map_or_else(|| Duration::from_mins(self.minutes), Duration::from_secs)
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    let options = Options::parse();
    let lines = tracing_subscriber::fmt().with_writer(std::io::stderr).with_max_level(LevelFilter::ERROR);
    lines.with_target(false).init();
    match run(options.run).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            _ = writeln!(std::io::stderr(), "error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Whether every promise was kept.
async fn run(run: Run) -> Result<bool, LoadError> {
    let (summary, json) = match run {
        Run::Part { part } => return part.run().await.map(|()| true),
        Run::Mixed(options) => (mixed::run(options.lasts(), options.rate).await?, options.json),
        Run::FlashSale(options) => {
            (sale::run(options.buyers, options.units, Duration::from_secs(options.seconds)).await?, options.json)
        }
    };
    let text = if json { serde_json::to_string_pretty(&summary)? } else { summary.to_string() };
    // Standard output may be closed.
    _ = writeln!(std::io::stdout(), "{text}");
    Ok(summary.is_kept())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Options::command().debug_assert();
        let lasts = |arguments: &[&str]| match Options::try_parse_from([&["load", "mixed"], arguments].concat()) {
            Ok(Options { run: Run::Mixed(mixed) }) => mixed.lasts().as_secs(),
            other => panic!("{other:?}"),
        };
        assert_eq!((lasts(&[]), lasts(&["--minutes", "2"]), lasts(&["--seconds", "60"])), (1_800, 120, 60));
    }
}
