//! A progress bar that appears once the work has taken two seconds, with rate and time left.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Work that is done faster than this is not worth a bar.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Progress of one piece of work. Cheap to call from many places at once.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    begun: Instant,
    shown: AtomicBool,
    drawn: bool,
}

impl Progress {
    pub(crate) fn new(label: &'static str, total: Option<u64>, drawn: bool) -> Self {
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden());
        let known = "{msg} {bar:30} {human_pos}/{human_len}, {rate}, {eta} left";
        let template = if total.is_some() { known } else { "{msg} {human_pos}, {rate}" };
        let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        let rate = |state: &ProgressState, text: &mut dyn Write| _ = write!(text, "{:.0}/s", state.per_sec());
        let style = style.with_key("rate", rate);
        Self {
            bar: bar.with_style(style).with_message(label),
            begun: Instant::now(),
            shown: AtomicBool::new(false),
            drawn,
        }
    }

    pub fn advance(&self, steps: u64) {
        self.bar.inc(steps);
        if self.drawn && self.begun.elapsed() >= TIMEOUT && !self.shown.swap(true, Ordering::Relaxed) {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }

    pub fn position(&self) -> u64 {
        self.bar.position()
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
