//! The peers: what checkStatus is compared with (`tests/bench/peers/README.md`). Builds each from its pinned sources in the
//! target directory, and returns how it is started and what of it is deployed.

use std::env;
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

/// A program that the functions are compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// checkStatus on the Rust SDK with default features.
    SdkDefaults,
    /// checkStatus on Node with SDK v3 and jose.
    Node,
    /// checkStatus on Python with boto3 and PyJWT.
    Python,
}

/// How a peer is started, and what of it is deployed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Started {
    /// An absolute path: the environment is cleared.
    pub program: PathBuf,
    pub args: Vec<OsString>,
    /// The directory to start it in; names in its zip are relative to it.
    pub directory: PathBuf,
    /// The files that make up its zip: all that Lambda's own runtime does not provide.
    pub deployed: Vec<PathBuf>,
}

/// Why a peer could not be built.
#[derive(Debug, thiserror::Error)]
pub enum PeerError {
    /// A tool is not installed.
    #[error(
        "{tool} cannot be started, which the peer \"{peer}\" is built with: install {tool}, or run without --peers, \
         which keeps the committed figures"
    )]
    Missing {
        tool: String,
        peer: Peer,
        #[source]
        source: io::Error,
    },
    /// A tool failed; its output went to standard error.
    #[error("{tool} failed ({status}) on the peer \"{peer}\"; run without --peers to leave it out")]
    Failed { tool: String, peer: Peer, status: ExitStatus },
    /// A file could not be copied, removed or looked at.
    #[error("{} cannot be copied, removed or read", path.display())]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

impl Peer {
    /// Every peer.
    pub const ALL: [Self; 3] = [Self::SdkDefaults, Self::Node, Self::Python];

    /// Its name: of its directory, and in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SdkDefaults => "sdk-defaults",
            Self::Node => "node",
            Self::Python => "python",
        }
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Builds a peer of the repository at `root`.
pub fn build(peer: Peer, root: &Path) -> Result<Started, PeerError> {
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let target = std::path::absolute(&target).map_err(at(&target))?;
    let source = root.join("tests/bench/peers").join(peer.name());
    let place = target.join("bench").join(peer.name());
    match peer {
        Peer::SdkDefaults => cargo(peer, &source, &place),
        Peer::Node => node(&source, &place),
        Peer::Python => python(&source, &place),
    }
}

fn cargo(peer: Peer, source: &Path, target: &Path) -> Result<Started, PeerError> {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["build", "--release", "--locked", "--manifest-path"]).arg(source.join("Cargo.toml"));
    run(peer, command.arg("--target-dir").arg(target))?;
    let directory = target.join("release");
    let program = directory.join(peer.name());
    Ok(Started { deployed: vec![program.clone()], program, args: Vec::new(), directory })
}

