//! Fuzzing on stable Rust: mutated inputs for every parser of untrusted input, and for the five functions with a real
//! table (infra/docs/decisions.md, "Fuzzing without coverage").

mod error;
mod mutate;
mod options;
mod random;
mod run;
mod target;
mod targets;
#[cfg(test)]
mod tests;

use clap::Parser as _;
use error::FuzzError;
use options::Options;
use run::{Range, Summary, run};
use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

/// A target: its name, and what runs it.
type Named = (&'static str, fn(Range) -> Result<Summary, FuzzError>);

/// Every target.
const TARGETS: &[Named] = &[
    named::<targets::Texts>(),
    named::<targets::Token>(),
    named::<targets::ForwardedFor>(),
    named::<targets::Path>(),
    named::<targets::RequestBody>(),
    named::<targets::Webhook>(),
    named::<targets::Provider>(),
    named::<targets::Table>(),
    named::<targets::Archive>(),
    named::<targets::StoreFiles>(),
    named::<targets::Auth>(),
    named::<targets::Cart>(),
    named::<targets::Catalog>(),
    named::<targets::Content>(),
    named::<targets::Payments>(),
];

const fn named<T: target::Target>() -> Named {
    (T::NAME, run::<T>)
}

/// The names that the command line takes.
fn targets_by_name() -> clap::builder::PossibleValuesParser {
    TARGETS.iter().map(|(name, _)| *name).collect::<Vec<_>>().into()
}

fn main() -> ExitCode {
    let options = Options::parse();
    run::note_panics();
    let time = options.seconds.map(Duration::from_secs);
    let range = Range { seed: options.seed, from: options.from, inputs: options.inputs.get(), time };
    let mut is_clean = true;
    for (name, run) in TARGETS {
        if !options.targets.is_empty() && !options.targets.iter().any(|wanted| wanted == name) {
            continue;
        }
        match run(range) {
            Ok(summary) => {
                is_clean &= summary.found.is_empty();
                say(&summary);
            }
            Err(error) => {
                is_clean = false;
                _ = writeln!(std::io::stderr(), "error: {name}: {error}");
            }
        }
    }
    if is_clean { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn say(summary: &Summary) {
    let Summary { target, tried, accepted, took, found } = summary;
    // A closed standard output is not an error.
    let mut out = std::io::stdout().lock();
    let (seconds, tenths, found_count) = (took.as_secs(), took.subsec_millis() / 100, found.len());
    _ = writeln!(
        out,
        "{target:14} {tried:>9} inputs, {accepted:>9} valid, {seconds:>4}.{tenths} s, {found_count} found"
    );
    for finding in found {
        _ = writeln!(out, "  {}: {}\n    {}", finding.number, finding.problem, finding.file.display());
    }
}
