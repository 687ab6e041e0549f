//! Runs only the stand-in for Stripe.

use clap::Parser;
use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;
use stripe_stand_in::{Account, Options};

/// Runs a stand-in for Stripe on this machine, with a page to pay on. No money moves, and all is forgotten on exit.
#[derive(Debug, Parser)]
#[command(name = "stripe-stand-in")]
struct Arguments {
    /// Port to listen on, on 127.0.0.1; 0 picks a free one.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Key that requests must have.
    #[arg(long, default_value = stripe_stand_in::KEY)]
    key: String,
    /// Another account, or the other mode of one, with the key to it; live if the key is. May be repeated.
    #[arg(long, value_name = "KEY=ACCOUNT", value_parser = account)]
    other: Vec<Account>,
    /// Address on this machine that webhooks are posted to; more can be added by the API.
    #[arg(long, value_name = "URL")]
    webhook: Option<String>,
    /// Secret that webhooks to this address are signed with.
    #[arg(long, default_value = stripe_stand_in::WEBHOOK_SECRET)]
    webhook_secret: String,
    /// Milliseconds after which a late webhook is sent.
    #[arg(long, default_value_t = 15_000)]
    late: u64,
    /// Most calls in a second, such as 25 as in Stripe's test mode; the next ones are refused with 429. No limit if it is
    /// left out.
    #[arg(long)]
    calls_per_second: Option<usize>,
    /// Milliseconds that each call takes.
    #[arg(long, default_value_t = 0)]
    delay: u64,
}

fn account(text: &str) -> Result<Account, String> {
    let (key, id) = text.split_once('=').ok_or("not KEY=ACCOUNT")?;
    Ok(Account::new(key, id))
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let options = Options {
        port: arguments.port,
        key: arguments.key,
        others: arguments.other,
        webhook_url: arguments.webhook,
        webhook_secret: arguments.webhook_secret,
        late: Duration::from_millis(arguments.late),
        calls_per_second: arguments.calls_per_second,
        delay: Duration::from_millis(arguments.delay),
        ..Options::default()
    };
    let stand_in = match stripe_stand_in::start(options).await {
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
