//! The programs: built as they are deployed, then weighed.

use crate::error::BenchError;
use crate::figures::HELLO;
use crate::process::Start;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program that can be started.
#[derive(Debug, Clone)]
pub struct Program {
    pub name: &'static str,
    pub is_function: bool,
    pub start: Start,
    pub deployed: Vec<PathBuf>,
}

/// Runs a command, and returns its output.
fn run(command: &mut Command, what: &str) -> Result<String, BenchError> {
    crate::say(&format!("building: {what}"));
    let failed = |problem: String| BenchError::Build { what: what.to_owned(), problem };
    let output = command.output().map_err(|error| failed(format!("{}: {error}", command.get_program().display())))?;
    let [out, err] = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    if output.status.success() { Ok(out) } else { Err(failed(err)) }
}

/// One of the functions as `sam build` left it in a folder, such as `CartFunction/bootstrap`.
pub fn built(name: &'static str, folder: &Path) -> Result<Program, BenchError> {
    let (first, rest) = name.split_at(1);
    let path = folder.join(format!("{}{rest}Function", first.to_uppercase())).join("bootstrap");
    if !path.is_file() {
        let problem = format!("{} is missing; run `sam build --build-dir {}`", path.display(), folder.display());
        return Err(BenchError::Build { what: name.to_owned(), problem });
    }
    Ok(Program { name, is_function: true, start: Start::program(path.clone()), deployed: vec![path] })
}

/// Builds one of the functions, or the hello world, by itself, as a deploy does: together they would get each other's features.
pub fn program(name: &'static str) -> Result<Program, BenchError> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--release", "--locked", "-p", name]).current_dir(harness::repository());
    run(&mut command, name)?;
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    let path = harness::repository().join(target).join("release").join(name);
    Ok(Program { name, is_function: name != HELLO, start: Start::program(path.clone()), deployed: vec![path] })
}

/// Copies the sources of a peer to a folder of its own in `place`.
fn sources(peer: &str, place: &Path) -> Result<PathBuf, BenchError> {
    let (from, folder) = (harness::repository().join("tests/bench/peers").join(peer), place.join(peer));
    fs::create_dir_all(&folder).map_err(BenchError::file(&folder))?;
    for file in files(&from)? {
        fs::copy(&file, folder.join(file.file_name().unwrap_or_default())).map_err(BenchError::file(&file))?;
    }
    Ok(folder)
}

/// POST /user in Node, bundled as AWS advises.
pub fn node(place: &Path) -> Result<Program, BenchError> {
    let directory = sources("node", place)?;
    let npm = |args: &[&str]| run(Command::new("npm").args(args).current_dir(&directory), "the peer in Node");
    npm(&["install", "--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund"])?;
    npm(&["run", "build"])?;
    let program = run(Command::new("node").args(["-p", "process.execPath"]), "the peer in Node")?.trim().into();
    let bundle = directory.join("dist/index.cjs");
    let args = vec!["--use-openssl-ca".into(), bundle.clone().into()];
    let start = Start { program, args, directory: Some(directory) };
    Ok(Program { name: "node", is_function: false, start, deployed: vec![bundle] })
}

/// POST /user in Python, in AWS's own loop.
pub fn python(place: &Path) -> Result<Program, BenchError> {
    let directory = sources("python", place)?;
    let python = |args: &[&str]| run(Command::new("python3").args(args).current_dir(&directory), "the peer in Python");
    python(&["-m", "pip", "install", "--quiet", "--upgrade", "--target", ".", "-r", "requirements.txt"])?;
    python(&["-m", "compileall", "-q", "."])?;
    let program = python(&["-c", "import sys; print(sys.executable)"])?.trim().into();
    let args = ["-m", "awslambdaric", "app.handler"].map(Into::into).to_vec();
    let deployed = files(&directory)?;
    let start = Start { program, args, directory: Some(directory) };
    Ok(Program { name: "python", is_function: false, start, deployed })
}

/// Every file below a directory.
fn files(directory: &Path) -> Result<Vec<PathBuf>, BenchError> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).map_err(BenchError::file(directory))? {
        let path = entry.map_err(BenchError::file(directory))?.path();
        if path.is_dir() { found.extend(files(&path)?) } else { found.push(path) }
    }
    Ok(found)
}

/// Copies a program to `directory`, as a deploy unpacks it, and starts the copy from now on: a start of the linker's file
/// costs a twelfth more (see "The benchmark starts real processes" in
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

    #[test]
    fn a_function_is_taken_from_where_sam_built_it_and_started_from_a_copy() {
        let dir = tempfile::tempdir().unwrap();
        let missing = built("cart", dir.path()).unwrap_err().to_string();
        assert!(missing.contains("cart") && missing.contains("CartFunction/bootstrap is missing"), "{missing}");
        let path = dir.path().join("CartFunction/bootstrap");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        for text in ["one", "other"] {
            fs::write(&path, text).unwrap();
            let Program { start, deployed, .. } = unpack(built("cart", dir.path()).unwrap(), dir.path()).unwrap();
            assert_eq!((&start.program, &deployed), (&dir.path().join("cart"), &vec![dir.path().join("cart")]));
            assert_eq!(fs::read_to_string(&start.program).unwrap(), text);
        }
    }

    #[test]
    fn files_are_weighed_together() {
        let dir = tempfile::tempdir().unwrap();
        let paths = [dir.path().join("zeros"), dir.path().join("word")];
        fs::write(&paths[0], vec![0; 100_000]).unwrap();
        fs::write(&paths[1], "word").unwrap();
        assert_eq!(files(dir.path()).unwrap().len(), 2);
        let (bytes, zipped) = weigh(&paths).unwrap();
        assert!(bytes == 100_004 && (200..2_000).contains(&zipped), "{bytes} {zipped}");
    }
}
