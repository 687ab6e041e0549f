//! Logs: JSON lines on standard output, as CloudWatch reads them.

use tracing::level_filters::LevelFilter;

/// Starts logging at `LOG_LEVEL` (`error`, `warn`, `info`, `debug`, `trace`; `info` where it is anything else).
/// A second call does nothing.
pub fn init() {
    let level = std::env::var("LOG_LEVEL").ok().and_then(|text| text.parse().ok()).unwrap_or(LevelFilter::INFO);
    let lines = tracing_subscriber::fmt().json().flatten_event(true).with_current_span(false).with_span_list(false);
    // An error means that logging was started already.
    let _ = lines.with_max_level(level).with_target(false).try_init();
}
