//! The command line.

use clap::Parser;
use std::path::PathBuf;

/// Measures sizes, memory, starts and invokes of the functions, and compares them with the budgets.
///
/// The functions are built as they are deployed and started as Lambda starts them, with an embedded DynamoDB behind
/// TLS 1.3. A run takes some minutes; run nothing else at the same time.
#[derive(Debug, Clone, Parser)]
#[command(
    name = "bench",
    version,
    after_help = "Examples:\n  cargo run --release -p bench                             measure, and compare with the budgets\n  \
                  cargo run --release -p bench -- --peers --write          the peers as well; write infra/docs/performance.md\n  \
                  cargo run --release -p bench -- --quick                  a first impression"
)]
pub struct Options {
    /// Build and measure the peers as well (needs node, npm, python3).
    #[arg(long)]
    pub peers: bool,
    /// Take the functions that `sam build` left in this folder, and build only the hello world.
    #[arg(long, value_name = "DIR")]
    pub built: Option<PathBuf>,
    /// A third to a fifth of the rounds.
    #[arg(long)]
    pub quick: bool,
    /// Write infra/docs/performance.md.
    #[arg(long, requires = "peers")]
    pub write: bool,
}
