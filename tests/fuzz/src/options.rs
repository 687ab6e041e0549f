//! The command line.

use clap::Parser;
use std::num::NonZeroU64;

/// Tries mutated inputs on stable Rust. Every target has rules for its output, not only "does not panic".
///
/// An input depends on the target, the seed and its number only. One that breaks a rule is written to target/fuzz/, with
/// the command that tries it again.
#[derive(Debug, Clone, Parser)]
#[command(
    name = "fuzz",
    version,
    after_help = "Examples:\n  cargo run --profile prove -p fuzz                              every target, 1,000 inputs each\n  \
                  cargo run --profile prove -p fuzz -- token body --inputs 1000000\n  \
                  cargo run --profile prove -p fuzz -- cart --seed 7 --from 1500 --inputs 500"
)]
pub struct Options {
    /// The targets; all if none is named.
    #[arg(value_name = "TARGET", value_parser = crate::targets_by_name())]
    pub targets: Vec<String>,
    /// The number of inputs for each target.
    #[arg(long, value_name = "N", default_value = "1000")]
    pub inputs: NonZeroU64,
    /// The seed of all inputs.
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
    /// The number of the first input.
    #[arg(long, value_name = "K", default_value_t = 0)]
    pub from: u64,
    /// Stop after this many seconds for each target.
    #[arg(long, value_name = "T")]
    pub seconds: Option<u64>,
}
