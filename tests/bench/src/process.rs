//! A process under measurement: started with a cleared environment, timed by its own processor clock.

use crate::error::BenchError;
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::time::TimeValLike;
use nix::time::{ClockId, clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;
use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The controller under which shares of a processor are given out.
const CONTROLLER: &str = "/sys/fs/cgroup/cpu";
/// How long a share is counted over, in microseconds.
const PERIOD: u64 = 20_000;

/// What is started, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// The directory it is started in; this process's own where it is `None`.
    pub directory: Option<PathBuf>,
}

impl Start {
    /// A program without arguments.
    #[must_use]
    pub fn program(program: PathBuf) -> Self {
        Self { program, args: Vec::new(), directory: None }
    }
}

/// A running process. It is killed when this is dropped.
#[derive(Debug)]
pub struct Process {
    child: Child,
    clock: ClockId,
    log: File,
}

impl Process {
    /// Starts a program with nothing but `environment`. What it says is kept in memory: on Lambda it goes to another
    /// process, and never waits for a disk.
    ///
    /// # Errors
    /// [`BenchError::Process`] where it cannot be started.
    pub fn spawn(start: &Start, environment: &[(String, String)]) -> Result<Self, BenchError> {
        let failed = |problem: &dyn std::fmt::Display| BenchError::process(&start.program, problem);
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
        let child = command.spawn().map_err(|error| failed(&error))?;
        let id = i32::try_from(child.id()).map_err(|error| failed(&error))?;
        let clock = clock_getcpuclockid(Pid::from_raw(id)).map_err(|error| failed(&error))?;
        Ok(Self { child, clock, log })
    }

    /// The processor time that all its threads have used so far; nothing once it has ended.
    #[must_use]
    pub fn cpu(&self) -> Duration {
        let time = clock_gettime(self.clock).ok();
        time.and_then(|time| u64::try_from(time.num_nanoseconds()).ok()).map_or(Duration::ZERO, Duration::from_nanos)
    }

    /// The most memory that it has held, in bytes.
    #[must_use]
    pub fn peak_rss(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        line.and_then(|line| line.trim().strip_suffix(" kB"))
            .and_then(|kilobytes| kilobytes.parse::<u64>().ok())
            .unwrap_or(0)
            * 1_024
    }

    /// The last lines that it has said.
    #[must_use]
    pub fn last_words(&self) -> String {
        let mut said = vec![0; self.log.metadata().map_or(0, |log| usize::try_from(log.len()).unwrap_or(0))];
        // From its beginning: reading on would move the place where the process writes on.
        let text = self.log.read_exact_at(&mut said, 0).map(|()| String::from_utf8_lossy(&said).into_owned());
        let text = text.unwrap_or_default();
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

/// A share of one processor. Whatever a thread starts after it has moved in has together no more than the share.
#[derive(Debug)]
pub struct Slice(PathBuf);

impl Slice {
    /// A share of `percent` hundredths of a percent of one processor; `None` where this machine does not let us.
    #[must_use]
    pub fn new(percent: u64) -> Option<Self> {
        let group = Path::new(CONTROLLER).join(format!("bench-{}", std::process::id()));
        fs::create_dir(&group).ok()?;
        let slice = Self(group);
        let set = |file: &str, value: u64| fs::write(slice.0.join(file), value.to_string());
        set("cpu.cfs_period_us", PERIOD).and_then(|()| set("cpu.cfs_quota_us", PERIOD * percent / 10_000)).ok()?;
        Some(slice)
    }

    /// Runs `start` on a thread inside the share, so that the process it starts is born there.
    ///
    /// # Errors
    /// What `start` answers, and [`BenchError::Slice`] where the thread is not let in.
    pub fn inside<T: Send>(&self, start: impl FnOnce() -> Result<T, BenchError> + Send) -> Result<T, BenchError> {
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                let id = nix::unistd::gettid().to_string();
                fs::write(self.0.join("tasks"), id).map_err(BenchError::Slice)?;
                start()
            });
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }
}

impl Drop for Slice {
    fn drop(&mut self) {
        // Its last process may take a moment to leave.
        for _ in 0..50 {
            if fs::remove_dir(&self.0).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
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
    fn a_process_is_timed_measured_and_heard() {
        let busy = shell("echo $WORD; i=0; while :; do i=$((i+1)); done");
        let idle = shell("exec sleep 100");
        std::thread::sleep(Duration::from_millis(300));
        assert!(busy.cpu() > idle.cpu() * 4, "{:?} {:?}", busy.cpu(), idle.cpu());
        assert!(busy.peak_rss() > 100_000);
        assert_eq!(busy.last_words(), "hello");
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let start = Start::program("/nowhere/at/all".into());
        let error = Process::spawn(&start, &[]).unwrap_err();
        assert!(error.to_string().contains("/nowhere/at/all"), "{error}");
    }
}