fn node(source: &Path, place: &Path) -> Result<Started, PeerError> {
    let program = output(Peer::Node, Command::new("node").args(["-p", "process.execPath"]))?;
    for sources in ["src", "dist"] {
        remove(&place.join(sources))?;
    }
    for file in files(&source.join("src"))? {
        copy(&file, &place.join("src"))?;
    }
    for name in ["package.json", "package-lock.json", "runtime.mjs"] {
        copy(&source.join(name), place)?;
    }
    let npm = || {
        let mut command = Command::new("npm");
        command.current_dir(place);
        command
    };
    run(Peer::Node, npm().args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"]))?;
    run(Peer::Node, npm().args(["run", "--silent", "build"]))?;
    let directory = place.join("dist");
    let bundle = directory.join("index.cjs");
    // Roots of trust from SSL_CERT_FILE, read at the first connection as they are on Lambda. NODE_EXTRA_CA_CERTS would
    // have them all read while the process starts.
    let args = vec!["--use-openssl-ca".into(), place.join("runtime.mjs").into(), bundle.clone().into()];
    Ok(Started { program: PathBuf::from(program), args, directory, deployed: vec![bundle] })
}

fn python(source: &Path, place: &Path) -> Result<Started, PeerError> {
    let (venv, package) = (place.join("venv"), place.join("package"));
    remove(&package)?;
    run(Peer::Python, Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
    let program = venv.join("bin/python");
    let pip = || {
        let mut command = Command::new(&program);
        command.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary=:all:", "-r"]);
        command
    };
    run(Peer::Python, pip().arg(source.join("runtime.txt")))?;
    run(Peer::Python, pip().arg(source.join("requirements.txt")).arg("--target").arg(&package))?;
    for file in files(source)? {
        if file.extension().is_some_and(|extension| extension == "py") {
            copy(&file, &package)?;
        }
    }
    run(Peer::Python, Command::new(&program).args(["-m", "compileall", "-q"]).arg(&package))?;
    let args = ["-m", "awslambdaric", "app.handler"].map(OsString::from).to_vec();
    Ok(Started { program, args, deployed: files(&package)?, directory: package })
}

/// Runs a tool with its output on standard error.
fn run(peer: Peer, command: &mut Command) -> Result<(), PeerError> {
    let tool = tool(command);
    let shown: Vec<_> = command.get_args().map(|arg| arg.to_string_lossy()).collect();
    crate::run::say(&format!("peer {peer}: {tool} {}", shown.join(" ")));
    let status = command.stdin(Stdio::null()).stdout(Stdio::from(io::stderr())).status();
    let status = status.map_err(|source| PeerError::Missing { tool: tool.clone(), peer, source })?;
    if status.success() { Ok(()) } else { Err(PeerError::Failed { tool, peer, status }) }
}

/// What a tool prints.
fn output(peer: Peer, command: &mut Command) -> Result<String, PeerError> {
    let tool = tool(command);
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let output = output.map_err(|source| PeerError::Missing { tool: tool.clone(), peer, source })?;
    if !output.status.success() {
        return Err(PeerError::Failed { tool, peer, status: output.status });
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn tool(command: &Command) -> String {
    let program = Path::new(command.get_program());
    program.file_name().unwrap_or(program.as_os_str()).to_string_lossy().into_owned()
}

/// Copies a file into a directory, which is created if it is missing.
fn copy(file: &Path, directory: &Path) -> Result<(), PeerError> {
    fs::create_dir_all(directory).map_err(at(directory))?;
    let name = file.file_name().unwrap_or_default();
    fs::copy(file, directory.join(name)).map(|_| ()).map_err(at(file))
}

/// Removes a directory, if it exists.
fn remove(directory: &Path) -> Result<(), PeerError> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(at(directory)(error)),
        _ => Ok(()),
    }
}

/// Every file below a directory, in order.
fn files(directory: &Path) -> Result<Vec<PathBuf>, PeerError> {
    let mut found = Vec::new();
    let mut waiting = vec![directory.to_owned()];
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(&directory).map_err(at(&directory))? {
            let path = entry.map_err(at(&directory))?.path();
            if path.is_dir() { waiting.push(path) } else { found.push(path) }
        }
    }
    found.sort();
    Ok(found)
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> PeerError {
    let path = path.to_owned();
    |source| PeerError::File { path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_tool_is_named_with_the_way_around_it() {
        let error = run(Peer::Node, &mut Command::new("no-such-tool")).unwrap_err().to_string();
        assert!(error.contains("install no-such-tool") && error.contains("without --peers"), "{error}");
    }

    #[test]
    fn a_tool_that_fails_is_named() {
        let error = run(Peer::Python, &mut Command::new("false")).unwrap_err().to_string();
        assert!(error.contains("false failed") && error.contains("python"), "{error}");
    }

    #[test]
    fn every_peer_has_its_directory() {
        let peers = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers");
        for peer in Peer::ALL {
            assert!(peers.join(peer.name()).is_dir(), "{peer}");
        }
    }
}
