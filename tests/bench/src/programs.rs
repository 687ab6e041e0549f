//! The programs: built as they are deployed, then weighed.

use crate::error::BenchError;
use crate::figures::Kind;
use crate::peers::{self, Peer, Started};
use crate::process::Start;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

pub use crate::figures::{FUNCTIONS, HELLO};

/// A program that can be started.
#[derive(Debug, Clone)]
pub struct Program {
    pub name: &'static str,
    pub kind: Kind,
    pub start: Start,
    /// What is deployed of it.
    pub deployed: Vec<PathBuf>,
}

/// Functions that have the same dependencies with the same features, so that one build of all is the same as a build of
/// each, and links them concurrently. Cargo notices if that is no longer so: [`build`] then builds what differs.
const ALIKE: [&str; 4] = ["catalog", "cart", "payments", "content"];

/// Builds the functions that can be built together.
pub fn build_alike() -> Result<(), BenchError> {
    cargo(&ALIKE).map(drop)
}

/// Builds a package of this workspace by itself, as a deploy does: together with others it would get their features.
fn build(package: &'static str) -> Result<PathBuf, BenchError> {
    let messages = cargo(&[package])?;
    let built = messages.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let mut program = built.filter_map(|message| {
        let is_it = message["target"]["name"] == package && message["target"]["kind"][0] == "bin";
        if is_it { message["executable"].as_str().map(PathBuf::from) } else { None }
    });
    let problem = "cargo names no program".to_owned();
    program.next_back().ok_or_else(|| BenchError::Build { what: package.to_owned(), problem })
}

/// Builds packages as release, and returns cargo's messages.
fn cargo(packages: &[&str]) -> Result<String, BenchError> {
    let failed = |problem: String| BenchError::Build { what: packages.join(", "), problem };
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--release", "--locked", "--message-format", "json-render-diagnostics"]);
    command.args(packages.iter().flat_map(|package| ["-p", package]));
    let output = command.current_dir(harness::repository()).output().map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        return Err(failed(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// One of the functions as `sam build` left it in a folder, such as `CartFunction/bootstrap`.
pub fn built(name: &'static str, folder: &Path) -> Result<Program, BenchError> {
    let (first, rest) = name.split_at(1);
    let path = folder.join(format!("{}{rest}Function", first.to_uppercase())).join("bootstrap");
    if !path.is_file() {
        let problem = format!("{} is missing; run `sam build --build-dir {}`", path.display(), folder.display());
        return Err(BenchError::Build { what: name.to_owned(), problem });
    }
    Ok(Program { name, kind: Kind::Function, start: Start::program(path.clone()), deployed: vec![path] })
}

/// Builds one of the functions, or the hello world.
pub fn program(name: &'static str) -> Result<Program, BenchError> {
    let kind = if name == HELLO { Kind::HelloWorld } else { Kind::Function };
    let path = build(name)?;
    Ok(Program { name, kind, start: Start::program(path.clone()), deployed: vec![path] })
}

/// Builds a peer.
pub fn peer(peer: Peer) -> Result<Program, BenchError> {
    let kind = match peer {
        Peer::SdkDefaults => Kind::SdkDefaults,
        Peer::Node => Kind::Node,
        Peer::Python => Kind::Python,
    };
    let Started { program, args, directory, deployed } = peers::build(peer, &harness::repository())?;
    Ok(Program { name: peer.name(), kind, start: Start { program, args, directory: Some(directory) }, deployed })
}

/// Copies a program to `directory`, as a deploy unpacks it, and starts the copy from now on: a start of the linker's file
/// costs a twelfth more (see "Programs are unpacked before they are measured" in
/// `infra/docs/performance-notes.md`). What an interpreter runs is not copied.
pub fn unpack(mut program: Program, directory: &Path) -> Result<Program, BenchError> {
    let built = &mut program.start.program;
    if program.deployed != [built.clone()] {
        return Ok(program);
    }
    let unpacked = directory.join(program.name);
    fs::create_dir_all(directory).map_err(BenchError::file(directory))?;
    match fs::remove_file(&unpacked) {
        // An old one may still run, and cannot be overwritten.
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(BenchError::file(&unpacked)(error)),
        _ => {}
    }
    fs::copy(&*built, &unpacked).map_err(BenchError::file(built))?;
    program.deployed = vec![unpacked.clone()];
    *built = unpacked;
    Ok(program)
}

/// The size of files, and their size in an archive, in bytes.
pub fn weigh(files: &[PathBuf]) -> Result<(u64, u64), BenchError> {
    let mut sizes = (0, 0);
    for file in files {
        let (bytes, zipped) = weigh_file(file)?;
        sizes = (sizes.0 + bytes, sizes.1 + zipped);
    }
    Ok(sizes)
}

fn weigh_file(file: &Path) -> Result<(u64, u64), BenchError> {
    let bytes = fs::read(file).map_err(BenchError::file(file))?;
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    let zipped = encoder.write_all(&bytes).and_then(|()| encoder.finish()).map_err(BenchError::file(file))?;
    // An archive has every file's name twice and some 76 bytes more.
    let name = file.file_name().map_or(0, std::ffi::OsStr::len);
    Ok((bytes.len() as u64, (zipped.len() + 76 + 2 * name) as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn a_program_is_started_from_where_it_was_unpacked() {
        let dir = tempfile::tempdir().unwrap();
        let built = dir.path().join("built");
        let place = dir.path().join("unpacked");
        let program = |deployed: &Path| Program {
            name: HELLO,
            kind: Kind::HelloWorld,
            start: Start::program(built.clone()),
            deployed: vec![deployed.to_owned()],
        };
        for script in ["#!/bin/sh\nexit 3", "#!/bin/sh\nexit 4"] {
            fs::write(&built, script).unwrap();
            fs::set_permissions(&built, Permissions::from_mode(0o755)).unwrap();
            let Program { start, deployed, .. } = unpack(program(&built), &place).unwrap();
            assert_eq!(start.program, place.join(HELLO));
            assert_eq!(deployed, [place.join(HELLO)]);
            assert_eq!(fs::read_to_string(&start.program).unwrap(), script);
            assert_eq!(fs::metadata(&start.program).unwrap().permissions().mode() & 0o777, 0o755);
        }
        let interpreted = unpack(program(&dir.path().join("bundle.js")), &place).unwrap();
        assert_eq!(interpreted.start.program, built);
    }

    #[test]
    fn a_function_is_taken_from_where_sam_built_it() {
        let dir = tempfile::tempdir().unwrap();
        let missing = built("cart", dir.path()).unwrap_err().to_string();
        assert!(missing.contains("cart") && missing.contains("CartFunction/bootstrap is missing"), "{missing}");
        let path = dir.path().join("CartFunction/bootstrap");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "x").unwrap();
        let program = built("cart", dir.path()).unwrap();
        assert_eq!((program.name, program.deployed), ("cart", vec![path]));
    }

    #[test]
    fn files_are_weighed_together() {
        let dir = tempfile::tempdir().unwrap();
        let files = [dir.path().join("zeros"), dir.path().join("word")];
        fs::write(&files[0], vec![0; 100_000]).unwrap();
        fs::write(&files[1], "word").unwrap();
        let (bytes, zipped) = weigh(&files).unwrap();
        assert_eq!(bytes, 100_004);
        assert!((200..2_000).contains(&zipped), "{zipped}");
        assert!(weigh(&[dir.path().join("nothing")]).is_err());
    }
}
