//! Runs only the stand-in for Stripe.

use clap::Parser;
use local::stripe::{self, Options};
use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

/// Runs a stand-in for Stripe on this machine, with a page to pay on. No money moves, and all is forgotten on exit.
#[derive(Debug, Parser)]
#[command(name = "stripe-stand-in")]
struct Arguments {
    /// Port to listen on, on 127.0.0.1; 0 picks a free one.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Key that requests must have.
    #[arg(long, default_value = stripe::KEY)]
    key: String,
    /// Address on this machine that webhooks are posted to; more can be added by the API.
    #[arg(long, value_name = "URL")]
    webhook: Option<String>,
    /// Secret that webhooks to this address are signed with.
    #[arg(long, default_value = stripe::WEBHOOK_SECRET)]
    webhook_secret: String,
    /// Milliseconds after which a late webhook is sent.
    #[arg(long, default_value_t = 15_000)]
    late: u64,
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let options = Options {
        port: arguments.port,
        key: arguments.key,
        webhook_url: arguments.webhook,
        webhook_secret: arguments.webhook_secret,
        late: Duration::from_millis(arguments.late),
        ..Options::default()
    };
    let stand_in = match stripe::start(options).await {
        Ok(stand_in) => stand_in,
        Err(error) => {
            _ = writeln!(std::io::stderr(), "error: {error}");
            return ExitCode::FAILURE;
        }
    };
    // Standard output may be closed.
    let mut out = std::io::stdout();
    _ = writeln!(out, "{}", stand_in.base_url()).and_then(|()| out.flush());
    _ = tokio::signal::ctrl_c().await;
    stand_in.stop().await;
    ExitCode::SUCCESS
}
