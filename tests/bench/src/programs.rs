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

/// The functions' packages, each of which is its program's name as well.
pub const FUNCTIONS: [&str; 5] = ["catalog", "cart", "payments", "content", "auth"];
/// The package of the runtime alone.
pub const HELLO: &str = "hello";

/// A program that can be started.
#[derive(Debug, Clone)]
pub struct Program {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub kind: Kind,
    /// How it is started.
    pub start: Start,
    /// What is deployed of it.
    pub deployed: Vec<PathBuf>,
}

/// Builds a package of this workspace by itself, as a deploy does: together with others it would get their features.
///
/// # Errors
/// [`BenchError::Build`] with what the compiler said.
pub fn build(package: &'static str) -> Result<PathBuf, BenchError> {
    let failed = |problem: String| BenchError::Build { what: package.to_owned(), problem };
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--release", "--locked", "--message-format", "json-render-diagnostics", "-p", package]);
    command.current_dir(harness::repository()).stderr(std::process::Stdio::piped());
    let output = command.output().map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        return Err(failed(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    let messages = String::from_utf8_lossy(&output.stdout);
    let built = messages.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let mut program = built.filter_map(|message| {
        let is_it = message["target"]["name"] == package && message["target"]["kind"][0] == "bin";
        if is_it { message["executable"].as_str().map(PathBuf::from) } else { None }
    });
    program.next_back().ok_or_else(|| failed("cargo names no program".to_owned()))
}

/// Builds one of the functions or the runtime alone.
///
/// # Errors
/// [`BenchError::Build`].
pub fn program(name: &'static str) -> Result<Program, BenchError> {
    let kind = if name == HELLO { Kind::HelloWorld } else { Kind::Function };
    let path = build(name)?;
    Ok(Program { name, kind, start: Start::program(path.clone()), deployed: vec![path] })
}

/// Builds a peer.
///
/// # Errors
/// [`BenchError::Peer`].
pub fn peer(peer: Peer) -> Result<Program, BenchError> {
    let kind = match peer {
        Peer::SdkDefaults => Kind::SdkDefaults,
        Peer::Node => Kind::Node,
        Peer::Python => Kind::Python,
    };
    let Started { program, args, directory, deployed } = peers::build(peer, &harness::repository())?;
    Ok(Program { name: peer.name(), kind, start: Start { program, args, directory: Some(directory) }, deployed })
}

/// Lays a program down anew in `directory`, as a deploy unpacks it, and starts that one from now on: where the linker
/// left it, a start costs a twelfth more (see "Programs are unpacked before they are measured" in
/// `infra/docs/performance-notes.md`). What an interpreter runs stays where it is.
///
/// # Errors
/// [`BenchError::File`] where it cannot be copied.
pub fn unpack(mut program: Program, directory: &Path) -> Result<Program, BenchError> {
    let built = &mut program.start.program;
    if program.deployed != [built.clone()] {
        return Ok(program);
    }
    let unpacked = directory.join(program.name);
    fs::create_dir_all(directory).map_err(BenchError::file(directory))?;
    match fs::remove_file(&unpacked) {
        // An old one may run still, and cannot be written over.
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(BenchError::file(&unpacked)(error)),
        _ => {}
    }
    fs::copy(&*built, &unpacked).map_err(BenchError::file(built))?;
    program.deployed = vec![unpacked.clone()];
    *built = unpacked;
    Ok(program)
}

/// The size of files, and of what is left of them in an archive, in bytes.
///
/// # Errors
/// [`BenchError::File`] where one cannot be read.
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
    // An archive names every file twice and says some 76 bytes more of it.
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
