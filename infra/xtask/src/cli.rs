//! The command line.

use crate::deny::{self, Advisories};
use crate::error::TaskError;
use crate::summary::{Mode, Summary};
use crate::{page, planted, prove, repository, reproducible, sbom, steps};
use clap::{Parser, Subcommand};
use std::io::stdout;

/// Tasks of the repository.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", disable_version_flag = true)]
pub struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Runs the proofs that infra/docs/reliability.md refers to; results are kept in target/prove/summary.json
    ///
    /// Exits with 1 if a proof fails. The output of every command is in target/prove. `--list` names the proofs.
    Prove {
        /// Proofs to run; all of them if none is named
        #[arg(value_name = "STEP")]
        steps: Vec<String>,
        /// Run for under five minutes once everything is built; proofs that need longer are left out
        #[arg(long)]
        quick: bool,
        /// List the proofs and their commands
        #[arg(long, conflicts_with_all = ["quick", "write", "steps"])]
        list: bool,
        /// Write the figures of long runs into infra/docs/reliability.md at the end
        #[arg(long, conflicts_with = "quick")]
        write: bool,
    },
    /// Writes the figures of the last long runs into infra/docs/reliability.md
    Figures,
    /// Plants the faults of tests/planted one after the other, and expects a test to find each
    Planted {
        /// Faults to plant, by the names of their patches; all of them if none is named
        #[arg(value_name = "NAME")]
        names: Vec<String>,
        /// List the faults and the tests that find them
        #[arg(long, conflicts_with = "names")]
        list: bool,
    },
    /// Builds functions twice in different folders and compares the programs byte by byte
    Reproducible {
        /// Functions to build; all of them if none is named
        #[arg(value_name = "FUNCTION")]
        names: Vec<String>,
    },
    /// Writes a bill of materials (CycloneDX) of every function to target/sbom
    Sbom,
    /// Checks licences, sources, bans and advisories of the dependencies by deny.toml
    Deny {
        /// Fail if the database of advisories cannot be reached
        #[arg(long)]
        advisories: bool,
    },
}

/// Runs the task, and returns whether its checks passed.
///
/// # Errors
///
/// If the task could not be done.
pub fn run(cli: &Cli) -> Result<bool, TaskError> {
    let mut output = stdout();
    match &cli.task {
        Task::Prove { list: true, .. } => prove::list(&mut output).map(|()| true),
        Task::Prove { steps, quick, write, list: false } => {
            let mode = if *quick { Mode::Quick } else { Mode::Long };
            prove::run(&steps::chosen(steps)?, mode, *write, &mut output)
        }
        Task::Figures => page::write(&Summary::read(&repository::work("prove")?)?).map(|()| true),
        Task::Planted { list: true, .. } => planted::list(&mut output).map(|()| true),
        Task::Planted { names, list: false } => planted::run(names, &mut output),
        Task::Reproducible { names } => reproducible::run(names, &mut output),
        Task::Sbom => sbom::run(&mut output).map(|()| true),
        Task::Deny { advisories } => {
            let advisories = if *advisories { Advisories::Needed } else { Advisories::IfReachable };
            deny::run(advisories, &mut output)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn figures_of_a_quick_run_are_not_written() {
        assert!(Cli::try_parse_from(["xtask", "prove", "--quick", "--write"]).is_err());
        assert!(Cli::try_parse_from(["xtask", "prove", "--quick", "tests", "faults"]).is_ok());
    }
}
