//! A process that is measured: started with a cleared environment, timed by its own processor clock.

use crate::error::BenchError;
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::time::TimeValLike;
use nix::time::{ClockId, clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;
use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    pub program: PathBuf,
    pub args: Vec<OsString>,
    /// The directory it is started in; `None` for this process's own.
    pub directory: Option<PathBuf>,
}

impl Start {
    /// A program without arguments.
    pub fn program(program: PathBuf) -> Self {
        Self { program, args: Vec::new(), directory: None }
    }
}

/// A running process. It is killed when this is dropped.
pub struct Process {
    child: Child,
    clock: ClockId,
    log: File,
}

impl Process {
    /// Starts a program with only `environment`. Its log is kept in memory: on Lambda it goes to another process, and
    /// does not wait for a disk.
    pub fn spawn(start: &Start, environment: &[(String, String)]) -> Result<Self, BenchError> {
        let failed = BenchError::setup("a process");
        let log = memfd_create("log", MFdFlags::MFD_CLOEXEC).map_err(|error| failed(&error))?;
        let log = File::from(log);
        let out = log.try_clone().map_err(|error| failed(&error))?;
        let err = log.try_clone().map_err(|error| failed(&error))?;
        let mut command = Command::new(&start.program);
        command.args(&start.args).env_clear().envs(environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).stdout(out).stderr(err);
        if let Some(directory) = &start.directory {
            command.current_dir(directory);
        }
        let child = command.spawn().map_err(BenchError::file(&start.program))?;
        let id = i32::try_from(child.id()).map_err(|error| failed(&error))?;
        let clock = clock_getcpuclockid(Pid::from_raw(id)).map_err(|error| failed(&error))?;
        Ok(Self { child, clock, log })
    }

    /// The processor time that all its threads have used so far; zero after it has ended.
    pub fn cpu(&self) -> Duration {
        let time = clock_gettime(self.clock).ok();
        time.and_then(|time| u64::try_from(time.num_nanoseconds()).ok()).map_or(Duration::ZERO, Duration::from_nanos)
    }

    /// The most memory that it has held, in bytes.
    pub fn peak_rss(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        kibibytes.unwrap_or(0) * 1_024
    }

    /// The last lines of its log.
    pub fn log_end(&self) -> String {
        let mut bytes = vec![0; self.log.metadata().map_or(0, |log| usize::try_from(log.len()).unwrap_or(0))];
        // From its beginning: reading on would move the position at which the process writes.
        _ = self.log.read_exact_at(&mut bytes, 0);
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(8)..].join("\n")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Process {
        let start = Start { program: "/bin/sh".into(), args: vec!["-c".into(), script.into()], directory: None };
        Process::spawn(&start, &[("WORD".to_owned(), "hello".to_owned())]).unwrap()
    }

    #[test]
    fn a_process_is_timed_and_its_memory_and_log_are_read() {
        let busy = shell("echo $WORD; i=0; while :; do i=$((i+1)); done");
        let idle = shell("exec sleep 100");
        std::thread::sleep(Duration::from_millis(300));
        assert!(busy.cpu() > idle.cpu() * 4, "{:?} {:?}", busy.cpu(), idle.cpu());
        assert!(busy.peak_rss() > 100_000);
        assert_eq!(busy.log_end(), "hello");
    }
}
