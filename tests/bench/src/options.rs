//! The command line.

use clap::{Parser, ValueEnum};
use std::path::PathBuf;

/// Measures how fast the functions are, and writes infra/docs/performance.md, its plots and its JSON.
///
/// The functions are built as they are deployed and started as Lambda starts them, with an embedded DynamoDB behind
/// TLS 1.3. A full run takes about ten minutes on two processors; run nothing else at the same time.
#[derive(Debug, Clone, Parser)]
#[command(
    name = "bench",
    version,
    after_help = "Examples:\n  cargo run --release -p bench                          measure everything, write infra/docs/performance.md\n  \
                  cargo run --release -p bench -- --peers               the peers in Node, Python and Rust as well\n  \
                  cargo run --release -p bench -- --check               compare with the budgets, write nothing\n  \
                  cargo run --release -p bench -- --check --stable      only what can be measured on a busy machine\n  \
                  cargo run --release -p bench -- --only warm --quick   a first impression\n  \
                  cargo run --release -p bench -- --render              write the page again from its JSON"
)]
pub struct Options {
    /// Build and measure the peers as well (needs node, npm, python3); without it their last figures are kept.
    #[arg(long)]
    pub peers: bool,
    /// Compare with the budgets, write no document, and fail if one is missed.
    #[arg(long)]
    pub check: bool,
    /// Compare only counts, sizes and ratios of processor time, with an allowance for a busy machine; what is missed
    /// is measured again, up to three times.
    #[arg(long, requires = "check")]
    pub stable: bool,
    /// Measure only these; writes no document.
    #[arg(long, value_enum, value_delimiter = ',')]
    pub only: Vec<Part>,
    /// Take the functions that `sam build` left in this folder, and build only the hello world; writes no document.
    #[arg(long, value_name = "DIR", requires = "check")]
    pub built: Option<PathBuf>,
    /// A third to a fifth of the rounds; writes no document.
    #[arg(long)]
    pub quick: bool,
    /// Write the figures to this file as well.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Measure nothing: write the document and its plots from infra/docs/performance.json.
    #[arg(long, conflicts_with_all = ["peers", "check", "only", "quick", "json"])]
    pub render: bool,
}

/// A part of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Part {
    /// Fresh processes.
    Cold,
    /// Every endpoint on warm processes, and the same calls over a bare socket.
    Warm,
    /// Stores, carts and histories of several sizes.
    Scale,
}

impl Options {
    /// Whether this part is measured.
    pub fn wants(&self, part: Part) -> bool {
        self.only.is_empty() || self.only.contains(&part)
    }

    /// Whether the document is written.
    pub const fn writes(&self) -> bool {
        !self.check && !self.quick && self.only.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn only_a_whole_run_writes_the_document() {
        Options::command().debug_assert();
        let options =
            |line: &str| Options::try_parse_from(std::iter::once("bench").chain(line.split_whitespace())).unwrap();
        assert!(options("").writes() && options("--peers").writes());
        for line in ["--check", "--check --stable", "--quick", "--only warm"] {
            assert!(!options(line).writes(), "{line}");
        }
        assert!(options("--only warm,cold").wants(Part::Cold) && !options("--only warm").wants(Part::Cold));
        assert!(Options::try_parse_from(["bench", "--stable"]).is_err());
        assert!(Options::try_parse_from(["bench", "--render", "--quick"]).is_err());
    }
}
