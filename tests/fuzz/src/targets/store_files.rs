//! The files of a store: every fault is reported with its file, and a store without faults is published the same again.

use crate::error::FuzzError;
use crate::mutate::{self, TOKENS};
use crate::random::Random;
use crate::target::{Outcome, Target, rule};
use harness::repository;
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

/// The files that are read together. One of them is changed.
const FILES: [&str; 4] = ["store.yaml", "staff.yaml", "categories/crates.yaml", "pages/rules.yaml"];
/// Files that take the place of the category.
const CATEGORIES: [&str; 4] =
    ["categories/ranks.yaml", "categories/boosts.yaml", "categories/support.yaml", "categories/anniversary.yaml"];

/// The reader and the compiler of a store's files.
#[derive(Debug)]
pub struct StoreFiles {
    dir: TempDir,
    seeds: Vec<(PathBuf, String)>,
    /// The file that the last input changed.
    changed: Option<PathBuf>,
}

impl StoreFiles {
    fn write(&self, path: &PathBuf, text: &[u8]) -> Result<(), String> {
        fs::write(self.dir.path().join(path), text).map_err(|error| error.to_string())
    }

    /// Puts the file back that the last input changed.
    fn put_back(&mut self) -> Result<(), String> {
        let Some(changed) = self.changed.take() else { return Ok(()) };
        match self.seeds.iter().find(|(path, _)| *path == changed) {
            Some((path, text)) if FILES.iter().any(|file| path.ends_with(file)) => self.write(path, text.as_bytes()),
            _ => fs::remove_file(self.dir.path().join(&changed)).map_err(|error| error.to_string()),
        }
    }
}

/// A text of YAML with a few changed lines.
fn lines(random: &mut Random, seed: &str) -> String {
    let mut lines: Vec<String> = seed.lines().map(str::to_owned).collect();
    for _ in 0..=random.below(2) {
        let at = random.below(lines.len());
        let Some(line) = lines.get(at).cloned() else { break };
        match random.below(7) {
            0 => drop(lines.remove(at)),
            1 => lines.insert(at, line),
            2 => lines[at] = format!("  {line}"),
            3 => line.trim_start().clone_into(&mut lines[at]),
            4 => lines[at] = mutate::text(random, &line),
            _ => {
                let value = line.split_once(": ").map(|(key, value)| match random.below(3) {
                    0 => format!("{key}: {}", mutate::text(random, value)),
                    1 => format!("{key}: {}", serde_json::Value::from(*random.pick(TOKENS))),
                    _ => format!("{key}: {}", random.pick(TOKENS)),
                });
                lines[at] = value.unwrap_or(line);
            }
        }
    }
    lines.join("\n")
}

impl Target for StoreFiles {
    const NAME: &'static str = "store-files";
    /// The file, and its text.
    type Input = (PathBuf, Vec<u8>);

    fn start() -> Result<Self, FuzzError> {
        let dir = TempDir::new().map_err(FuzzError::setup)?;
        let mut seeds = Vec::new();
        for file in FILES.iter().chain(&CATEGORIES) {
            let text = fs::read_to_string(repository().join("infra/sample-store").join(file));
            seeds.push((PathBuf::from(file), text.map_err(FuzzError::setup)?));
        }
        for folder in ["categories", "pages"] {
            fs::create_dir(dir.path().join(folder)).map_err(FuzzError::setup)?;
        }
        let target = Self { dir, seeds, changed: None };
        for (path, text) in target.seeds.iter().take(FILES.len()) {
            target.write(path, text.as_bytes()).map_err(FuzzError::setup)?;
        }
        Ok(target)
    }

    fn input(&self, random: &mut Random) -> Self::Input {
        let (path, text) = random.pick(&self.seeds);
        let text = lines(random, text).into_bytes();
        (path.clone(), if random.one_in(20) { mutate::bytes(random, &text) } else { text })
    }

    fn check(&mut self, (path, text): &Self::Input) -> Result<Outcome, String> {
        self.put_back()?;
        self.write(path, text)?;
        self.changed = Some(path.clone());
        let files = match publish::read(self.dir.path()) {
            Ok(files) => files,
            Err(faults) => return reported(&faults),
        };
        let compiled = match publish::compile(&files) {
            Ok(compiled) => compiled,
            Err(faults) => return reported(&faults),
        };
        _ = publish::warnings(&files);
        let again = publish::compile(&publish::export(&compiled));
        let version = again.map(|again| again.version);
        rule(version.as_ref() == Ok(&compiled.version), || format!("exported, it is {version:?}"))?;
        Ok(Outcome::Accepted)
    }
}

/// At least one fault, and each names its file and says something in one line.
fn reported(faults: &[publish::Fault]) -> Result<Outcome, String> {
    rule(!faults.is_empty(), || "refused without a fault".to_owned())?;
    for fault in faults {
        let is_named = FILES.iter().chain(&CATEGORIES).any(|file| fault.file.ends_with(file));
        rule(is_named && !fault.problem.is_empty(), || format!("a fault of no file: {fault:?}"))?;
    }
    Ok(Outcome::Refused)
}
