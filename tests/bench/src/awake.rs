//! Processors that do not halt while something is measured.

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use thread_priority::{
    NormalThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy, set_thread_priority_and_policy, thread_native_id,
};

/// Keeps processors from halting until this is dropped, by a thread on each that runs only where nothing else wants to.
///
/// In a virtual machine, what comes after a halt is slower by more than half: see "Processors stay awake while the
/// bench measures" in `infra/docs/performance-notes.md`.
#[derive(Debug)]
pub struct Awake {
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<bool>>,
}

impl Awake {
    /// Keeps every processor awake that this process may use. Where threads of the idle class cannot be had, as a
    /// system may have it, none is kept awake.
    #[must_use]
    pub fn keep() -> Self {
        let processors = sched_getaffinity(Pid::from_raw(0)).unwrap_or_default();
        let is_over = Arc::new(AtomicBool::new(false));
        let keep = |place| {
            let is_over = Arc::clone(&is_over);
            std::thread::spawn(move || keep(place, &is_over))
        };
        let places = (0..CpuSet::count()).filter(|place| processors.is_set(*place).unwrap_or(false));
        Self { threads: places.map(keep).collect(), is_over }
    }

    /// Says that it is over; whether every processor was kept awake until then.
    fn end(&mut self) -> bool {
        self.is_over.store(true, Ordering::Relaxed);
        let threads: Vec<bool> = self.threads.drain(..).map(|thread| thread.join().unwrap_or(false)).collect();
        threads.into_iter().all(|kept| kept)
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        self.end();
    }
}

/// Keeps a processor awake; whether it could.
fn keep(place: usize, is_over: &AtomicBool) -> bool {
    let mut processor = CpuSet::new();
    let idle = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Idle);
    let can = set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Min, idle).is_ok()
        && processor.set(place).and_then(|()| sched_setaffinity(Pid::from_raw(0), &processor)).is_ok();
    while can && !is_over.load(Ordering::Relaxed) {
        std::hint::spin_loop();
    }
    can
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_processor_is_kept_awake_until_it_is_over() {
        let mut awake = Awake::keep();
        assert!(!awake.threads.is_empty());
        assert!(awake.end(), "threads of the idle class cannot be had here");
        assert!(awake.threads.is_empty());
    }
}
