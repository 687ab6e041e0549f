//! Bills of materials of the functions, in CycloneDX's JSON, written by cargo-cyclonedx.
//!
//! The tool takes the features that dependencies have in the whole workspace, tests included. A function is built with its
//! own features. So the tool is given a copy of the repository whose workspace has only the function, and what `cargo tree`
//! does not list is removed.

use crate::command::{capture, cargo};
use crate::error::TaskError;
use crate::reproducible::FUNCTIONS;
use crate::{repository, tools};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;

/// The platform that functions are deployed to by default.
const PLATFORM: &str = "aarch64-unknown-linux-gnu";

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
        let text = fs::read_to_string(&written).map_err(TaskError::file(&written))?;
        let problem = |problem: String| TaskError::Content { path: written.clone(), problem };
        let bill: Value = serde_json::from_str(&text).map_err(|error| problem(error.to_string()))?;
        let (bill, count) = reduce(bill, &built(function)?).map_err(problem)?;
        let path = folder.join(&name);
        fs::write(&path, format!("{bill:#}\n")).map_err(TaskError::file(&path))?;
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

/// The crates that a function is built from, such as `serde v1.0.229`, without the function.
fn built(function: &str) -> Result<BTreeSet<String>, TaskError> {
    let mut tree = cargo();
    tree.args(["tree", "--locked", "--package", function, "--edges", "normal,build", "--prefix", "none"]);
    let built = capture(tree.args(["--target", PLATFORM]).current_dir(repository::root()))?;
    let own = format!("{function} ");
    Ok(built.lines().filter_map(component).filter(|part| !part.starts_with(&own)).collect())
}

/// A bill of materials with only the crates that are built, and their number. One that lacks a crate is an error.
fn reduce(mut bill: Value, built: &BTreeSet<String>) -> Result<(Value, usize), String> {
    let components = bill["components"].as_array_mut().ok_or("it has no components")?;
    let name = |part: &Value| format!("{} v{}", text(&part["name"]), text(&part["version"]));
    let mut unused = BTreeSet::new();
    components.retain(|part| {
        let is_built = built.contains(&name(part));
        if !is_built {
            unused.insert(text(&part["bom-ref"]).to_owned());
        }
        is_built
    });
    let listed: BTreeSet<String> = components.iter().map(name).collect();
    let missing: Vec<&String> = built.difference(&listed).collect();
    if !missing.is_empty() {
        return Err(format!("it lacks {missing:?}"));
    }
    if let Some(dependencies) = bill["dependencies"].as_array_mut() {
        dependencies.retain(|entry| !unused.contains(text(&entry["ref"])));
        for entry in dependencies {
            if let Some(refs) = entry.get_mut("dependsOn").and_then(Value::as_array_mut) {
                refs.retain(|other| !unused.contains(text(other)));
            }
        }
    }
    Ok((bill, listed.len()))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The name and version of a line of `cargo tree`.
fn component(line: &str) -> Option<String> {
    let mut words = line.split_whitespace();
    Some(format!("{} {}", words.next()?, words.next()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_function_becomes_the_only_member() {
        let text = fs::read_to_string(repository::root().join("Cargo.toml")).unwrap();
        let replaced = with_member(&text, "cart").unwrap();
        assert!(replaced.contains("\nmembers = [\"functions/cart\"]\n"), "{replaced}");
        assert!(!replaced.contains("default-members") && replaced.contains("[workspace.dependencies]"));
        assert!(with_member("[workspace]\n", "cart").is_none());
    }

    #[test]
    fn only_what_is_built_stays_and_nothing_may_be_missing() {
        let part = |name: &str| json!({ "bom-ref": name, "name": name, "version": "1.0.0" });
        let bill = json!({
            "components": [part("a"), part("b"), part("unused")],
            "dependencies": [{ "ref": "a", "dependsOn": ["b", "unused"] }, { "ref": "unused" }],
        });
        let built = |names: &[&str]| names.iter().map(|name| format!("{name} v1.0.0")).collect::<BTreeSet<_>>();
        let (reduced, count) = reduce(bill.clone(), &built(&["a", "b"])).unwrap();
        assert_eq!(count, 2);
        assert_eq!(reduced["components"], json!([part("a"), part("b")]));
        assert_eq!(reduced["dependencies"], json!([{ "ref": "a", "dependsOn": ["b"] }]));
        assert!(reduce(bill, &built(&["a", "c"])).unwrap_err().contains("c v1.0.0"));
        assert!(reduce(json!({}), &built(&[])).is_err());
    }

    #[test]
    fn a_line_of_cargo_tree_is_a_component() {
        assert_eq!(component("serde v1.0.229 (*)").unwrap(), "serde v1.0.229");
        assert_eq!(component("shared v0.1.0 (/path/shared)").unwrap(), "shared v0.1.0");
        assert!(component("").is_none());
    }
}
