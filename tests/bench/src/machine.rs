//! The machine of a run, and the versions of what ran on it.

use crate::figures::Machine;
use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

/// The machine, as the kernel describes it.
pub fn machine() -> Machine {
    let field = |file: &str, name: &str| {
        let text = fs::read_to_string(file).unwrap_or_default();
        let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_default();
        line.split_once(':').map(|(_, value)| value.trim().to_owned())
    };
    let memory = field("/proc/meminfo", "MemTotal").unwrap_or_default();
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    Machine {
        processor: field("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown".to_owned()),
        cores: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        memory: memory.trim_end_matches(" kB").parse::<u64>().unwrap_or(0) * 1_024,
        kernel: kernel.trim().to_owned(),
    }
}

/// Versions of the compiler, of libraries from the lock file, and of the interpreters if the peers are measured.
pub fn versions(peers: bool) -> BTreeMap<String, String> {
    let mut versions = BTreeMap::new();
    let lock = fs::read_to_string(harness::repository().join("Cargo.lock")).unwrap_or_default();
    for package in ["aws-sdk-dynamodb", "dynoxide-rs", "lambda_http", "lambda_runtime", "rustls", "tokio"] {
        let wanted = format!("name = \"{package}\"");
        let entry = lock.split("[[package]]").find(|entry| entry.lines().any(|line| line == wanted));
        let version = entry.and_then(|entry| entry.lines().find_map(|line| line.strip_prefix("version = ")));
        if let Some(version) = version {
            versions.insert(package.to_owned(), version.trim_matches('"').to_owned());
        }
    }
    let mut programs = vec![("rustc", "rustc")];
    if peers {
        programs.extend([("node", "Node"), ("python3", "Python")]);
    }
    for (program, name) in programs {
        let output = Command::new(program).arg("--version").output().ok();
        if let Some(output) = output.filter(|output| output.status.success()) {
            let text = String::from_utf8_lossy(&output.stdout);
            let version =
                text.split_whitespace().find(|word| word.trim_start_matches('v').starts_with(char::is_numeric));
            versions.insert(name.to_owned(), version.unwrap_or_default().trim_start_matches('v').to_owned());
        }
    }
    versions
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_compiler_and_every_library_have_a_version() {
        let versions = super::versions(false);
        assert_eq!(versions.len(), 7, "{versions:?}");
        assert!(
            versions.values().all(|version| version.starts_with(|first: char| first.is_ascii_digit())),
            "{versions:?}"
        );
        assert!(super::machine().cores > 0);
    }
}
