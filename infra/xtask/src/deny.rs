//! Licences, sources, bans and advisories of the dependencies, checked by cargo-deny with deny.toml.

use crate::command::capture;
use crate::error::TaskError;
use crate::{repository, tools};
use std::io::Write;
use std::process::Command;

/// Whether known vulnerabilities are looked up. The database of advisories is a repository on GitHub.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Advisories {
    /// A database that cannot be reached is a failure.
    Needed,
    /// They are looked up if the database can be reached.
    IfReachable,
}

/// Judges the dependencies, and returns whether all of them are allowed.
pub fn run(advisories: Advisories, output: &mut impl Write) -> Result<bool, TaskError> {
    let deny = || -> Result<Command, TaskError> {
        let mut command = Command::new(tools::DENY.program()?);
        command.args(["--color", "never", "--locked"]).current_dir(repository::root());
        Ok(command)
    };
    let refusals = capture(deny()?.args(["check", "--hide-inclusion-graph", "bans", "licenses", "sources"]));
    if let Err(TaskError::Failed { output: said, .. }) = refusals {
        writeln!(output, "{said}")?;
        return Ok(false);
    }
    refusals?;
    let packages = packages()?;
    writeln!(output, "figures: licences, sources and bans of {packages} crates")?;
    match (capture(deny()?.args(["fetch", "db"])), advisories) {
        (Ok(_), _) => {}
        (Err(failure), Advisories::Needed) => return Err(failure),
        (Err(_), Advisories::IfReachable) => {
            writeln!(output, "figures: advisories not checked: their database cannot be reached from here")?;
            return Ok(true);
        }
    }
    match capture(deny()?.args(["check", "--hide-inclusion-graph", "--disable-fetch", "advisories"])) {
        Ok(_) => writeln!(output, "figures: no advisory is open")?,
        Err(TaskError::Failed { output: said, .. }) => {
            writeln!(output, "{said}")?;
            return Ok(false);
        }
        Err(error) => return Err(error),
    }
    Ok(true)
}

/// The number of crates in Cargo.lock that are not ours.
fn packages() -> Result<usize, TaskError> {
    let path = repository::root().join("Cargo.lock");
    let text = std::fs::read_to_string(&path).map_err(TaskError::file(&path))?;
    Ok(text.lines().filter(|line| line.starts_with("source = ")).count())
}
