//! Bills of materials of the functions, in CycloneDX's JSON, written by cargo-cyclonedx.
//!
//! The tool takes the features that dependencies have in the whole workspace. A function is built with its own features, so
//! the tool is given a copy of the repository whose workspace is the function alone.

use crate::command::{capture, cargo};
use crate::error::TaskError;
use crate::reproducible::FUNCTIONS;
use crate::{repository, tools};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;

/// The platform that functions are deployed to by default.
const PLATFORM: &str = "aarch64-unknown-linux-gnu";

/// What is read of a bill of materials, to check it.
#[derive(Deserialize)]
struct Bill {
    components: Vec<Component>,
}

#[derive(Deserialize)]
struct Component {
    name: String,
    version: String,
}

/// Writes the bill of materials of every function to target/sbom, such as `cart.cdx.json`.
pub fn run(output: &mut impl Write) -> Result<(), TaskError> {
    let folder = repository::work("sbom")?;
    let tree = folder.join("tree");
    let tool = tools::CYCLONEDX.program()?;
    for function in FUNCTIONS {
        if tree.exists() {
            fs::remove_dir_all(&tree).map_err(TaskError::file(&tree))?;
        }
        repository::export(&tree)?;
        leave_only(function, &tree)?;
        let mut command = Command::new(&tool);
        command.args(["cyclonedx", "--format", "json", "--spec-version", "1.5", "--target", PLATFORM]);
        capture(command.arg("--manifest-path").arg(tree.join("functions").join(function).join("Cargo.toml")))?;
        let name = format!("{function}.cdx.json");
        let written = tree.join("functions").join(function).join(&name);
        let count = check(function, &written)?;
        fs::copy(&written, folder.join(&name)).map_err(TaskError::file(&written))?;
        writeln!(output, "figures: {count} components in target/sbom/{name}")?;
    }
    fs::remove_dir_all(&tree).map_err(TaskError::file(&tree))
}

/// Makes a function the only member of the workspace; what it uses of the repository follows by itself.
fn leave_only(function: &str, tree: &Path) -> Result<(), TaskError> {
    let path = tree.join("Cargo.toml");
    let text = fs::read_to_string(&path).map_err(TaskError::file(&path))?;
    let replaced = with_member(&text, function)
        .ok_or_else(|| TaskError::Content { path: path.clone(), problem: "it lists no members".to_owned() })?;
    fs::write(&path, replaced).map_err(TaskError::file(&path))
}

/// A workspace's manifest with one function as its only member.
fn with_member(manifest: &str, function: &str) -> Option<String> {
    let (before, rest) = manifest.split_once("\nmembers = [")?;
    let (_, rest) = rest.split_once(']')?;
    let (between, rest) = rest.split_once("\ndefault-members = [")?;
    let (_, after) = rest.split_once(']')?;
    Some(format!("{before}\nmembers = [\"functions/{function}\"]{between}{after}"))
}

/// Compares a bill of materials with what cargo builds, and returns the number of components.
fn check(function: &str, path: &Path) -> Result<usize, TaskError> {
    let text = fs::read_to_string(path).map_err(TaskError::file(path))?;
    let problem = |problem: String| TaskError::Content { path: path.to_owned(), problem };
    let bill: Bill = serde_json::from_str(&text).map_err(|error| problem(error.to_string()))?;
    let listed: BTreeSet<String> =
        bill.components.iter().map(|part| format!("{} v{}", part.name, part.version)).collect();
    let mut tree = cargo();
    tree.args(["tree", "--locked", "--package", function, "--edges", "normal,build", "--prefix", "none"]);
    let built = capture(tree.args(["--target", PLATFORM, "--format", "{p}"]).current_dir(repository::root()))?;
    let built: BTreeSet<String> =
        built.lines().filter_map(component).filter(|part| !part.starts_with(&format!("{function} "))).collect();
    let differences: Vec<&String> = listed.symmetric_difference(&built).collect();
    if differences.is_empty() {
        return Ok(listed.len());
    }
    Err(problem(format!("it differs from `cargo tree` in {differences:?}")))
}

/// The name and version of a line of `cargo tree`.
fn component(line: &str) -> Option<String> {
    let mut words = line.split_whitespace();
    Some(format!("{} {}", words.next()?, words.next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_becomes_the_only_member() {
        let text = fs::read_to_string(repository::root().join("Cargo.toml")).unwrap();
        let replaced = with_member(&text, "cart").unwrap();
        assert!(replaced.contains("\nmembers = [\"functions/cart\"]\n"), "{replaced}");
        assert!(!replaced.contains("default-members") && replaced.contains("[workspace.dependencies]"));
        assert!(with_member("[workspace]\n", "cart").is_none());
    }

    #[test]
    fn a_line_of_cargo_tree_is_a_component() {
        assert_eq!(component("serde v1.0.229 (*)").unwrap(), "serde v1.0.229");
        assert_eq!(component("shared v0.1.0 (/path/shared)").unwrap(), "shared v0.1.0");
        assert!(component("").is_none());
    }
}
