//! Tools from crates.io, installed below target/ in fixed versions.

use crate::command::{capture, cargo};
use crate::error::TaskError;
use crate::repository;
use std::path::PathBuf;
use std::process::Command;

/// A tool that cargo installs.
#[derive(Debug, Clone, Copy)]
pub struct Tool {
    pub name: &'static str,
    pub version: &'static str,
}

/// Judges licences, sources, bans and advisories.
pub const DENY: Tool = Tool { name: "cargo-deny", version: "0.20.2" };
/// Writes bills of materials.
pub const CYCLONEDX: Tool = Tool { name: "cargo-cyclonedx", version: "0.5.9" };

impl Tool {
    /// The tool's program. It is built first if it is missing: as a debug build, which takes a quarter of the time and is
    /// fast enough for what it reads.
    pub fn program(self) -> Result<PathBuf, TaskError> {
        let root = repository::work("tools")?;
        let program = root.join("bin").join(self.name);
        let is_installed = program.exists() && {
            // `cargo deny --version` and not `cargo-deny --version`: the first word of a cargo subcommand is its name.
            let subcommand = self.name.trim_start_matches("cargo-");
            let said = capture(Command::new(&program).args([subcommand, "--version"]))?;
            said.split_whitespace().last() == Some(self.version)
        };
        if !is_installed {
            let mut install = cargo();
            install.args(["install", "--debug", "--locked", "--force", "--quiet"]);
            install.args([self.name, "--version", self.version]);
            install.arg("--root").arg(&root).arg("--target-dir").arg(root.join("build"));
            install.env("CARGO_PROFILE_DEV_DEBUG", "0").env("CARGO_INCREMENTAL", "0");
            capture(install.current_dir(repository::root()))?;
        }
        Ok(program)
    }
}
